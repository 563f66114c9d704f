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
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
)

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
