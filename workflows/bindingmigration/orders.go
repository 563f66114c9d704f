package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

func (m *migration) orderCancel(o workflows.CancelOrder) string {
	m.orderedBy(workflows.UpdateCancel, o.Order, "putBack", flow.Yes(o.PutBack))
	m.cancel(o.Order, o.PutBack)
	return "cancelled: nothing written is lost; an unplaced binding is put back, a placed one is left to a human"
}

// heldOrder is an order about a held copy.
func (m *migration) heldOrder(verb, description, answer string, take func(workflows.Order)) flow.Update {
	return flow.Ordered(verb, description, m.refuseHeldOrder, func(o workflows.Order) string {
		m.orderedBy(verb, o)
		take(o)
		return answer
	})
}

// orderPutBack and orderRelease take an order. It replaces an older one that is not carried
// out yet.
func (m *migration) orderPutBack(o workflows.Order) {
	m.st.PutBack, m.st.Drop, m.st.Refusal, m.dirty = &o, nil, "", true
}

func (m *migration) orderRelease(o workflows.Order) {
	m.st.PutBack, m.st.Drop, m.st.Refusal, m.dirty = nil, &o, "", true
}

// refuseCancel refuses a cancel that comes too late.
func (m *migration) refuseCancel(o workflows.CancelOrder) error {
	if m.over() {
		return m.tooLate()
	}
	return flow.RefuseOrder(o.Order)
}

// tooLate says why an order about what is over is refused.
func (m *migration) tooLate() error {
	if m.st.Result != nil && !m.st.Wrote {
		return flow.Refused("it has just ended, with nothing written (" + string(m.st.Result.Outcome) + "); order it of the failover of " + m.st.Ref.Cluster)
	}
	return flow.Refused("released already: what was released does not come back")
}

// refuseHeldOrder refuses orders about an old copy that is not held, or not any more.
func (m *migration) refuseHeldOrder(o workflows.Order) error {
	switch {
	case m.over():
		return m.tooLate()
	case m.direct() && m.st.Phase != phase.MigrationAwaitingHealth:
		return flow.Refused("purge mode Directly: Karmada deletes the old copy; confirm-fenced is what lets it go on")
	case !m.st.Wrote:
		return flow.Refused("nothing of Lifeboat's stands yet; cancel it instead")
	case !m.st.RestoredAt.IsZero():
		return flow.Refused("it was just put back on " + m.st.Ref.Cluster + ": no old copy is held any more")
	}
	return flow.RefuseOrder(o)
}

// over tells that Lifeboat's task is dropped.
func (m *migration) over() bool {
	return m.st.Phase == phase.MigrationPurging || m.st.Phase == phase.MigrationDone
}

// ordered by a human through the ClusterFailover.
func (m *migration) takeOrder(o workflows.MigrationOrder) {
	if o.Malformed() != "" || m.over() {
		m.log.Warn("ignored an order that is malformed or late", "verb", o.Verb, "who", o.Who)
		return
	}
	m.dirty = true
	switch o.Verb {
	case workflows.UpdateCancel:
		m.cancel(o.Order, o.PutBack)
	case workflows.UpdatePutBack:
		m.orderPutBack(o.Order)
	case workflows.UpdateRelease:
		m.orderRelease(o.Order)
	case workflows.UpdatePause:
		m.st.Paused = &o.Order
	case workflows.UpdateResume:
		m.st.Paused = nil
	default:
		m.log.Warn("ignored an order that it does not know", "verb", o.Verb, "who", o.Who)
	}
}

// cancel takes an order to stop; the first one is named as the cause. It replaces an older
// put-back or release. What was released does not come back, and is not said to have been
// put back either.
func (m *migration) cancel(o workflows.Order, putBack bool) {
	if m.st.Cancelled == nil {
		m.st.Cancelled, m.dirty = &o, true
	}
	if m.over() {
		return
	}
	m.st.PutBack, m.st.Drop, m.dirty = nil, nil, true
	if putBack {
		m.st.PutBack = &o
	}
}

