package flow_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

func TestLull(t *testing.T) {
	for name, test := range map[string]struct {
		tasks []int // how long the history is when each task begins
		comes bool  // in the last
	}{
		"few events":                                  {tasks: []int{3500, 3512}, comes: true},
		"many events":                                 {tasks: []int{3500, 3513}},
		"two turns in a task of many events":          {tasks: []int{3500, 3540, 3540}},
		"few events after many":                       {tasks: []int{3500, 3540, 3546}, comes: true},
		"many events, and twice as long as it may be": {tasks: []int{6980, 7000}, comes: true},
	} {
		t.Run(name, func(t *testing.T) {
			env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				var lull flow.Lull
				for _, length := range test.tasks {
					env.SetCurrentHistoryLength(length)
					lull.See(ctx)
				}
				require.Equal(t, test.comes, lull.Comes(ctx, 3500))
				return nil
			})
			require.NoError(t, env.GetWorkflowError())
		})
	}
}
