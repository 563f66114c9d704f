package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
)

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
