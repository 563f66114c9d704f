package applicationfailover

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
)

// A cancel that comes before the server has answered for the start reaches the migration all the same.
//
// Rules: R4.13-9.
func TestACancelWaitsForTheStartOfItsMigration(t *testing.T) {
	env := flowtest.PatientEnv()
	var happened []string
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		Return(func(_, _, _, signal string, _ any) error { happened = append(happened, signal); return nil })
	start := func(ctx context.Context, _ activities.StartRequest[workflows.BindingMigrationParams]) (activities.StartAnswer, error) {
		if activity.GetInfo(ctx).Attempt < 3 {
			return activities.StartAnswer{}, errors.New("unavailable")
		}
		happened = append(happened, "started")
		return activities.StartAnswer{}, nil
	}
	env.RegisterActivityWithOptions(start, activity.RegisterOptions{Name: activities.NameStartMigrations})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		f := begin(ctx, workflows.ApplicationFailoverParams{Binding: karmada.BindingKey{Namespace: "shop", Name: "app"}})
		f.st.Check = &activities.Check{}
		workflow.Go(ctx, func(ctx workflow.Context) {
			require.NoError(t, workflow.Sleep(ctx, time.Second/2))
			f.cancel(workflows.BindingOrder{})
		})
		f.move(rules.UnhealthyClock{Cluster: "m1"})
		require.NoError(t, workflow.Sleep(ctx, time.Second))
		require.NotNil(t, f.st.Move)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"started", workflows.SignalMigrationOrder}, happened)
}
