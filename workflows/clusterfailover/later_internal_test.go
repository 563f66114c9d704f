package clusterfailover

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flowtest"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// What observe has judged leaves the queue and is not judged again in this attempt; what
// is blocked can be left for later too. So what is carried stays bounded in both.
// Rules: R4.4-7, R4.15-5.
func TestWhatObserveJudgedAndWhatIsBlockedIsCarriedInBounds(t *testing.T) {
	const n = 30_000
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 2*n)
		e.st.Terms.Mode, e.st.PendingPurges = rules.ModeObserve, nil
		e.st.Ledger.Reset()
		all := make([]queue.Item, len(e.st.Items))
		copy(all, e.st.Items)
		for at := range e.st.Items {
			i := &e.st.Items[at]
			if i.State = queue.Ready; at >= n/50 {
				i.State, i.Reason, i.Message, i.Permanent = queue.Blocked, reason.Malformed, "spec.placement: "+i.Resource+" "+string(i.UID), true
			}
		}
		e.dispatcher.simulate()
		require.Len(t, e.st.Items, n-n/50)
		require.Equal(t, map[string]int{"WouldMove": n / 50}, e.st.Counts)
		judged := all[0]
		e.st.Queue.Index()
		e.affected.join(activities.Targeting{Key: judged.Key, UID: judged.UID}, rules.Policy{}, map[string]int{})
		require.Len(t, e.st.Items, n-n/50, "it is not queued again")
		e.listDirty = false
		e.affected.changed(workflows.BindingsChanged{Bindings: []proof.BindingFact{{Key: judged.Key, UID: judged.UID}}})
		require.False(t, e.listDirty, "a change of it is no reason to list")
		raw, err := json.Marshal(e.carry())
		require.NoError(t, err)
		require.LessOrEqual(t, len(raw), 1_000_500)
		require.NotEmpty(t, e.st.Later)
	})
}

// Permits that nobody may use now are kept until they have passed, for whoever may use them
// then; where nothing is evicted any more they are dropped.
//
// Rules: R4.5-11, R4.6-23.
func TestPermits_NobodyMayUseThemNow_AreKeptUntilTheyHavePassed(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*failover)
		kept int
	}{
		"paused": {end: func(e *failover) {
			e.st.Paused = &workflows.Order{Who: "jane", Reason: "look first"}
			e.dispatcher.dispatch()
		}, kept: 2},
		"nobody waits":   {end: func(e *failover) { e.st.Items = nil; e.dispatcher.dispatch() }, kept: 2},
		"recovering":     {end: func(e *failover) { e.st.Phase = phase.FailoverRecovering; e.actRecovering() }, kept: 0},
		"the queue ends": {end: func(e *failover) { e.closeQueue(nil) }, kept: 0},
		"cluster gone":   {end: func(e *failover) { e.actGone() }, kept: 0},
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				e := crowded(ctx, 10)
				e.st.Moves, e.st.Terms.Mode = map[string]workflows.Move{}, rules.ModeEnforce
				e.st.Terms.InFlight, e.st.Terms.Waiting = 300, 1500
				passed := pace.Permits{Number: 7, Size: 3, First: e.now().Add(-time.Hour), Window: time.Second}
				e.st.Grants = []workflows.Grant{{Permits: passed}, {Permits: pace.Permits{Number: 10, Size: 2, First: e.now().Add(time.Second), Window: time.Second}}}
				c.end(e)
				require.Equal(t, c.kept, e.grants.inHand())
			})
		})
	}
}

// Rules: R4.4-13.
func TestNothingBeginsBeforeAnOrderAboutOneBindingIsObeyed(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 10)
		e.st.Moves = map[string]workflows.Move{}
		e.st.Terms.InFlight, e.st.Terms.Waiting = 300, 1500
		require.True(t, e.dispatcher.mayBegin())
		e.bindingOrders.orderOne(workflows.UpdateSkip, workflows.BindingOrder{})
		require.False(t, e.dispatcher.mayBegin())
	})
}

