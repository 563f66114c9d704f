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
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// actSuspected waits out the windows. No taint is put before its own has run out, and no workload moves before one
// of those that move workloads has. Where only rules of NoSchedule taints match it becomes Cordoned.
func (f *failover) actSuspected() {
	switch {
	case f.st.UID == "", f.st.Windows == nil:
		return // not judged yet, or not since an operator resumed
	case f.st.Cluster.StopRecord && f.enforcing():
		// The stop that it records is over: that run is not open any more, or was resumed.
		_, ok := f.taints.write("remove a void record of a stop from "+f.cluster, activities.TaintRequest{ClearStopped: true})
		f.dirty = f.dirty || ok // look again at once: the windows may have run out meanwhile
	case f.judgement.inheritsTaint(), f.judgement.evidence().ConfirmsFailure() && len(f.st.Cluster.Foreign) == 0:
		// An earlier run had confirmed this failure and put its taint, or a window has run out.
		f.confirm(f.judgement.whyFailing())
	case len(f.st.Cluster.Foreign) > 0:
		f.confirm(reason.ForeignTaint)
	case f.judgement.thisFailureStands():
		f.st.Reason = reason.WindowRunning
		f.taints.followRules()
	case f.judgement.evidence().MemberAnswers():
		f.st.Reason = reason.MemberAnswers
		f.taints.followRules()
	default:
		f.actUnsuspected()
	}
}

// actUnsuspected ends a suspicion without a failover of workloads: no window runs.
func (f *failover) actUnsuspected() {
	switch {
	case len(f.asks) > 0:
		return // an operator is about to begin a drain, or to put a taint: this is no false alarm
	case f.judgement.onlyCordons():
		f.cordon()
	case f.judgement.isUntouched() && f.st.Phase == phase.FailoverCordoned:
		f.on(phase.EventUncordoned, reason.ClusterRecovered)
	case f.judgement.isUntouched():
		f.on(phase.EventNothingWrong, reason.Blip)
	default:
		// Something of Lifeboat's is left (an earlier attempt, an adopted task): it recovers, it is no false alarm.
		f.beginRecovery()
	}
}

// beginRecovery dispatches nothing from now on: the removal window, which began at the mismatch, is waited out.
func (f *failover) beginRecovery() {
	f.st.WellSince = f.now()
	f.on(phase.EventConditionsWell, reason.ClusterRecovered)
}

func (f *failover) confirm(reason reason.Reason) {
	f.st.Confirmed = f.now()
	f.st.AdoptDirty, f.st.Declined = f.st.AdoptDirty || f.st.Declined, false
	f.on(phase.EventConfirmed, reason)
}

// actConfirmed puts the taints, the evacuation taint included: it must stand before the
// first eviction. It waits for the pacer's first signal: a pacer that has yet to look
// whether an installation is new must not find what this failover wrote meanwhile.
func (f *failover) actConfirmed() {
	if !f.judgement.thisFailureStands() {
		f.beginRecovery()
		return
	}
	if f.enforcing() && f.st.Pace.Tier == "" || f.st.Beside {
		return
	}
	f.prepare()
	if !f.orders.none() {
		return // it is obeyed first
	}
	tainted := f.taints.put()
	if !tainted {
		return
	}
	f.on(phase.EventTainted, f.st.Reason)
	if f.evacuating() && f.orders.none() && !f.clusterDirty && len(f.st.Facts) == 0 {
		f.actEvacuating() // at once: nothing was received that comes first
	}
}

// prepareFor bounds how long the taint waits for the first pre-check.
const prepareFor = 2 * time.Second

// prepare does ahead of the taint, once per attempt, what the first evictions would wait for after it: it lists the
// affected set, judges it under the taints that are about to stand, has the first batch checked, and requests
// permits for what passed. What fails or takes longer is done after the taint.
func (f *failover) prepare() {
	if !f.enforcing() || f.prepared.Equal(f.st.Confirmed) {
		return
	}
	f.prepared = f.st.Confirmed
	f.affected.foresee(f.taints.foreseen())
	f.preCheck.step()
	_ = flow.AwaitFor(f.ctx, prepareFor, "put the taint, though the first pre-check has not ended", func() bool {
		return f.preCheck.answered() || !f.orders.none()
	})
	f.preCheck.step()
	f.dispatcher.requestAhead()
}

// actEvacuating lists, checks and dispatches, for as long as the failure stands.
func (f *failover) actEvacuating() {
	if !f.judgement.thisFailureStands() {
		f.beginRecovery()
		return
	}
	tainted := f.taints.put()
	if !tainted {
		return
	}
	f.taints.followRules()
	f.affected.refresh()
	f.preCheck.step()
	f.dispatcher.dispatch()
	switch done := f.queueDone(); {
	case done && f.st.Phase == phase.FailoverEvacuating:
		f.on(phase.EventQueueDone, f.st.Reason)
	case !done:
		f.appeared(f.st.Reason)
	}
}

// appeared ends the phase in which nothing is left to move.
func (f *failover) appeared(why reason.Reason) {
	if f.st.Phase == phase.FailoverEvacuated {
		f.on(phase.EventWorkAppeared, why)
	}
}

// queueDone: nothing is queued but what is blocked by more than a failed attempt, and nothing moves but what waits for a
// fence, or for workloads that are blocked. Bindings that were not judged under the taints that stand are not known.
func (f *failover) queueDone() bool {
	if f.st.Listed.IsZero() || f.affected.listing != nil || !f.affected.policies.current() {
		return false
	}
	if !f.migrations.onlyWait() {
		return false
	}
	for at := range f.st.Items {
		i := &f.st.Items[at]
		if i.State != queue.Idle && i.State != queue.Blocked || i.AttemptFailed() {
			return false
		}
	}
	return true
}

