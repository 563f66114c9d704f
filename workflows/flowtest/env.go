package flowtest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// PatientEnv is an environment that takes no slow machine for a deadlock.
func PatientEnv() *testsuite.TestWorkflowEnvironment { return Watched(slog.DiscardHandler) }

// Watched is a patient environment whose log the test reads.
func Watched(log slog.Handler) *testsuite.TestWorkflowEnvironment {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(log)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: bear})
	env.SetTestTimeout(bear)
	return env
}

// InWorkflow runs do where a workflow's clock is.
func InWorkflow(t *testing.T, do func(workflow.Context)) {
	t.Helper()
	Signalled(t, nil, do)
}

// Silent is a logger that says nothing.
func Silent() sdklog.Logger { return sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// bear is how long an environment tolerates with a machine under load: its own second would
// take the reading of the test binary, within a workflow's first activity, for a deadlock.
const bear = 5 * time.Minute

// Signalled is inWorkflow with an answer to every signal.
func Signalled(t *testing.T, answer error, do func(workflow.Context)) {
	t.Helper()
	env := PatientEnv()
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(answer)
	env.ExecuteWorkflow(func(ctx workflow.Context) error { do(ctx); return nil })
	require.NoError(t, env.GetWorkflowError())
}
