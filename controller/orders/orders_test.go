package orders

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
)

var (
	fenced = workflows.FenceOrder{Order: why, Binding: cart.Binding, WithoutState: true}
	why    = workflows.Order{Who: "ada", Reason: "network work"}
	shop   = workflows.ScopedOrder{Order: why, Scope: queue.Scope{Namespace: "shop"}}
	cart   = workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: why}, Binding: karmada.BindingKey{Namespace: "shop", Name: "cart"}}
	// sent is every way in which these tests give an order.
	sent = []any{
		why, shop, cart,
		workflows.ScopedOrder{Order: why},
		workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: why}},
		workflows.Resume{ScopedOrder: shop},
		workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: why}, Enforce: true},
		workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: why}},
		workflows.SnoozeOrder{ScopedOrder: shop, For: "5m"},
		workflows.PriorityOrder{ScopedOrder: shop},
		fenced,
	}
)

// answering is a client whose update, to the given workflow and of the given name,
// ends as told.
func answering(t *testing.T, id, update, answer string, end error) (*mocks.Client, Sender) {
	t.Helper()
	handle := mocks.NewWorkflowUpdateHandle(t)
	handle.On("Get", mock.Anything, mock.Anything).Return(end).Run(func(args mock.Arguments) {
		if into, ok := args.Get(1).(*string); ok {
			*into = answer
		}
	}).Maybe()
	c := mocks.NewClient(t)
	c.On("UpdateWorkflow", mock.Anything, mock.MatchedBy(func(o client.UpdateWorkflowOptions) bool {
		return o.WorkflowID == id && o.UpdateName == update && o.WaitForStage == client.WorkflowUpdateStageCompleted &&
			len(o.Args) == 1 && slices.Contains(sent, o.Args[0])
	})).Return(handle, nil)
	return c, Sender{Client: c}
}

// Rules: R4.9-44.
func TestAnOrderGoesToItsWorkflowWithWhoAndWhy(t *testing.T) {
	for name, c := range map[string]struct {
		id, update, target string
		send               func(d Sender, ctx context.Context, to Target) (string, error)
	}{
		"pause a cluster": {id: "cluster-failover/a", update: workflows.UpdatePause, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Pause(ctx, to, workflows.ScopedOrder{Order: why})
		}},
		"pause a namespace": {id: "cluster-failover/a", update: workflows.UpdatePause, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Pause(ctx, to, shop)
		}},
		"resume a cluster": {id: "cluster-failover/a", update: workflows.UpdateResume, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Resume(ctx, to, workflows.ScopedOrder{Order: why})
		}},
		"resume a namespace": {id: "cluster-failover/a", update: workflows.UpdateResume, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Resume(ctx, to, shop)
		}},
		"enforce a cluster": {id: "cluster-failover/a", update: workflows.UpdateResume, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Enforce(ctx, to, why)
		}},
		"cancel a cluster": {id: "cluster-failover/a", update: workflows.UpdateCancel, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: why}})
		}},
		"cancel a binding": {id: "cluster-failover/a", update: workflows.UpdateCancel, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdateCancel, cart)
		}},
		"snooze": {id: "cluster-failover/a", update: workflows.UpdateSnooze, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdateSnooze, workflows.SnoozeOrder{ScopedOrder: shop, For: "5m"})
		}},
		"approve": {id: "cluster-failover/a", update: workflows.UpdateApprove, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdateApprove, shop)
		}},
		"prioritise": {id: "cluster-failover/a", update: workflows.UpdatePrioritise, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdatePrioritise, workflows.PriorityOrder{ScopedOrder: shop})
		}},
		"skip": {id: "cluster-failover/a", update: workflows.UpdateSkip, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdateSkip, cart)
		}},
		"confirm one fenced": {id: "cluster-failover/a", update: workflows.UpdateConfirmFenced, target: "a", send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Give(ctx, to, workflows.UpdateConfirmFenced, fenced)
		}},
		"pause the fleet": {id: "fleet-pacer", update: workflows.UpdateHalt, target: Fleet, send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Pause(ctx, to, workflows.ScopedOrder{Order: why})
		}},
		"resume the fleet": {id: "fleet-pacer", update: workflows.UpdateResume, target: Fleet, send: func(d Sender, ctx context.Context, to Target) (string, error) {
			return d.Resume(ctx, to, workflows.ScopedOrder{Order: why})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, sender := answering(t, c.id, c.update, "done", nil)
			answer, err := c.send(sender, t.Context(), sender.Target(c.target))
			require.NoError(t, err)
			require.Equal(t, "done", answer)
		})
	}
}

func TestARefusalIsToldInTheWorkflowsOwnWords(t *testing.T) {
	_, sender := answering(t, "cluster-failover/a", workflows.UpdateResume, "", temporal.NewApplicationError("not paused", "Refused"))
	_, err := sender.Resume(t.Context(), sender.Target("a"), workflows.ScopedOrder{Order: why})
	require.ErrorIs(t, err, ErrRefused)
	require.EqualError(t, err, "resume of a refused: not paused")
}

func TestAFailoverThatDoesNotRunIsNotFound(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("gone"))
	sender := Sender{Client: c, Instance: "eu"}
	_, err := sender.Pause(t.Context(), sender.Target("a"), workflows.ScopedOrder{Order: why})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "cluster a")
	_, err = sender.Pause(t.Context(), sender.Target(Fleet), workflows.ScopedOrder{Order: why})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "lifeboat controller")
}

