package workflows

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// actSuspected waits out the windows. Nothing is written before one has run out. Those of
// NoSchedule taints make it Cordoned, where the other windows go on running.
func (e *clusterFailover) actSuspected() {
	switch {
	case e.st.UID == "":
		return // not judged yet
	case e.st.Cluster.StopRecord && e.enforcing():
		// The stop that it records is over: that run is not open any more, or was resumed.
		_, ok := e.writeTaints("remove a void record of a stop from "+e.cluster, activities.TaintRequest{ClearStopped: true})
		e.dirty = e.dirty || ok // look again at once: the windows may have run out meanwhile
	case e.inheritsTaint(), e.ripeToMove() && len(e.st.Cluster.Foreign) == 0:
		// An earlier run had confirmed this failure and put its taint, or a window has run out.
		e.confirm(e.whyBad())
	case len(e.st.Cluster.Foreign) > 0:
		e.confirm(reason.ForeignTaint)
	case e.bad():
		e.st.Reason = reason.WindowRunning
		e.followRules()
	case e.memberAnswers():
		e.st.Reason = reason.MemberAnswers
		e.followRules()
	default:
		e.actUnsuspected()
	}
}

// actUnsuspected ends a suspicion without a failover of workloads: no window runs.
func (e *clusterFailover) actUnsuspected() {
	switch {
	case len(e.asks) > 0:
		return // somebody is about to begin a drain, or to put a taint: this is no false alarm
	case e.onlyCordons():
		e.cordon()
	case e.nothingOfOurs() && e.st.Phase == phase.FailoverCordoned:
		e.on(phase.EventUncordoned, reason.ClusterRecovered)
	case e.nothingOfOurs():
		e.on(phase.EventNothingWrong, reason.Blip)
	default:
		// Something of Lifeboat's is left (an earlier attempt, an adopted task): it recovers, it is no false alarm.
		e.st.Well = e.now()
		e.on(phase.EventConditionsWell, reason.ClusterRecovered)
	}
}

// nothingOfOurs: this first attempt has done nothing, and found nothing of Lifeboat's.
func (e *clusterFailover) nothingOfOurs() bool {
	return e.st.Attempt == 1 && len(e.st.Cluster.Ours) == 0 && len(e.st.Moves) == 0 && len(e.st.Results) == 0 && !e.ordersRecorded()
}

// inheritsTaint: a first attempt that finds a Lifeboat taint that moves bindings took it over.
func (e *clusterFailover) inheritsTaint() bool {
	if e.st.Attempt > 1 {
		return false
	}
	for _, t := range e.st.Cluster.Ours {
		if karmada.Triggers(t.Effect) {
			return true
		}
	}
	return false
}

func (e *clusterFailover) confirm(reason reason.Reason) {
	e.st.Named = e.now()
	e.on(phase.EventConfirmed, reason)
}

// actConfirmed puts the taints, the evacuation taint included: it must stand before the
// first eviction. It waits for the pacer's first word: a pacer that has yet to look
// whether an installation is new must not find what this failover wrote meanwhile.
func (e *clusterFailover) actConfirmed() {
	if !e.bad() {
		e.st.Well = e.now()
		e.on(phase.EventConditionsWell, reason.ClusterRecovered)
		return
	}
	if e.enforcing() && e.st.Pace.Tier == "" || e.besideEvictor() {
		return
	}
	if !e.taint() {
		return
	}
	e.listDirty = true
	e.on(phase.EventTainted, e.st.Reason)
}

// taint brings the cluster's taints to what the rules ask for; false means that
// this could not be done for now.
func (e *clusterFailover) taint() bool {
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
func (e *clusterFailover) taintVirtually() {
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
			e.auditVirtual(taint, o.Rule)
		}
	}
}

func (e *clusterFailover) evacuationTaintStands() bool {
	return e.stands(karmada.RuleTaint{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule})
}

