package orders

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
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
