package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// orders are what was ordered of the migration: Intent, Paused and RefusedAt are their own.
type orders struct {
	*course
	intent *workflows.Intent
}

// recovered takes the signal of its ClusterFailover. One about an older attempt came late.
func (or *orders) recovered(r workflows.Recover) {
	switch {
	case r.Attempt <= 0 || (r.Cancelled != nil && r.Cancelled.Malformed() != ""):
		or.log.Warn("ignored a malformed signal", "signal", workflows.SignalRecover, "attempt", r.Attempt)
	case r.Attempt < or.st.Attempt:
		or.log.Info("ignored an old signal", "signal", workflows.SignalRecover, "attempt", r.Attempt)
	case r.Cancelled != nil && repeats(or.intent.Recover, r):
		or.log.Info("ignored a repeated signal", "signal", workflows.SignalRecover, "attempt", r.Attempt)
	case r.Cancelled != nil:
		or.intent.Recover = &r
		or.cancel(*r.Cancelled, r.PutBack)
	default:
		if or.intent.Recover != nil && r.Attempt > or.intent.Recover.Attempt {
			or.restoreAnew()
			or.st.Home = ""
		}
		or.intent.Recover, or.dirty = &r, true
	}
}

// restoreAnew gives a restore that an older attempt asked for its time once more: what the
// scheduler did not answer then excuses it from delaying no later untaint.
func (or *orders) restoreAnew() {
	if or.st.Phase != phase.MigrationRestoring {
		return
	}
	or.st.Entered = workflow.Now(or.ctx)
	if or.st.Attention == reason.RestoreUnanswered {
		or.st.Attention = reason.None
	}
}

// repeats reports whether a cancelled failover repeats itself, as one does that has just taken over:
// what was ordered of this binding since is newer.
func repeats(r *workflows.Recover, o workflows.Recover) bool {
	return r != nil && r.Cancelled != nil && o.Cancelled != nil &&
		r.Attempt == o.Attempt && r.PutBack == o.PutBack && *r.Cancelled == *o.Cancelled
}

// goesOn: Karmada has begun to delete the old copy, and a recovery cannot take that
// back. A cancel can still take it back, and so can the scheduler when
// it has put the cluster back itself.
func (or *orders) goesOn(o activities.Observation) bool {
	return or.st.Directly() && or.intent.Cancelled == nil && !o.Targeted
}

func (or *orders) orderCancel(o workflows.CancelOrder) string {
	or.orderedBy(workflows.UpdateCancel, o.Order, "putBack", flow.Yes(o.PutBack))
	or.cancel(o.Order, o.PutBack)
	return "cancelled: nothing written is lost; an unplaced binding is put back, a placed one is left to an operator"
}

// heldOrder is an order about a held copy.
func (or *orders) heldOrder(verb, description, answer string, kind workflows.IntentKind) flow.Update {
	return flow.Ordered(verb, description, or.refuseHeldOrder, func(o workflows.Order) string {
		or.orderedBy(verb, o)
		or.orderHeld(kind, o)
		return answer
	})
}

// orderHeld takes a put-back or a release. It replaces an older one that is not carried out yet.
func (or *orders) orderHeld(kind workflows.IntentKind, o workflows.Order) {
	or.intent.Order(kind, o)
	or.dirty = true
}

// refuseCancel refuses a cancel that comes too late.
func (or *orders) refuseCancel(o workflows.CancelOrder) error {
	if or.st.Over() {
		return flow.Refused(or.tooLate())
	}
	return flow.RefuseOrder(o.Order)
}

// tooLate says why an order about what is over is refused.
func (or *orders) tooLate() string {
	if or.st.Result != nil && !or.st.Wrote() {
		return "it has just ended, with nothing written (" + string(or.st.Result.Outcome) + "); order it of the failover of " + or.st.Ref.Cluster
	}
	return workflows.ReleasedAlready
}

// backAgain says why a release of what was just restored is refused.
func (or *orders) backAgain() string {
	return "it was just put back on " + or.st.Ref.Cluster + ": no old copy is held any more"
}

