package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// actSuspected waits out the windows. Nothing is written before one has run out. Those of
// NoSchedule taints make it Cordoned, where the other windows go on running.
func (e *failover) actSuspected() {
	switch {
	case e.st.UID == "":
		return // not judged yet
	case e.st.Cluster.StopRecord && e.enforcing():
		// The stop that it records is over: that run is not open any more, or was resumed.
		_, ok := e.taints.write("remove a void record of a stop from "+e.cluster, activities.TaintRequest{ClearStopped: true})
		e.dirty = e.dirty || ok // look again at once: the windows may have run out meanwhile
	case e.judgement.inheritsTaint(), e.judgement.evidence().RipeToMove() && len(e.st.Cluster.Foreign) == 0:
		// An earlier run had confirmed this failure and put its taint, or a window has run out.
		e.confirm(e.judgement.whyBad())
	case len(e.st.Cluster.Foreign) > 0:
		e.confirm(reason.ForeignTaint)
	case e.judgement.bad():
		e.st.Reason = reason.WindowRunning
		e.taints.followRules()
	case e.judgement.evidence().MemberAnswers():
		e.st.Reason = reason.MemberAnswers
		e.taints.followRules()
	default:
		e.actUnsuspected()
	}
}

// actUnsuspected ends a suspicion without a failover of workloads: no window runs.
func (e *failover) actUnsuspected() {
	switch {
	case len(e.asks) > 0:
		return // somebody is about to begin a drain, or to put a taint: this is no false alarm
	case e.judgement.onlyCordons():
		e.cordon()
	case e.judgement.nothingOfOurs() && e.st.Phase == phase.FailoverCordoned:
		e.on(phase.EventUncordoned, reason.ClusterRecovered)
	case e.judgement.nothingOfOurs():
		e.on(phase.EventNothingWrong, reason.Blip)
	default:
		// Something of Lifeboat's is left (an earlier attempt, an adopted task): it recovers, it is no false alarm.
		e.st.Well = e.now()
		e.on(phase.EventConditionsWell, reason.ClusterRecovered)
	}
}

func (e *failover) confirm(reason reason.Reason) {
	e.st.Named = e.now()
	e.on(phase.EventConfirmed, reason)
}

// actConfirmed puts the taints, the evacuation taint included: it must stand before the
// first eviction. It waits for the pacer's first word: a pacer that has yet to look
// whether an installation is new must not find what this failover wrote meanwhile.
func (e *failover) actConfirmed() {
	if !e.judgement.bad() {
		e.st.Well = e.now()
		e.on(phase.EventConditionsWell, reason.ClusterRecovered)
		return
	}
	if e.enforcing() && e.st.Pace.Tier == "" || e.st.Beside {
		return
	}
	tainted := e.taints.put()
	if !tainted {
		return
	}
	e.listDirty = true
	e.on(phase.EventTainted, e.st.Reason)
}

// actEvacuating lists, checks and dispatches, for as long as the failure stands.
func (e *failover) actEvacuating() {
	if !e.judgement.bad() {
		e.st.Well = e.now()
		e.on(phase.EventConditionsWell, reason.ClusterRecovered)
		return
	}
	tainted := e.taints.put()
	if !tainted {
		return
	}
	e.taints.followRules()
	e.affected.refresh()
	e.preCheck.step()
	e.dispatcher.dispatch()
	switch done := e.queueDone(); {
	case done && e.st.Phase == phase.FailoverEvacuating:
		e.on(phase.EventQueueDone, e.st.Reason)
	case !done && e.st.Phase == phase.FailoverEvacuated:
		e.on(phase.EventWorkAppeared, e.st.Reason)
	}
}

// queueDone: nothing is queued but what is blocked, and nothing moves but what waits
// for a fence.
func (e *failover) queueDone() bool {
	if e.st.Listed.IsZero() {
		return false
	}
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m := e.st.Moves[key]; m.Placed || m.Phase != phase.MigrationAwaitingFence {
			return false
		}
	}
	for _, i := range e.st.Items {
		if i.State != queue.Idle && i.State != queue.Blocked {
			return false
		}
	}
	return true
}

// actRecovering dispatches nothing and waits out the removal window.
func (e *failover) actRecovering() {
	e.grants.drop()
	e.taints.followRules()
	switch {
	case e.judgement.bad():
		e.st.Well = time.Time{}
		e.listDirty = true
		e.on(phase.EventConditionsBad, reason.ConditionsMatch)
	case e.judgement.wellForLong():
		e.on(phase.EventRecoveryConfirmed, reason.ClusterRecovered)
	}
}

