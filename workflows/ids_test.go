package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/bindingmigration"
	"github.com/lifeboat-failover/lifeboat/workflows/clusterfailover"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

// Somebody starts a second failover of a cluster, or a second migration of a binding, by
// hand: under another id it ends before it has done anything.
func TestAWorkflowUnderAnotherIDEndsAtOnce(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	st := workflows.MigrationState{Ref: activities.MoveRef{Cluster: "m1", Key: key}}
	for name, tc := range map[string]struct {
		id   string
		args any
		runs any
	}{
		"a failover":                       {id: workflows.ClusterFailoverID("", "m1") + "-2", args: workflows.ClusterFailoverParams{Cluster: "m1"}, runs: clusterfailover.Workflow},
		"a failover of another cluster":    {id: workflows.ClusterFailoverID("", "m2"), args: workflows.ClusterFailoverParams{Cluster: "m1"}, runs: clusterfailover.Workflow},
		"a failover of another instance":   {id: workflows.ClusterFailoverID("", "m1"), args: workflows.ClusterFailoverParams{Cluster: "m1", Instance: "east"}, runs: clusterfailover.Workflow},
		"a migration":                      {id: "by-hand", args: workflows.BindingMigrationParams{State: st}, runs: bindingmigration.Workflow},
		"a migration from another cluster": {id: workflows.BindingMigrationID("", "m2", key), args: workflows.BindingMigrationParams{State: st}, runs: bindingmigration.Workflow},
		"a migration that claims to go on": {id: "by-hand", args: workflows.BindingMigrationParams{State: withPhase(st)}, runs: bindingmigration.Workflow},
		"a migration under its failover's": {id: workflows.ClusterFailoverID("", "m1"), args: workflows.BindingMigrationParams{State: st}, runs: bindingmigration.Workflow},
		"a failover that claims to go on":  {id: "by-hand", args: workflows.ClusterFailoverParams{Cluster: "m1", State: &workflows.FailoverState{Phase: phase.FailoverEvacuating}}, runs: clusterfailover.Workflow},
	} {
		t.Run(name, func(t *testing.T) {
			env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: tc.id, TaskQueue: workflows.DefaultTaskQueue})
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				t.Errorf("it does %s", info.ActivityType.Name)
			})
			env.ExecuteWorkflow(tc.runs, tc.args)
			var refused *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &refused)
			require.Equal(t, "Misnamed", refused.Type())
			require.True(t, refused.NonRetryable())
		})
	}
}

func withPhase(st workflows.MigrationState) workflows.MigrationState {
	st.Phase, st.Began = phase.MigrationPlacing, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return st
}
