package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var lineupBegins = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func lined(name string, priority int32, due time.Duration) Turn {
	return Turn{Key: karmada.BindingKey{Namespace: "shop", Name: name}, Priority: priority, Due: lineupBegins.Add(due)}
}

// turnsOf are the turns of a line-up in which everything goes.
func turnsOf(items []Turn, p pace.Pace, from time.Time) (order []int, when []time.Time) {
	l := NewLineup(items, p, from)
	for at, t, ok := l.Next(); ok; at, t, ok = l.Next() {
		order, when = append(order, at), append(when, t)
		l.Went()
	}
	return order, when
}

// Rules: R4.4-1.
func TestALineupTakesTheMostUrgentOfWhatIsDue(t *testing.T) {
	items := []Turn{lined("late-high", 9, time.Minute), lined("b", 0, 0), lined("a", 0, 0), lined("high", 5, 0)}
	order, when := turnsOf(items, pace.Pace{Tier: pace.TierNormal, Rate: 0.5}, lineupBegins)
	require.Equal(t, []int{3, 2, 1, 0}, order)
	require.Equal(t, []time.Time{
		lineupBegins, lineupBegins.Add(2 * time.Second), lineupBegins.Add(4 * time.Second), lineupBegins.Add(time.Minute),
	}, when)
}

func TestWhatIsBlockedCostsNoTurn(t *testing.T) {
	l := NewLineup([]Turn{lined("a", 0, 0), lined("b", 0, 0)}, pace.Pace{Tier: pace.TierNormal, Rate: 0.5}, lineupBegins)
	_, _, _ = l.Next()
	at, when, ok := l.Next()
	require.True(t, ok)
	require.Equal(t, 1, at)
	require.Equal(t, lineupBegins, when)
	_, _, ok = l.Next()
	require.False(t, ok)
}

func TestAHaltedLineupKeepsTheOrderOfDueTimes(t *testing.T) {
	_, when := turnsOf([]Turn{lined("a", 0, time.Minute), lined("b", 0, 0)}, pace.Pace{Tier: pace.TierHalted}, lineupBegins)
	require.Equal(t, []time.Time{lineupBegins, lineupBegins.Add(time.Minute)}, when)
}

// A line-up in which everything goes ends when ETA says that the last one would.
func TestALineupAgreesWithTheEstimateOfTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Turn {
			due := time.Duration(rapid.IntRange(0, 60).Draw(t, "due")) * time.Second
			return lined(rapid.StringMatching("[a-z]{4}").Draw(t, "name"), int32(rapid.IntRange(0, 2).Draw(t, "priority")), due)
		}), 1, 20).Draw(t, "items")
		rate := pace.Pace{Tier: pace.TierNormal, Rate: rapid.SampledFrom([]float64{0.1, 0.5, 2}).Draw(t, "rate")}
		order, when := turnsOf(items, rate, lineupBegins)
		dues := make([]time.Time, len(items))
		for i := range items {
			dues[i] = items[i].Due
		}
		end, ok := pace.ETA(lineupBegins, dues, 0, rate)
		require.True(t, ok)
		require.Equal(t, end, pace.After(rate, when[len(when)-1]))
		for n, at := range order {
			require.False(t, when[n].Before(items[at].Due), "never before it is due")
		}
		slices.Sort(order)
		require.Len(t, slices.Compact(order), len(items), "everybody has one turn")
	})
}