// writeTaints runs the one activity that writes to the cluster.
func (e *clusterFailover) writeTaints(what string, r activities.TaintRequest) (activities.TaintResult, bool) {
	r.Cluster, r.UID, r.FailoverID, r.Mode, r.ExternalProbe = e.cluster, e.st.UID, e.st.FailoverID, e.st.Terms.Mode, e.externalProbe()
	var out activities.TaintResult
	ctx := doing(e.ctx, what)
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
func (e *clusterFailover) backOff() {
	e.dirty = !e.orders.none()
	e.notBefore = e.now().Add(min(e.st.Terms.Recheck, e.st.Terms.ClusterPoll))
	if e.nextAssess.After(e.notBefore) || !e.nextAssess.After(e.now()) {
		e.nextAssess = e.notBefore // never later than planned: who is refused often would never look again
	}
	e.clusterDirty = false
}

// followRules adds and removes taints of rules while the phase stays: NoSchedule
// ones, and those of a second rule on the same cluster.
func (e *clusterFailover) followRules() {
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

// actEvacuating lists, checks and dispatches, for as long as the failure stands.
func (e *clusterFailover) actEvacuating() {
	if !e.bad() {
		e.st.Well = e.now()
		e.on(phase.EventConditionsWell, reason.ClusterRecovered)
		return
	}
	if !e.taint() {
		return
	}
	e.followRules()
	e.refreshQueue()
	e.preCheck()
	e.dispatch()
	switch done := e.queueDone(); {
	case done && e.st.Phase == phase.FailoverEvacuating:
		e.on(phase.EventQueueDone, e.st.Reason)
	case !done && e.st.Phase == phase.FailoverEvacuated:
		e.on(phase.EventWorkAppeared, e.st.Reason)
	}
}

// queueDone: nothing is queued but what is blocked, and nothing moves but what waits
// for a fence.
func (e *clusterFailover) queueDone() bool {
	if e.st.Listed.IsZero() {
		return false
	}
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m := e.st.Moves[key]; m.Placed || m.Phase != phase.MigrationAwaitingFence {
			return false
		}
	}
	for _, i := range e.st.Items {
		if i.State != ItemIdle && i.State != ItemBlocked {
			return false
		}
	}
	return true
}

// actRecovering dispatches nothing and waits out the removal window.
func (e *clusterFailover) actRecovering() {
	e.st.Grants = nil
	e.followRules()
	switch {
	case e.bad():
		e.st.Well = time.Time{}
		e.listDirty = true
		e.on(phase.EventConditionsBad, reason.ConditionsMatch)
	case e.wellForLong():
		e.on(phase.EventRecoveryConfirmed, reason.ClusterRecovered)
	}
}

// actSettling abandons, restores, then untaints at once, and sees placed
// migrations and pending purge to their end.
func (e *clusterFailover) actSettling() {
	e.closeQueue(nil)
	if e.adoptDirty && !e.bad() {
		return // a hold without an owner was found on the way: it is restored before the untaint
	}
	switch {
	case e.bad():
		e.failAgain()
	case e.st.Settled.IsZero() && e.restoresOpen():
		return
	case e.st.Settled.IsZero():
		e.untaint()
	case e.movesEnded():
		e.close()
	}
}

// close ends a run whose migrations have ended, once nothing of Lifeboat's stands any more.
func (e *clusterFailover) close() {
	switch {
	case len(e.st.Cluster.Ours) > 0 || e.cordonMatches():
		e.st.Reason = reason.Cordoned
		e.followRules() // no run closes while a Lifeboat taint stands, or while the window of one runs
	case e.suspected():
		e.failAgain() // another rule has begun to match: its window goes on in an attempt of its own
	case !e.liftBans():
	case e.pendingPurgesSettled():
		e.end(phase.EventAllSettled, reason.ClusterRecovered)
	}
}

// movesEnded: every child has reported, or does not run any more and left no hold that
// is still to be adopted. Where the queue is closed nothing is listed, which would find
// out those that were terminated.
func (e *clusterFailover) movesEnded() bool {
	if e.adoptDirty {
		return false
	}
	e.pokeSilent()
	return len(e.st.Moves) == 0 && !e.adoptDirty
}

// failAgain: from abandon and restore on, a failure that comes back is a new attempt.
func (e *clusterFailover) failAgain() {
	if e.on(phase.EventFailedAgain, reason.ConditionsMatch) {
		e.newAttempt()
	}
}

// closeQueue ends every queued binding without a write and tells every child,
// once per attempt.
func (e *clusterFailover) closeQueue(cancelled *Order) {
	if !e.st.ClosedAt.IsZero() {
		return
	}
	e.listLate()
	e.st.ClosedAt = e.now()
	e.st.Grants = nil
	for _, i := range e.st.Items {
		e.abandon(i, cancelled)
	}
	e.endLater(phase.OutcomeAbandoned)
	e.st.Items = nil
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m, still := e.st.Moves[key]; still {
			m.Excused = false // by an older attempt
			e.st.Moves[key] = m
			e.signalMove(m, SignalRecover, Recover{Attempt: e.st.Attempt, Cancelled: cancelled, PutBack: e.st.StopPutBack})
		}
	}
}

