package bindingmigration

import (
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// restorePoll is how often a restore looks for the scheduler's answer: it delays
// the untaint, so it is quicker than the safety poll.
const restorePoll = 2 * time.Second

// restore puts the binding back: after the scheduler's answer, in one write, and
// it is complete only when the scheduler has observed it with the cluster still in.
func (m *migration) restore() {
	if !m.st.RestoredAt.IsZero() {
		m.restored()
		return
	}
	if m.calledOff() {
		m.on(phase.EventRestoreRefused)
		return
	}
	var out activities.ActResult
	ctx := flow.Acting(m.ctx, "put "+m.st.Ref.Key.String()+" back on "+m.st.Ref.Cluster)
	err := workflow.ExecuteActivity(ctx, activities.NameRestore, activities.RestoreRequest{
		MoveRef: m.held(), EvenIfPlaced: m.st.Placed, EvenIfFailing: m.st.Cancelled != nil,
		PutBack: m.st.PutBack != nil, OursGo: m.st.Recover != nil, Stopped: m.st.Recover != nil && m.st.Recover.Cancelled != nil,
	}).Get(ctx, &out)
	if err != nil {
		m.note(whyNot(err))
		m.unanswered()
		return
	}
	switch out.End {
	case activities.ActDone, activities.ActAlready:
		m.st.RestoredAt = workflow.Now(m.ctx)
		m.acted(record.AuditBindingRestored, record.Audit{Reason: m.orderReason(), Cause: m.cause()})
		m.note(reason.Written, "put back; waiting for the scheduler to observe it")
	case activities.ActGone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case activities.ActRefused:
		m.restoreRefused(out)
	}
}

func (m *migration) restoreRefused(out activities.ActResult) {
	theirs := out.Reason == reason.ForeignTask || out.Reason == reason.NotTargeting
	switch {
	case out.Reason == reason.Placed:
		// The answer was a placement: the row "placed" of the recovery table applies.
		m.placed(out.Look)
		return
	case theirs:
		m.end(phase.EventNeedsOperator, record.Result{Outcome: phase.OutcomeNeedsOperator, Reason: out.Reason, Message: out.Message})
		return
	case out.Reason == reason.ConditionsMatch:
		m.failsAgain(out)
		return
	case out.Reason == reason.PutBackRefused:
		m.putBackRefused(out)
		return
	case out.Reason == reason.RestoreUndone:
		m.attention(out.Reason, out.Message)
	case out.Reason == reason.ClusterGone && out.Look.SourceGone:
		m.st.SourceGone = true
		m.on(phase.EventPlaced)
		m.on(phase.EventProvenHealthy)
		return
	}
	m.note(out.Reason, out.Message)
	m.unanswered()
}

// unanswered waits for the scheduler; past restoreWait the parent is told not to
// wait for this one. Its hold task stays: nothing is lost.
func (m *migration) unanswered() {
	if workflow.Now(m.ctx).Sub(m.st.Entered) > m.st.Terms.RestoreWait {
		m.restoreLate()
		m.wait(m.st.Terms.Recheck, "wait for the scheduler's answer before putting back "+m.st.Ref.Key.String())
		return
	}
	m.wait(restorePoll, "wait for the scheduler's answer before putting back "+m.st.Ref.Key.String())
}

// restoreLate raises the flag once. A restore that cannot be planned has raised it with a
// reason of its own, and delays no untaint either.
func (m *migration) restoreLate() {
	if m.st.Attention != reason.RestoreUndone {
		m.attention(reason.RestoreUnanswered, "not restored within restoreWait; the hold stays, it is restored once the scheduler answers: "+m.st.Message)
	}
}

func (m *migration) endRestored(o activities.Observation) {
	r := record.Result{Outcome: phase.OutcomeRestored, Reason: m.orderReason(), To: o.Targets}
	switch {
	case m.st.Swapped:
		r.Reason, r.Cause = reason.Swapped, "put back by another migration, or by another hand"
	case m.st.PutBack != nil:
		r.Reason = reason.PutBackOrdered
	}
	m.end(phase.EventRestoreComplete, r)
}

// restored sees the restore through.
func (m *migration) restored() {
	o, ok := m.look("see whether the scheduler leaves " + m.st.Ref.Key.String() + " on " + m.st.Ref.Cluster)
	switch {
	case !ok:
		m.unanswered()
	case o.Gone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case o.Targeted && !o.Held && o.Observed:
		m.endRestored(o)
	case !o.Targeted:
		m.holdAgain()
	default:
		m.unanswered()
	}
}

// holdAgain: the scheduler took the restored cluster out. The hold goes back
// first, so that the old copy is not deleted; then somebody has to look.
func (m *migration) holdAgain() {
	out, err := m.hold("hold " + m.st.Ref.Key.String() + " again: the scheduler undid the restore")
	if err != nil {
		m.unanswered()
		return
	}
	// Whether its cluster would take it straight back is asked anew: another may have come
	// back meanwhile and have taken the place.
	m.st.RestoredAt, m.st.Swapped, m.st.Placed = time.Time{}, false, false
	if out.Generation > 0 {
		m.st.Ref.Generation = out.Generation
	}
	m.acted(record.AuditBindingHeld, record.Audit{Reason: reason.RestoreUndone})
	m.attention(reason.RestoreUndone, "the scheduler took the restored cluster out again; the old copy is held")
	m.wait(m.st.Terms.Recheck, "wait before putting "+m.st.Ref.Key.String()+" back once more")
}

// hold puts Lifeboat's task on a binding that is off its cluster already.
func (m *migration) hold(summary string) (out activities.ActResult, err error) {
	ctx := flow.Doing(m.ctx, summary)
	if err = workflow.ExecuteActivity(ctx, activities.NameHoldAgain, m.st.Ref).Get(ctx, &out); err != nil {
		m.note(reason.Unreachable, err.Error())
	}
	return out, err
}

// holdBeside puts Lifeboat's task beside that of Karmada's own taint manager, whose end would be the
// end of the last copy. What then stands is looked at as any hold that is taken over.
func (m *migration) holdBeside() {
	out, err := m.hold("hold " + m.st.Ref.Key.String() + ": Karmada evicts it, too, and no other copy is proven")
	if err != nil || out.End == activities.ActRefused {
		m.wait(m.st.Terms.HealthPoll, "try again to hold "+m.st.Ref.Key.String())
		return
	}
	m.acted(record.AuditBindingHeld, record.Audit{Reason: reason.SecondEvictor})
}

// whyNot is what the API server said to an act that came to nothing, or that it did not answer.
func whyNot(err error) (reason.Reason, string) {
	app := (*temporal.ApplicationError)(nil)
	if !errors.As(err, &app) {
		return reason.Unreachable, reason.Summary(err.Error())
	}
	switch app.Type() {
	case activities.ErrorForbidden:
		return reason.Forbidden, reason.Summary(app.Message())
	case activities.ErrorInvalid:
		return reason.Invalid, reason.Summary(app.Message())
	case activities.ErrorConflict:
		return reason.Conflict, reason.Summary(app.Message())
	default:
		return reason.Unreachable, reason.Summary(app.Message())
	}
}

// releaseFailed shows why a release fails, and raises the flag once the API server has
// refused it for long, a webhook for example.
func (m *migration) releaseFailed(err error) {
	why, message := whyNot(err)
	m.note(why, message)
	now := workflow.Now(m.ctx)
	switch {
	case why != reason.Forbidden && why != reason.Invalid:
		m.st.RefusedSince = time.Time{}
	case m.st.RefusedSince.IsZero():
		m.st.RefusedSince = now
	case now.Sub(m.st.RefusedSince) >= staleWait:
		m.attention(why, message)
	}
	m.wait(m.st.Terms.Recheck, "try again to release")
}
