package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/grpc"
)

func TestAFlagOfItsOwnBeatsNothingButTheDefault(t *testing.T) {
	var flags Flags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Register(set)
	flags.Shortcut(set, "mode", "mode", "")
	require.NoError(t, set.Parse([]string{"--mode", "enforce", "--set", "instance=eu", "--log-level=debug"}))
	c := fixtures.Must(flags.Load())(t)
	require.EqualValues(t, "enforce", c.Mode)
	require.Equal(t, "eu", c.Instance)
	require.Equal(t, "debug", c.Log.Level)
	require.Equal(t, "text", c.Log.Format)
}

func TestUsageSaysWhereToReadMore(t *testing.T) {
	cmd := &cobra.Command{Use: "lifeboat"}
	err := NoArgs(cmd, []string{"x"})
	require.ErrorIs(t, err, ErrUsage)
	require.EqualError(t, err, `unexpected argument "x"; see lifeboat --help`)
	require.NoError(t, NoArgs(cmd, nil))
	require.ErrorIs(t, FlagError(cmd, errors.New("unknown flag")), ErrUsage)
}

func TestOnlyAWorkflowThatTheServerCallsRunningRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		status enumspb.WorkflowExecutionStatus
		err    error
		runs   bool
		fails  bool
	}{
		{name: "running", status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, runs: true},
		{name: "paused", status: enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, runs: true},
		{name: "completed", status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED},
		{name: "terminated", status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED},
		{name: "unknown", err: serviceerror.NewNotFound("none")},
		{name: "an outage", err: serviceerror.NewUnavailable("away"), fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := mocks.NewClient(t)
			client.On("DescribeWorkflowExecution", mock.Anything, "id", "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
				WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: c.status},
			}, c.err)
			runs, err := Owners{Client: client}.Running(t.Context(), "id")
			require.Equal(t, c.fails, err != nil)
			require.Equal(t, c.runs, runs)
		})
	}
	require.False(t, fixtures.Must(Owners{Client: mocks.NewClient(t)}.Running(t.Context(), ""))(t))
}

// server answers as told.
type server struct {
	workflowservice.WorkflowServiceClient
	operatorservice.OperatorServiceClient
	describe error
	known    map[string]enumspb.IndexedValueType
	list     error
}

func (s server) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, s.describe
}

func (s server) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: s.known}, s.list
}

func (s server) temporal(t *testing.T) *Temporal {
	t.Helper()
	c := mocks.NewClient(t)
	c.On("WorkflowService").Return(s).Maybe()
	c.On("OperatorService").Return(s).Maybe()
	return &Temporal{Client: c, Options: client.Options{Namespace: "lifeboat", HostPort: "here:7233"}}
}

func TestANamespaceIsReadyWhenItKnowsEveryAttribute(t *testing.T) {
	wanted := []string{"B", "A"}
	both := map[string]enumspb.IndexedValueType{"A": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "B": enumspb.INDEXED_VALUE_TYPE_KEYWORD}
	require.NoError(t, server{known: both}.temporal(t).Ready(t.Context(), wanted))

	err := server{}.temporal(t).Ready(t.Context(), wanted)
	require.EqualError(t, err, `namespace "lifeboat" lacks the search attributes A, B; run: lifeboat setup`)

	err = server{describe: serviceerror.NewNamespaceNotFound("lifeboat")}.temporal(t).Ready(t.Context(), wanted)
	require.EqualError(t, err, `namespace "lifeboat" does not exist at here:7233; run: lifeboat setup`)

	require.ErrorContains(t, server{describe: errors.New("away")}.temporal(t).Ready(t.Context(), wanted), "away")
	require.ErrorContains(t, server{list: errors.New("away")}.temporal(t).Ready(t.Context(), wanted), "away")
}

