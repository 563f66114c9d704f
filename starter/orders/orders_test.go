package orders

import (
	"context"
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
)

var why = workflows.Order{Who: "ada", Reason: "network work"}

// answering is a client whose update, to the given workflow and of the given name,
// ends as told.
func answering(t *testing.T, id, update, answer string, end error) (*mocks.Client, Desk) {
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
			len(o.Args) == 1 && (o.Args[0] == why || o.Args[0] == workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: why}, Enforce: true})
	})).Return(handle, nil)
	return c, Desk{Client: c}
}

// Rules: R4.9-44.
func TestAnOrderGoesToItsWorkflowWithWhoAndWhy(t *testing.T) {
	for name, c := range map[string]struct {
		id, update, target string
		send               func(Desk, context.Context, Target, workflows.Order) (string, error)
	}{
		"pause a cluster":   {"cluster-failover/a", workflows.UpdatePause, "a", Desk.Pause},
		"resume a cluster":  {"cluster-failover/a", workflows.UpdateResume, "a", Desk.Resume},
		"enforce a cluster": {"cluster-failover/a", workflows.UpdateResume, "a", Desk.Enforce},
		"cancel a cluster":  {"cluster-failover/a", workflows.UpdateCancel, "a", Desk.Cancel},
		"pause the fleet":   {"fleet-pacer", workflows.UpdateHalt, Fleet, Desk.Pause},
		"resume the fleet":  {"fleet-pacer", workflows.UpdateResume, Fleet, Desk.Resume},
	} {
		t.Run(name, func(t *testing.T) {
			_, desk := answering(t, c.id, c.update, "done", nil)
			answer, err := c.send(desk, t.Context(), desk.Target(c.target), why)
			require.NoError(t, err)
			require.Equal(t, "done", answer)
		})
	}
}

func TestARefusalIsToldInTheWorkflowsOwnWords(t *testing.T) {
	_, desk := answering(t, "cluster-failover/a", workflows.UpdateResume, "", temporal.NewApplicationError("not paused", "Refused"))
	_, err := desk.Resume(t.Context(), desk.Target("a"), why)
	require.ErrorIs(t, err, ErrRefused)
	require.EqualError(t, err, "resume of a refused: not paused")
}

func TestAFailoverThatDoesNotRunIsNotFound(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("gone"))
	desk := Desk{Client: c, Instance: "eu"}
	_, err := desk.Pause(t.Context(), desk.Target("a"), why)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "cluster a")
	_, err = desk.Pause(t.Context(), desk.Target(Fleet), why)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "lifeboat watch")
}

func TestAPauseThatGetsNoAnswerIsLeftAsASignal(t *testing.T) {
	c, desk := answering(t, "cluster-failover/a", workflows.UpdatePause, "", context.DeadlineExceeded)
	c.On("SignalWorkflow", mock.Anything, "cluster-failover/a", "", workflows.SignalPause, why).Return(nil)
	answer, err := desk.Pause(t.Context(), desk.Target("a"), why)
	require.NoError(t, err)
	require.Contains(t, answer, "as a signal")
}

func TestAnOrderThatGetsNoAnswerNamesTheWorker(t *testing.T) {
	_, desk := answering(t, "cluster-failover/a", workflows.UpdateCancel, "", serviceerror.NewDeadlineExceeded("late"))
	_, err := desk.Cancel(t.Context(), desk.Target("a"), why)
	require.ErrorContains(t, err, "is a lifeboat-worker running?")
	require.NotErrorIs(t, err, ErrRefused)
}

func TestAnyOtherTroubleIsPassedOn(t *testing.T) {
	trouble := errors.New("no route")
	_, desk := answering(t, "cluster-failover/a", workflows.UpdateCancel, "", trouble)
	_, err := desk.Cancel(t.Context(), desk.Target("a"), why)
	require.ErrorIs(t, err, trouble)
}

func TestALinkEscapesTheWorkflowsId(t *testing.T) {
	require.Equal(t, "http://ui/namespaces/n/workflows/cluster-failover%2Fa", Link("http://ui/", "n", "cluster-failover/a"))
	require.Empty(t, Link("", "n", "x"))
}
