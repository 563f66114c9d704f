package orders

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/starter/watch"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Snooze leaves bindings where they are for a while.
func (d Desk) Snooze(ctx context.Context, to Target, o workflows.SnoozeOrder) (string, error) {
	return d.update(ctx, to, workflows.UpdateSnooze, o)
}

// Approve agrees to the moves of bindings that wait, in this round.
func (d Desk) Approve(ctx context.Context, to Target, o workflows.ScopedOrder) (string, error) {
	return d.update(ctx, to, workflows.UpdateApprove, o)
}

// Prioritise gives bindings another priority for the rest of a failover.
func (d Desk) Prioritise(ctx context.Context, to Target, o workflows.PriorityOrder) (string, error) {
	return d.update(ctx, to, workflows.UpdatePrioritise, o)
}

// Skip leaves one binding alone in this round.
func (d Desk) Skip(ctx context.Context, to Target, o workflows.BindingOrder) (string, error) {
	return d.update(ctx, to, workflows.UpdateSkip, o)
}

// PutBack restores the former clusters of one binding. What an earlier failover kept,
// or left to a human, needs one that runs: it is started if need be.
func (d Desk) PutBack(ctx context.Context, to Target, o workflows.BindingOrder) (string, error) {
	return d.updateOrStart(ctx, to, workflows.UpdatePutBack, o)
}

// Release drops the hold of one binding; as PutBack it starts a failover if need be.
func (d Desk) Release(ctx context.Context, to Target, o workflows.BindingOrder) (string, error) {
	return d.updateOrStart(ctx, to, workflows.UpdateRelease, o)
}

func (d Desk) updateOrStart(ctx context.Context, to Target, name string, o any) (string, error) {
	answer, err := d.startAndUpdate(ctx, to, name, o)
	if err != nil {
		return "", explain(to, name, err)
	}
	return answer, nil
}

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
