package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Temporal sends signals through a Temporal client.
type Temporal struct {
	Client    client.Client
	TaskQueue string
	Instance  string
}

// Signal implements Sender.
func (t Temporal) Signal(ctx context.Context, workflowID, signal string, arg any) error {
	err := t.Client.SignalWorkflow(ctx, workflowID, "", signal, arg)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
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
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) && strings.Contains(invalid.Message, signalLimit) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// SignalWithStart implements Sender.
func (t Temporal) SignalWithStart(ctx context.Context, start Start, signal string, arg any) error {
	_, err := t.Client.SignalWithStartWorkflow(ctx, start.WorkflowID, signal, arg, t.options(start), start.Type, t.params(start))
	if err != nil {
		return fmt.Errorf("signal %s to %s, starting it: %w", signal, start.WorkflowID, known(err))
	}
	return nil
}

func (t Temporal) options(start Start) client.StartWorkflowOptions {
	options := client.StartWorkflowOptions{ID: start.WorkflowID, TaskQueue: t.TaskQueue}
	if start.Type == workflows.TypeApplicationFailover {
		options.StaticSummary = "Failover of application " + start.Binding.String()
		options.StaticDetails = applicationDetails
		options.TypedSearchAttributes = temporal.NewSearchAttributes(workflows.SearchBinding.ValueSet(workflows.Storable(start.Binding.String())))
		return options
	}
	if start.Cluster == "" {
		options.StaticSummary = "Paces the evictions of all failovers"
		options.StaticDetails = pacerDetails
		return options
	}
	options.StaticSummary = "Failover of cluster " + start.Cluster
	options.StaticDetails = failoverDetails
	options.Memo = map[string]any{"cluster": start.Cluster}
	options.TypedSearchAttributes = temporal.NewSearchAttributes(workflows.SearchCluster.ValueSet(start.Cluster))
	return options
}

// Failover has the options and parameters that start a cluster's failover.
func (t Temporal) Failover(cluster string) (client.StartWorkflowOptions, any) {
	start := startOf(t.Instance, cluster)
	return t.options(start), t.params(start)
}

func (t Temporal) params(start Start) any {
	switch start.Type {
	case workflows.TypeFleetPacer:
		return workflows.FleetPacerParams{Instance: t.Instance}
	case workflows.TypeApplicationFailover:
		return workflows.ApplicationFailoverParams{Instance: t.Instance, Binding: start.Binding}
	}
	return workflows.ClusterFailoverParams{Instance: t.Instance, Cluster: start.Cluster}
}

// What an operator should know before touching a workflow in the UI.
const (
	failoverDetails = `**Current Details** is the live page of this failover: what, why, how far, what comes next.

- Each binding that moves is a workflow of its own: see *Relationships*.
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