// What was left for later owes an outcome only where a taint had made it move in this
// attempt. What the list brings back owes it still, whatever moves it now; what the list does
// not bring back was moved by others.
//
// Rules: R4.4-7, R4.9-52.
func TestWhatWasLeftForLaterIsCountedOnce(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		for name, end := range map[string]func(*failover){
			"recovered": func(e *failover) { e.closeQueue(nil) },
			"gone":      func(e *failover) { e.actGone() },
		} {
			e := crowded(ctx, 400)
			e.st.Moves = map[string]workflows.Move{}
			for at := range e.st.Items {
				e.st.Items[at].Was = at%4 != 0 // 50 of 200 are idle
			}
			all := slices.Clone(e.st.Items)
			e.st.Queue.LeaveForLater(e.now(), 40)
			require.Len(t, e.st.Items, 40, name)
			left := 0
			for _, set := range append(slices.Clone(e.st.Later), e.st.LaterIdle...) {
				left += set.Len()
			}
			require.Equal(t, 160, left)
			require.Less(t, e.st.Status(e.instance, e.cluster, e.now()).Left, left, "only those that owe an outcome")
			e.st.Moves[all[199].Key.String()] = workflows.Move{Key: all[199].Key, UID: all[199].UID, Attempt: 1}
			e.st.Queue.Index()
			for _, i := range append(slices.Clone(all[:120]), all[199]) {
				e.affected.join(activities.Targeting{Key: i.Key, UID: i.UID}, rules.Policy{}, map[string]int{})
			}
			for _, i := range e.st.Items {
				at := slices.IndexFunc(all, func(x queue.Item) bool { return x.Key == i.Key })
				require.Equal(t, all[at].Was, i.Was, "it owes what it owed")
				require.Equal(t, all[at].Policy, i.Policy)
			}
			require.Less(t, len(e.st.Items), 200, "some are left")
			delete(e.st.Moves, all[199].Key.String())
			end(e)
			// One of those that owe an outcome moves; its migration will tell.
			require.Equal(t, map[string]int{"Migrated": 200, "Abandoned": 149}, e.st.Counts, name)
		}
	})
}

// Rules: R4.4-7, R4.3-19.
func TestWhatWasLeftForLaterAndIsNotListedAnyMoreWasMovedByOthers(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 100)
		gone := e.st.Items[0]
		e.st.Queue.LeaveForLater(e.now(), 0)
		e.outcomes.endLater(phase.OutcomeMovedByOthers)
		require.Equal(t, map[string]int{"Migrated": 50, "MovedByOthers": 50}, e.st.Counts)
		e.outcomes.keep(record.Result{Key: gone.Key, UID: gone.UID, Outcome: phase.OutcomeRestored, Wrote: true})
		require.Equal(t, map[string]int{"Migrated": 50, "MovedByOthers": 49, "Restored": 1}, e.st.Counts, "one that comes back has one outcome")
	})
}

// A parent that holds its dependents waits for its permit as one in the queue does: whoever
// pauses or snoozes it meanwhile is obeyed.
//
// Rules: R4.4-11, R4.10-8.
func TestAParentThatWaitsForItsPermitObeysAPauseAndASnooze(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 10)
		e.st.Terms.InFlight, e.st.Terms.Waiting = 300, 1500
		e.st.Items = nil
		key := karmada.BindingKey{Namespace: "shop", Name: "app"}
		e.st.Moves = map[string]workflows.Move{key.String(): {Key: key, Phase: phase.MigrationChecking, Policy: 3, Holds: true, WantsPermit: true}}
		require.Equal(t, turn{item: -1, move: key.String(), priority: 3, ok: true}, e.dispatcher.next())

		one := workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "wait"}, Scope: queue.Scope{Binding: key}}
		require.NoError(t, e.standing.refusePause(one))
		e.standing.pause(one)
		require.False(t, e.dispatcher.next().ok)
		e.standing.resumeScoped(one)
		require.True(t, e.dispatcher.next().ok)

		snooze := workflows.SnoozeOrder{ScopedOrder: one, For: "10m"}
		require.NoError(t, e.standing.refuseSnooze(snooze))
		require.Contains(t, e.standing.snooze(snooze), "1 due times moved later", "it is due, and held off its write")
		require.False(t, e.dispatcher.next().ok)
	})
}
