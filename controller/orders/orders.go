// Package orders sends an order of an operator to its workflow, and waits for the answer. Every order carries who
// and why. The workflow decides whether it accepts the order.
package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/watch"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/util/wait"
)

var (
	// ErrNotFound is returned when the workflow does not run.
	ErrNotFound = errors.New("no such failover runs")
	// ErrRefused is returned when the workflow refused the order.
	ErrRefused = errors.New("refused")
)

// Fleet is the name under which orders to the pacer go.
const Fleet = "fleet"

// patience bounds the wait for an answer: no worker may run.
const patience = 20 * time.Second

// Sender sends orders.
type Sender struct {
	Client   client.Client
	Instance string
	// TaskQueue is of a failover that is started.
	TaskQueue string
}

// Target is the workflow that an order is for: a cluster's failover, or the pacer.
type Target struct {
	WorkflowID string
	Name       string // of the cluster, or Fleet
}

// Target is the workflow of a cluster's failover, or of the pacer for Fleet.
func (d Sender) Target(name string) Target {
	if name == Fleet {
		return Target{WorkflowID: workflows.FleetPacerID(d.Instance), Name: Fleet}
	}
	return Target{WorkflowID: workflows.ClusterFailoverID(d.Instance, name), Name: name}
}

// Pause stops dispatch for a cluster or for some of its bindings, or halts the fleet. If the workflow does not
// answer, the pause is sent as a signal, which Temporal always records.
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

// Resume continues dispatch for a cluster or for some of its bindings, re-opens a stopped failover, or ends a halt
// of the fleet. With Enforce a failover that began in observe acts.
func (d Sender) Resume(ctx context.Context, to Target, o workflows.Resume) (string, error) {
	if to.Name == Fleet {
		return d.Give(ctx, to, workflows.UpdateResume, o.Order)
	}
	return d.Give(ctx, to, workflows.UpdateResume, o)
}

// Give sends an order as an update to a workflow that runs.
func (d Sender) Give(ctx context.Context, to Target, name string, o any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	handle, err := d.Client.UpdateWorkflow(ctx, updateOf(to, name, o))
	answer, err := await(ctx, handle, err)
	return answer, explain(to, name, o, err)
}

