package orders

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/controller/watch"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// startAndUpdate asks a cluster's failover, which is started if it does not run.
func (d Desk) startAndUpdate(ctx context.Context, to Target, name string, o any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sender := watch.Temporal{Client: d.Client, TaskQueue: d.TaskQueue, Instance: d.Instance}
	options, params := sender.Failover(to.Name)
	options.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	handle, err := d.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: d.Client.NewWithStartWorkflowOperation(options, workflows.TypeClusterFailover, params),
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: to.WorkflowID, UpdateName: name, Args: []any{o},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return "", err
	}
	var answer string
	err = handle.Get(ctx, &answer)
	return answer, err
}
