package bindingmigration

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// A transition that does not exist must not make a hot loop of the look that asks for it.
func TestARefusedTransitionIsFollowedByAWait(t *testing.T) {
	env := flowtest.PatientEnv()
	env.ExecuteWorkflow(func(ctx workflow.Context) (time.Duration, error) {
		m := newMigration(ctx, workflows.BindingMigrationParams{})
		m.st.Phase, m.st.Terms.Recheck = phase.MigrationPurging, time.Minute
		began := workflow.Now(ctx)
		m.on(phase.EventPlaced)
		require.Equal(t, phase.MigrationPurging, m.st.Phase)
		return workflow.Now(ctx).Sub(began), nil
	})
	require.NoError(t, env.GetWorkflowError())
	var waited time.Duration
	require.NoError(t, env.GetWorkflowResult(&waited))
	require.GreaterOrEqual(t, waited, time.Minute)
}
