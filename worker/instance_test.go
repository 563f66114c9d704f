package main

import (
	"context"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Whoever shares a task queue with another instance, or starts a workflow for one that does
// not exist, has nothing done on this worker's Karmada.
func TestAWorkerActsForItsOwnInstanceAlone(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	for id, own := range map[string]bool{
		workflows.ClusterFailoverID("eu", "m1"):       true,
		workflows.BindingMigrationID("eu", "m1", key): true,
		workflows.FleetPacerID("eu"):                  true,
		workflows.ClusterFailoverID("", "m1"):         false,
		workflows.ClusterFailoverID("us", "m1"):       false,
		workflows.BindingMigrationID("us", "m1", key): false,
		workflows.FleetPacerID("eu-2"):                false,
	} {
		t.Run(id, func(t *testing.T) {
			suite := &testsuite.WorkflowTestSuite{}
			env := suite.NewTestWorkflowEnvironment()
			env.SetTestTimeout(time.Minute)
			env.SetWorkerOptions(worker.Options{
				DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{&ownInstance{instance: "eu"}},
			})
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id, TaskQueue: "shared"})
			acted := false
			env.RegisterActivityWithOptions(func(context.Context) error { acted = true; return nil }, activity.RegisterOptions{Name: "act"})
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: time.Minute, RetryPolicy: &sdktemporal.RetryPolicy{MaximumAttempts: 1},
				})
				return workflow.ExecuteActivity(ctx, "act").Get(ctx, nil)
			})
			require.Equal(t, own, acted)
			if !own {
				var refused *sdktemporal.ApplicationError
				require.ErrorAs(t, env.GetWorkflowError(), &refused)
				require.Equal(t, ErrorAnotherInstance, refused.Type())
				require.False(t, refused.NonRetryable(), "a worker of its own may take it")
			}
		})
	}
	require.True(t, workflows.OfInstance("", workflows.FleetPacerID("")))
	require.False(t, workflows.OfInstance("", workflows.FleetPacerID("eu")))
}
