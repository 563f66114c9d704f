package process

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Owners tells which workflows run.
type Owners struct {
	Client client.Client
}

// Running asks the server itself, never a list, which lags. An id that names
// nothing does not run.
func (o Owners) Running(ctx context.Context, workflowID string) (bool, error) {
	if workflowID == "" {
		return false, nil
	}
	description, err := o.Client.DescribeWorkflowExecution(ctx, workflowID, "")
	var missing *serviceerror.NotFound
	var impossible *serviceerror.InvalidArgument // somebody wrote into the task what is no id
	if errors.As(err, &missing) || errors.As(err, &impossible) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	status := description.GetWorkflowExecutionInfo().GetStatus()
	return status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || status == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, nil
}