// calledOff tells that an order came, while the old placement was being put back, that wants
// the new one kept: a release, or a cancel without put-back of what is placed. Nothing is
// placed yet: then a recovery takes it back all the same.
func (m *migration) calledOff() bool {
	switch {
	case m.st.PutBack != nil:
		return false
	case m.st.Drop != nil:
		return m.st.Recover == nil || m.st.Placed
	default:
		return m.st.Cancelled != nil && m.st.Placed
	}
}

// obeys does what was ordered of a binding that we hold, whichever phase holds it.
// False means that nothing is ordered that this look can settle.
func (m *migration) obeys(o activities.Observation) bool {
	if m.direct() {
		m.refuseDirect(o)
	}
	switch {
	case m.st.Ref.Named && m.st.Drop == nil && m.st.PutBack == nil:
		m.end(phase.EventNeedsOperator, record.Result{
			Outcome: phase.OutcomeNeedsOperator, Reason: reason.PutBackRefused, Message: m.st.Refusal,
		})
	case m.st.Drop != nil && len(o.Targets) > 0:
		m.releaseNow()
	case m.st.PutBack != nil, m.restoreOrdered(o):
		m.on(phase.EventRestoreOrdered)
	case m.st.Cancelled != nil && m.st.Phase != phase.MigrationPlacing:
		m.leave()
	case m.st.Ref.Named && m.st.Drop != nil:
		m.end(phase.EventNeedsOperator, record.Result{
			Outcome: phase.OutcomeNeedsOperator, Reason: reason.NotPlaced, Message: "it has no target cluster: the held copy is the last one",
		})
	default:
		return false
	}
	return true
}

// restoreOrdered tells that a recovery takes an unplaced binding back, or a cancel that no
// release has replaced.
func (m *migration) restoreOrdered(o activities.Observation) bool {
	cancelled := m.st.Cancelled != nil && m.st.Drop == nil
	return (m.st.Recover != nil || cancelled) && !o.Placed.OK && !m.goesOn(o) && !m.justRefused()
}

// refuseDirect drops orders that purge mode Directly cannot follow: its old copy is
// being deleted, and two must never run. Once it is gone, and only the health of a copy
// with its state is waited for, a release harms nobody.
func (m *migration) refuseDirect(o activities.Observation) {
	if m.st.Drop != nil && m.st.Phase != phase.MigrationAwaitingHealth {
		m.refuse(reason.AwaitingFence, "release refused: purge mode Directly; confirm that the old copy is fenced instead")
	}
	if m.st.PutBack != nil && o.Placed.OK {
		m.refuse(reason.PutBackRefused, "put-back refused: purge mode Directly, and it is placed")
	}
}

// dropOrder drops the put-back or release that stands; whoever gave it is told why.
func (m *migration) dropOrder(why string) {
	order := m.st.PutBack
	if order == nil {
		order = m.st.Drop
	}
	m.st.PutBack, m.st.Drop, m.st.Refusal = nil, nil, reason.Summary(why)
	if order != nil {
		m.st.RefusedID = order.ID
	}
}

// refuse is dropOrder for a migration that goes on.
func (m *migration) refuse(reason reason.Reason, why string) {
	m.dropOrder(why)
	m.attention(reason, m.st.Refusal)
	m.tell(nil)
}

// calledBack tells that somebody ordered otherwise before the task was dropped: it
// goes back to where that is obeyed. With its cluster gone there is nothing to obey.
func (m *migration) calledBack() bool {
	if m.st.SourceGone || m.st.Drop != nil || (m.st.PutBack == nil && m.st.Cancelled == nil) {
		return false
	}
	if m.direct() {
		m.on(phase.EventFenceAsked)
	} else {
		m.on(phase.EventReleaseRefused)
	}
	return true
}

// releaseNow goes straight to the release: a human took the decision.
func (m *migration) releaseNow() {
	if m.st.Phase == phase.MigrationAwaitingFence { // the task's purge mode was edited meanwhile
		m.on(phase.EventFenced)
		return
	}
	if m.st.Phase == phase.MigrationPlacing {
		m.on(phase.EventPlaced)
	}
	m.on(phase.EventProvenHealthy)
}

