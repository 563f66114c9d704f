package record

import (
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// Beyond so many results the oldest are counts alone: exactly one outcome each, and
// one that is folded gives way to a newer outcome like any other.
// Rules: R4.4-7.
func TestAFoldedResultIsCountedOnceAndGivesWay(t *testing.T) {
	l := &Ledger{}
	l.Reset()
	key := func(i int) karmada.BindingKey {
		return karmada.BindingKey{Namespace: "shop", Name: fmt.Sprintf("app%d", i)}
	}
	ends := func(i int, outcome phase.Outcome) bool {
		return l.Record(Result{Key: key(i), UID: "u", Outcome: outcome}, false)
	}
	l.Record(Result{Key: key(-1), UID: "u", Outcome: phase.OutcomeAbandoned, Reason: reason.Cancelled, Cause: "cancelled by jane: x"}, false)
	for i := range 5000 {
		outcome := phase.OutcomeMigrated
		if i%10 == 0 {
			outcome = phase.OutcomeKept
		}
		require.True(t, ends(i, outcome))
	}
	require.LessOrEqual(t, len(l.Results), maxResults)
	require.Equal(t, map[string]int{"Migrated": 4500, "Kept": 500, "Abandoned": 1}, l.Counts)
	require.Equal(t, 5001, len(l.Results)+l.InCounts())
	require.True(t, l.CalledOff(key(-1), "u"), "an operator's order is kept")
	require.GreaterOrEqual(t, l.At(key(0), "u"), 0, "what an operator must look after goes last")
	require.Negative(t, l.At(key(1), "u"))
	require.True(t, l.Migrated(key(1), "u"), "moved and released in this attempt, though folded")

	require.True(t, ends(1, phase.OutcomeSkipped))
	require.Equal(t, map[string]int{"Migrated": 4499, "Kept": 500, "Abandoned": 1, "Skipped": 1}, l.Counts)
	require.False(t, l.Migrated(key(1), "u"))
	for _, moved := range []int{2, 4999} { // folded, and not
		require.False(t, ends(moved, phase.OutcomeMovedByOthers))
	}
	require.NotContains(t, l.Counts, "MovedByOthers", "Lifeboat's own move was no work of others")
	require.True(t, ends(1, phase.OutcomeMigrated))
	require.Equal(t, map[string]int{"Migrated": 4500, "Kept": 500, "Abandoned": 1, "Skipped": 0}, l.Counts)
}

// What the scheduler put back after its release is not reported as running elsewhere.
func TestCameBack_AfterItsRelease_IsReportedAsReturned(t *testing.T) {
	l := &Ledger{}
	l.Reset()
	cart, till := karmada.BindingKey{Namespace: "shop", Name: "cart"}, karmada.BindingKey{Namespace: "shop", Name: "till"}
	l.Record(Result{Key: cart, UID: "u", Outcome: phase.OutcomeMigrated, To: []string{"member2"}}, false)
	l.Record(Result{Key: till, UID: "u", Outcome: phase.OutcomeKept, To: []string{"member2"}}, false)
	l.CameBack(cart, "u", "member1", false)
	require.Equal(t, reason.SchedulerReturnsIt, l.Results[0].Reason)
	require.Equal(t, []string{"member2"}, l.Results[0].To, "part of it runs there still")
	l.CameBack(cart, "u", "member1", true)
	require.Empty(t, l.Results[0].To)
	l.CameBack(till, "u", "member1", true)
	l.CameBack(karmada.BindingKey{Name: "unknown"}, "u", "member1", true)
	require.Equal(t, []string{"member2"}, l.Results[1].To, "nothing of it was released")
}

// A binding is moved, comes back into play, and opts out while it waits: nothing is written, and it is where its move left it.
// Rules: R4.9-52.
func TestOptOut_AfterItsMove_DoesNotTakeItsPlace(t *testing.T) {
	l := &Ledger{}
	l.Reset()
	cart := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	out := Result{Key: cart, UID: "u", Outcome: phase.OutcomeSkipped, Reason: reason.OptedOut}
	require.True(t, l.Record(Result{Key: cart, UID: "u", Outcome: phase.OutcomeMigrated, To: []string{"member2"}}, false))
	require.False(t, l.Record(out, false))
	require.True(t, l.Migrated(cart, "u"))
	require.Equal(t, map[string]int{"Migrated": 1}, l.Counts)

	out.Reason, out.Cause = reason.SkipOrdered, "skipped by jane: x"
	require.True(t, l.Record(out, false), "an operator's order is an end of its own")
	out.UID, out.Reason = "another", reason.OptedOut
	require.True(t, l.Record(out, false), "nothing of it was written")
}

// An attempt that is over keeps one outcome for each binding, the newest.
func TestAmend_ALaterWordTakesThePlaceOfAnEarlierOne(t *testing.T) {
	l := &Ledger{Counts: map[string]int{}}
	cart := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	l.Amend(Result{Key: cart, UID: "u", Outcome: phase.OutcomeAbandoned})
	l.Amend(Result{Key: cart, UID: "u", Outcome: phase.OutcomeMigrated})
	l.Amend(Result{Key: cart, UID: "another", Outcome: phase.OutcomeGone})
	require.Len(t, l.Results, 2)
	require.Equal(t, map[string]int{"Abandoned": 0, "Migrated": 1, "Gone": 1}, l.Counts)
}