// refuseHeldOrder refuses orders about an old copy that is not held, or not any more.
func (or *orders) refuseHeldOrder(o workflows.Order) error {
	switch {
	case or.st.Over():
		return flow.Refused(or.tooLate())
	case or.st.Directly() && or.st.Phase != phase.MigrationAwaitingHealth:
		return flow.Refused("purge mode Directly: Karmada deletes the old copy; confirm-fenced is what lets it go on")
	case !or.st.Wrote():
		return flow.Refused("nothing of Lifeboat's stands yet; cancel it instead")
	case or.st.Restored.MayStand():
		return flow.Refused(or.backAgain())
	}
	return flow.RefuseOrder(o)
}

// late is why an order about the held copy comes too late, empty where it does not.
func (or *orders) late(verb string) string {
	switch {
	case verb != workflows.UpdatePutBack && verb != workflows.UpdateRelease:
		return ""
	case or.st.Over():
		return or.tooLate()
	case verb == workflows.UpdateRelease && or.st.Restored.MayStand():
		return or.backAgain()
	default:
		return ""
	}
}

// ordered by an operator through the ClusterFailover.
func (or *orders) takeOrder(o workflows.MigrationOrder) {
	switch late := or.late(o.Verb); {
	case o.Malformed() != "", late == "" && or.st.Over():
		or.log.Warn("ignored an order that is malformed or late", "verb", o.Verb, "who", o.Who)
		return
	case late != "":
		or.intent.RefuseLate(o.ID, late)
		or.reportBeside()
		return
	}
	or.dirty = true
	switch o.Verb {
	case workflows.UpdateCancel:
		or.cancel(o.Order, o.PutBack)
	case workflows.UpdatePutBack:
		or.orderHeld(workflows.IntentPutBack, o.Order)
	case workflows.UpdateRelease:
		or.orderHeld(workflows.IntentRelease, o.Order)
		or.refuseUnwritten()
	case workflows.UpdatePause:
		or.st.Paused = &o.Order
	case workflows.UpdateResume:
		or.st.Paused = nil
	default:
		or.log.Warn("ignored an order that it does not know", "verb", o.Verb, "who", o.Who)
	}
}

// refuseUnwritten drops a release while nothing is written: carried out after the eviction, it would end the
// old copy before the new one is proven.
func (or *orders) refuseUnwritten() {
	if !or.st.Unwritten() || !or.intent.Releases() {
		return
	}
	or.intent.Refuse("release refused: nothing of Lifeboat's stands yet; cancel it instead")
	or.reportBeside()
}

// cancel takes an order to stop; the first one is named as the cause. It replaces an older
// put-back or release. What was released does not come back, and is not said to have been
// put back either. A put-back that may be written already is not replaced.
func (or *orders) cancel(o workflows.Order, putBack bool) {
	if or.intent.Cancelled == nil {
		or.intent.Cancelled, or.dirty = &o, true
	}
	if or.st.Over() || or.st.Restored.MayStand() && or.intent.Held != nil {
		return
	}
	if or.intent.Held != nil {
		or.intent.Refuse("a newer cancel by " + o.Who + " has replaced it")
	}
	or.dirty = true
	if putBack {
		or.intent.Held = &workflows.HeldOrder{Kind: workflows.IntentPutBack, Order: o}
	}
}

// restoreCalledOff reports whether an order that keeps the new placement came while the old one was
// being put back: a release, or a cancel without put-back of what is placed. Where nothing is
// placed yet, a recovery puts it back in spite of a release.
func (or *orders) restoreCalledOff() bool {
	switch {
	case or.intent.PutsBack():
		return false
	case or.intent.Releases():
		return or.intent.Recover == nil || or.st.Placed
	default:
		return or.intent.Cancelled != nil && or.st.Placed
	}
}

// releasesUndone reports whether a release counts though the cluster has recovered: the scheduler would undo the restore, and
// the old copy is not the last one.
func (or *orders) releasesUndone(out activities.ActResult) bool {
	return out.Reason == reason.RestoreUndone && or.intent.Releases() && out.Look.HasTarget()
}