func TestAServerThatListsNoAttributesIsTakenAsItIs(t *testing.T) {
	require.NoError(t, server{list: serviceerror.NewPermissionDenied("no", "")}.temporal(t).Ready(t.Context(), []string{"A"}))
	require.NoError(t, server{list: serviceerror.NewUnimplemented("no")}.temporal(t).Ready(t.Context(), []string{"A"}))
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	_, err := Dial(t.Context(), TemporalOptions{Program: "test", Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "127.0.0.1:1 does not answer as a Temporal server")
	fixtures.Must(Dial(t.Context(), TemporalOptions{Program: "test", Log: slog.New(slog.DiscardHandler), Lazy: true}))(t).Close()
}

// answering is a Karmada that answers each permission with a finding.
type answering func(k8sadapter.Permission) k8sadapter.Finding

func (a answering) Preflight(_ context.Context, permissions []k8sadapter.Permission) (findings []k8sadapter.Finding) {
	for _, p := range permissions {
		findings = append(findings, a(p))
	}
	return findings
}

func allBut(verb string) answering {
	return func(p k8sadapter.Permission) k8sadapter.Finding {
		return k8sadapter.Finding{Permission: p, Allowed: p.Verb != verb}
	}
}

func TestEveryMissingPermissionIsNamed(t *testing.T) {
	needs := k8sadapter.ControllerPermissions(rules.ModeEnforce, "default", "lifeboat-controller")
	require.NoError(t, Permitted(t.Context(), allBut(""), needs))
	err := Permitted(t.Context(), allBut("watch"), needs)
	require.ErrorIs(t, err, karmada.ErrForbidden)
	require.ErrorContains(t, err, "watch clusters.cluster.karmada.io: to see clusters fail and recover")
	require.ErrorContains(t, err, "watch resourcebindings.work.karmada.io")
}

func TestWorkerPermissions_FollowTheConfiguration(t *testing.T) {
	const policies, proxy = "list clustertaintpolicies.policy.karmada.io", "get clusters/proxy.cluster.karmada.io"
	for name, tc := range map[string]struct {
		set       []string
		has, lack []string
	}{
		"default":                      {has: []string{policies}, lack: []string{proxy, "patch clusters.cluster.karmada.io"}},
		"enforce":                      {set: []string{"mode=enforce"}, has: []string{"patch clusters.cluster.karmada.io", policies}, lack: []string{proxy}},
		"Karmada's policies not taken": {set: []string{"rules.karmadaPolicies=false"}, lack: []string{policies}},
		"probe through Karmada":        {set: []string{"mode=enforce", "health.probe=proxy"}, has: []string{policies, proxy}},
		"probe of the endpoint":        {set: []string{"mode=enforce", "health.probe=endpoint"}, lack: []string{proxy}},
		"nothing is released":          {set: []string{"health.probe=proxy"}, lack: []string{proxy}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Load(config.Sources{Set: tc.set})
			require.NoError(t, err)
			var got []string
			for _, p := range WorkerPermissions(c) {
				got = append(got, p.String())
			}
			require.Subset(t, got, tc.has)
			for _, p := range tc.lack {
				require.NotContains(t, got, p)
			}
		})
	}
}

// Rules: R4.15-15.
func TestWhatTheServerSaidIsToldOnceForAllPermissions(t *testing.T) {
	silent := answering(func(p k8sadapter.Permission) k8sadapter.Finding {
		return k8sadapter.Finding{Permission: p, Err: fmt.Errorf("check whether one may %s: connection refused", p)}
	})
	err := Permitted(t.Context(), silent, k8sadapter.WorkerPermissions(rules.ModeEnforce))
	require.ErrorContains(t, err, "patch clusters.cluster.karmada.io: to taint and untaint (could not be checked)")
	require.Equal(t, 1, strings.Count(err.Error(), "connection refused"))
}

// A start is asked under the caller's request id, and under the SDK's own without one.
func TestAStartIsAskedUnderTheRequestIDOfItsCaller(t *testing.T) {
	asked := func(ctx context.Context, request any) any {
		require.NoError(t, sameRequest(ctx, "", request, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }))
		return request
	}
	own := WithRequestID(t.Context(), "mine")
	require.Equal(t, &workflowservice.StartWorkflowExecutionRequest{RequestId: "mine"}, asked(own, &workflowservice.StartWorkflowExecutionRequest{RequestId: "sdk"}))
	require.Equal(t, &workflowservice.StartWorkflowExecutionRequest{RequestId: "sdk"}, asked(t.Context(), &workflowservice.StartWorkflowExecutionRequest{RequestId: "sdk"}))
	signal := &workflowservice.SignalWorkflowExecutionRequest{RequestId: "sdk"}
	require.Same(t, signal, asked(own, signal))
	require.Equal(t, "sdk", signal.RequestId)
}