// actSettling abandons, restores, then untaints at once, and sees placed
// migrations and pending purge to their end.
func (e *failover) actSettling() {
	e.closeQueue(nil)
	if e.adoptDirty && !e.judgement.bad() {
		return // a hold without an owner was found on the way: it is restored before the untaint
	}
	switch {
	case e.judgement.bad():
		e.failAgain()
	case e.st.Settled.IsZero() && e.children.restoresOpen():
		return
	case e.st.Settled.IsZero():
		again := e.taints.untaint()
		if again {
			e.failAgain()
		}
	default:
		ended := e.children.allEnded()
		if ended {
			e.close()
		}
	}
}

// close ends a run whose migrations have ended, once nothing of Lifeboat's stands any more.
func (e *failover) close() {
	switch {
	case len(e.st.Cluster.Ours) > 0 || e.judgement.evidence().CordonMatches():
		e.st.Reason = reason.Cordoned
		e.taints.followRules() // no run closes while a Lifeboat taint stands, or while the window of one runs
	case e.judgement.evidence().Suspected():
		e.failAgain() // another rule has begun to match: its window goes on in an attempt of its own
	default:
		lifted := e.draining.liftBans()
		if lifted && e.oldCopies.settled() {
			e.end(phase.EventAllSettled, reason.ClusterRecovered)
		}
	}
}

// failAgain: from abandon and restore on, a failure that comes back is a new attempt.
func (e *failover) failAgain() {
	if e.on(phase.EventFailedAgain, reason.ConditionsMatch) {
		e.newAttempt()
	}
}

// closeQueue ends every queued binding without a write and tells every child,
// once per attempt.
func (e *failover) closeQueue(cancelled *workflows.Order) {
	if !e.st.ClosedAt.IsZero() {
		return
	}
	e.affected.listLate()
	e.st.ClosedAt = e.now()
	e.grants.drop()
	for _, i := range e.st.Items {
		e.outcomes.abandon(i, cancelled)
	}
	e.outcomes.endLater(phase.OutcomeAbandoned)
	e.st.Items = nil
	e.children.tellRecovery(cancelled)
}

// actStopped applies no rule and dispatches nothing. Lifeboat's taints are gone; when
// nothing has matched for the removal window the record of the stop goes too.
func (e *failover) actStopped() {
	e.closeQueue(e.st.Stopped)
	if e.children.restoresOpen() {
		return
	}
	if e.st.Settled.IsZero() {
		e.taints.stop()
		return
	}
	if e.judgement.bad() || !e.judgement.evidence().Quiet() {
		return
	}
	left := e.leaveCluster()
	if !left {
		return
	}
	if e.enforcing() {
		if _, ok := e.taints.write("remove the record of the stop from "+e.cluster, activities.TaintRequest{ClearStopped: true}); !ok {
			return
		}
	}
	e.end(phase.EventStopSettled, reason.Cancelled)
}

// end closes this failover, unless an order was taken since this turn began: that is
// answered already, and is carried out with the next turn first.
func (e *failover) end(event phase.FailoverEvent, reason reason.Reason) {
	if !e.orders.none() {
		e.dirty = true
		return
	}
	e.on(event, reason)
}

// actGone sees the children out: each drops its own hold task, which loses nothing,
// for the execution namespace is gone with the cluster.
func (e *failover) actGone() {
	if e.st.ClosedAt.IsZero() {
		e.st.ClosedAt = e.now()
		e.grants.drop()
		for _, i := range e.st.Items {
			if i.Was {
				e.outcomes.keep(record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterGone, At: e.now()})
			}
		}
		e.outcomes.endLater(phase.OutcomeAbandoned)
		e.st.Items = nil
		e.children.tellAll(workflows.SignalBindingObserved, func(m workflows.Move) any { return proof.BindingFact{Key: m.Key, UID: m.UID} })
	}
	left := e.leaveCluster()
	if left {
		e.on(phase.EventClusterGone, reason.ClusterGone)
	}
}

// leaveCluster sees the children out, then frees what a drain banned; false as long as one of them
// runs, or where that could not be done for now.
func (e *failover) leaveCluster() bool {
	ended := e.children.allEnded()
	if !ended {
		return false
	}
	return e.draining.liftBans()
}

// cordon carries out the rules that put NoSchedule taints alone: each taint by its own windows.
// Nothing is listed and no permit is requested, because no workload moves.
func (e *failover) cordon() {
	e.st.Reason = reason.WindowRunning
	switch {
	case !e.enforcing():
		e.taints.cordonVirtually()
	default:
		e.taints.followRules()
	}
	if !e.judgement.evidence().CordonStands() {
		return
	}
	e.st.Reason = reason.Cordoned
	if e.st.Phase == phase.FailoverSuspected {
		e.on(phase.EventCordoned, reason.Cordoned)
	}
}
