package orders

import (
	"context"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/watch"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/util/wait"
)

// closingTries is how often an order is given whose failover ended at that moment.
const closingTries = 5

// Begin gives an order that needs a failover, as a drain or one about what an earlier failover left:
// it is started if need be, and asked again where the one that ran has just ended.
func (d Sender) Begin(ctx context.Context, to Target, name string, o any) (string, error) {
	var err error
	for range closingTries {
		var answer string
		if answer, err = d.startAndUpdate(ctx, to, name, o); err == nil {
			return answer, nil
		}
		var closing *temporal.ApplicationError
		if !errors.As(err, &closing) || closing.Type() != workflows.ErrorClosing {
			break
		}
	}
	return "", explain(to, name, err)
}

// Drained is how far a drain is.
type Drained struct {
	// Left are bindings that are queued or on their way, Blocked those of them that
	// cannot move now, by reason.
	Left    int            `json:"left"`
	Blocked map[string]int `json:"blocked,omitempty"`
	// Done: nothing is left to move. Ended: the drain does not stand any more.
	Done  bool `json:"done"`
	Ended bool `json:"ended,omitempty"`
}

// DrainProgress judges how far the drain of a failover is.
func DrainProgress(s workflows.FailoverStatus) Drained {
	p := Drained{Left: len(s.Moves) + s.Left, Ended: s.Cluster.Drain == nil}
	for _, i := range s.Items {
		switch i.State {
		case queue.Idle:
			continue
		case queue.Blocked:
			if p.Blocked == nil {
				p.Blocked = map[string]int{}
			}
			p.Blocked[string(i.Reason)]++
		case queue.Tolerating, queue.Due, queue.Ready, queue.Behind, queue.Fence, queue.Paused, queue.Hold, queue.Ended:
		}
		p.Left++
	}
	p.Done = !p.Ended && p.Left == 0 && s.Phase == phase.FailoverEvacuated && !s.Listed.IsZero()
	return p
}

// progressPoll is how often a drain that is waited for is looked at.
const progressPoll = 2 * time.Second

// AwaitDrain waits until nothing is left to move, and passes on what it sees whenever
// that is news. It ends with ctx, or when the drain has ended.
func AwaitDrain(ctx context.Context, look func(context.Context) (Drained, error), tell func(Drained)) error {
	told := -1
	return wait.PollUntilContextCancel(ctx, progressPoll, true, func(ctx context.Context) (bool, error) {
		p, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			return false, err
		case p.Ended:
			return false, ErrDrainEnded
		case p.Left != told || p.Done:
			told = p.Left
			tell(p)
		}
		return p.Done, nil
	})
}

// ErrDrainEnded is returned when a drain ended before nothing was left to move.
var ErrDrainEnded = errors.New("the drain has ended before everything had moved")

// startAndUpdate sends an update to a cluster's failover, which is started if it does not run.
func (d Sender) startAndUpdate(ctx context.Context, to Target, name string, o any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sender := watch.Temporal{Client: d.Client, TaskQueue: d.TaskQueue, Instance: d.Instance}
	options, params := sender.Failover(to.Name)
	options.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	handle, err := d.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: d.Client.NewWithStartWorkflowOperation(options, workflows.TypeClusterFailover, params),
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: to.WorkflowID, UpdateName: name, Args: []any{o},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return "", err
	}
	var answer string
	err = handle.Get(ctx, &answer)
	return answer, err
}
