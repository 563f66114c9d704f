package clusterfailover

import (
	"context"
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// startsOf runs do on a failover that evacuates, with so many bindings that are ready, where each request for starts gets
// an answer. It returns how many starts each request had.
func startsOf(t *testing.T, ready int, answer activities.StartAnswer, err error, do func(f *failover)) (asked []int) {
	t.Helper()
	start := func(_ context.Context, r activities.StartRequest[workflows.BindingMigrationParams]) (activities.StartAnswer, error) {
		asked = append(asked, len(r.Starts))
		return answer, err
	}
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		f := evacuates(ctx, ready)
		for range ready {
			f.migrations.startEvicting(f.st.Queue.Remove(0), workflows.MigrationState{})
		}
		do(f)
	}, flowtest.Acts{activities.NameStartMigrations: start})
	return asked
}

func TestTheMigrationsOfOneTurnAreStartedByOneRequest(t *testing.T) {
	asked := startsOf(t, 20, activities.StartAnswer{}, nil, func(f *failover) {
		require.Len(t, f.st.Migrations, 20, "they are in flight before the server has answered")
		f.migrations.begin()
		f.migrations.begin()
		require.Len(t, f.st.Migrations, 20)
		f.migrations.awaitStarts()
		require.Empty(t, f.migrations.starting)
		require.Len(t, f.st.Migrations, 20)
		require.Empty(t, f.st.Items)
	})
	require.Equal(t, []int{20}, asked)
}

// A start that was not requested yet is requested, and its answer awaited, before its migration is signalled.
func TestASignalWaitsForTheStartOfItsMigration(t *testing.T) {
	asked := startsOf(t, 2, activities.StartAnswer{}, nil, func(f *failover) {
		require.True(t, f.migrations.signal(f.st.Migrations["shop/1"], workflows.SignalRecover, workflows.Recover{}))
	})
	require.Equal(t, []int{2}, asked)
}

// Karmada ends the last copy of a binding that it evicts at any moment: its hold does not wait for the rest of the turn.
func TestTheHoldOfALastCopyIsStartedAtOnce(t *testing.T) {
	asked := startsOf(t, 0, activities.StartAnswer{}, nil, func(f *failover) {
		f.secondEvictor.found(proof.BindingFact{Key: karmada.BindingKey{Namespace: "shop", Name: "last"}, UID: "1", LastCopy: true})
		require.Empty(t, f.migrations.unsent)
		f.migrations.awaitStarts()
	})
	require.Equal(t, []int{1}, asked)
}

// What is refused goes back into the queue, which must not be closed by then: its bindings would have no outcome.
func TestAFailoverThatStopsDispatchingWaitsForItsStarts(t *testing.T) {
	startsOf(t, 2, activities.StartAnswer{Refused: map[int]string{0: "odd"}}, nil, func(f *failover) {
		f.migrations.begin()
		f.st.Phase, f.st.UID = phase.FailoverSuspected, ""
		f.act()
		require.Len(t, f.st.Items, 1)
		require.Len(t, f.st.Migrations, 1)
	})
}

func TestAStartThatIsRefusedPutsItsBindingBack(t *testing.T) {
	for name, c := range map[string]struct {
		answer  activities.StartAnswer
		err     error
		back    []string
		message string
	}{
		"one of three is refused": {answer: activities.StartAnswer{Refused: map[int]string{1: "no such attribute"}}, back: []string{"shop/1"}, message: "no such attribute"},
		"one runs already":        {answer: activities.StartAnswer{Running: map[int]bool{2: true}}},
		"the request fails":       {err: temporal.NewNonRetryableApplicationError("odd", "Odd", nil), back: []string{"shop/0", "shop/1", "shop/2"}, message: "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			startsOf(t, 3, c.answer, c.err, func(f *failover) {
				f.migrations.awaitStarts()
				var back []string
				for _, i := range f.st.Items {
					require.Equal(t, queue.Blocked, i.State)
					require.Equal(t, reason.Unreachable, i.Reason)
					require.Contains(t, i.Message, c.message)
					back = append(back, i.Key.String())
				}
				require.Equal(t, c.back, back)
				require.Len(t, f.st.Migrations, 3-len(back))
				for n := range c.answer.Running {
					require.True(t, f.st.Migrations[fmt.Sprintf("shop/%d", n)].Again, "its binding is looked at once more")
				}
			})
		})
	}
}

