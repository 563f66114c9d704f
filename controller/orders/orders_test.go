package orders

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
)

var (
	why    = workflows.Order{Who: "ada", Reason: "network work"}
	shop   = workflows.ScopedOrder{Order: why, Scope: queue.Scope{Namespace: "shop"}}
	cancel = workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: why}, Binding: karmada.BindingKey{Namespace: "shop", Name: "cart"}}
)

// answering is a client whose update of that name, with that argument, ends with an error or is done.
func answering(t *testing.T, id, update string, sent any, end error) (*mocks.Client, Sender) {
	t.Helper()
	handle := mocks.NewWorkflowUpdateHandle(t)
	handle.On("Get", mock.Anything, mock.Anything).Return(end).Run(func(args mock.Arguments) {
		if into, ok := args.Get(1).(*string); ok {
			*into = "done"
		}
	}).Maybe()
	c := mocks.NewClient(t)
	c.On("UpdateWorkflow", mock.Anything, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: update, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{sent},
	}).Return(handle, nil)
	return c, Sender{Client: c}
}

// Rules: R4.9-44.
func TestSender_OrdersGoToTheirWorkflowWithWhoAndReason(t *testing.T) {
	whole := workflows.ScopedOrder{Order: why}
	for _, tc := range []struct {
		name, target, id, update string
		sent                     any
		send                     func(d Sender, ctx context.Context, to Target) (string, error)
	}{
		{
			name: "pause a cluster", target: "a", id: "cluster-failover/a", update: workflows.UpdatePause, sent: whole,
			send: func(d Sender, ctx context.Context, to Target) (string, error) { return d.Pause(ctx, to, whole) },
		},
		{
			name: "resume a namespace", target: "a", id: "cluster-failover/a", update: workflows.UpdateResume, sent: workflows.Resume{ScopedOrder: shop},
			send: func(d Sender, ctx context.Context, to Target) (string, error) {
				return d.Resume(ctx, to, workflows.Resume{ScopedOrder: shop})
			},
		},
		{
			name: "enforce a cluster", target: "a", id: "cluster-failover/a", update: workflows.UpdateResume, sent: workflows.Resume{ScopedOrder: whole, Enforce: true},
			send: func(d Sender, ctx context.Context, to Target) (string, error) {
				return d.Resume(ctx, to, workflows.Resume{ScopedOrder: whole, Enforce: true})
			},
		},
		{
			name: "any other order", target: "a", id: "cluster-failover/a", update: workflows.UpdateCancel, sent: cancel,
			send: func(d Sender, ctx context.Context, to Target) (string, error) {
				return d.Give(ctx, to, workflows.UpdateCancel, cancel)
			},
		},
		{
			name: "pause the fleet", target: Fleet, id: "fleet-pacer", update: workflows.UpdateHalt, sent: why,
			send: func(d Sender, ctx context.Context, to Target) (string, error) { return d.Pause(ctx, to, whole) },
		},
		{
			name: "resume the fleet", target: Fleet, id: "fleet-pacer", update: workflows.UpdateResume, sent: why,
			send: func(d Sender, ctx context.Context, to Target) (string, error) {
				return d.Resume(ctx, to, workflows.Resume{ScopedOrder: whole})
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, sender := answering(t, tc.id, tc.update, tc.sent, nil)
			require.Equal(t, "done", fixtures.Must(tc.send(sender, t.Context(), sender.Target(tc.target)))(t))
		})
	}
}

func TestGive_Errors_NameTheCause(t *testing.T) {
	outage := errors.New("no route")
	for _, tc := range []struct {
		name    string
		end, is error
		says    string
	}{
		{name: "refused", end: temporal.NewApplicationError("not paused", "Refused"), is: ErrRefused, says: "cancel of a refused: not paused"},
		{name: "no answer", end: serviceerror.NewDeadlineExceeded("late"), says: "is a lifeboat-worker running?"},
		{name: "another error", end: outage, is: outage, says: "no route"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, sender := answering(t, "cluster-failover/a", workflows.UpdateCancel, cancel, tc.end)
			_, err := sender.Give(t.Context(), sender.Target("a"), workflows.UpdateCancel, cancel)
			require.ErrorContains(t, err, tc.says)
			require.Equal(t, errors.Is(tc.is, ErrRefused), errors.Is(err, ErrRefused))
			require.True(t, tc.is == nil || errors.Is(err, tc.is))
		})
	}
}

// The failover has accepted the order, and waits for Karmada: it obeys after the command has failed.
func TestGive_NoAnswerToAnOrderThatIsObeyedLater_NamesWhatTakesItBack(t *testing.T) {
	taint := workflows.TaintOrder{Order: why, Taint: "disks:NoExecute"}
	for _, tc := range []struct {
		update string
		sent   any
		back   string
	}{
		{update: workflows.UpdateDrain, sent: workflows.DrainOrder{Order: why}, back: "lifeboat drain a --end"},
		{update: workflows.UpdateUndrain, sent: why, back: "lifeboat drain a"},
		{update: workflows.UpdateTaint, sent: taint, back: "lifeboat taint a disks:NoExecute-"},
		{update: workflows.UpdateUntaint, sent: taint, back: "lifeboat taint a disks:NoExecute"},
		{update: workflows.UpdateUntaint, sent: workflows.TaintOrder{Order: why}, back: "lifeboat taint a <key>:<effect>"},
	} {
		t.Run(tc.back, func(t *testing.T) {
			_, sender := answering(t, "cluster-failover/a", tc.update, tc.sent, context.DeadlineExceeded)
			_, err := sender.Give(t.Context(), sender.Target("a"), tc.update, tc.sent)
			require.ErrorContains(t, err, "is a lifeboat-worker running? The order may still be carried out: "+
				"lifeboat status a shows it, "+tc.back+" --reason ... takes it back")
		})
	}
	_, sender := answering(t, "cluster-failover/a", workflows.UpdateCancel, cancel, context.DeadlineExceeded)
	_, err := sender.Give(t.Context(), sender.Target("a"), workflows.UpdateCancel, cancel)
	require.ErrorContains(t, err, "The order may still be carried out: see lifeboat status a before you repeat it")
	sender = starting(t, context.DeadlineExceeded)
	_, err = sender.Begin(t.Context(), sender.Target("a"), workflows.UpdateDrain, workflows.DrainOrder{Order: why})
	require.ErrorContains(t, err, "lifeboat drain a --end")
}

