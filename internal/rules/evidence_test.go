package rules_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// shown is a window that has been as it is since a second of the story, with a minute each way.
func shown(rule, key string, effect corev1.TaintEffect, match rules.Match, since int) rules.Window {
	return rules.Window{
		Rule: rule, Taint: karmada.RuleTaint{Key: key, Effect: effect, AddOnMatch: time.Minute, RemoveOnMismatch: time.Minute},
		Last: match, Matching: match == rules.Matches, Since: fixtures.At(since),
	}
}

func windowsOf(all ...rules.Window) rules.Windows {
	w := rules.Windows{}
	for _, one := range all {
		w[one.Key()] = one
	}
	return w
}

// A taint follows its own window: it is put when that has run out on a match, and goes when it has
// run out on a mismatch. A look that is older than the end of a window ends none. A rule that matches takes
// the taint over from one that does not.
// Rules: R4.1-16, R4.1-21, R4.1-25.
func TestEvidence_ATaintFollowsItsOwnWindow(t *testing.T) {
	down := shown("down", "down", corev1.TaintEffectNoExecute, rules.Matches, 0)
	well := shown("down", "down", corev1.TaintEffectNoExecute, rules.Mismatches, 0)
	added := []karmada.AddedTaint{{Rule: "down", Key: "down", Effect: corev1.TaintEffectNoExecute}}
	standing := []string{"down:NoExecute"}
	other := shown("other", "down", corev1.TaintEffectNoExecute, rules.Matches, 0)
	late := shown("late", "down", corev1.TaintEffectNoExecute, rules.Matches, 30)
	unknown := other
	unknown.Last = rules.Undecided
	idle := well
	idle.Last, idle.Idle = rules.Neither, true
	unsure := shown("down", "down", corev1.TaintEffectNoExecute, rules.Undecided, 0)
	for _, row := range []struct {
		name            string
		evidence        rules.Evidence
		put, over, goes int
		failing         bool
		well            bool
	}{
		{name: "within the window", evidence: rules.Evidence{Windows: windowsOf(down), Judged: fixtures.At(59)}, well: true},
		{name: "the window has run out", evidence: rules.Evidence{Windows: windowsOf(down), Judged: fixtures.At(60)}, put: 1, failing: true, well: true},
		{
			name:     "it stands already",
			evidence: rules.Evidence{Windows: windowsOf(down), Judged: fixtures.At(60), Added: added, Standing: standing}, failing: true,
		},
		{name: "within the removal window", evidence: rules.Evidence{Windows: windowsOf(well), Judged: fixtures.At(59), Added: added, Standing: standing}},
		{
			name:     "the removal window has run out",
			evidence: rules.Evidence{Windows: windowsOf(well), Judged: fixtures.At(60), Added: added, Standing: standing}, goes: 1, well: true,
		},
		{
			name:     "somebody took it away: only the record is left",
			evidence: rules.Evidence{Windows: windowsOf(well), Judged: fixtures.At(1), Added: added}, goes: 1, well: true,
		},
		{
			name:     "another rule takes it over",
			evidence: rules.Evidence{Windows: windowsOf(well, other), Judged: fixtures.At(60), Added: added, Standing: standing}, over: 1, failing: true,
		},
		{
			name:     "the other says nothing at this look",
			evidence: rules.Evidence{Windows: windowsOf(well, unknown), Judged: fixtures.At(60), Added: added, Standing: standing},
		},
		{
			name:     "its own policy neither adds nor removes, beside another rule",
			evidence: rules.Evidence{Windows: windowsOf(idle, other), Judged: fixtures.At(60), Added: added, Standing: standing}, over: 1, failing: true,
		},
		{
			name:     "within the window of another rule",
			evidence: rules.Evidence{Windows: windowsOf(well, late), Judged: fixtures.At(60), Added: added, Standing: standing}, goes: 1, well: true,
		},
		{
			name:     "its own rule matches beside another",
			evidence: rules.Evidence{Windows: windowsOf(down, other), Judged: fixtures.At(60), Added: added, Standing: standing}, failing: true,
		},
		{
			name:     "its own rule says nothing beside another",
			evidence: rules.Evidence{Windows: windowsOf(unsure, other), Judged: fixtures.At(60), Added: added, Standing: standing}, over: 1, failing: true,
		},
		{name: "a taint of no window stays", evidence: rules.Evidence{Judged: fixtures.At(9999), Added: added, Standing: standing}},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Len(t, row.evidence.Ripe(), row.put)
			require.Len(t, row.evidence.TakenOver(), row.over)
			require.Len(t, row.evidence.Withered(), row.goes)
			require.Equal(t, row.failing, row.evidence.Failing())
			require.Equal(t, row.failing, row.evidence.ConfirmsFailure())
			require.Equal(t, row.well, row.evidence.RecoveryConfirmed())
		})
	}
}