// takesBack is what takes an evicted binding back, empty for nothing: a put-back, or, where it is not
// placed, a cancel that no release has replaced, or the recovery (R4.9-12). What a recovery means before the eviction is
// decided in evict.go and fence.go (R4.9-11), and for what is placed and healthy in health.go, by proceed (R4.9-16, R4.9-17),
// and in release.go for what serves workloads that all stay (R4.9-17).
func (or *orders) takesBack(o activities.Observation) phase.MigrationEvent {
	switch {
	case or.intent.PutsBack():
		return phase.EventRestoreOrdered
	case o.Placed.OK || or.goesOn(o) || or.justRefused():
		return ""
	case or.intent.Cancelled != nil && !or.intent.Releases():
		return phase.EventRestoreOrdered
	case or.intent.Recover != nil:
		return phase.EventRecovered
	default:
		return ""
	}
}

// refuseDirect drops orders that purge mode Directly cannot follow: its old copy is
// being deleted, and two must never run. Once it is gone, and only the health of a copy
// with its state is waited for, a release is safe. Of what an operator named the release itself judges that.
func (or *orders) refuseDirect(o activities.Observation) {
	if or.intent.Releases() && or.st.Phase != phase.MigrationAwaitingHealth && !or.st.Ref.Named {
		or.refuse(reason.AwaitingFence, "release refused: purge mode Directly; confirm that the old copy is fenced instead")
	}
	if or.intent.PutsBack() && o.Placed.OK {
		or.refuse(reason.PutBackRefused, "put-back refused: purge mode Directly, and it is placed")
	}
}

// refuse drops the order about the held copy, in a migration that goes on.
func (or *orders) refuse(cause reason.Reason, why string) {
	or.intent.Refuse(reason.Summary(why))
	or.attention(cause, or.intent.Refusal)
	or.report(nil)
}

// justRefused keeps a refused restore from being tried again at once.
func (or *orders) justRefused() bool {
	return !or.st.RefusedAt.IsZero() && workflow.Now(or.ctx).Sub(or.st.RefusedAt) < or.st.Terms.Recheck
}

// obeys does what was ordered of a binding that Lifeboat holds, whichever phase holds it.
// False means that nothing is ordered that this look can settle.
func (m *migration) obeys(o activities.Observation) bool {
	if m.st.Directly() {
		m.orders.refuseDirect(o)
	}
	back := m.orders.takesBack(o)
	switch {
	case m.st.Ref.Named && m.st.Intent.Held == nil:
		m.end(record.Result{
			Outcome: phase.OutcomeNeedsOperator, Reason: reason.PutBackRefused, Message: m.st.Intent.Refusal,
		})
	case m.st.Intent.Releases() && o.HasTarget():
		m.on(phase.EventReleaseOrdered)
	case back != "":
		m.on(back)
	case m.st.Intent.Cancelled != nil && m.st.Phase != phase.MigrationPlacing:
		m.leave()
	case m.st.Ref.Named && m.st.Intent.Releases():
		m.end(record.Result{
			Outcome: phase.OutcomeNeedsOperator, Reason: reason.NotPlaced, Message: "it has no target cluster: the held copy is the last one",
		})
	default:
		return false
	}
	return true
}

// leave keeps both copies and leaves the task to an operator.
func (m *migration) leave() {
	m.mark("leave both copies of "+m.st.Ref.Key.String()+" to an operator", karmada.TaskReasonNeedsOperator, record.Result{
		Outcome: phase.OutcomeNeedsOperator, Reason: reason.Cancelled, Message: m.st.Intent.Refusal, To: m.st.To,
	})
}

// mark gives Lifeboat's task its last reason and ends: from then on no Lifeboat run touches it.
func (m *migration) mark(summary, why string, r record.Result) {
	out, err := flow.Run[activities.ActResult](flow.Doing(m.ctx, summary), activities.NameMarkTask, activities.MarkRequest{MigrationRef: m.st.Ref, Reason: why})
	switch {
	case err != nil:
		m.note(reason.Unreachable, err.Error())
		m.wait(m.st.Terms.Recheck, "try again to mark the task")
	case out.End == activities.ActRefused:
		m.note(out.Reason, out.Message)
		m.wait(m.st.Terms.Recheck, "try again to mark the task")
	case out.End == activities.ActGone:
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case !out.Look.Held:
		// Another actor dropped it since the last look: the next one says what that means.
	default:
		m.acted(record.AuditBindingMarked, record.Audit{Reason: r.Reason, Message: why, To: r.To})
		m.end(r)
	}
}
