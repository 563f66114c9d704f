package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var lineupBegins = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func lined(name string, priority int32, due time.Duration) Rank {
	return Rank{Key: karmada.BindingKey{Namespace: "shop", Name: name}, Priority: priority, Due: lineupBegins.Add(due)}
}

// turnsOf are the turns of a line-up in which everything goes.
func turnsOf(items []Rank, p pace.Pace, from time.Time) (order []int, when []time.Time) {
	l := NewLineup(items, p, from)
	for at, t, ok := l.Next(); ok; at, t, ok = l.Next() {
		order, when = append(order, at), append(when, t)
		l.Went()
	}
	return order, when
}

// Rules: R4.4-1.
func TestALineupTakesTheMostUrgentOfWhatIsDue(t *testing.T) {
	items := []Rank{lined("late-high", 9, time.Minute), lined("b", 0, 0), lined("a", 0, 0), lined("high", 5, 0)}
	order, when := turnsOf(items, pace.Pace{Tier: pace.TierNormal, Rate: 0.5}, lineupBegins)
	require.Equal(t, []int{3, 2, 1, 0}, order)
	require.Equal(t, []time.Time{
		lineupBegins, lineupBegins.Add(2 * time.Second), lineupBegins.Add(4 * time.Second), lineupBegins.Add(time.Minute),
	}, when)
}

func TestWhatIsBlockedCostsNoTurn(t *testing.T) {
	l := NewLineup([]Rank{lined("a", 0, 0), lined("b", 0, 0)}, pace.Pace{Tier: pace.TierNormal, Rate: 0.5}, lineupBegins)
	_, _, _ = l.Next()
	at, when, ok := l.Next()
	require.True(t, ok)
	require.Equal(t, 1, at)
	require.Equal(t, lineupBegins, when)
	_, _, ok = l.Next()
	require.False(t, ok)
}

func TestAHaltedLineupKeepsTheOrderOfDueTimes(t *testing.T) {
	_, when := turnsOf([]Rank{lined("a", 0, time.Minute), lined("b", 0, 0)}, pace.Pace{Tier: pace.TierHalted}, lineupBegins)
	require.Equal(t, []time.Time{lineupBegins, lineupBegins.Add(time.Minute)}, when)
}

// A line-up in which everything goes ends when ETA says that the last one would.
func TestALineupAgreesWithTheEstimateOfTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rank {
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

// What is frozen of a binding stays for its attempt; a drain's selector is no part of it, and what
// was never read of it is learned once.
// Rules: R4.3-15.
func TestReread_FrozenPolicy_FollowsTheSelectorAndLearnsSoftTaintsOnce(t *testing.T) {
	borne, longer := int64(60), int64(900)
	for _, row := range []struct {
		name               string
		frozen, read, want rules.Policy
	}{
		{
			name:   "an edit is not followed",
			frozen: rules.Policy{Priority: 1, PurgeMode: karmada.PurgeGracefully},
			read:   rules.Policy{Priority: 2, PurgeMode: karmada.PurgeDirectly},
			want:   rules.Policy{Priority: 1, PurgeMode: karmada.PurgeGracefully},
		},
		{
			name:   "a drain's selector is followed",
			frozen: rules.Policy{Priority: 1, NotDrained: true},
			read:   rules.Policy{Priority: 2},
			want:   rules.Policy{Priority: 1},
		},
		{
			name:   "how long it bears soft taints is learned where it was not read",
			frozen: rules.Policy{ClusterFailover: true},
			read:   rules.Policy{ClusterFailover: true, SoftSeconds: &borne},
			want:   rules.Policy{ClusterFailover: true, SoftSeconds: &borne},
		},
		{
			name:   "and not learned again",
			frozen: rules.Policy{ClusterFailover: true, SoftSeconds: &borne},
			read:   rules.Policy{ClusterFailover: true, SoftSeconds: &longer},
			want:   rules.Policy{ClusterFailover: true, SoftSeconds: &borne},
		},
		{
			name:   "failover taken away since counts as set, with the default",
			frozen: rules.Policy{ClusterFailover: true},
			read:   rules.Policy{},
			want:   rules.Policy{ClusterFailover: true}.ReadSoft(""),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := Queue{Policy: []rules.Policy{row.frozen}}
			i := Item{}
			q.Reread(&i, row.read, q.PolicyIndex())
			require.Equal(t, row.want, *q.PolicyOf(&i))
			require.Equal(t, row.frozen, q.Policy[0], "other items keep theirs")
		})
	}
	q := Queue{}
	adopted := Item{Policy: -1}
	q.Reread(&adopted, rules.Policy{NotDrained: true}, q.PolicyIndex())
	require.Nil(t, q.PolicyOf(&adopted))
}

// Only what must be dead before it moves goes by a fence, and by the newest of those that cover it.
// Rules: R4.8-4, R4.11-6.
func TestFenceOf_TheNewestWordCounts_WhereTheOldCopyMustBeDead(t *testing.T) {
	began := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	own, whole := &proof.Fence{At: began}, &proof.Fence{At: began.Add(time.Minute)}
	without := &proof.Fence{At: began, WithoutState: true}
	for _, row := range []struct {
		name   string
		item   Item
		policy rules.Policy
		whole  *proof.Fence
		want   *proof.Fence
	}{
		{name: "none was given", item: Item{Purge: karmada.PurgeDirectly}},
		{name: "its own", item: Item{Purge: karmada.PurgeDirectly, Fence: own}, want: own},
		{name: "a newer one for the whole cluster", item: Item{Purge: karmada.PurgeDirectly, Fence: own}, whole: whole, want: whole},
		{name: "its own is newer", item: Item{Purge: karmada.PurgeDirectly, Fence: whole}, whole: own, want: whole},
		{name: "before the first check", item: Item{}, whole: whole, want: whole},
		{name: "nothing has to be dead", item: Item{Purge: karmada.PurgeGracefully}, whole: whole},
		{
			name: "its state stays behind", item: Item{Purge: karmada.PurgeGracefully}, whole: without,
			policy: rules.Policy{State: []karmada.StateRule{{}}}, want: without,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := Queue{Policy: []rules.Policy{row.policy}}
			require.Equal(t, row.want, q.FenceOf(&row.item, row.whole))
		})
	}
}

// An order about a scope says how many it reaches: those that a taint moves, by when they are due.
func TestTally_CountsWhatATaintMoves(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	at := func(name string, policy int) Item {
		return Item{Key: karmada.BindingKey{Namespace: "shop", Name: name}, Policy: policy}
	}
	q := Queue{
		Policy: []rules.Policy{{}, {}, {}},
		Dues:   []rules.Due{{Affected: true, At: now}, {Affected: true, At: now.Add(time.Hour)}, {}},
		Items:  []Item{at("now", 0), at("later", 1), at("not moved", 2), at("adopted", -1)},
	}
	q.Items = append(q.Items, Item{Key: karmada.BindingKey{Namespace: "shop", Name: "never"}, Permanent: true})
	q.Items = append(q.Items, Item{Key: karmada.BindingKey{Namespace: "bank", Name: "now"}})
	sooner, later := q.Tally(now, Scope{Namespace: "shop"}, now.Add(time.Minute))
	require.Equal(t, [2]int{1, 1}, [2]int{sooner, later})
	sooner, later = q.Tally(now, Scope{All: true}, time.Time{})
	require.Equal(t, [2]int{0, 3}, [2]int{sooner, later})
}
