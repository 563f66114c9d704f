package clusterfailover

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// An order may come while one move of a turn is being started: the next one of the same
// turn is looked at again before it goes.
// Rules: R4.4-12, R4.4-15.
func TestWhatWasSnoozedOrPausedSinceItsCheckIsNotDispatched(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		for name, order := range map[string]func(e *failover, scope queue.Scope){
			"snoozed": func(e *failover, scope queue.Scope) {
				e.standing.snooze(workflows.SnoozeOrder{ScopedOrder: workflows.ScopedOrder{Scope: scope}, For: "5m"})
			},
			"paused": func(e *failover, scope queue.Scope) { e.standing.pause(workflows.ScopedOrder{Scope: scope}) },
		} {
			e := crowded(ctx, 20)
			e.st.Terms.Mode = rules.ModeObserve
			e.st.Results, e.st.Folded, e.st.Counts = nil, nil, map[string]int{}
			for at := range e.st.Items {
				e.st.Items[at].State = queue.Ready
			}
			for at := range e.st.Dues {
				e.st.Dues[at] = rules.Due{Affected: true, At: e.now().Add(-time.Minute)}
			}
			first := e.st.Items[e.st.Queue.First(e.now(), queue.Ready, 1)[0]].Key
			order(e, queue.ScopeOf(first))
			n := len(e.st.Items)
			e.dispatcher.simulate()
			require.Len(t, e.st.Items, 1, "%s: everybody else went: %d", name, n)
			require.Equal(t, first, e.st.Items[0].Key, name)
			require.NotEqual(t, queue.Ready, e.st.Items[0].State, name)
		}
	})
}

// Rules: R4.4-12.
func TestStandingOrdersAreBoundedAndOneScopeNeedsOneEntry(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 10)
		e.st.Listed = time.Time{}
		for n := range maxStanding {
			e.standing.snooze(workflows.SnoozeOrder{ScopedOrder: workflows.ScopedOrder{Scope: queue.Scope{Namespace: time.Duration(n).String()}}, For: "5m"})
		}
		o := workflows.SnoozeOrder{ScopedOrder: workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "x"}, Scope: queue.Scope{Namespace: "new"}}, For: "5m"}
		e.st.ClosedAt = time.Time{}
		require.ErrorContains(t, e.standing.refuseSnooze(o), "stand already")
		o.Namespace = time.Duration(3).String()
		require.NoError(t, e.standing.refuseSnooze(o))
		e.standing.snooze(o)
		require.Len(t, e.st.Snoozes, maxStanding)
	})
}
