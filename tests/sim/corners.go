package sim

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
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
			c.Conditions[0].Reason = ourSide
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