// updateOf is an order as an update that waits for its answer.
func updateOf(to Target, name string, o any) client.UpdateWorkflowOptions {
	return client.UpdateWorkflowOptions{
		WorkflowID: to.WorkflowID, UpdateName: name, Args: []any{o}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
}

// await waits for the answer to an update, unless it was not sent.
func await(ctx context.Context, handle client.WorkflowUpdateHandle, unsent error) (answer string, err error) {
	if unsent != nil {
		return "", unsent
	}
	err = handle.Get(ctx, &answer)
	return answer, err
}

// explain describes why an order failed, and what to do.
func explain(to Target, name string, o any, err error) error {
	var refused *temporal.ApplicationError
	missing := process.IsA[*serviceerror.NotFound](err)
	switch {
	case err == nil:
		return nil
	case missing && to.Name == Fleet:
		return fmt.Errorf("%w: the pacer is not running; it starts with lifeboat controller", ErrNotFound)
	case missing && strings.Contains(to.Name, "/"):
		return fmt.Errorf("%w for %s any more; see lifeboat explain %s", ErrNotFound, to.Name, to.Name)
	case missing:
		return fmt.Errorf("%w for cluster %s; see lifeboat status", ErrNotFound, to.Name)
	case errors.As(err, &refused) && workflows.IsApplicationFailover(to.WorkflowID) && strings.HasPrefix(refused.Message(), "unknown update"):
		return fmt.Errorf("%s of %s %w: an application's failover takes no %s", name, to.Name, ErrRefused, name)
	case errors.As(err, &refused):
		return fmt.Errorf("%s of %s %w: %s", name, to.Name, ErrRefused, refused.Message())
	case errors.Is(err, context.DeadlineExceeded), process.IsA[*serviceerror.DeadlineExceeded](err):
		return fmt.Errorf("%s of %s was not answered within %s; is a lifeboat-worker running?%s", name, to.Name, patience, late(to, name, o))
	default:
		return fmt.Errorf("%s of %s: %w", name, to.Name, err)
	}
}

// late describes what may follow of an order that a failover accepts, and carries out once Karmada answers: where it is
// shown, and what takes it back.
func late(to Target, name string, o any) string {
	taint, _ := o.(workflows.TaintOrder)
	back := map[string]string{
		workflows.UpdateDrain: "drain " + to.Name + " --end", workflows.UpdateUndrain: "drain " + to.Name,
		workflows.UpdateTaint: "taint " + to.Name + " " + taint.Taint + "-", workflows.UpdateUntaint: "taint " + to.Name + " " + cmp.Or(taint.Taint, "<key>:<effect>"),
	}[name]
	if back == "" {
		see := "status"
		if strings.Contains(to.Name, "/") {
			see = "explain"
		}
		return fmt.Sprintf(" The order may still be carried out: see lifeboat %s %s before you repeat it", see, to.Name)
	}
	return fmt.Sprintf(" The order may still be carried out: lifeboat status %s shows it, lifeboat %s --reason ... takes it back", to.Name, back)
}

// closingTries is how often an order is sent to a failover that is closing.
const closingTries = 5

// Begin sends an order to a failover, which is started if it does not run. It tries again when the failover was
// closing.
func (d Sender) Begin(ctx context.Context, to Target, name string, o any) (string, error) {
	if to != d.Target(to.Name) { // the failover of an application is an order's target only while it runs
		return d.Give(ctx, to, name, o)
	}
	var answer string
	var err error
	for range closingTries {
		answer, err = d.startAndUpdate(ctx, to, name, o)
		if closing, is := errors.AsType[*temporal.ApplicationError](err); !is || closing.Type() != workflows.ErrorClosing {
			break
		}
	}
	return answer, explain(to, name, o, err)
}

// Drained is the progress of a drain.
type Drained struct {
	// Left are bindings that are queued or moving. Blocked are those of them that cannot move now, by reason.
	Left    int                   `json:"left"`
	Blocked map[reason.Reason]int `json:"blocked,omitempty"`
	// Done: nothing is left to move. Ended: the drain was ended, or its failover is over.
	Done  bool `json:"done"`
	Ended bool `json:"ended,omitempty"`
}

// DrainProgress is the progress of the drain of a failover.
func DrainProgress(s workflows.FailoverStatus) Drained {
	p := Drained{Left: len(s.Migrations) + s.Left - s.States[queue.Idle], Blocked: s.BlockedBy}
	p.Ended = s.Cluster.Drain == nil || !s.GoneAt.IsZero() // the failover of a deleted cluster keeps the drain
	for _, n := range s.States {
		p.Left += n
	}
	p.Done = !p.Ended && p.Left == 0 && s.Phase == phase.FailoverEvacuated && !s.ListDirty
	return p
}

// progressPoll is how often the progress is queried.
const progressPoll = 2 * time.Second

// AwaitDrain waits until nothing is left to move, and reports changed progress. It ends with ctx, or when the
// drain has ended.
func AwaitDrain(ctx context.Context, look func(context.Context) (Drained, error), report func(Drained)) error {
	reported := -1
	return wait.PollUntilContextCancel(ctx, progressPoll, true, func(ctx context.Context) (bool, error) {
		p, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			return false, err
		case p.Ended:
			return false, ErrDrainEnded
		case p.Left != reported || p.Done:
			reported = p.Left
			report(p)
		}
		return p.Done, nil
	})
}

// ErrDrainEnded is returned when a drain ended before it was done.
var ErrDrainEnded = errors.New("the drain has ended before it was done")

// startAndUpdate sends an update to a cluster's failover, which is started if it does not run.
func (d Sender) startAndUpdate(ctx context.Context, to Target, name string, o any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := watch.StartFailover(d.Instance, to.Name)
	options, params := start.With()
	options.ID, options.TaskQueue = start.ID, d.TaskQueue
	options.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	handle, err := d.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: d.Client.NewWithStartWorkflowOperation(options, start.Type, params),
		UpdateOptions:          updateOf(to, name, o),
	})
	return await(ctx, handle, err)
}
