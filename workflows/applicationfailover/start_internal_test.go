package applicationfailover

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
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

// The server drops what a closed run has sent: a run that is cancelled waits until its order has reached the migration.
//
// Rules: R4.13-9.
func TestARunThatIsCancelledSendsTheOrderBeforeItContinuesAsNew(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "app"}
	env := flowtest.PatientEnv()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.ApplicationFailoverID("", key)})
	sent := 0
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		After(time.Minute).Return(func(_, _, _, _ string, _ any) error { sent++; return nil })
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(Workflow, workflows.ApplicationFailoverParams{Binding: key, State: &workflows.ApplicationState{
		Key: key, FailoverID: "f", Phase: phase.ApplicationMoving, Cluster: "m1", Audit: &workflows.Trail{},
		Move: &workflows.Migration{Key: key, Phase: phase.MigrationPlacing, Heard: env.Now()},
	}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, 1, sent)
}

// A copy that the look did not find has not healed: the binding is malformed, or another hand has moved it, or the move itself.
//
// Rules: R4.13-2.
func TestHealed_OnlyACopyThatStands(t *testing.T) {
	of := func(copies []rules.CopyHealth, clocks ...rules.UnhealthyClock) bool {
		return healed(&workflows.ApplicationState{Cluster: "m1", Revision: "a", Clocks: clocks, Look: activities.Application{Copies: copies}})
	}
	standing := []rules.CopyHealth{{Cluster: "m1", Health: karmada.HealthHealthy}}
	require.True(t, of(standing))
	require.True(t, of(standing, rules.UnhealthyClock{Cluster: "m1", Revision: "b"}), "another revision has a clock of its own")
	require.False(t, of(standing, rules.UnhealthyClock{Cluster: "m1", Revision: "a"}))
	require.False(t, of(nil))
	require.False(t, of([]rules.CopyHealth{{Cluster: "m2"}}))
}

// Rules: R4.6-22.
func TestKeepApproval_OfAMoveThatWroteNothing_StandsForTheNext(t *testing.T) {
	of := func(attempt int, used bool) *queue.Approval {
		st := &workflows.ApplicationState{Attempt: 2, Approval: &queue.Approval{Who: "a", Attempt: attempt}}
		keepApproval(st, used)
		return st.Approval
	}
	require.Equal(t, 3, of(2, false).Attempt)
	require.Nil(t, of(2, true))
	require.Equal(t, 3, of(3, true).Attempt, "one for the next move stands, whatever becomes of this one")
	require.False(t, of(1, false).Holds(3), "an older one is over")
}

// What no pacer sends, or cannot be carried, says nothing about a release.
//
// Rules: R4.5-33.
func TestAMalformedPaceLeavesTheSuspicionAsItIs(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := begin(ctx, workflows.ApplicationFailoverParams{})
		whole := pace.Pace{Tier: pace.TierNormal}
		f.paceChanged(workflows.PaceChanged{Pace: whole, Suspected: &pace.Suspicion{}})
		require.NotNil(t, f.st.Suspected)
		f.paceChanged(workflows.PaceChanged{})
		require.NotNil(t, f.st.Suspected)
		f.paceChanged(workflows.PaceChanged{Pace: pace.Pace{Tier: pace.TierNormal, Reason: reason.Reason(strings.Repeat("x", 1<<20))}})
		require.NotNil(t, f.st.Suspected)
		f.paceChanged(workflows.PaceChanged{Pace: whole})
		require.Nil(t, f.st.Suspected)
	})
}

// A migration that waits for a permit goes on under another failover, which requests permits of its own.
//
// Rules: R4.13-12.
func TestAFailoverWhoseMoveIsTakenOverWithdrawsItsRequest(t *testing.T) {
	env := flowtest.PatientEnv()
	var wants []int
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, workflows.SignalPermitRequest, mock.Anything).
		Return(func(_, _, _, _ string, r any) error {
			request, _ := r.(activities.PermitRequest)
			wants = append(wants, request.Want)
			return nil
		})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		f := begin(ctx, workflows.ApplicationFailoverParams{})
		f.st.AskedAt, f.st.TakenBy, f.st.Move = workflow.Now(ctx), "lifeboat-failover-m1", &workflows.Migration{WantsPermit: true}
		f.close()
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{0}, wants)
}

// A permit to leave one cluster is not used for another. The check itself requests one, and the pacer may be quicker than its answer.
//
// Rules: R4.13-8, R4.13-11.
func TestAPermitToLeaveOneClusterIsNotUsedForAnother(t *testing.T) {
	env := flowtest.PatientEnv()
	var f *failover
	comes := pace.Permit{}
	pass := func(context.Context, activities.PreCheckRequest) (activities.PreCheckResult, error) {
		if comes.Number > 0 {
			f.st.Permit = comes
		}
		return activities.PreCheckResult{Checks: []activities.Check{{End: activities.CheckPass}}}, nil
	}
	env.RegisterActivityWithOptions(pass, activity.RegisterOptions{Name: activities.NamePreCheck})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		f = begin(ctx, workflows.ApplicationFailoverParams{})
		f.st.Checked, f.st.Permit = "m1", pace.Permit{Number: 3}
		f.check(rules.UnhealthyClock{Cluster: "m1"})
		require.EqualValues(t, 3, f.st.Permit.Number)
		f.check(rules.UnhealthyClock{Cluster: "m2"})
		require.Zero(t, f.st.Permit)
		comes.Number = 4
		f.check(rules.UnhealthyClock{Cluster: "m1"})
		require.EqualValues(t, 4, f.st.Permit.Number)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}
