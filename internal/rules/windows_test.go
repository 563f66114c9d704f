package rules_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

var (
	failedTaint = puts("acme.io/failed", corev1.TaintEffectNoExecute) // 300 s to add, 180 s to remove
	windowKey   = rules.RuleObservation{Rule: "unready", Taint: failedTaint}.Key()
)

func seen(m rules.Match) []rules.RuleObservation {
	return []rules.RuleObservation{{Rule: "unready", Taint: failedTaint, Match: m}}
}

// sight is one look at the cluster.
type sight struct {
	at  int // seconds
	obs []rules.RuleObservation
}

func play(sights ...sight) rules.Windows {
	var w rules.Windows
	for _, s := range sights {
		w = w.Advance(s.obs, fixtures.At(s.at))
	}
	return w
}

// Rules: R4.1-16, R4.1-18, R4.1-19, R4.1-21, R4.1-23.
func TestWindows(t *testing.T) {
	match, mismatch, undecided := seen(rules.Matches), seen(rules.Mismatches), seen(rules.Undecided)
	for name, tc := range map[string]struct {
		sights          []sight
		now             int
		ripens, removes bool
		since           int
	}{
		"a match that lasts ripens":                         {sights: []sight{{0, match}, {300, match}}, now: 300, ripens: true, removes: false, since: 0},
		"a second before its time it does not":              {sights: []sight{{0, match}, {299, match}}, now: 299, ripens: false, removes: false, since: 0},
		"a mismatch in between starts it anew":              {sights: []sight{{0, match}, {100, mismatch}, {101, match}, {300, match}}, now: 300, ripens: false, removes: false, since: 101},
		"and then it ripens later":                          {sights: []sight{{0, match}, {100, mismatch}, {101, match}, {401, match}}, now: 401, ripens: true, removes: false, since: 101},
		"an undecided look neither resets nor confirms":     {sights: []sight{{0, match}, {100, undecided}, {300, undecided}}, now: 300, ripens: false, removes: false, since: 0},
		"after it, the next match confirms at once":         {sights: []sight{{0, match}, {100, undecided}, {301, match}}, now: 301, ripens: true, removes: false, since: 0},
		"removal needs its own window":                      {sights: []sight{{0, match}, {300, match}, {310, mismatch}, {489, mismatch}}, now: 489, ripens: false, removes: false, since: 310},
		"and then removes":                                  {sights: []sight{{0, match}, {300, match}, {310, mismatch}, {490, mismatch}}, now: 490, ripens: false, removes: true, since: 310},
		"an undecided look does not remove":                 {sights: []sight{{0, match}, {310, mismatch}, {600, undecided}}, now: 600, ripens: false, removes: false, since: 310},
		"a match in between starts the removal anew":        {sights: []sight{{0, mismatch}, {100, match}, {150, mismatch}, {200, mismatch}}, now: 200, ripens: false, removes: false, since: 150},
		"a rule that is gone counts as a mismatch":          {sights: []sight{{0, match}, {300, match}, {310, nil}, {490, nil}}, now: 490, ripens: false, removes: true, since: 310},
		"a rule that comes back begins anew":                {sights: []sight{{0, match}, {200, nil}, {250, match}, {500, match}}, now: 500, ripens: false, removes: false, since: 250},
		"what begins undecided begins when it is decided":   {sights: []sight{{0, undecided}, {200, mismatch}, {300, mismatch}}, now: 300, ripens: false, removes: false, since: 200},
		"what begins undecided can match from then on only": {sights: []sight{{0, undecided}, {200, match}, {300, match}}, now: 300, ripens: false, removes: false, since: 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := play(tc.sights...)[windowKey]
			require.Equal(t, tc.ripens, w.AddRipe(fixtures.At(tc.now)), "ripe to add")
			require.Equal(t, tc.removes, w.RemoveRipe(fixtures.At(tc.now)), "ripe to remove")
			require.Equal(t, fixtures.At(tc.since), w.Since)
		})
	}
}

func TestAWindowBeginsOnlyWhenSomethingIsDecided(t *testing.T) {
	require.Empty(t, play(sight{0, seen(rules.Undecided)}))
}

// Rules: R4.1-24.
func TestARefusedRuleRemovesNothing(t *testing.T) {
	broken := unready(func(r *rules.Rule) { r.Malformed, r.Taints = "spec: not an object", nil })
	obs := rules.Observe([]rules.Rule{broken}, fixtures.Cluster("m1"), rules.FactOf(fixtures.Cluster("m1")))
	w := play(sight{0, seen(rules.Matches)}, sight{300, seen(rules.Matches)}, sight{310, obs}, sight{9999, obs})
	require.Len(t, w, 1, "a refused rule makes no window of its own")
	require.True(t, w[windowKey].Matching)
	require.False(t, w[windowKey].RemoveRipe(fixtures.At(9999)))
	require.False(t, w[windowKey].AddRipe(fixtures.At(9999)), "and confirms nothing either")
}

