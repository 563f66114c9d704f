package bindingmigration

import (
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// A state that somebody made up must not turn in its loop without ever waiting: the
// worker, and every other workflow on it, would pay for that.
func TestAMigrationOfAMadeUpStateEndsAtOnce(t *testing.T) {
	ref := activities.MigrationRef{Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, st := range map[string]workflows.MigrationState{
		"a phase that is none":        {Ref: ref, Began: began, Phase: "Nonsense"},
		"no phase":                    {Ref: ref, Began: began},
		"an end without an outcome":   {Ref: ref, Began: began, Phase: phase.MigrationDone},
		"no cluster and no binding":   {},
		"a cluster without a binding": {Ref: activities.MigrationRef{Cluster: "m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := flowtest.PatientEnv()
			env.ExecuteWorkflow(Workflow, workflows.BindingMigrationParams{State: st})
			var refused *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &refused)
			require.Equal(t, "Malformed", refused.Type())
			require.True(t, refused.NonRetryable())
		})
	}
}

func TestTakePermit_OfAHundredYears_IsNone(t *testing.T) {
	m := assemble(&core{log: flowtest.Silent(), st: &workflows.MigrationState{}})
	m.st.Phase = phase.MigrationQueued
	now := time.Now()
	m.takePermit(pace.Permit{Number: 1, Earliest: now, Latest: now.AddDate(100, 0, 0)})
	m.takePermit(pace.Permit{Number: 2, Earliest: now, Latest: now})
	require.Zero(t, m.st.Permit)
	m.takePermit(pace.Permit{Number: 3, Earliest: now, Latest: now.Add(time.Second)})
	require.EqualValues(t, 3, m.st.Permit.Number)
}

// A fence is about one outage: one dated ahead would never become void.
func TestAFenceFromTheFutureIsOfNow(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		var ahead []time.Duration
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			m := assemble(&core{ctx: ctx, log: flowtest.Silent(), st: &workflows.MigrationState{}})
			m.st.Ref.Purge = karmada.PurgeDirectly
			m.fences.fencedByAll(workflows.Fenced{Fence: proof.Fence{By: proof.FenceByOperator, Who: "jane", At: workflow.Now(ctx).Add(by)}})
			ahead = append(ahead, m.st.Ref.Fence.At.Sub(workflow.Now(ctx)))
		}
		require.Equal(t, []time.Duration{0, -time.Hour}, ahead)
	})
}

func TestWhatIsTooLongToBeCarriedByAMigrationIsNotKept(t *testing.T) {
	long := strings.Repeat("x", 600_000)
	m := assemble(&core{log: flowtest.Silent(), st: &workflows.MigrationState{}})
	m.st.FailoverID, m.st.Ref.Purge = "this", karmada.PurgeDirectly
	m.adoptedBy(workflows.MigrationAdopted{FailoverID: long, Attempt: 2})
	require.Equal(t, "this", m.st.FailoverID)
	m.fences.fencedByAll(workflows.Fenced{Fence: proof.Fence{By: proof.FenceByOperator, Message: long, At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}})
	require.Nil(t, m.st.Ref.Fence)
}

// A transition that does not exist must not make a hot loop of the look that asks for it.
func TestARefusedTransitionIsFollowedByAWait(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		m := newMigration(ctx, workflows.BindingMigrationParams{})
		m.st.Phase, m.st.Terms.Recheck = phase.MigrationPurging, time.Minute
		began := workflow.Now(ctx)
		m.on(phase.EventPlaced)
		require.Equal(t, phase.MigrationPurging, m.st.Phase)
		require.GreaterOrEqual(t, workflow.Now(ctx).Sub(began), time.Minute)
	})
}

// An order that comes while a migration looks once more is seen at its end, whatever the look said.
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
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				now := workflow.Now(ctx)
				m := newMigration(ctx, workflows.BindingMigrationParams{State: workflows.MigrationState{Began: now, Entered: now.Add(-row.since), Phase: row.in, Attention: row.attention}})
				m.st.Terms.RestoreWait = 30 * time.Second
				require.Equal(t, row.want, m.restoreLate())
			})
		})
	}
}
