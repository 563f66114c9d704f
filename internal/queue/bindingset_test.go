package queue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

func TestASetOfBindingsIsSmallAndForgetsNothing(t *testing.T) {
	const n = 100_000
	name := func(i int) karmada.BindingKey {
		return karmada.BindingKey{Namespace: fmt.Sprintf("team-%d", i%500), Name: fmt.Sprintf("app-%d-deployment", i)}
	}
	uid := func(i int) types.UID { return types.UID(fmt.Sprintf("uid-%d", i)) }
	set := &queue.BindingSet{}
	for i := range n {
		set.Add(name(i), uid(i))
	}
	require.Equal(t, n, set.Len(), "no two of them look the same")
	set.Remove(name(7), uid(7))
	raw := fixtures.Must(json.Marshal(set))(t)
	require.Less(t, len(raw), 7*n)
	require.Equal(t, raw, fixtures.Must(json.Marshal(set))(t), "whatever the order in which the map is walked")
	carried := &queue.BindingSet{}
	require.NoError(t, json.Unmarshal(raw, carried))
	require.Equal(t, set, carried)
	require.False(t, carried.Has(name(7), uid(7)))
	for i := 8; i < n; i++ {
		require.True(t, carried.Has(name(i), uid(i)))
		require.False(t, carried.Has(name(i), "another"))
	}
	for _, bad := range []string{`1`, `"?"`, `"gA=="`} {
		require.Error(t, json.Unmarshal([]byte(bad), carried), bad)
	}
	var none *queue.BindingSet
	require.False(t, none.Has(name(1), uid(1)))
	require.Zero(t, none.Len())
}

// While clocks stand no time ends a toleration, but that of a snooze, which a halt does not stretch. What is over is over.
//
// Rules: R4.5-26.
func TestNextChange_WhileTheFleetIsHalted_WaitsForNoToleration(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "web"}
	of := func(due time.Time, halted bool, snooze time.Time) (next time.Time) {
		q := queue.Queue{Items: []queue.Item{{Key: key, State: queue.Tolerating}}, Policy: make([]rules.Policy, 1)}
		q.Judged([]rules.Due{{Affected: true, At: due, Taint: rules.TaintRef{TimeAdded: fixtures.At(-60)}}})
		if halted {
			q.Halt(fixtures.At(-30), true)
		}
		if !snooze.IsZero() {
			q.Standing.Snoozed = queue.Scoped[time.Time]{queue.ScopeOf(key): snooze}
		}
		_, next = q.NextChange(fixtures.T0)
		return next
	}
	require.Equal(t, fixtures.At(10), of(fixtures.At(10), false, time.Time{}))
	require.Zero(t, of(fixtures.At(10), true, time.Time{}))
	require.Equal(t, fixtures.At(90), of(fixtures.At(10), true, fixtures.At(90)), "a snooze that ends later")
	require.Equal(t, fixtures.At(-40), of(fixtures.At(-40), true, time.Time{}))
}

// What waits for its policy to be repaired waits for no moment, though it was to be looked at again for another reason.
//
// Rules: R4.3-12.
func TestNextChange_BlockedByItsPolicySinceItWasBlocked_WaitsForNoMoment(t *testing.T) {
	q := queue.Queue{
		Items:  []queue.Item{{State: queue.Blocked, Reason: reason.NoCapacity, RetryAt: fixtures.At(-5)}},
		Policy: []rules.Policy{{SoftMalformed: "no number"}},
	}
	q.Judged([]rules.Due{{Reason: reason.Malformed}})
	require.True(t, q.Advance(fixtures.T0, &q.Items[0], time.Hour).Blocked)
	of, _ := q.NextChange(fixtures.T0)
	require.Nil(t, of)
}

// However often the fleet halts, what is remembered of it is bounded, and no moment
// that was frozen is taken for one that was not.
// Rules: R4.5-26.
func TestManyHaltsAreRememberedInBounds(t *testing.T) {
	const bound = 100
	q, now, frozen := queue.Queue{}, fixtures.T0, time.Duration(0)
	for i := range 3 * bound {
		q.Halt(now, true)
		now, frozen = now.Add(time.Second), frozen+time.Second
		q.Halt(now, false)
		now = now.Add(time.Duration(i%7+1) * time.Second)
	}
	require.LessOrEqual(t, len(q.Frozen), bound)
	require.Equal(t, fixtures.T0, q.Frozen[0].From)
	kept := time.Duration(0)
	for _, f := range q.Frozen {
		require.True(t, f.To.After(f.From))
		kept += f.To.Sub(f.From)
	}
	require.GreaterOrEqual(t, kept, frozen)
}
