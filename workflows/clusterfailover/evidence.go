package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// whyBad is what the failure rests on.
func (j *judgement) whyBad() reason.Reason {
	switch {
	case j.evidence().Failing(karmada.DrainRule, karmada.TaintRule), j.failing() && len(j.st.Cluster.Ordered) == 0:
		return reason.ConditionsMatch
	case len(j.st.Cluster.Ordered) > 0:
		return reason.TaintOrdered
	case j.st.Cluster.Drain != nil:
		return reason.Drained
	}
	return reason.ConditionsMatch
}

// evidence is what speaks for a failure or a recovery now.
func (j *judgement) evidence() rules.Evidence {
	c := &j.st.Cluster
	return rules.Evidence{
		Windows: j.st.Windows, Judged: j.judged, Ours: c.Ours, Foreign: c.Foreign, Standing: c.Standing, Virtual: j.st.Virtual, SoftUnreadable: c.SoftUnreadable,
		Unwindowed: c.OptedOut || j.now().Sub(j.st.Entered) >= rules.DefaultRemoveOnMismatch,
	}
}

// wellForLong tells whether the recovery is confirmed.
func (j *judgement) wellForLong() bool {
	if !j.enforcing() {
		return j.evidence().WouldBeWellForLong()
	}
	return j.evidence().WellForLong()
}

// failing tells whether the cluster fails by itself, a drain aside.
func (j *judgement) failing() bool { return j.evidence().Failing(karmada.DrainRule) }

// softMatters tells whether a soft taint stands, would stand, or may come to: only
// then are the policies of bindings asked for how long they bear one.
func (j *judgement) softMatters() bool {
	return len(j.st.Cluster.Soft) > 0 || j.evidence().SoftMatters()
}

// bad tells whether anything speaks for a failure: a taint that others put and that
// moves bindings, or a rule whose taint does.
func (j *judgement) bad() bool {
	return len(j.st.Cluster.Foreign) > 0 || j.st.Windows.Any(func(w rules.Window) bool {
		return w.Matching && karmada.Triggers(w.Taint.Effect) && j.isThisFailure(w)
	})
}

// isThisFailure tells whether a rule that matches is this failure, and not one that is
// only suspected. Once a failure is confirmed, another rule whose window still runs
// holds up neither its recovery nor its untaint; it is looked at before the close.
func (j *judgement) isThisFailure(w rules.Window) bool {
	switch j.st.Phase {
	case phase.FailoverEvacuating, phase.FailoverEvacuated, phase.FailoverRecovering:
		return j.evidence().Stands(w.Taint) || j.evidence().WouldStand(w.Taint) || j.evidence().Ripens(w)
	case phase.FailoverSettling:
		return w.Since.After(j.st.ClosedAt) || j.evidence().Ripens(w)
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverConfirmed, phase.FailoverStopped,
		phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	return true
}

// onlyCordons tells whether NoSchedule taints of rules, or rules that ask for them, are all
// that this failover has to see to.
func (j *judgement) onlyCordons() bool {
	early := j.st.Phase == phase.FailoverSuspected || j.st.Phase == phase.FailoverCordoned
	settled := j.st.Phase == phase.FailoverSettling && !j.st.Settled.IsZero()
	switch {
	case !early && !settled, j.st.UID == "", !j.st.GoneAt.IsZero(), len(j.st.Moves) > 0, len(j.asks) > 0, j.ordersRecorded():
		return false
	case slices.ContainsFunc(j.st.Cluster.Ours, rules.OfThisFailure), j.bad():
		return false
	}
	return j.evidence().CordonStands() || j.evidence().CordonMatches()
}

// ordersRecorded tells whether the record of a human's order stands on the cluster.
func (j *judgement) ordersRecorded() bool {
	return j.st.Cluster.Drain != nil && !j.st.Cluster.Drain.Deletion || len(j.st.Cluster.Ordered) > 0
}

// nothingOfOurs: this first attempt has done nothing, and found nothing of Lifeboat's.
func (j *judgement) nothingOfOurs() bool {
	return j.st.Attempt == 1 && len(j.st.Cluster.Ours) == 0 && len(j.st.Moves) == 0 && len(j.st.Results) == 0 && !j.ordersRecorded()
}

// inheritsTaint: a first attempt that finds a Lifeboat taint that moves bindings took it over.
func (j *judgement) inheritsTaint() bool {
	if j.st.Attempt > 1 {
		return false
	}
	for _, t := range j.st.Cluster.Ours {
		if karmada.Triggers(t.Effect) {
			return true
		}
	}
	return false
}