func TestPause_FailoverDoesNotRun_IsNotFound(t *testing.T) {
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

func TestPause_NoAnswer_IsSentAsASignal(t *testing.T) {
	c, sender := answering(t, "cluster-failover/a", workflows.UpdatePause, shop, context.DeadlineExceeded)
	c.On("SignalWorkflow", mock.Anything, "cluster-failover/a", "", workflows.SignalPause, shop).Return(nil)
	require.Contains(t, fixtures.Must(sender.Pause(t.Context(), sender.Target("a"), shop))(t), "as a signal")
}

// starting is a client whose updates with start end with these errors, in order.
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

func TestBegin_StartsTheFailover_AndTriesAgainWhileItIsClosing(t *testing.T) {
	sender := starting(t, temporal.NewApplicationError("just ended", workflows.ErrorClosing), nil)
	_, err := sender.Begin(t.Context(), sender.Target("a"), workflows.UpdateDrain, workflows.DrainOrder{Order: why})
	require.NoError(t, err)
	sender = starting(t, temporal.NewApplicationError("observes", "Refused"))
	_, err = sender.Begin(t.Context(), sender.Target("a"), workflows.UpdateDrain, workflows.DrainOrder{Order: why})
	require.ErrorIs(t, err, ErrRefused)
}

func failoverOf(phase phase.Failover, drained bool, states map[queue.State]int) workflows.FailoverStatus {
	s := workflows.FailoverStatus{States: states}
	s.Phase, s.Listed = phase, time.Now()
	if drained {
		s.Cluster.Drain = &karmada.Drain{}
	}
	return s
}

// An answer has only some of a long queue in Items, and counts all of it in States.
func TestDrainProgress(t *testing.T) {
	idle := map[queue.State]int{queue.Idle: 3000}
	require.Equal(t, Drained{Done: true}, DrainProgress(failoverOf(phase.FailoverEvacuated, true, idle)))
	require.False(t, DrainProgress(failoverOf(phase.FailoverConfirmed, true, nil)).Done, "nothing was listed yet")
	require.True(t, DrainProgress(failoverOf(phase.FailoverRecovering, false, nil)).Ended)
	gone := failoverOf(phase.FailoverEvacuated, true, nil)
	gone.GoneAt = time.Now()
	require.Equal(t, Drained{Ended: true}, DrainProgress(gone), "the cluster was deleted, and the failover has yet to close")

	stuck := failoverOf(phase.FailoverEvacuated, true, map[queue.State]int{queue.Idle: 3000, queue.Ready: 20000, queue.Blocked: 7})
	stuck.BlockedBy = map[reason.Reason]int{reason.NoTarget: 7}
	stuck.Left = 5 // for which a run had no room
	require.Equal(t, Drained{Left: 20012, Blocked: map[reason.Reason]int{reason.NoTarget: 7}}, DrainProgress(stuck))

	moving := failoverOf(phase.FailoverEvacuated, true, nil)
	moving.Migrations = map[string]workflows.Migration{"a/b": {}}
	require.False(t, DrainProgress(moving).Done)

	unread := failoverOf(phase.FailoverEvacuated, true, idle)
	unread.ListDirty = true
	require.False(t, DrainProgress(unread).Done, "a list that failed, or is due, may find more")
}

func TestAwaitDrain_EndsWithTheDrainOrAnError(t *testing.T) {
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
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, AwaitDrain(ctx, look(Drained{Left: 1}, nil), tell), context.Canceled)
}

// The server's answer lists every update of the workflow.
func TestGive_AnApplicationsFailoverWithoutTheOrder_RefusesIt(t *testing.T) {
	const id = "application-failover/shop/cart"
	unknown := temporal.NewApplicationError("unknown update prioritise. KnownUpdates=[pause resume]", "")
	_, sender := answering(t, id, workflows.UpdatePrioritise, cancel, unknown)
	_, err := sender.Give(t.Context(), Target{WorkflowID: id, Name: "shop/cart"}, workflows.UpdatePrioritise, cancel)
	require.ErrorIs(t, err, ErrRefused)
	require.EqualError(t, err, "prioritise of shop/cart refused: an application's failover takes no prioritise")
}

// An application's failover runs already: the order starts no failover of a cluster.
//
// Rules: R4.13-9.
func TestBegin_OfAnApplication_StartsNothing(t *testing.T) {
	const id = "application-failover/shop/cart"
	_, sender := answering(t, id, workflows.UpdatePutBack, cancel, nil)
	answer := fixtures.Must(sender.Begin(t.Context(), Target{WorkflowID: id, Name: "shop/cart"}, workflows.UpdatePutBack, cancel))(t)
	require.Equal(t, "done", answer)
}
