package bindingmigration

import (
	"testing"

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
