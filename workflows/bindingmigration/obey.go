package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// obeys does what was ordered of a binding that we hold, whichever phase holds it.
// False means that nothing is ordered that this look can settle.
func (m *migration) obeys(o activities.Observation) bool {
	if m.st.Directly() {
		m.orders.refuseDirect(o)
	}
	switch {
	case m.st.Ref.Named && m.st.Intent.Held == nil:
		m.end(record.Result{
			Outcome: phase.OutcomeNeedsOperator, Reason: reason.PutBackRefused, Message: m.st.Intent.Refusal,
		})
	case m.st.Intent.Releases() && len(o.Targets) > 0:
		m.on(phase.EventReleaseOrdered)
	case m.orders.takesBack(o) != "":
		m.on(m.orders.takesBack(o))
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

// leave keeps both copies and leaves the task to a human.
func (m *migration) leave() {
	m.mark("leave both copies of "+m.st.Ref.Key.String()+" to a human", karmada.TaskReasonNeedsOperator, record.Result{
		Outcome: phase.OutcomeNeedsOperator, Reason: reason.Cancelled, Message: m.st.Intent.Refusal, To: m.st.To,
	})
}

// mark gives Lifeboat's task its last reason and ends: from then on no Lifeboat run touches it.
func (m *migration) mark(summary, why string, r record.Result) {
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
		m.end(record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case !out.Look.Held:
		// Another hand dropped it since the last look: the next one says what that means.
	default:
		m.acted(record.AuditBindingMarked, record.Audit{Reason: r.Reason, Message: why, To: r.To})
		m.end(r)
	}
}