// An order that was accepted while the start was awaited holds, and so does what was reported meanwhile.
func TestWhatComesBeforeTheAnswerToAStartIsKept(t *testing.T) {
	refused := activities.StartAnswer{Refused: map[int]string{0: "odd"}, Running: map[int]bool{1: true, 2: true}}
	startsOf(t, 3, refused, nil, func(f *failover) {
		skipped, placed := f.st.Migrations["shop/0"], f.st.Migrations["shop/1"]
		skipped.Ordered = &workflows.MigrationOrder{Verb: workflows.UpdateCancel, CancelOrder: workflows.CancelOrder{Order: workflows.Order{Who: "ann"}}}
		placed.Placed = true
		f.migrations.note(skipped)
		f.migrations.note(placed)
		delete(f.st.Migrations, "shop/2") // it has ended
		f.migrations.awaitStarts()
		require.Empty(t, f.st.Items, "a binding whose cancel was accepted does not move")
		require.Len(t, f.st.Results, 1)
		require.Equal(t, reason.Cancelled, f.st.Results[0].Reason)
		require.Len(t, f.st.Migrations, 1)
		require.True(t, f.st.Migrations["shop/1"].Placed)
	})
}

// Nothing waits for a server that is slow to start: neither the recovery nor an order.
func TestTheAnswerOfAPreCheckWaitsForNoStart(t *testing.T) {
	startsOf(t, 2, activities.StartAnswer{}, nil, func(f *failover) {
		f.preCheck.takeAnswers(&checking{attempt: f.st.Attempt})
		require.Len(t, f.migrations.starting, 1, "requested, and not awaited")
		f.migrations.awaitStarts()
	})
}

// An order about a held copy whose migration cannot be started is answered so.
func TestAPutBackThatCannotBeginIsRefused(t *testing.T) {
	startsOf(t, 0, activities.StartAnswer{Refused: map[int]string{0: "odd"}}, nil, func(f *failover) {
		v := bindingVerb{verb: workflows.UpdatePutBack, BindingOrder: workflows.BindingOrder{Binding: karmada.BindingKey{Namespace: "shop", Name: "held"}}}
		v.ID = "it"
		var refused error
		workflow.Go(f.ctx, func(ctx workflow.Context) {
			_, refused = f.bindingOrders.held.Await(ctx, v.verb, v.BindingOrder, "ordered")
		})
		flow.Yield(f.ctx)
		f.bindingOrders.obeyOne(v)
		flow.Yield(f.ctx)
		require.ErrorContains(t, refused, "no migration could be started")
	})
}

// Those that an operator paused while they hold their dependents keep no other from holding its own.
//
// Rules: R4.4-15.
func TestAPauseOfSomeThatHoldStopsNoOther(t *testing.T) {
	startsOf(t, 0, activities.StartAnswer{}, nil, func(f *failover) {
		for n := range holdAhead {
			key := karmada.BindingKey{Namespace: "paused", Name: fmt.Sprint(n)}
			f.migrations.note(workflows.Migration{Key: key, Policy: -1, Attempt: 1, Phase: phase.MigrationQueued, Holds: true, WantsPermit: true})
		}
		f.st.Queue.Freeze(rules.Policy{}, f.st.Queue.PolicyIndex())
		f.st.Queue.Judged([]rules.Due{{Affected: true, At: f.now()}})
		f.st.Items = append(f.st.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: "one"}, Affected: true, State: queue.Hold})
		f.dispatcher.startHolds()
		require.Len(t, f.st.Items, 1, "so many hold ahead of their permits")
		f.standing.pause(workflows.ScopedOrder{Scope: queue.Scope{Namespace: "paused"}})
		f.dispatcher.startHolds()
		require.Empty(t, f.st.Items)
		f.migrations.awaitStarts()
	})
}
