package flow

import (
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// StartMigration starts a migration that outlives this run, without waiting for the server.
func StartMigration(ctx workflow.Context, p workflows.BindingMigrationParams, summary, details string) workflow.ChildWorkflowFuture {
	st := &p.State
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            workflows.BindingMigrationID(p.Instance, st.Ref.Cluster, st.Ref.Key),
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         reason.Summary(summary),
		StaticDetails:         details,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.SearchCluster.ValueSet(st.Ref.Cluster), workflows.SearchBinding.ValueSet(workflows.Storable(st.Ref.Key.String())),
			workflows.SearchMode.ValueSet(string(st.Ref.Mode)),
		),
		Memo: map[string]any{"lifeboatFailover": st.FailoverID, "lifeboatResource": st.Resource},
	})
	return workflow.ExecuteChildWorkflow(ctx, workflows.TypeBindingMigration, p)
}
