package orders

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

var (
	// ErrNotFound is returned when the workflow does not run.
	ErrNotFound = errors.New("no such failover runs")
	// ErrRefused is returned when the workflow refused the order.
	ErrRefused = errors.New("refused")
)

// Fleet is the name under which orders to the pacer go.
const Fleet = "fleet"

// patience is how long an answer is waited for. Updates are not answered while no
// worker runs.
const patience = 20 * time.Second

// Sender sends orders.
type Sender struct {
	Client   client.Client
	Instance string
	// TaskQueue is where a failover is started that does not run yet.
	TaskQueue string
}

// Target is the workflow that an order is for: a cluster's failover, or the pacer.
type Target struct {
	WorkflowID string
	Name       string // of the cluster, or Fleet
}

// Target finds the workflow for a cluster's name, or Fleet.
func (d Sender) Target(name string) Target {
	if name == Fleet {
		return Target{WorkflowID: workflows.FleetPacerID(d.Instance), Name: Fleet}
	}
	return Target{WorkflowID: workflows.ClusterFailoverID(d.Instance, name), Name: name}
}

// Pause stops dispatch for a cluster, for some of its bindings where the order says
// whom, or halts the fleet. Where the workflow cannot
// answer, a plain signal is left for it: signals are always recorded.
func (d Sender) Pause(ctx context.Context, to Target, o workflows.ScopedOrder) (string, error) {
	if to.Name == Fleet {
		return d.Give(ctx, to, workflows.UpdateHalt, o.Order)
	}
	answer, err := d.Give(ctx, to, workflows.UpdatePause, o)
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		return answer, err
	}
	if fallback := d.Client.SignalWorkflow(ctx, to.WorkflowID, "", workflows.SignalPause, o); fallback != nil {
		return "", errors.Join(err, fallback)
	}
	return "the workflow did not answer; a pause was left for it as a signal, it obeys as soon as a worker runs", nil
}

// Resume continues dispatch for a cluster or for some of its bindings, re-opens a
// stopped failover, or ends a halt of the fleet.
func (d Sender) Resume(ctx context.Context, to Target, o workflows.ScopedOrder) (string, error) {
	if to.Name == Fleet {
		return d.Give(ctx, to, workflows.UpdateResume, o.Order)
	}
	return d.Give(ctx, to, workflows.UpdateResume, workflows.Resume{ScopedOrder: o})
}

// Enforce has a failover that began in observe act from now on.
func (d Sender) Enforce(ctx context.Context, to Target, o workflows.Order) (string, error) {
	return d.Give(ctx, to, workflows.UpdateResume, workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: o}, Enforce: true})
}

// Give gives an order to a workflow that runs: its update of that name.
func (d Sender) Give(ctx context.Context, to Target, name string, o any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	handle, err := d.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: to.WorkflowID, UpdateName: name, Args: []any{o},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	var answer string
	if err == nil {
		err = handle.Get(ctx, &answer)
	}
	if err != nil {
		return "", explain(to, name, err)
	}
	return answer, nil
}

// explain says in a sentence why an order did not get through, and what to do.
func explain(to Target, name string, err error) error {
	var missing *serviceerror.NotFound
	var refused *temporal.ApplicationError
	var late *serviceerror.DeadlineExceeded
	switch {
	case errors.As(err, &missing) && to.Name == Fleet:
		return fmt.Errorf("%w: the pacer is not running; it starts with lifeboat controller", ErrNotFound)
	case errors.As(err, &missing):
		return fmt.Errorf("%w for cluster %s; see lifeboat status", ErrNotFound, to.Name)
	case errors.As(err, &refused):
		return fmt.Errorf("%s of %s %w: %s", name, to.Name, ErrRefused, refused.Message())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late):
		return fmt.Errorf("%s of %s was not answered within %s; is a lifeboat-worker running?", name, to.Name, patience)
	default:
		return fmt.Errorf("%s of %s: %w", name, to.Name, err)
	}
}

// Link is the page of a workflow in the Temporal UI, empty without a UI.
func Link(ui, namespace, workflowID string) string {
	if ui == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", strings.TrimRight(ui, "/"), url.PathEscape(namespace), url.PathEscape(workflowID))
}