func TestAPauseThatGetsNoAnswerIsLeftAsASignal(t *testing.T) {
	c, sender := answering(t, "cluster-failover/a", workflows.UpdatePause, "", context.DeadlineExceeded)
	c.On("SignalWorkflow", mock.Anything, "cluster-failover/a", "", workflows.SignalPause, shop).Return(nil)
	answer, err := sender.Pause(t.Context(), sender.Target("a"), shop)
	require.NoError(t, err)
	require.Contains(t, answer, "as a signal")
}

func TestAnOrderThatGetsNoAnswerNamesTheWorker(t *testing.T) {
	_, sender := answering(t, "cluster-failover/a", workflows.UpdateCancel, "", serviceerror.NewDeadlineExceeded("late"))
	_, err := sender.Give(t.Context(), sender.Target("a"), workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: why}})
	require.ErrorContains(t, err, "is a lifeboat-worker running?")
	require.NotErrorIs(t, err, ErrRefused)
}

func TestAnyOtherTroubleIsPassedOn(t *testing.T) {
	trouble := errors.New("no route")
	_, sender := answering(t, "cluster-failover/a", workflows.UpdateCancel, "", trouble)
	_, err := sender.Give(t.Context(), sender.Target("a"), workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: why}})
	require.ErrorIs(t, err, trouble)
}

func TestALinkEscapesTheWorkflowsId(t *testing.T) {
	require.Equal(t, "http://ui/namespaces/n/workflows/cluster-failover%2Fa", Link("http://ui/", "n", "cluster-failover/a"))
	require.Empty(t, Link("", "n", "x"))
}

// starting is a client whose updates with start end as told, one after the other.
func starting(t *testing.T, ends ...error) Sender {
	t.Helper()
	c := mocks.NewClient(t)
	c.On("NewWithStartWorkflowOperation", mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.ID == "cluster-failover/a" && o.TaskQueue == "q"
	}), workflows.TypeClusterFailover, workflows.ClusterFailoverParams{Cluster: "a"}).Return(nil)
	for _, end := range ends {
		handle := mocks.NewWorkflowUpdateHandle(t)
		handle.On("Get", mock.Anything, mock.Anything).Return(end)
		c.On("UpdateWithStartWorkflow", mock.Anything, mock.MatchedBy(func(o client.UpdateWithStartWorkflowOptions) bool {
			return o.UpdateOptions.UpdateName == workflows.UpdateDrain && o.UpdateOptions.WorkflowID == "cluster-failover/a"
		})).Return(handle, nil).Once()
	}
	return Sender{Client: c, TaskQueue: "q"}
}

func TestADrainStartsTheFailoverThatDoesNotRunYet(t *testing.T) {
	sender := starting(t, nil)
	_, err := sender.Begin(t.Context(), sender.Target("a"), workflows.UpdateDrain, workflows.DrainOrder{Order: why})
	require.NoError(t, err)
}

func TestADrainWhoseFailoverEndsAtThatMomentIsAskedForAgain(t *testing.T) {
	sender := starting(t, temporal.NewApplicationError("just ended", workflows.ErrorClosing), nil)
	_, err := sender.Begin(t.Context(), sender.Target("a"), workflows.UpdateDrain, workflows.DrainOrder{Order: why})
	require.NoError(t, err)
	sender = starting(t, temporal.NewApplicationError("observes", "Refused"))
	_, err = sender.Begin(t.Context(), sender.Target("a"), workflows.UpdateDrain, workflows.DrainOrder{Order: why})
	require.ErrorIs(t, err, ErrRefused)
}

func failoverOf(phase phase.Failover, drained bool, items ...queue.Item) workflows.FailoverStatus {
	s := workflows.FailoverStatus{}
	s.Phase, s.Items, s.Listed = phase, items, time.Now()
	if drained {
		s.Cluster.Drain = &karmada.Drain{}
	}
	return s
}

func TestADrainIsDoneWhenNothingIsLeftToMove(t *testing.T) {
	idle := queue.Item{State: queue.Idle}
	stuck := queue.Item{State: queue.Blocked, Reason: reason.NoTarget}
	require.True(t, DrainProgress(failoverOf(phase.FailoverEvacuated, true, idle)).Done)
	require.False(t, DrainProgress(failoverOf(phase.FailoverConfirmed, true)).Done, "nothing was listed yet")
	require.Equal(t, Drained{Left: 1, Blocked: map[string]int{"NoTarget": 1}}, DrainProgress(failoverOf(phase.FailoverEvacuated, true, idle, stuck)))
	require.True(t, DrainProgress(failoverOf(phase.FailoverRecovering, false)).Ended)
	moving := failoverOf(phase.FailoverEvacuated, true)
	moving.Moves = map[string]workflows.Move{"a/b": {}}
	require.False(t, DrainProgress(moving).Done)
}

func TestWhoWaitsForADrainIsToldItsEnd(t *testing.T) {
	look := func(p Drained, err error) func(context.Context) (Drained, error) {
		return func(context.Context) (Drained, error) { return p, err }
	}
	var told []Drained
	tell := func(p Drained) { told = append(told, p) }
	require.NoError(t, AwaitDrain(t.Context(), look(Drained{Done: true}, nil), tell))
	require.Len(t, told, 1)
	require.ErrorIs(t, AwaitDrain(t.Context(), look(Drained{Ended: true}, nil), tell), ErrDrainEnded)
	trouble := errors.New("no route")
	require.ErrorIs(t, AwaitDrain(t.Context(), look(Drained{}, trouble), tell), trouble)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, AwaitDrain(ctx, look(Drained{Left: 1}, nil), tell), context.Canceled)
}
