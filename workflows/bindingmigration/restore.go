package bindingmigration

import (
	"cmp"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// restorePoll is how often a restore looks for the scheduler's answer: it delays
// the untaint, so it is quicker than the safety poll.
const restorePoll = 2 * time.Second

// restorer puts the binding back: Restored is its own.
type restorer struct {
	*course
	orders *orders
	looks  *looks
}

// putBackRefused drops the order, says why, and goes on. A task that was left to a
// operator before stays so.
func (rs *restorer) putBackRefused(out activities.ActResult) {
	if rs.st.Ref.Named {
		rs.st.Intent.Refuse(reason.Summary("put-back refused: " + out.Message))
		rs.end(record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: out.Reason, Message: rs.st.Intent.Refusal})
		return
	}
	rs.orders.refuse(out.Reason, "put-back refused: "+out.Message)
	rs.on(phase.EventRestoreRefused)
}

// failsAgain: the cluster that was to take it back looks failed again. What is placed
// goes on for good; what is not goes on for now, and the restore is tried again, for
// only the act itself sees how the cluster stands.
func (rs *restorer) failsAgain(out activities.ActResult) {
	if rs.st.Placed {
		rs.st.Intent.Recover = nil
	}
	rs.st.RefusedAt = workflow.Now(rs.ctx)
	rs.note(out.Reason, out.Message)
	rs.on(phase.EventRestoreRefused)
}

// returned: Lifeboat's task is gone and the cluster is a target. The failing target's own
// migration put it back, or another actor did; it is a restore, to be seen through.
func (rs *restorer) returned() {
	rs.on(phase.EventReturned)
	rs.st.Restored, rs.st.Placed = workflows.WriteByOthers, false
}

// restore puts the binding back: after the scheduler's answer, in one write, and
// it is complete only when the scheduler has observed it with the cluster still in.
func (rs *restorer) restore() {
	if rs.st.Restored.MayStand() {
		rs.restored()
		return
	}
	if rs.orders.restoreCalledOff() {
		rs.on(phase.EventCalledOff)
		return
	}
	ctx := flow.Acting(rs.ctx, "put "+rs.st.Ref.Key.String()+" back on "+rs.st.Ref.Cluster)
	out, err := flow.Run[activities.ActResult](ctx, activities.NameRestore, activities.RestoreRequest{
		MigrationRef: rs.looks.held(), EvenIfPlaced: rs.st.Placed, EvenIfFailing: rs.st.Intent.Cancelled != nil,
		PutBack: rs.putsBack(), TaintsGo: rs.st.Intent.Recover != nil, Stopped: rs.st.Intent.Recover != nil && rs.st.Intent.Recover.Cancelled != nil,
		Tried: rs.st.RestoreTried,
	})
	if err != nil {
		why, said := whyNot(err)
		rs.st.RestoreTried = rs.st.RestoreTried || why == reason.Unreachable // what was refused is not written
		rs.note(why, said)
		rs.unanswered()
		return
	}
	rs.st.RestoreTried = false
	switch out.End {
	case activities.ActDone, activities.ActAlready:
		rs.st.Restored, rs.st.Entered = workflows.WriteStands, workflow.Now(rs.ctx)
		rs.acted(record.AuditBindingRestored, record.Audit{Reason: rs.why(), Cause: rs.st.Cause()})
		rs.note(reason.Written, "put back; waiting for the scheduler to observe it")
	case activities.ActGone:
		rs.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case activities.ActRefused:
		rs.restoreRefused(out)
	}
}

// putsBack reports whether it goes back in place of its new copies: by an order, or to the workloads that it serves.
func (rs *restorer) putsBack() bool {
	return rs.st.Intent.PutsBack() || rs.st.Placed && rs.st.Home == workflows.HomeAsked
}

func (rs *restorer) restoreRefused(out activities.ActResult) {
	theirs := out.Reason == reason.ForeignTask || out.Reason == reason.NotTargeting
	switch {
	case out.Reason == reason.Placed:
		// The answer was a placement: R4.9-14 to R4.9-18 apply.
		rs.placed(out.Look)
		return
	case theirs:
		rs.end(record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: out.Reason, Message: out.Message})
		return
	case out.Reason == reason.ConditionsMatch:
		rs.failsAgain(out)
		return
	case out.Reason == reason.PutBackRefused && !rs.st.Intent.PutsBack():
		rs.st.Home = workflows.HomeRefused
		rs.note(out.Reason, out.Message)
		rs.on(phase.EventRestoreRefused)
		return
	case out.Reason == reason.PutBackRefused:
		rs.putBackRefused(out)
		return
	case rs.orders.releasesUndone(out):
		rs.on(phase.EventCalledOff)
		return
	case out.Reason == reason.RestoreUndone:
		rs.attention(out.Reason, out.Message)
	case out.Reason == reason.ClusterGone && out.Look.SourceGone:
		rs.st.SourceGone = true
		rs.on(phase.EventSourceGone)
		return
	}
	rs.note(out.Reason, out.Message)
	rs.unanswered()
}

