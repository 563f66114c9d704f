package clusterfailover

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
)

// What comes to be owed while old pending purges are looked at is not forgotten. The others are looked at in as many shares as
// the limit of patches is divided by.
func TestPendingPurgeThatComesWhileOthersAreLookedAtIsKept(t *testing.T) {
	env := flowtest.PatientEnv()
	shares := make(chan int, 100)
	env.RegisterActivityWithOptions(func(_ context.Context, r activities.EndRequest) (activities.EndResult, error) {
		shares <- len(r.PendingPurges)
		return activities.EndResult{Ended: r.PendingPurges}, nil
	}, activity.RegisterOptions{Name: activities.NameEndOldCopies})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		e := bare()
		e.ctx = ctx
		for i := range 50 {
			e.st.Ledger.Owe(&record.PendingPurge{Work: fmt.Sprint("first", i)})
		}
		workflow.Go(ctx, func(workflow.Context) { e.st.Ledger.Owe(&record.PendingPurge{Work: "second"}) })
		e.oldCopies.endOnce(ctx)
		require.Equal(t, []record.PendingPurge{{Work: "second"}}, e.st.PendingPurges)
		require.True(t, e.dirty)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, shares, activities.EndShares)
}

// An order that was taken, and answered, while the last act of a failover was on its way is
// carried out before that closes.
func TestAnOrderThatCameWithTheLastActIsObeyedBeforeTheClose(t *testing.T) {
	env := flowtest.PatientEnv()
	env.RegisterActivityWithOptions(func(context.Context, activities.TaintRequest) (activities.TaintResult, error) {
		return activities.TaintResult{}, nil
	}, activity.RegisterOptions{Name: activities.NameWriteTaints})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
		e.st.FailoverID, e.st.Attempt, e.st.Phase, e.st.Terms.Mode = "e", 1, phase.FailoverStopped, rules.ModeEnforce
		e.st.Stopped = &workflows.Order{Who: "jane", Reason: "a drill"}
		e.st.ClosedAt, e.st.Settled, e.adoptDirty = workflow.Now(ctx), workflow.Now(ctx), false
		workflow.Go(ctx, func(workflow.Context) {
			e.wholeOrders.acceptResume(workflows.ScopedOrder{Order: workflows.Order{Who: "joe", Reason: "go on"}})
		})
		e.actStopped()
		require.Equal(t, phase.FailoverStopped, e.st.Phase)
		require.True(t, e.dirty, "the next turn obeys")
		e.obey()
		require.Equal(t, phase.FailoverSuspected, e.st.Phase)
		require.Equal(t, 2, e.st.Attempt)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// The server ignores a second cancellation request in one run, so a run that has taken one
// continues as new.
//
// Rules: R4.9-43.
func TestCancelInTheTemporalUI_NextRunTakesAnother(t *testing.T) {
	env := flowtest.PatientEnv()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
		e.st.FailoverID, e.st.Attempt, e.st.Phase, e.waited = "e", 1, phase.FailoverEvacuating, true
		require.NoError(t, e.serve(ctx))
		require.False(t, e.full())
		require.NoError(t, workflow.Await(e.ctx, func() bool { return e.orders.cancel != nil }))
		require.False(t, e.full(), "the order is carried out first")
		e.obey()
		require.Equal(t, phase.FailoverStopped, e.st.Phase)
		require.True(t, e.full())
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// Enforcing a stopped failover ends all of its cancel, the order to put back included.
//
// Rules: R4.15-14.
func TestEnforceAfterACancel_PutBackOfTheCancelEnds(t *testing.T) {
	env := flowtest.PatientEnv()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		e := newFailover(ctx, workflows.ClusterFailoverParams{Cluster: "m1"})
		e.st.FailoverID, e.st.Attempt, e.st.Phase = "e", 1, phase.FailoverStopped
		e.st.Stopped, e.st.StopPutBack = &workflows.Order{Who: "jane", Reason: "a drill"}, true
		e.endObserving(workflows.Order{Who: "joe", Reason: "go on"})
		require.Equal(t, phase.FailoverSuspected, e.st.Phase)
		require.Nil(t, e.st.Stopped)
		require.False(t, e.st.StopPutBack)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}
