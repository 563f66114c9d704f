package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// attic is a Temporal in which nothing runs; it remembers what it is told.
type attic struct {
	client.Client
	told []workflows.Adopt
	// deaf is the cluster whose failover cannot be reached.
	deaf string
}

func (*attic) Close() {}

func (*attic) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("nothing runs")
}

func (a *attic) SignalWithStartWorkflow( //nolint:revive // the client's own interface
	_ context.Context, _, _ string, arg any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	adopt, _ := arg.(workflows.Adopt)
	if adopt.Cluster == a.deaf && a.deaf != "" {
		return nil, serviceerror.NewUnavailable("no connection")
	}
	a.told = append(a.told, adopt)
	return nil, nil
}

// sweep runs a command line against an attic.
func (a *attic) sweep(t *testing.T, in activities.Reader, words ...string) (out string, code int) {
	t.Helper()
	p := newApp()
	p.dial = func(context.Context, process.TemporalOptions) (*process.Temporal, error) {
		return &process.Temporal{Client: a, Options: client.Options{Namespace: "lifeboat"}}, nil
	}
	p.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) { return in, nil }
	var written strings.Builder
	cmd := p.command("lifeboat")
	cmd.SetOut(&written)
	cmd.SetErr(&written)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetArgs(append(words, "--who", "ada", "--ui-url", "http://ui"))
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		written.WriteString(err.Error())
	}
	return written.String(), exitCode(err)
}

// abandoned is a Karmada in which a Lifeboat hold task stands on cart.
type abandoned struct{ held }

func (a abandoned) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	p, err := a.held.Bindings(ctx, page)
	for i := range p.Bindings {
		if p.Bindings[i].Resource.Name == "cart" {
			p.Bindings[i].Tasks = []karmada.Task{{FromCluster: "member1", Producer: karmada.Producer, Reason: karmada.TaskReason, Message: "gone"}}
		}
	}
	return p, err
}

func (a abandoned) Binding(ctx context.Context, _ karmada.BindingKey) (karmada.Binding, error) {
	p, err := a.Bindings(ctx, activities.Page{})
	return p.Bindings[1], err
}

// Rules: R4.9-55.
func TestASweepAsksOnceAndTellsWhomItAsked(t *testing.T) {
	office := &attic{}
	out, code := office.sweep(t, abandoned{}, "adopt")
	require.Equal(t, process.ExitUsage, code, out)
	require.Contains(t, out, "--reason")

	out, code = office.sweep(t, abandoned{}, "adopt", "--reason", "x")
	require.Equal(t, process.ExitRefused, code, out)
	require.Contains(t, out, "hold task on shop/cart-deployment: its owner gone does not run")
	require.Contains(t, out, "add --yes")
	require.Empty(t, office.told)

	out, code = office.sweep(t, abandoned{}, "adopt", "--reason", "x", "--yes")
	require.Equal(t, process.ExitOK, code, out)
	require.Contains(t, out, "cluster-failover/member1")
	require.Contains(t, out, "http://ui/namespaces/lifeboat/workflows/")
	require.Contains(t, out, "not changed: ")
	require.Equal(t, workflows.Order{Who: "ada", Reason: "x"}, office.told[0].By)

	out, code = office.sweep(t, abandoned{}, "adopt", "member1", "--reason", "x", "--yes", "-o", "json")
	require.Equal(t, process.ExitOK, code, out)
	var said adoptAnswer
	require.NoError(t, json.Unmarshal([]byte(out), &said), out)
	require.Equal(t, "member1", said.Adopted[0].Cluster)
	require.Equal(t, "cart-deployment", said.Orphans[0].Tasks[0].Binding.Key.Name)
	require.NotEmpty(t, said.NotChanged)
}

// abandonedTwice is abandoned, with a hold task of another cluster's failover beside.
type abandonedTwice struct{ abandoned }

func (a abandonedTwice) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	p, err := a.abandoned.Bindings(ctx, page)
	for i := range p.Bindings {
		for _, task := range p.Bindings[i].Tasks {
			task.FromCluster = "member2"
			p.Bindings[i].Tasks = append(p.Bindings[i].Tasks, task)
		}
	}
	return p, err
}

func (a abandonedTwice) Binding(ctx context.Context, _ karmada.BindingKey) (karmada.Binding, error) {
	p, err := a.Bindings(ctx, activities.Page{})
	return p.Bindings[1], err
}

// A sweep that stops half way says whom it has asked: sweeping again asks them once more.
// Rules: R4.9-55.
func TestASweepThatStopsHalfWaySaysWhomItHasAsked(t *testing.T) {
	office := &attic{deaf: "member2"}
	out, code := office.sweep(t, abandonedTwice{}, "adopt", "--reason", "x", "--yes")
	require.NotEqual(t, process.ExitOK, code, out)
	require.Len(t, office.told, 1)
	require.Contains(t, out, "cluster-failover/member2")
	require.Contains(t, out, "asked before it: member1")

	office = &attic{deaf: "member1"}
	out, code = office.sweep(t, abandonedTwice{}, "adopt", "--reason", "x", "--yes")
	require.NotEqual(t, process.ExitOK, code, out)
	require.Contains(t, out, "no failover was asked before it")
}

// Rules: R4.9-55.
func TestASweepThatFindsNothingAsksNobody(t *testing.T) {
	office := &attic{}
	for _, line := range []string{"adopt", "adopt member2"} {
		out, code := office.sweep(t, fleet{}, append(strings.Fields(line), "--reason", "x")...)
		require.Equal(t, process.ExitOK, code, out)
		require.Contains(t, out, "Nothing of Lifeboat's is without an owner")
	}
	out, code := office.sweep(t, fleet{}, "adopt", "fleet", "--reason", "x")
	require.Equal(t, process.ExitUsage, code, out)
	require.Empty(t, office.told)
}