// actRecovering dispatches nothing and waits out the removal window.
func (f *failover) actRecovering() {
	f.grants.drop()
	f.taints.followRules()
	switch {
	case f.judgement.thisFailureStands():
		f.st.WellSince = time.Time{}
		f.st.ListDirty = true
		f.on(phase.EventConditionsBad, reason.ConditionsMatch)
	case f.judgement.recoveryConfirmed():
		f.on(phase.EventRecoveryConfirmed, reason.ClusterRecovered)
	}
}

// actSettling abandons, restores, then untaints at once, and sees placed
// migrations and pending purge to their end.
func (f *failover) actSettling() {
	f.closeQueue(nil)
	if f.st.AdoptDirty && !f.judgement.thisFailureStands() {
		return // a hold without an owner was found on the way: it is restored before the untaint
	}
	switch {
	case f.judgement.thisFailureStands():
		f.failAgain()
	case f.st.Untainted.IsZero() && f.migrations.restoresOpen():
		return
	case f.st.Untainted.IsZero():
		again := f.taints.untaint()
		if again {
			f.failAgain()
		}
	default:
		ended := f.migrations.allEnded()
		if ended {
			f.close()
		}
	}
}

// close ends a run whose migrations have ended, once nothing of Lifeboat's stands any more.
func (f *failover) close() {
	switch {
	case len(f.st.Cluster.Added) > 0 || f.judgement.evidence().CordonMatches():
		f.st.Reason = reason.Cordoned
		f.taints.followRules() // no run closes while a Lifeboat taint stands, or while the window of one runs
	case f.judgement.evidence().Suspected():
		f.failAgain() // another rule has begun to match: its window goes on in an attempt of its own
	default:
		lifted := f.draining.liftBans()
		if lifted && f.oldCopies.settled() {
			f.end(phase.EventAllSettled, reason.ClusterRecovered)
		}
	}
}

// failAgain: from abandon and restore on, a failure that comes back is a new attempt.
func (f *failover) failAgain() {
	if f.on(phase.EventFailedAgain, reason.ConditionsMatch) {
		f.newAttempt()
	}
}

// closeQueue ends every queued binding without a write and signals to every migration,
// once per attempt.
func (f *failover) closeQueue(cancelled *workflows.Order) {
	if !f.st.ClosedAt.IsZero() {
		return
	}
	f.affected.listLate()
	f.endQueue(func(i queue.Item) { f.outcomes.abandon(i, cancelled) })
	f.migrations.signalRecovery(cancelled)
}

// endQueue dispatches nothing any more, and ends every queued binding.
func (f *failover) endQueue(end func(queue.Item)) {
	f.st.ClosedAt = f.now()
	f.grants.drop()
	for _, i := range f.st.Items {
		end(i)
	}
	f.outcomes.endLater(phase.OutcomeAbandoned)
	f.st.Items = nil
}

// actStopped applies no rule and dispatches nothing. Lifeboat's taints are gone; when
// nothing has matched for the removal window the record of the stop goes too.
func (f *failover) actStopped() {
	f.closeQueue(f.st.Stopped)
	if f.migrations.restoresOpen() {
		return
	}
	if f.st.Untainted.IsZero() {
		f.taints.stop()
		return
	}
	if f.judgement.thisFailureStands() || !f.judgement.evidence().Quiet() {
		return
	}
	left := f.leaveCluster()
	if !left {
		return
	}
	if f.enforcing() {
		if _, ok := f.taints.write("remove the record of the stop from "+f.cluster, activities.TaintRequest{ClearStopped: true}); !ok {
			return
		}
	}
	f.end(phase.EventStopSettled, reason.Cancelled)
}

// end closes this failover, unless an order was taken since this turn began: that is
// answered already, and is carried out with the next turn first.
func (f *failover) end(event phase.FailoverEvent, reason reason.Reason) {
	if !f.orders.none() {
		f.dirty = true
		return
	}
	f.on(event, reason)
}

// actGone waits for the migrations: each drops its own hold task, which loses nothing,
// for the execution namespace is gone with the cluster.
func (f *failover) actGone() {
	if f.st.ClosedAt.IsZero() {
		f.endQueue(func(i queue.Item) {
			if i.Affected {
				f.outcomes.keep(record.Result{Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterGone, At: f.now()})
			}
		})
		f.migrations.signalAll(workflows.SignalBindingObserved, func(m workflows.Migration) any { return proof.BindingFact{Key: m.Key, UID: m.UID} })
	}
	left := f.leaveCluster()
	if left {
		f.on(phase.EventClusterGone, reason.ClusterGone)
	}
}

// leaveCluster waits for the migrations, then frees what a drain banned; false as long as one of them
// runs, or where that could not be done for now.
func (f *failover) leaveCluster() bool {
	ended := f.migrations.allEnded()
	if !ended {
		return false
	}
	return f.draining.liftBans()
}

// cordon carries out the rules that put NoSchedule taints alone: each taint by its own windows.
// Nothing is listed and no permit is requested, because no workload moves.
func (f *failover) cordon() {
	f.st.Reason = reason.WindowRunning
	switch {
	case !f.enforcing():
		f.taints.cordonVirtually()
	default:
		f.taints.followRules()
	}
	if !f.judgement.evidence().CordonStands() {
		return
	}
	f.st.Reason = reason.Cordoned
	if f.st.Phase == phase.FailoverSuspected {
		f.on(phase.EventCordoned, reason.Cordoned)
	}
}
