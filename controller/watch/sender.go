package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Temporal sends signals through a Temporal client.
type Temporal struct {
	Client    client.Client
	TaskQueue string
}

// Signal implements Sender.
func (t Temporal) Signal(ctx context.Context, workflowID, signal string, arg any) error {
	err := t.Client.SignalWorkflow(ctx, workflowID, "", signal, arg)
	if process.IsA[*serviceerror.NotFound](err) {
		err = ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("signal %s to %s: %w", signal, workflowID, known(err))
	}
	return nil
}

// signalLimit is the message of Temporal's server for a signal beyond those that one run may have
// (history.maximumSignalsPerExecution, 10,000). The server has no error of its own for that.
const signalLimit = "exceeded workflow execution limit for signal events"

// known marks an error of the server that the outbox handles.
func known(err error) error {
	if invalid, is := errors.AsType[*serviceerror.InvalidArgument](err); is && strings.Contains(invalid.Message, signalLimit) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// SignalWithStart implements Sender.
func (t Temporal) SignalWithStart(ctx context.Context, start Start, signal string, arg any) error {
	options, params := start.With()
	options.ID, options.TaskQueue = start.ID, t.TaskQueue
	if _, err := t.Client.SignalWithStartWorkflow(ctx, start.ID, signal, arg, options, start.Type, params); err != nil {
		return fmt.Errorf("signal %s to %s, starting it: %w", signal, start.ID, known(err))
	}
	return nil
}

// Start is a workflow, and how to start it when it does not run.
type Start struct {
	Type, ID string // without a Type it is never started
	Cluster  string // of a ClusterFailover
	// With makes the options and the parameters, when they are needed: most signals go to a workflow that runs.
	With func() (client.StartWorkflowOptions, any)
}

// StartFailover starts the failover of a cluster.
func StartFailover(instance, cluster string) Start {
	with := func() (client.StartWorkflowOptions, any) {
		return client.StartWorkflowOptions{
			StaticSummary: "Failover of cluster " + cluster, StaticDetails: failoverDetails,
			Memo:                  map[string]any{"cluster": cluster},
			TypedSearchAttributes: temporal.NewSearchAttributes(workflows.SearchCluster.ValueSet(cluster)),
		}, workflows.ClusterFailoverParams{Instance: instance, Cluster: cluster}
	}
	id := workflows.ClusterFailoverID(instance, cluster)
	return Start{Type: workflows.TypeClusterFailover, ID: id, Cluster: cluster, With: with}
}

// startApplication starts the failover of an application.
func startApplication(instance string, key karmada.BindingKey) Start {
	with := func() (client.StartWorkflowOptions, any) {
		return client.StartWorkflowOptions{
			StaticSummary: "Failover of application " + key.String(), StaticDetails: applicationDetails,
			TypedSearchAttributes: temporal.NewSearchAttributes(workflows.SearchBinding.ValueSet(workflows.Storable(key.String()))),
		}, workflows.ApplicationFailoverParams{Instance: instance, Binding: key}
	}
	return Start{Type: workflows.TypeApplicationFailover, ID: workflows.ApplicationFailoverID(instance, key), With: with}
}

// startPacer starts the pacer.
func startPacer(instance string) Start {
	with := func() (client.StartWorkflowOptions, any) {
		return client.StartWorkflowOptions{
			StaticSummary: "Paces the evictions of all failovers", StaticDetails: pacerDetails,
		}, workflows.FleetPacerParams{Instance: instance}
	}
	return Start{Type: workflows.TypeFleetPacer, ID: workflows.FleetPacerID(instance), With: with}
}

// What an operator should know before touching a workflow in the UI.
const (
	failoverDetails = `**Current Details** is the live page of this failover: what, why, how far, what comes next.

- Each binding that moves is a workflow of its own: find them by the same ` + "`LifeboatCluster`" + `.
- *Request Cancellation* is the same as ` + "`lifeboat cancel`" + `: what is unplaced goes back, what is placed keeps both copies.
- *Terminate* cleans nothing up. The controller then starts a new run, which takes over what it finds.
- Never *Reset*: it repeats decisions that Karmada has moved past.`

	applicationDetails = `**Current Details** is the live page of this failover: how each copy is, for how long it may stay so, what comes next.

- *Request Cancellation* is the same as ` + "`lifeboat cancel`" + `: nothing of it moves until it was healthy once.
- *Terminate* cleans nothing up. The controller then starts a new run, whose clocks begin again.
- Never *Reset*: it repeats decisions that Karmada has moved past.`

	pacerDetails = `**Current Details** is the live page of the fleet's pace: tier, rate, who waits.

- ` + "`lifeboat pause fleet --reason \"…\"`" + ` halts it, ` + "`lifeboat resume fleet --reason \"…\"`" + ` ends that.
- *Request Cancellation* halts nothing: the controller starts the next pacer within half a minute, with the orders of this one.
- *Terminate* loses the state: the next pacer starts paused until an operator resumes it.
- Never *Reset*: it grants spent permits again.`
)