// A taint that an earlier run put has no window: one begins as if the rule matched, and goes on by what the rule says.
//
// Rules: R4.1-21, R4.1-23, R4.1-24.
func TestAnAdoptedTaintIsRemovedOnlyAfterItsRuleHasMismatched(t *testing.T) {
	added := []karmada.AddedTaint{
		{Rule: "unready", Key: failedTaint.Key, Effect: failedTaint.Effect},
		{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule},
	}
	refused := []rules.RuleObservation{{Rule: "unready", Match: rules.Undecided}}
	for name, c := range map[string]struct {
		first, last []rules.RuleObservation
		at          int
		removes     bool
	}{
		"the rule decides nothing":           {first: seen(rules.Undecided), last: seen(rules.Undecided), at: 9999},
		"the rule is refused":                {first: refused, last: refused, at: 9999},
		"it matches":                         {first: seen(rules.Matches), last: seen(rules.Matches), at: 9999},
		"it mismatches, within its window":   {first: seen(rules.Mismatches), last: seen(rules.Mismatches), at: 179},
		"it has mismatched":                  {first: seen(rules.Mismatches), last: seen(rules.Mismatches), at: 180, removes: true},
		"the rule is gone, within a window":  {at: 179},
		"the rule is gone":                   {at: 180, removes: true},
		"it mismatches after it was refused": {first: refused, last: seen(rules.Mismatches), at: 9999},
	} {
		t.Run(name, func(t *testing.T) {
			w := rules.Windows(nil).Adopt(added, fixtures.At(0)).Advance(c.first, fixtures.At(0))
			w = w.Adopt(added, fixtures.At(c.at)).Advance(c.last, fixtures.At(c.at))
			require.Len(t, w, 1, "the evacuation taint has no rule")
			require.Equal(t, c.removes, w[windowKey].RemoveRipe(fixtures.At(c.at)))
		})
	}
}

// Rules: R4.1-22.
func TestChangedDurationsHoldAtOnce(t *testing.T) {
	quick := seen(rules.Matches)
	quick[0].Taint.AddOnMatch = 10 * time.Second
	w := play(sight{0, seen(rules.Matches)}, sight{20, quick})
	require.True(t, w[windowKey].AddRipe(fixtures.At(20)))
	require.Equal(t, fixtures.T0, w[windowKey].Since, "the clock goes on")
}

func TestAdvanceLeavesItsInputAlone(t *testing.T) {
	before := play(sight{0, seen(rules.Matches)})
	before.Advance(seen(rules.Mismatches), fixtures.At(10))
	require.True(t, before[windowKey].Matching)
}

func TestWindows_Sorted_AreInTheOrderOfTheirKeys(t *testing.T) {
	w := rules.Windows{"b": {Rule: "2"}, "a": {Rule: "1"}, "c": {Rule: "3"}}
	require.Equal(t, []rules.Window{{Rule: "1"}, {Rule: "2"}, {Rule: "3"}}, w.Sorted())
}

// A window may only be ripe when every decided look of the last addOnMatchSeconds
// said Matches: whatever the order of looks, no flap hides in a ripe window.
//
// Rules: R4.1-16, R4.1-18.
func TestARipeWindowHasSeenNoMismatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w rules.Windows
		var sights []sight
		now := 0
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			now += rapid.IntRange(1, 120).Draw(t, "pause")
			m := rapid.SampledFrom([]rules.Match{rules.Matches, rules.Mismatches, rules.Undecided, "absent"}).Draw(t, "match")
			obs := seen(m)
			if m == "absent" {
				obs = nil
			}
			sights = append(sights, sight{now, obs})
			w = w.Advance(obs, fixtures.At(now))
		}
		window := w[windowKey]
		for _, s := range sights {
			mismatch := len(s.obs) == 0 || s.obs[0].Match == rules.Mismatches
			match := len(s.obs) == 1 && s.obs[0].Match == rules.Matches
			if window.AddRipe(fixtures.At(now)) && mismatch && now-s.at < 300 {
				t.Fatalf("ripe to add at %ds, though it mismatched at %ds", now, s.at)
			}
			if window.RemoveRipe(fixtures.At(now)) && match && now-s.at < 180 {
				t.Fatalf("ripe to remove at %ds, though it matched at %ds", now, s.at)
			}
		}
	})
}
