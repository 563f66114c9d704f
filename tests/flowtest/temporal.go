package flowtest

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
)

// Answer is the answer to a query.
func Answer(value any) converter.EncodedValue {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(value)
	if err != nil {
		panic(err)
	}
	return client.NewValue(payloads)
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