// Soft taints that cannot be read are neither put nor known to be gone; the hard ones go on.
func TestEvidence_UnreadableSoftTaintsDecideNothing(t *testing.T) {
	soft := shown("slow", "slow", karmada.EffectPreferNoExecute, rules.Matches, 0)
	hard := shown("down", "down", corev1.TaintEffectNoExecute, rules.Matches, 0)
	e := rules.Evidence{Windows: windowsOf(soft, hard), Judged: fixtures.At(60), SoftUnreadable: true}
	require.Equal(t, []rules.RuleObservation{{Rule: "down", Taint: hard.Taint, Match: rules.Matches}}, e.Ripe())
	require.True(t, e.SoftMatters())
	require.False(t, e.TakenAway(karmada.AddedTaint{Rule: "slow", Key: "slow", Effect: karmada.EffectPreferNoExecute}))
	require.True(t, e.TakenAway(karmada.AddedTaint{Rule: "down", Key: "down", Effect: corev1.TaintEffectNoExecute}))
	e.SoftUnreadable = false
	require.Len(t, e.Ripe(), 2)
}

// With the recovery go the taints of orders and those whose window has passed, not those within it.
// Rules: R4.1-21.
func TestEvidence_LeavingAreTheTaintsOfOrdersAndOfWindowsThatHavePassed(t *testing.T) {
	within := shown("slow", "slow", corev1.TaintEffectNoExecute, rules.Mismatches, 30)
	passed := shown("down", "down", corev1.TaintEffectNoExecute, rules.Mismatches, 0)
	added := []karmada.AddedTaint{
		{Rule: "slow", Key: "slow", Effect: corev1.TaintEffectNoExecute},
		{Rule: "down", Key: "down", Effect: corev1.TaintEffectNoExecute},
		{Rule: karmada.TaintRule, Key: "ordered", Effect: corev1.TaintEffectNoExecute},
		{Rule: "unknown", Key: "unknown", Effect: corev1.TaintEffectNoExecute},
		{Rule: "cordon", Key: "cordon", Effect: corev1.TaintEffectNoSchedule},
	}
	e := rules.Evidence{
		Windows: windowsOf(within, passed), Judged: fixtures.At(60), Added: added,
		Standing: []string{"slow:NoExecute", "down:NoExecute", "ordered:NoExecute", "unknown:NoExecute", "cordon:NoSchedule"},
	}
	require.Equal(t, added[1:3], e.Leaving())
	require.True(t, e.CordonStands())
	require.False(t, e.CordonMatches())
	require.False(t, e.Quiet(), "one of them has not been quiet for long")
}

// What a drain or an order asks for is no failure of the cluster itself; what others put is.
// Rules: R4.1-13.
func TestEvidence_FailingLeavesRulesAside(t *testing.T) {
	drained := shown(karmada.DrainRule, "drain", corev1.TaintEffectNoExecute, rules.Matches, 0)
	e := rules.Evidence{Windows: windowsOf(drained), Judged: fixtures.At(60)}
	require.True(t, e.Failing())
	require.True(t, e.Suspected())
	require.False(t, e.Failing(karmada.DrainRule))
	e.Foreign = []corev1.Taint{{Key: "by-hand", Effect: corev1.TaintEffectNoExecute}}
	require.True(t, e.Failing(karmada.DrainRule))
}

// In observe a recovery is confirmed as it would be: a cordon that stays holds it up no more than in enforce.
//
// Rules: R4.1-21, R4.1-45.
func TestEvidence_RecoveryInObserve_IsThatOfEnforce(t *testing.T) {
	well := shown("down", "down", corev1.TaintEffectNoExecute, rules.Mismatches, 0)
	cordon := shown("slow", "slow", corev1.TaintEffectNoSchedule, rules.Matches, 0)
	for _, judged := range []int{59, 60} {
		e := rules.Evidence{Windows: windowsOf(well, cordon), Judged: fixtures.At(judged)}
		enforce, observe := e, e
		for _, w := range []rules.Window{well, cordon} {
			enforce.Added = append(enforce.Added, karmada.AddedTaint{Rule: w.Rule, Key: w.Taint.Key, Effect: w.Taint.Effect})
			enforce.Standing = append(enforce.Standing, w.Taint.Key+":"+string(w.Taint.Effect))
			observe.Virtual = append(observe.Virtual, corev1.Taint{Key: w.Taint.Key, Effect: w.Taint.Effect})
		}
		require.Equal(t, judged == 60, enforce.RecoveryConfirmed())
		require.Equal(t, judged == 60, observe.RecoveryWouldBeConfirmed())
	}
}