// restoresOpen: an unplaced migration has neither been restored nor had its time for that.
func (e *clusterFailover) restoresOpen() bool {
	if e.now().Sub(e.st.ClosedAt) > e.st.Terms.RestoreWait {
		return false
	}
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		m := e.st.Moves[key]
		if !m.Placed && !m.Excused && (!m.GoesOn || e.st.Stopped != nil) {
			return true
		}
	}
	return false
}

// untaint removes the taints of this recovery in one write, the evacuation taint with the last.
func (e *clusterFailover) untaint() {
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

// pendingPurgesSettled tells whether old Works are gone, which endOldCopies sees to beside the run,
// or have had their time. Those that are late need attention: two copies serve.
func (e *clusterFailover) pendingPurgesSettled() bool {
	return len(e.st.PendingPurges) == 0 || e.now().Sub(e.st.Settled) > e.st.Terms.PendingPurgeWait
}

// actStopped applies no rule and dispatches nothing. Lifeboat's taints are gone; when
// nothing has matched for the removal window the record of the stop goes too.
func (e *clusterFailover) actStopped() {
	e.closeQueue(e.st.Stopped)
	if e.restoresOpen() {
		return
	}
	if e.st.Settled.IsZero() {
		e.stopTaints()
		return
	}
	if e.bad() || !e.quietForLong() || !e.movesEnded() || !e.liftBans() {
		return
	}
	if e.enforcing() {
		if _, ok := e.writeTaints("remove the record of the stop from "+e.cluster, activities.TaintRequest{ClearStopped: true}); !ok {
			return
		}
	}
	e.end(phase.EventStopSettled, reason.Cancelled)
}

// end closes this failover, unless an order was taken since this turn began: that is
// answered already, and is carried out with the next turn first.
func (e *clusterFailover) end(event phase.FailoverEvent, reason reason.Reason) {
	if !e.orders.none() {
		e.dirty = true
		return
	}
	e.on(event, reason)
}

// stopTaints removes what is Lifeboat's whatever the rules say, and records who stopped.
func (e *clusterFailover) stopTaints() {
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

// quietForLong: no window has matched for its removal time.
func (e *clusterFailover) quietForLong() bool {
	for _, k := range e.st.Windows.SortedKeys() {
		if w := e.st.Windows[k]; w.Matching || !w.Quiet(e.judged) {
			return false
		}
	}
	return true
}

// actGone sees the children out: each drops its own hold task, which loses nothing,
// for the execution namespace is gone with the cluster.
func (e *clusterFailover) actGone() {
	if e.st.ClosedAt.IsZero() {
		e.st.ClosedAt = e.now()
		e.st.Grants = nil
		for _, i := range e.st.Items {
			if i.Was {
				e.record(record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterGone, At: e.now()})
			}
		}
		e.endLater(phase.OutcomeAbandoned)
		e.st.Items = nil
		for _, key := range workflow.DeterministicKeys(e.st.Moves) {
			if m, still := e.st.Moves[key]; still {
				e.signalMove(m, SignalBindingObserved, proof.BindingFact{Key: m.Key, UID: m.UID})
			}
		}
	}
	if e.movesEnded() && e.liftBans() {
		e.on(phase.EventClusterGone, reason.ClusterGone)
	}
}
