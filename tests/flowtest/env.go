package flowtest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// PatientEnv is an environment that takes no slow machine for a deadlock.
func PatientEnv() *testsuite.TestWorkflowEnvironment { return Watched(slog.DiscardHandler) }

// Watched is a patient environment whose log, and metrics, the test reads.
func Watched(log slog.Handler, metrics ...client.MetricsHandler) *testsuite.TestWorkflowEnvironment {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(log)))
	for _, m := range metrics {
		suite.SetMetricsHandler(m)
	}
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: Patience})
	env.SetTestTimeout(Patience)
	return env
}

// Patience is long enough for a machine under load: with the default of one second, reading the test
// binary within a workflow's first activity would count as a deadlock.
const Patience = 5 * time.Minute

// Acts are activities by name.
type Acts map[string]any

// InWorkflow runs do in a workflow, with activities for it.
func InWorkflow(t *testing.T, do func(workflow.Context), acts ...Acts) {
	t.Helper()
	Signalled(t, nil, do, acts...)
}

// Signalled is InWorkflow with an answer to every signal.
func Signalled(t *testing.T, answer error, do func(workflow.Context), acts ...Acts) {
	t.Helper()
	env := PatientEnv()
	for _, some := range acts {
		for name, act := range some {
			env.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
		}
	}
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(answer)
	env.ExecuteWorkflow(func(ctx workflow.Context) error { do(ctx); return nil })
	require.NoError(t, env.GetWorkflowError())
}

// Silent is a logger that says nothing.
func Silent() sdklog.Logger { return sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)) }
