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
		"a failover":                       {workflows.ClusterFailoverID("", "m1") + "-2", workflows.ClusterFailoverParams{Cluster: "m1"}, clusterfailover.Workflow},
		"a failover of another cluster":    {workflows.ClusterFailoverID("", "m2"), workflows.ClusterFailoverParams{Cluster: "m1"}, clusterfailover.Workflow},
		"a failover of another instance":   {workflows.ClusterFailoverID("", "m1"), workflows.ClusterFailoverParams{Cluster: "m1", Instance: "east"}, clusterfailover.Workflow},
		"a migration":                      {"by-hand", workflows.BindingMigrationParams{State: st}, bindingmigration.Workflow},
		"a migration from another cluster": {workflows.BindingMigrationID("", "m2", key), workflows.BindingMigrationParams{State: st}, bindingmigration.Workflow},
		"a migration that claims to go on": {"by-hand", workflows.BindingMigrationParams{State: withPhase(st)}, bindingmigration.Workflow},
		"a migration under its failover's": {workflows.ClusterFailoverID("", "m1"), workflows.BindingMigrationParams{State: st}, bindingmigration.Workflow},
		"a failover that claims to go on":  {"by-hand", workflows.ClusterFailoverParams{Cluster: "m1", State: &workflows.FailoverState{Phase: phase.FailoverEvacuating}}, clusterfailover.Workflow},
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
