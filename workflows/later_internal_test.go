package workflows

import (
	"encoding/json"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// What observe has judged leaves the queue and is not judged again in this round; what
// is parked can be left for later too. So what is carried stays bounded in both.
// Rules: R4.4-7, R4.15-5.
func TestWhatObserveJudgedAndWhatIsParkedIsCarriedInBounds(t *testing.T) {
	const n = 30_000
	inWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 2*n)
		e.st.Terms.Mode, e.st.Results, e.st.Folded, e.st.Counts, e.st.Debts = failover.ModeObserve, nil, nil, map[string]int{}, nil
		e.order = order{}
		all := make([]Item, len(e.st.Items))
		copy(all, e.st.Items)
		for at := range e.st.Items {
			i := &e.st.Items[at]
			if i.State = ItemReady; at >= n/50 {
				i.State, i.Reason, i.Message, i.Parked = ItemBlocked, failover.ReasonMalformed, "spec.placement: "+i.Resource+" "+string(i.UID), true
			}
		}
		e.simulate()
		require.Len(t, e.st.Items, n-n/50)
		require.Equal(t, map[string]int{"WouldMove": n / 50}, e.st.Counts)
		judged := all[0]
		e.indexItems()
		e.join(activities.Targeting{Key: judged.Key, UID: judged.UID}, failover.Policy{}, map[string]int{})
		require.Len(t, e.st.Items, n-n/50, "it is not queued again")
		e.listDirty = false
		e.bindingsChanged(BindingsChanged{Bindings: []failover.BindingFact{{Key: judged.Key, UID: judged.UID}}})
		require.False(t, e.listDirty, "a change of it is no reason to list")
		raw, err := json.Marshal(e.carry())
		require.NoError(t, err)
		require.LessOrEqual(t, len(raw), 1_000_500)
		require.NotEmpty(t, e.st.Later)
	})
}

// Rules: R4.4-13.
func TestNothingBeginsBeforeAnOrderAboutOneBindingIsObeyed(t *testing.T) {
	inWorkflow(t, func(ctx workflow.Context) {
		e := crowded(ctx, 10)
		e.st.Moves = map[string]Move{}
		e.st.Terms.InFlight, e.st.Terms.Waiting = 300, 1500
		require.True(t, e.mayDispatch())
		e.orderOne(UpdateSkip, BindingOrder{})
		require.False(t, e.mayDispatch())
	})
}

// Rules: R4.4-7.
func TestWhatWasLeftForLaterIsCountedOnce(t *testing.T) {
	inWorkflow(t, func(ctx workflow.Context) {
		for name, end := range map[string]func(*episode){
			"recovered": func(e *episode) { e.closeQueue(nil) },
			"gone":      func(e *episode) { e.actGone() },
		} {
			e := crowded(ctx, 400)
			all := make([]Item, len(e.st.Items))
			copy(all, e.st.Items)
			e.leaveForLater(50)
			require.Len(t, e.st.Items, 50, name)
			e.indexItems()
			for _, i := range all[:120] {
				e.join(activities.Targeting{Key: i.Key, UID: i.UID}, failover.Policy{}, map[string]int{})
			}
			for at := range e.st.Items {
				e.st.Items[at].Was = true
			}
			end(e)
			require.Equal(t, map[string]int{"Migrated": 200, "Abandoned": 200}, e.st.Counts, name)
		}
	})
}
