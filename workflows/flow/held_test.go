package flow_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// The end of a migration and the news that it does not run any more come in one workflow task: the end is the answer.
func TestHeldOrders_RefusedAfterTheEndOfTheMigration_KeepTheirAnswer(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		var held flow.HeldOrders
		order := workflows.BindingOrder{Binding: karmada.BindingKey{Namespace: "shop", Name: "cart"}}
		order.ID = "put-back-1"
		workflow.Go(ctx, func(workflow.Context) {
			held.Reported(activities.MigrationReport{Key: order.Binding, Result: &record.Result{Key: order.Binding, Outcome: phase.OutcomeRestored}}, func(string) bool { return false })
			held.Refuse(order.ID, flow.Refused("it does not run"))
		})
		answer, err := held.Await(ctx, workflows.UpdatePutBack, order, "sent")
		require.NoError(t, err)
		require.Equal(t, "Restored: shop/cart", answer)
	})
}
