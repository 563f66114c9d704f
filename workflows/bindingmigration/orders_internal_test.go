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
