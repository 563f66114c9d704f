package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// holdTime bounds how long holding dependents may take. Each costs a read and a write.
const holdTime = 2 * time.Minute

// holdDependents holds what goes where this binding goes, before its eviction is
// sent: Karmada would take it from the old cluster at once. It is done before there is
// a permit, which would pass over it; false means that it cannot be done and that
// nothing was evicted.
func (m *migration) holdDependents() bool {
	if m.st.Held {
		return true
	}
	m.st.Holding = true
	var out activities.DependentsResult
	ctx := flow.Once(m.ctx, "hold the dependents of "+m.st.Ref.Key.String()+" on "+m.st.Ref.Cluster, holdTime)
	err := workflow.ExecuteActivity(ctx, activities.NameHoldDependents, activities.DependentsRequest{MoveRef: m.st.Ref}).Get(ctx, &out)
	m.st.Dependents = out.Held
	if err != nil {
		m.log.Warn("lost the answer of holding dependents", "error", err)
		m.st.SearchDependents = true
		out.Reason, out.Message = reason.Unreachable, err.Error()
	}
	if out.Reason == reason.None {
		m.st.Held = true
		m.auditHeld()
		return !m.ordered() // somebody ordered otherwise meanwhile: the next look obeys
	}
	if out.Reason == reason.Unreachable {
		m.letSettle("let the write of a dependent's hold without an answer run out before it is taken back")
	}
	m.on(phase.EventWriteSent)
	m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeBlocked, Reason: out.Reason, Message: reason.Summary(out.Message)})
	return false
}

// permitted tells whether there is a permit for the eviction. Without one it says that it
// wants one, and waits; its binding and its cluster may go meanwhile.
func (m *migration) permitted() bool {
	if m.st.Permit.Number > 0 {
		return true
	}
	m.note(reason.AwaitingPermit, "its dependents are held")
	m.wait(m.st.Terms.HealthPoll, "its dependents are held: wait for the permit to move "+m.st.Ref.Key.String())
	if m.ordered() || m.st.Permit.Number > 0 {
		return false // the next look obeys, or goes on
	}
	switch look, ok := m.look("see whether " + m.st.Ref.Key.String() + " is still to move"); {
	case !ok:
	case look.Gone:
		m.end(phase.EventBindingGone, record.Result{Outcome: phase.OutcomeGone, Reason: reason.BindingGone})
	case look.SourceGone:
		m.on(phase.EventWriteSent)
		m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.ClusterGone})
	default:
		heard := m.tell(nil)
		if !heard { // no failover runs that could give it one: whatever comes after lists the binding anew
			m.on(phase.EventWriteSent)
			m.end(phase.EventWriteRefused, record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.PermitPassed})
		}
	}
	return false
}

// prepared holds the dependents, and has a permit then; false means that the next look goes on.
func (m *migration) prepared() bool {
	if !m.st.HasDependents {
		return true
	}
	held := m.holdDependents()
	if !held {
		return false
	}
	return m.permitted()
}

// wantsPermit tells whether only a permit is missing for the eviction.
func (m *migration) wantsPermit() bool {
	return m.st.Phase == phase.MigrationChecking && m.st.Held && m.st.Permit.Number == 0
}

// takePermit takes the permit that its failover gives it, where it has use for one.
func (m *migration) takePermit(p pace.Permit) {
	switch {
	case !p.Valid():
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalPermit, "number", p.Number)
	case m.wantsPermit():
		m.st.Permit, m.dirty = p, true
	}
}

// holding tells whether dependents may still be held in this migration's name.
func (m *migration) holding() bool { return m.st.Holding || m.st.Adopt && !m.st.LetGo }

// letGoOfDependents takes this migration out of every dependent that it holds, at
// every end of it. Where the binding is back on the cluster it waits until they are
// wanted there again: that delays this report, and nothing else.
func (m *migration) letGoOfDependents() {
	var out activities.DependentsResult
	ctx := flow.Doing(m.ctx, "let go of the dependents of "+m.st.Ref.Key.String()+" on "+m.st.Ref.Cluster)
	err := workflow.ExecuteActivity(ctx, activities.NameDropDependents, activities.DependentsRequest{
		MoveRef: m.st.Ref, Held: m.st.Dependents, Search: m.st.Adopt, Lost: m.st.SearchDependents,
	}).Get(ctx, &out)
	if err == nil {
		m.st.Dependents = out.Held
	}
	switch {
	case err == nil && len(out.Held) == 0:
		m.st.Holding, m.st.LetGo = false, true
		m.st.Reason, m.st.Message = m.st.Result.Reason, m.st.Result.Message
		return
	case err != nil:
		m.note(reason.Unreachable, err.Error())
	case workflow.Now(m.ctx).Sub(m.st.Result.At) > m.st.Terms.RestoreWait:
		m.attention(out.Reason, out.Message)
	default:
		m.note(out.Reason, out.Message)
	}
	m.wait(restorePoll, "wait until the dependents of "+m.st.Ref.Key.String()+" are wanted on "+m.st.Ref.Cluster+" again")
}
