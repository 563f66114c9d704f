package flow_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A signal and what the main coroutine waits for come in one workflow task: the signal has left its channel, and the
// coroutine that takes it has not run yet.
func TestYield_SignalThatIsOnItsWay_IsTakenBeforeTheRunCloses(t *testing.T) {
	for name, yields := range map[string]bool{"yields": true, "does not yield": false} {
		t.Run(name, func(t *testing.T) {
			suite := &testsuite.WorkflowTestSuite{}
			env := suite.NewTestWorkflowEnvironment()
			env.ExecuteWorkflow(func(ctx workflow.Context) (int, error) {
				taken := 0
				inbox := flow.Messages{Signals: []flow.Signal{flow.OnSignal("count", func(n int) { taken += n })}}
				if err := inbox.Serve(ctx, ctx); err != nil {
					return 0, err
				}
				_ = workflow.Sleep(ctx, time.Second) // now the coroutine waits for signals
				channel, ok := workflow.GetSignalChannel(ctx, "count").(workflow.SendChannel)
				require.True(t, ok)
				require.True(t, channel.SendAsync(1))
				if yields {
					flow.Yield(ctx)
				}
				inbox.Drain()
				return taken, nil
			})
			require.NoError(t, env.GetWorkflowError())
			var taken int
			require.NoError(t, env.GetWorkflowResult(&taken))
			require.Equal(t, yields, taken == 1, "without a yield it is lost")
		})
	}
}
