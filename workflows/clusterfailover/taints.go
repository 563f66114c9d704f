package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// taint brings the cluster's taints to what the rules ask for; false means that
// this could not be done for now.
func (e *failover) taint() bool {
	if !e.enforcing() {
		e.taintVirtually()
		return true
	}
	add := e.mayAdd(e.ripe())
	if len(add) == 0 && (e.evacuationTaintStands() || e.taintDisputed()) {
		e.st.Refused = false
		return true
	}
	r, ok := e.writeTaints("taint "+e.cluster, activities.TaintRequest{Add: add, EvacuationTaint: activities.EvacuationTaintPut})
	if !ok {
		return false
	}
	if r.Refused != "" {
		e.st.Reason = r.Refused
		e.clusterDirty = true
		e.backOff()
		return false
	}
	return true
}

// taintVirtually is what observe does instead: the taint would stand from now on.
func (e *failover) taintVirtually() {
	now := e.now()
	for _, o := range e.ripe() {
		known := false
		for _, v := range e.st.Virtual {
			known = known || (v.Key == o.Taint.Key && v.Effect == o.Taint.Effect)
		}
		if !known {
			at := metaTime(now)
			taint := corev1.Taint{Key: o.Taint.Key, Value: o.Taint.Value, Effect: o.Taint.Effect, TimeAdded: &at}
			e.st.Virtual = append(e.st.Virtual, taint)
			e.trail.virtual(taint, o.Rule)
		}
	}
}

func (e *failover) evacuationTaintStands() bool {
	return e.stands(karmada.RuleTaint{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule})
}

// writeTaints runs the one activity that writes to the cluster.
func (e *failover) writeTaints(what string, r activities.TaintRequest) (activities.TaintResult, bool) {
	r.Cluster, r.UID, r.FailoverID, r.Mode, r.ExternalProbe = e.cluster, e.st.UID, e.st.FailoverID, e.st.Terms.Mode, e.externalProbe()
	var out activities.TaintResult
	ctx := flow.Doing(e.ctx, what)
	if err := workflow.ExecuteActivity(ctx, activities.NameWriteTaints, r).Get(ctx, &out); err != nil {
		e.log.Error("could not write the cluster's taints", "error", err)
		e.st.Refused = true
		e.backOff()
		return out, false
	}
	if out.Gone {
		if e.st.GoneAt.IsZero() {
			e.st.GoneAt = e.now()
		}
		e.dirty = true
		return out, false
	}
	e.st.Refused = false
	e.tainted(out)
	return out, true
}

// backOff keeps a refused act from being tried again at once. It holds no human's
// order up: one that came meanwhile is obeyed in the next turn.
func (e *failover) backOff() {
	e.dirty = !e.orders.none()
	e.notBefore = e.now().Add(min(e.st.Terms.Recheck, e.st.Terms.ClusterPoll))
	if e.nextAssess.After(e.notBefore) || !e.nextAssess.After(e.now()) {
		e.nextAssess = e.notBefore // never later than planned: who is refused often would never look again
	}
	e.clusterDirty = false
}

// followRules adds and removes taints of rules while the phase stays: NoSchedule
// ones, and those of a second rule on the same cluster.
func (e *failover) followRules() {
	if !e.enforcing() {
		return
	}
	add, remove := e.mayAdd(e.ripe()), e.withered()
	switch e.st.Phase { //nolint:exhaustive // in the other phases the taints that move bindings follow their rules, too
	case phase.FailoverRecovering: // those that move bindings go with the untaint
		remove = slices.DeleteFunc(remove, func(t karmada.AddedTaint) bool { return karmada.Triggers(t.Effect) })
		add = withoutTriggering(add)
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverSettling:
		add = withoutTriggering(add)
	}
	if len(add) == 0 && len(remove) == 0 {
		e.st.Refused = false
		return
	}
	was := len(e.st.Cluster.Ours)
	r, ok := e.writeTaints("bring the taints of "+e.cluster+" to what its rules say", activities.TaintRequest{Add: add, Remove: remove})
	e.dirty = e.dirty || ok && len(r.Ours) != was // what they asked for may have been the last thing to do
}

func withoutTriggering(in []rules.RuleObservation) []rules.RuleObservation {
	var out []rules.RuleObservation
	for _, o := range in {
		if !karmada.Triggers(o.Taint.Effect) {
			out = append(out, o)
		}
	}
	return out
}

// untaint removes the taints of this recovery in one write, the evacuation taint with the last.
func (e *failover) untaint() {
	if !e.enforcing() {
		e.st.Virtual, e.st.Settled, e.dirty = nil, e.now(), true
		return
	}
	if len(e.st.Cluster.Ours) == 0 && !e.ordersRecorded() {
		e.st.Refused, e.st.Settled, e.dirty = false, e.now(), true
		return
	}
	// The record of an order that still stands here is void: it would have been obeyed.
	r, ok := e.writeTaints("untaint "+e.cluster, activities.TaintRequest{
		Remove: e.leaving(), EvacuationTaint: activities.EvacuationTaintDrop, ClearDrain: true, EndAllOrders: true, EndedBy: "it no longer applied",
	})
	switch {
	case !ok:
		return
	case r.Refused == reason.ConditionsMatch:
		e.clusterDirty = true
		e.failAgain()
	case r.Refused == "" && !slices.ContainsFunc(r.Ours, ofThisFailure):
		e.st.Settled, e.dirty = e.now(), true
	default:
		e.backOff()
	}
}

// ofThisFailure: a taint that moves bindings, or the evacuation taint. What else stands
// follows from a rule of its own, which may still match.
func ofThisFailure(t karmada.AddedTaint) bool {
	return t.Rule == "" || karmada.Triggers(t.Effect)
}

// stopTaints removes what is Lifeboat's whatever the rules say, and records who stopped.
func (e *failover) stopTaints() {
	if !e.enforcing() {
		e.st.Virtual, e.st.Settled, e.dirty = nil, e.now(), true
		return
	}
	r, ok := e.writeTaints("remove Lifeboat's taints from "+e.cluster+": stopped by "+e.st.Stopped.Who, activities.TaintRequest{
		RemoveAll: true, EvenIfFailing: true, ClearDrain: true, EndAllOrders: true, EndedBy: e.st.Stopped.Line(),
		StoppedBy: &karmada.StoppedBy{Who: e.st.Stopped.Who, Why: e.st.Stopped.Reason, FailoverID: e.st.FailoverID},
	})
	switch {
	case !ok:
	case r.Refused == "" && len(r.Ours) == 0:
		e.st.Settled, e.dirty = e.now(), true
	default: // what could not be taken away yet is still Lifeboat's
		e.backOff()
	}
}
