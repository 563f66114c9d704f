package flowtest

import (
	"testing"

	"github.com/stretchr/testify/mock"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
)

// Query matches a query that a workflow answers unless it did not complete; an empty id is any.
func Query(id, name string) any {
	return mock.MatchedBy(func(r *client.QueryWorkflowWithOptionsRequest) bool {
		return (id == "" || r.WorkflowID == id) && r.QueryType == name && r.QueryRejectCondition == enums.QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY
	})
}

// Rejected is the answer of a workflow that has that status.
func Rejected(status enums.WorkflowExecutionStatus) *client.QueryWorkflowWithOptionsResponse {
	return &client.QueryWorkflowWithOptionsResponse{QueryRejected: &query.QueryRejected{Status: status}}
}

// Answer is the answer to a query.
func Answer(value any) *client.QueryWorkflowWithOptionsResponse {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(value)
	if err != nil {
		panic(err)
	}
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}
}

// Reporting is a closed workflow with its report.
func Reporting[T any](t *testing.T, report T) *mocks.WorkflowRun {
	t.Helper()
	run := mocks.NewWorkflowRun(t)
	run.On("Get", mock.Anything, mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if into, ok := args.Get(1).(*T); ok {
			*into = report
		}
	})
	return run
}