// unanswered waits for the scheduler; past restoreWait the report says not to
// wait for this one. Its hold task stays: nothing is lost.
func (rs *restorer) unanswered() {
	if rs.restoreLate() {
		rs.raiseUnanswered()
		rs.wait(rs.st.Terms.Recheck, "wait for the scheduler's answer before putting back "+rs.st.Ref.Key.String())
		return
	}
	rs.wait(restorePoll, "wait for the scheduler's answer before putting back "+rs.st.Ref.Key.String())
}

// raiseUnanswered raises attention once. A restore that the scheduler undid has raised it with its
// own reason, and delays no untaint either.
func (rs *restorer) raiseUnanswered() {
	said := "not restored within restoreWait; the hold stays, it is restored once the scheduler answers: "
	if rs.st.Restored.MayStand() {
		said = "put back, and no hold stands; the scheduler has not observed it within restoreWait: "
	}
	if rs.st.Attention != reason.RestoreUndone {
		rs.attention(reason.RestoreUnanswered, said+rs.st.Message)
	}
}

// why is the reason of the restore.
func (rs *restorer) why() reason.Reason {
	if rs.st.Intent.Kind() == workflows.IntentNone {
		return reason.Healed
	}
	return rs.st.Intent.CallOffReason()
}

func (rs *restorer) endRestored(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeRestored, Reason: rs.why(), To: o.Targets}
	if !o.Observed {
		r.Message = o.Unobserved
	}
	if rs.st.Restored == workflows.WriteByOthers {
		r.Reason, r.Cause = reason.Swapped, "put back by another migration, or by another actor"
	}
	rs.end(r)
}

// restored waits until the restore is complete. With 0 replicas the scheduler drops every cluster, and would drop the
// restored one again and again: no copy is left to hold.
func (rs *restorer) restored() {
	o, ok := rs.looks.look("see whether the scheduler leaves " + rs.st.Ref.Key.String() + " on " + rs.st.Ref.Cluster)
	switch {
	case !ok:
		rs.unanswered()
	case o.Gone:
		rs.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case !o.Held && (rs.observed(o) || o.Placed.Reason == reason.NoReplicas):
		rs.endRestored(o)
	case !o.Targeted:
		rs.holdAgain()
	default:
		rs.unanswered()
	}
}

// observed reports whether the scheduler leaves the restored cluster in: it has observed that, or has had its time since
// the write and ignores the binding. What was written stands then.
func (rs *restorer) observed(o activities.Observation) bool {
	return o.Targeted && (o.Observed || o.Unobserved != "" && rs.restoreLate())
}

// holdAgain: the scheduler took the restored cluster out. The hold goes back
// first, so that the old copy is not deleted; then the migration needs attention.
func (rs *restorer) holdAgain() {
	out, err := rs.hold("hold " + rs.st.Ref.Key.String() + " again: the scheduler undid the restore")
	if err != nil {
		rs.unanswered()
		return
	}
	// Whether its cluster would take it straight back is asked again: another may have come
	// back meanwhile and have taken the place.
	rs.st.Restored, rs.st.Placed = workflows.WriteNotSent, false
	if out.Generation > 0 {
		rs.st.Ref.Generation = out.Generation
	}
	rs.acted(record.AuditBindingHeld, record.Audit{Reason: reason.RestoreUndone})
	rs.attention(reason.RestoreUndone, "the scheduler took the restored cluster out again; the old copy is held")
	rs.wait(rs.st.Terms.Recheck, "wait before putting "+rs.st.Ref.Key.String()+" back once more")
}

// hold puts Lifeboat's task on a binding that is off its cluster already.
func (rs *restorer) hold(summary string) (activities.ActResult, error) {
	out, err := flow.Run[activities.ActResult](flow.Doing(rs.ctx, summary), activities.NameHoldAgain, rs.st.Ref)
	if err != nil {
		rs.note(reason.Unreachable, err.Error())
	}
	return out, err
}

// whyNot is what the API server said to an act that came to nothing, or that it did not answer.
func whyNot(err error) (reason.Reason, string) {
	app := (*temporal.ApplicationError)(nil)
	if !errors.As(err, &app) {
		return reason.Unreachable, reason.Summary(err.Error())
	}
	return cmp.Or(refusals[app.Type()], reason.Unreachable), reason.Summary(app.Message())
}

// refusals are the reasons of the errors with which the API server refuses a write.
var refusals = map[string]reason.Reason{
	activities.ErrorForbidden: reason.Forbidden, activities.ErrorInvalid: reason.Invalid, activities.ErrorConflict: reason.Conflict,
}
