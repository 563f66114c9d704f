package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// softRuleKey is the soft taint that the rule of a story puts soon, where a story asks for it.
const softRuleKey = "failover.example.org/shaky"

// softRule has the rule put a soft taint first, and its hard one later.
func (s *sim) softRule(_ workflow.Context, _ Step) {
	s.softens = true
	s.rules(s.judge.ruling)
}

// smudge makes the list of a cluster's soft taints one that nobody can read, or mends it:
// what stood on it stands there still.
func (s *sim) smudge(cluster string, unreadable bool) {
	c, there := s.world.Standing(cluster)
	if !there || c.SoftUnreadable == unreadable {
		return
	}
	isSoft := func(t corev1.Taint) bool { return t.Effect == karmada.EffectPreferNoExecute }
	s.world.ChangeCluster(cluster, func(c *karmada.Cluster) {
		c.SoftUnreadable, c.SoftMalformed = unreadable, ""
		if !unreadable {
			c.Taints = append(slices.DeleteFunc(slices.Clone(c.Taints), isSoft), s.smudged[cluster]...)
			return
		}
		c.SoftMalformed = malformed
		s.smudged[cluster] = slices.DeleteFunc(slices.Clone(c.Taints), func(t corev1.Taint) bool { return !isSoft(t) })
		c.Taints = slices.DeleteFunc(slices.Clone(c.Taints), isSoft)
	})
}

func smudge(unreadable bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) { s.smudge(x.Cluster, unreadable) }
}

// blame makes a cluster not Ready for a reason that speaks of Lifeboat's own side.
func (s *sim) blame(_ workflow.Context, x Step) {
	if s.there(x.Cluster) {
		s.ready(x.Cluster, false)
		s.world.ChangeCluster(x.Cluster, func(c *karmada.Cluster) {
			c.Conditions = slices.Clone(c.Conditions)
			c.Conditions[0].Reason = karmadaFault
		})
	}
}

// leave has another hand take a binding off a cluster, to wherever the story says.
func (s *sim) leave(_ workflow.Context, x Step) {
	to := clusterName(x.N % s.schedule.Fleet)
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) {
		t, at := b.Target(x.Cluster)
		if at < 0 || to == x.Cluster {
			return
		}
		moved := karmada.TargetCluster{Name: to, Replicas: t.Replicas}
		b.Clusters = slices.Delete(slices.Clone(b.Clusters), at, at+1)
		if !targets(b, to) {
			b.Clusters = append(b.Clusters, moved)
		}
	})
}

// capacity has a cluster say that it is full, or nothing of what it has room for.
func capacity(full bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, _ workflow.Context, x Step) {
		if !s.there(x.Cluster) {
			return
		}
		s.world.ChangeCluster(x.Cluster, func(c *karmada.Cluster) {
			c.Capacity = nil
			if full {
				pods := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
				c.Capacity = &karmada.Capacity{Allocatable: pods, Allocated: pods}
			}
		})
	}
}

func full(c karmada.Cluster) bool { return c.Capacity != nil }

// crammed judges that no divided workload is evicted where all that it may use beside
// the failed cluster are its own other targets, and full, and they lack replicas: they would be overfilled without a
// word.
func (j *judge) crammed(w world.Write, b *karmada.Binding) {
	p := b.Placement
	if !p.Divided() || b.Replicas == 0 || p.ClusterAffinity == nil {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(p.ClusterAffinity.ClusterNames), func(name string) bool { return name == w.Cluster })
	for _, name := range rest {
		at := j.since(name)
		roomy := slices.ContainsFunc(at, func(x sight) bool { return x.there && !full(x.c) })
		if !targets(b, name) || roomy || len(at) == 0 {
			return
		}
	}
	if len(rest) > 0 && replicasOn(b, rest) < b.Replicas {
		j.violates("3: %s is evicted from %s, and wherever it may go is full", w.Binding, w.Cluster)
	}
}

// replicasOn is how many replicas a binding has on these clusters.
func replicasOn(b *karmada.Binding, clusters []string) (replicas int32) {
	for _, t := range b.Clusters {
		if slices.Contains(clusters, t.Name) {
			replicas += t.Replicas
		}
	}
	return replicas
}

// meddle has the world change between a migration's decision to let its hold go and the
// look of the activity that does: whatever the decision went by may not hold any more.
func (s *sim) meddle(id, name string) {
	cluster, binding, moves := strings.Cut(strings.TrimPrefix(id, "binding-migration/"), "/")
	if !moves || name != activities.NameRelease || !s.dice.chance("meddle", id) {
		return
	}
	_, of, _ := strings.Cut(binding, "/")
	key := Binding{Name: of}.key()
	b, there := s.world.StandingBinding(key)
	if !there {
		return
	}
	switch s.dice.roll("meddle-how", id) % 6 {
	case 0, 1:
		for _, t := range b.Clusters {
			s.ail(nil, Step{Cluster: t.Name, Binding: of})
		}
		s.later(s.dice.span("meddle-for", id, time.Minute), func() {
			for _, t := range b.Clusters {
				s.heal(nil, Step{Cluster: t.Name, Binding: of})
			}
		})
	case 2:
		s.replicas(nil, Step{Binding: of, N: 1 + int(b.Replicas)%6})
	case 3:
		s.answers(&b, cluster, id)
	case 4:
		s.elsewhere(&b, cluster)
	default: // the scheduler finds nothing that fits, and says so
		s.world.Edit(key, func(b *karmada.Binding) { b.Clusters = nil })
	}
	s.world.Advance()
}

// answers has a cluster answer again. What Karmada has to delete there of a Directly move
// stands for a while longer.
func (s *sim) answers(b *karmada.Binding, cluster, id string) {
	if b.PurgeMode != karmada.PurgeDirectly || !s.there(cluster) {
		s.ready(cluster, true)
		return
	}
	s.world.ChangeCluster(cluster, func(c *karmada.Cluster) {
		c.Conditions = slices.Clone(c.Conditions)
		c.Conditions[0].Status, c.Conditions[0].LastTransition = corev1.ConditionTrue, s.now()
	})
	s.later(s.dice.span("meddle-for", id, 20*time.Second), func() { s.ready(cluster, true) })
}

// elsewhere has the scheduler place a binding anew, on a cluster where it was not.
func (s *sim) elsewhere(b *karmada.Binding, but string) {
	for n := range s.schedule.Fleet {
		name := clusterName(n)
		if c, there := s.world.Standing(name); !there || !fit(c, false) || name == but || targets(b, name) || len(b.Clusters) == 0 {
			continue
		}
		moved := s.world.Edit(b.Key, func(b *karmada.Binding) {
			b.Clusters = slices.Clone(b.Clusters)
			b.Clusters[0].Name = name
		})
		if moved {
			s.world.Change(b.Key, func(b *karmada.Binding) { b.Status.ObservedGeneration = b.Generation })
		}
		return
	}
}
