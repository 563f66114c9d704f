package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"go.temporal.io/sdk/workflow"
)

// page shows where this migration stands.
func (m *migration) page() {
	v := view.Migration{
		Binding: m.st.Ref.Key.String(), Resource: m.st.Resource, From: m.st.Ref.Cluster, To: m.st.To,
		Phase: m.st.Phase, Mode: m.st.Ref.Mode, Attempt: m.st.Attempt, Why: m.st.Why,
		Reason: m.st.Reason, Message: m.withRefusal(), Attention: m.st.Attention,
		Now: workflow.Now(m.ctx), Began: m.st.Began, Entered: m.st.Entered, Written: m.st.Ref.Written,
		HealthySince: m.st.HealthySince, MustHold: max(m.mustHold, m.st.Terms.MinHealthy), Result: m.st.Result, Purge: m.st.Ref.Purge,
		State: m.st.Ref.State, Parent: m.st.Parent, Unproven: m.st.Terms.ReleaseUnproven, Runbook: m.st.Terms.Runbook,
	}
	if !v.Written.IsZero() {
		v.Flagged = v.Written.Add(m.st.Terms.GracefulTimeout)
	}
	if m.st.Ref.Fence != nil {
		v.Fence = m.st.Ref.Fence.String()
	}
	if m.ordered() {
		v.Ordered = m.cause()
	}
	if m.st.OldWork != nil {
		v.OldWork = m.st.OldWork.Namespace + "/" + m.st.OldWork.Name
	}
	workflow.SetCurrentDetails(m.ctx, view.MigrationPage(v))
}
