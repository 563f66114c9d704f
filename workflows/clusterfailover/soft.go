package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
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
