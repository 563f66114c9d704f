package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// holdTime bounds how long holding dependents may take. Each costs a read and a write.
const holdTime = 2 * time.Minute

// dependents are held before the eviction and let go of at the end.
type dependents struct {
	*course
	keys *workflows.Dependents
}

// holdDependents holds what goes where this binding goes, before its eviction is
// sent: Karmada would take it from the old cluster at once. It is done before there is
// a permit, which would pass over it.
func (de *dependents) holdDependents() {
	de.keys.Held = true
	ctx := flow.Once(de.ctx, "hold the dependents of "+de.st.Ref.Key.String()+" on "+de.st.Ref.Cluster, holdTime)
	out, err := flow.Run[activities.DependentsResult](ctx, activities.NameHoldDependents, activities.DependentsRequest{MigrationRef: de.st.Ref})
	de.keys.Keys = out.Held
	if err != nil {
		de.log.Warn("lost the answer of holding dependents", "error", err)
		de.keys.Lost = true
		out.Reason, out.Message = reason.Unreachable, err.Error()
	}
	if out.Reason == reason.None {
		de.auditHeld()
		de.st.Reason, de.st.Message = reason.AwaitingPermit, de.heldFirst()
		de.queue(phase.EventDependentsHeld)
		return
	}
	if out.Reason == reason.Unreachable {
		de.letSettle("let the write of a dependent's hold without an answer run out before it is taken back")
	}
	de.end(record.Result{Outcome: phase.OutcomeBlocked, Reason: out.Reason, Message: reason.Summary(out.Message)})
}

// heldFirst says that a permit was not requested from the beginning, and why.
func (de *dependents) heldFirst() string {
	if !de.keys.Held {
		return ""
	}
	return "its dependents are held"
}

// letGoOfDependents takes this migration out of every dependent that it holds, at
// every end of it. Where the binding is back on the cluster it waits until they are
// wanted there again: that delays this report, and nothing else.
func (de *dependents) letGoOfDependents() {
	ctx := flow.Doing(de.ctx, "let go of the dependents of "+de.st.Ref.Key.String()+" on "+de.st.Ref.Cluster)
	out, err := flow.Run[activities.DependentsResult](ctx, activities.NameDropDependents, activities.DependentsRequest{
		MigrationRef: de.st.Ref, Held: de.keys.Keys, Search: de.st.Adopts(), Lost: de.keys.Lost,
	})
	if err == nil {
		de.keys.Keys = out.Held
	}
	switch {
	case err == nil && len(out.Held) == 0:
		de.keys.Held = false
		de.st.Reason, de.st.Message = de.st.Result.Reason, de.st.Result.Message
		return
	case err != nil:
		de.note(reason.Unreachable, err.Error())
	case workflow.Now(de.ctx).Sub(de.st.Result.At) > de.st.Terms.RestoreWait:
		de.attention(out.Reason, out.Message)
	default:
		de.note(out.Reason, out.Message)
	}
	de.wait(restorePoll, "wait until the dependents of "+de.st.Ref.Key.String()+" are wanted on "+de.st.Ref.Cluster+" again")
}
