package bindingmigration

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// An order that comes while a move looks once more is seen at its end, whatever the look said.
//
// Rules: R4.9-32.
func TestAMoveThatWasCancelledNeverGoesBackToTheQueue(t *testing.T) {
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		m := newMigration(ctx, workflows.BindingMigrationParams{State: workflows.MigrationState{Began: workflow.Now(ctx), Phase: phase.MigrationAwaitingFence}})
		require.NoError(t, m.orders.refuseCancel(workflows.CancelOrder{Order: workflows.Order{Who: "jane", Reason: "a drill"}}))
		m.orders.cancel(workflows.Order{Who: "jane", Reason: "a drill"}, false)
		m.end(record.Result{Outcome: phase.OutcomeBlocked, Reason: reason.Fenced})
		require.Equal(t, phase.OutcomeAbandoned, m.st.Result.Outcome)
		require.Equal(t, reason.Cancelled, m.st.Result.Reason)
		require.ErrorContains(t, m.orders.refuseCancel(workflows.CancelOrder{}), "with nothing written", "one that comes later still is answered")
	})
}

// The server ignores a second cancellation request in one run, so a run that has taken one
// continues as new.
//
// Rules: R4.9-43.
func TestCancelInTheTemporalUI_NextRunTakesAnother(t *testing.T) {
	env := flowtest.PatientEnv()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		m := newMigration(ctx, workflows.BindingMigrationParams{State: workflows.MigrationState{Began: workflow.Now(ctx), Phase: phase.MigrationAwaitingHealth}})
		m.waited = true
		require.NoError(t, m.serve(ctx))
		require.False(t, m.full())
		require.NoError(t, workflow.Await(m.ctx, func() bool { return m.st.Intent.Cancelled != nil }))
		require.True(t, m.full())
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
}

// A restore is late by its own time, whatever attention says: attention raised by an earlier
// restore of the same migration excuses no later one.
//
// Rules: R4.9-28.
func TestReport_RestoreIsLateByItsOwnTime(t *testing.T) {
	for name, row := range map[string]struct {
		in        phase.Migration
		since     time.Duration
		attention reason.Reason
		want      bool
	}{
		"just begun, attention from before": {in: phase.MigrationRestoring, since: time.Second, attention: reason.RestoreUnanswered},
		"placed, attention from before":     {in: phase.MigrationAwaitingHealth, since: time.Hour, attention: reason.RestoreUnanswered},
		"past restoreWait, other attention": {in: phase.MigrationRestoring, since: time.Minute, attention: reason.Forbidden, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.Signalled(t, nil, func(ctx workflow.Context) {
				now := workflow.Now(ctx)
				m := newMigration(ctx, workflows.BindingMigrationParams{State: workflows.MigrationState{Began: now, Entered: now.Add(-row.since), Phase: row.in, Attention: row.attention}})
				m.st.Terms.RestoreWait = 30 * time.Second
				require.Equal(t, row.want, m.restoreLate())
			})
		})
	}
}
