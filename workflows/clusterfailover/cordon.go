package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// cordon carries out the rules that put NoSchedule taints alone: each taint by its own windows.
// Nothing is listed and no permit is requested, because no workload moves.
func (e *failover) cordon() {
	e.st.Reason = reason.WindowRunning
	switch {
	case !e.enforcing():
		e.cordonVirtually()
	default:
		e.followRules()
	}
	if !e.cordonStands() {
		return
	}
	e.st.Reason = reason.Cordoned
	if e.st.Phase == phase.FailoverSuspected {
		e.on(phase.EventCordoned, reason.Cordoned)
	}
}

// cordonVirtually is what observe does instead of a write.
func (e *failover) cordonVirtually() {
	e.taintVirtually()
	was := len(e.st.Virtual)
	e.st.Virtual = slices.DeleteFunc(e.st.Virtual, func(t corev1.Taint) bool {
		return !slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
			w := e.st.Windows[k]
			return w.Taint.Key == t.Key && w.Taint.Effect == t.Effect && !w.RemoveRipe(e.judged)
		})
	})
	e.dirty = e.dirty || len(e.st.Virtual) != was
}

// onlyCordons tells whether NoSchedule taints of rules, or rules that ask for them, are all
// that this failover has to see to.
func (e *failover) onlyCordons() bool {
	early := e.st.Phase == phase.FailoverSuspected || e.st.Phase == phase.FailoverCordoned
	settled := e.st.Phase == phase.FailoverSettling && !e.st.Settled.IsZero()
	switch {
	case !early && !settled, e.st.UID == "", !e.st.GoneAt.IsZero(), len(e.st.Moves) > 0, len(e.asks) > 0, e.ordersRecorded():
		return false
	case slices.ContainsFunc(e.st.Cluster.Ours, ofThisFailure), e.bad():
		return false
	}
	return e.cordonStands() || e.cordonMatches()
}

// looksLater tells whether the look for hold tasks with which a run begins can wait: it reads every
// binding, and a cluster that is only cordoned has none of this failover's.
func (e *failover) looksLater() bool {
	if e.adoptNow || e.st.Phase == phase.FailoverSettling {
		return false // a failover that settles sees its last hold task gone before it closes
	}
	ends := e.st.Phase == phase.FailoverCordoned && !e.bad() && e.nothingOfOurs()
	return e.onlyCordons() || ends
}

// cordonStands tells whether a NoSchedule taint of a rule stands; in observe, whether it would.
func (e *failover) cordonStands() bool {
	cordons := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoSchedule }
	return slices.ContainsFunc(e.st.Virtual, cordons) ||
		slices.ContainsFunc(e.st.Cluster.Ours, func(t karmada.AddedTaint) bool { return !ofThisFailure(t) })
}

// cordonMatches tells whether a rule that asks for a NoSchedule taint matches, however long.
func (e *failover) cordonMatches() bool {
	return slices.ContainsFunc(e.st.Windows.SortedKeys(), func(k rules.WindowKey) bool {
		w := e.st.Windows[k]
		return w.Matching && !karmada.Triggers(w.Taint.Effect)
	})
}
