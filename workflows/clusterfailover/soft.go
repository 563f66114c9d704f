package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// softMatters tells whether a soft taint stands, would stand, or may come to: only
// then are the policies of bindings asked for how long they bear one.
func (e *failover) softMatters() bool {
	soft := func(t corev1.Taint) bool { return t.Effect == karmada.EffectPreferNoExecute }
	return len(e.st.Cluster.Soft) > 0 || slices.ContainsFunc(e.st.Virtual, soft) ||
		slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
			return e.st.Windows[k].Taint.Effect == karmada.EffectPreferNoExecute
		})
}

// softUnread tells whether a queued binding that soft taints move has not said yet
// for how long it bears them.
func (e *failover) softUnread() bool {
	return slices.ContainsFunc(e.st.Items, func(i queue.Item) bool { return !i.Permanent && !e.st.Policy[i.Policy].SoftRead() })
}

// learnSoft completes the frozen policy of a queued binding with the one thing that
// had not been read of it; what was frozen stays.
func (e *failover) learnSoft(i *queue.Item, read rules.Policy, policies map[string]int) {
	frozen := e.st.Policy[i.Policy]
	if frozen.SoftRead() || !read.SoftRead() {
		return
	}
	frozen.SoftSeconds, frozen.SoftMalformed = read.SoftSeconds, read.SoftMalformed
	if !read.ClusterFailover {
		// spec.failover.cluster was taken away meanwhile; it is frozen as set.
		frozen = frozen.ReadSoft("")
	}
	i.Policy = e.freezePolicy(frozen, policies)
}
