package bindingmigration

import (
	"context"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
)

// A release that comes while the write is under way is refused once that has written nothing; a put-back then
// ends the migration.
//
// Rules: R4.9-32.
func TestOrders_ComeDuringAWriteThatIsNotSent_DecideNothingOfTheNextWrite(t *testing.T) {
	env := flowtest.PatientEnv()
	var reports []activities.MigrationReport
	env.RegisterActivityWithOptions(func(_ context.Context, r activities.ReportRequest) error {
		reports = append(reports, r.Report)
		return nil
	}, activity.RegisterOptions{Name: activities.NameReportMigration})
	env.RegisterActivityWithOptions(func(context.Context, activities.EvictRequest) (activities.EvictResult, error) {
		return activities.EvictResult{}, nil
	}, activity.RegisterOptions{Name: activities.NameEvict})
	env.OnActivity(activities.NameEvict, mock.Anything, mock.Anything).After(2*time.Second).Return(
		activities.EvictResult{End: activities.EvictRefused, Reason: reason.PermitPassed}, nil)
	order := func(verb, id string) func() {
		o := workflows.MigrationOrder{Verb: verb}
		o.ID, o.Who, o.Reason = id, "jane", "a drill"
		return func() { env.SignalWorkflow(workflows.SignalMigrationOrder, o) }
	}
	env.RegisterDelayedCallback(order(workflows.UpdateRelease, "release-1"), time.Second)
	env.RegisterDelayedCallback(func() {
		last := reports[len(reports)-1]
		require.Equal(t, phase.MigrationQueued, last.Phase)
		require.Equal(t, "release-1", last.RefusedID)
		require.Contains(t, last.Refused, "nothing of Lifeboat's stands yet")
	}, 3*time.Second)
	env.RegisterDelayedCallback(order(workflows.UpdatePutBack, "put-back-1"), 4*time.Second)
	ref := activities.MigrationRef{Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "u"}
	now := env.Now()
	env.SetStartWorkflowOptions(sdk.StartWorkflowOptions{ID: workflows.BindingMigrationID("", ref.Cluster, ref.Key)})
	env.ExecuteWorkflow(Workflow, workflows.BindingMigrationParams{State: workflows.MigrationState{
		Ref: ref, Parent: "cluster-failover/m1", FailoverID: "e", Attempt: 1, Permit: pace.Permit{Number: 1, Earliest: now, Latest: now.Add(time.Second)},
		Terms: activities.Terms{HealthPoll: time.Minute, Recheck: time.Minute},
	}})
	var result record.Result
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, phase.OutcomeAbandoned, result.Outcome)
	require.Equal(t, reason.PutBackOrdered, result.Reason)
	require.Equal(t, "put back by jane: a drill", result.Cause)
}

// orderOf is an order of an operator, as the failover hands it on.
func orderOf(verb string) workflows.MigrationOrder {
	o := workflows.MigrationOrder{Verb: verb}
	o.ID, o.Who, o.Reason = verb+"-1", "jane", "a drill"
	return o
}

// recording takes reports, and has a release done.
func recording(reports *[]activities.MigrationReport) flowtest.Acts {
	return flowtest.Acts{
		activities.NameReportMigration: func(_ context.Context, r activities.ReportRequest) error {
			*reports = append(*reports, r.Report)
			return nil
		},
		activities.NameRelease: func(context.Context, activities.ReleaseRequest) (activities.ActResult, error) {
			return activities.ActResult{End: activities.ActDone}, nil
		},
	}
}

// Rules: R4.9-36.
func TestPutBack_ComesWhileTheReleaseIsWritten_IsRefusedAndNoCause(t *testing.T) {
	var reports []activities.MigrationReport
	flowtest.Signalled(t, nil, func(ctx workflow.Context) {
		m := newMigration(ctx, workflows.BindingMigrationParams{State: workflows.MigrationState{
			Began: workflow.Now(ctx), Phase: phase.MigrationReleasing, Evicted: workflows.WriteStands, Parent: "cluster-failover/m1",
		}})
		workflow.Go(ctx, func(workflow.Context) { m.orders.takeOrder(orderOf(workflows.UpdatePutBack)) })
		m.releaser.release()
		require.Equal(t, phase.MigrationPurging, m.st.Phase)
		require.Nil(t, m.st.Intent.Held)
		require.Empty(t, m.st.Cause())
		last := reports[len(reports)-1]
		require.Equal(t, "put-back-1", last.RefusedID)
		require.Equal(t, workflows.ReleasedAlready, last.Refused)
	}, recording(&reports))
}

// Rules: R4.9-36, R4.9-57.
func TestTakeOrder_TooLate_IsRefusedAndReported(t *testing.T) {
	back := &workflows.HeldOrder{Kind: workflows.IntentPutBack}
	for name, c := range map[string]struct {
		state   workflows.MigrationState
		verb    string
		refused string // empty where it is taken
	}{
		"put-back of what is released":       {state: workflows.MigrationState{Phase: phase.MigrationPurging}, verb: workflows.UpdatePutBack, refused: workflows.ReleasedAlready},
		"release of what is released":        {state: workflows.MigrationState{Phase: phase.MigrationPurging}, verb: workflows.UpdateRelease, refused: workflows.ReleasedAlready},
		"release of what may be put back":    {state: workflows.MigrationState{Phase: phase.MigrationRestoring, Restored: workflows.WriteUnknown}, verb: workflows.UpdateRelease, refused: "no old copy is held any more"},
		"release before that":                {state: workflows.MigrationState{Phase: phase.MigrationRestoring}, verb: workflows.UpdateRelease},
		"put-back once more":                 {state: workflows.MigrationState{Phase: phase.MigrationRestoring, Restored: workflows.WriteUnknown}, verb: workflows.UpdatePutBack},
		"cancel of what may be put back too": {state: workflows.MigrationState{Phase: phase.MigrationRestoring, Restored: workflows.WriteStands}, verb: workflows.UpdateCancel},
	} {
		t.Run(name, func(t *testing.T) {
			var reports []activities.MigrationReport
			flowtest.Signalled(t, nil, func(ctx workflow.Context) {
				c.state.Began, c.state.Evicted, c.state.Parent, c.state.Intent.Held = workflow.Now(ctx), workflows.WriteStands, "cluster-failover/m1", back
				m := newMigration(ctx, workflows.BindingMigrationParams{State: c.state})
				m.orders.takeOrder(orderOf(c.verb))
				require.NoError(t, workflow.Sleep(ctx, time.Second))
				if c.refused == "" {
					require.Empty(t, m.st.Intent.Refusal)
					require.Equal(t, c.verb != workflows.UpdateRelease, m.st.Intent.PutsBack())
					return
				}
				require.Equal(t, back, m.st.Intent.Held, "what is done is not undone")
				require.Len(t, reports, 1)
				require.Equal(t, c.verb+"-1", reports[0].RefusedID)
				require.Contains(t, reports[0].Refused, c.refused)
			}, recording(&reports))
		})
	}
}