// putBackRefused drops the order, says why, and goes on. A task that was left to a
// human before stays so.
func (m *migration) putBackRefused(out activities.ActResult) {
	if m.st.Ref.Named {
		m.dropOrder("put-back refused: " + out.Message)
		m.end(phase.EventNeedsOperator, record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: out.Reason, Message: m.st.Refusal})
		return
	}
	m.refuse(out.Reason, "put-back refused: "+out.Message)
	m.on(phase.EventRestoreRefused)
}

// failsAgain: the cluster that was to take it back looks failed again. What is placed
// goes on for good; what is not goes on for now, and the restore is tried again, for
// only the act itself sees how the cluster stands.
func (m *migration) failsAgain(out activities.ActResult) {
	if m.st.Placed {
		m.st.Recover = nil
	}
	m.st.RefusedAt = workflow.Now(m.ctx)
	m.note(out.Reason, out.Message)
	m.on(phase.EventRestoreRefused)
}

// justRefused keeps a refused restore from being tried again at once.
func (m *migration) justRefused() bool {
	return !m.st.RefusedAt.IsZero() && workflow.Now(m.ctx).Sub(m.st.RefusedAt) < m.st.Terms.Recheck
}

// returned: Lifeboat's task is gone and the cluster is a target. The failing target's own
// migration put it back, or another hand did; it is a restore, to be seen through.
func (m *migration) returned() {
	m.on(phase.EventRestoreOrdered)
	m.st.RestoredAt = workflow.Now(m.ctx)
	m.st.Swapped, m.st.Placed = true, false
}

// wakeSwapped wakes the migration whose former cluster took over in Lifeboat's write: no
// task names it any more, so nobody else would, and it has to look at once.
func (m *migration) wakeSwapped(out activities.EvictResult) {
	if out.Swapped == "" {
		return
	}
	m.acted(record.AuditBindingSwapped, record.Audit{Reason: reason.Swapped}, "former", out.Swapped, "owner", out.SwapOwner)
	fact := proof.BindingFact{Key: m.st.Ref.Key, UID: m.st.Ref.UID}
	if err := workflow.SignalExternalWorkflow(m.ctx, out.SwapOwner, "", workflows.SignalBindingObserved, fact).Get(m.ctx, nil); err != nil {
		m.log.Warn("could not wake the migration that it was swapped with", "workflow", out.SwapOwner, "error", err)
	}
}

// leave keeps both copies and leaves the task to a human.
func (m *migration) leave() {
	m.mark("leave both copies of "+m.st.Ref.Key.String()+" to a human", karmada.TaskReasonNeedsOperator, phase.EventNeedsOperator, record.Result{
		Outcome: phase.OutcomeNeedsOperator, Reason: reason.Cancelled, Message: m.st.Refusal, To: m.st.To,
	})
}

// mark gives Lifeboat's task its last reason and ends: from then on no Lifeboat run touches it.
func (m *migration) mark(summary, why string, e phase.MigrationEvent, r record.Result) {
	var out activities.ActResult
	ctx := flow.Doing(m.ctx, summary)
	err := workflow.ExecuteActivity(ctx, activities.NameMarkTask, activities.MarkRequest{MoveRef: m.st.Ref, Reason: why}).Get(ctx, &out)
	switch {
	case err != nil:
		m.note(reason.Unreachable, err.Error())
		m.wait(m.st.Terms.Recheck, "try again to mark the task")
	case out.End == activities.ActRefused:
		m.note(out.Reason, out.Message)
		m.wait(m.st.Terms.Recheck, "try again to mark the task")
	case out.End == activities.ActGone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case !out.Look.Held:
		// Another hand dropped it since the last look: the next one says what that means.
	default:
		m.acted(record.AuditBindingMarked, record.Audit{Reason: r.Reason, Message: why, To: r.To})
		m.end(e, r)
	}
}
