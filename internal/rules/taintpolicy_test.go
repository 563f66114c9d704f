package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// policy is a ClusterTaintPolicy as its author would write it: taint when not Ready,
// untaint when Ready.
func policy(change ...func(*rules.Rule)) rules.Rule {
	r := unready(func(r *rules.Rule) {
		r.Name, r.Policy = rules.PolicyPrefix+"p", true
		r.MatchConditions = []rules.MatchCondition{when("Ready", rules.OperatorIn, corev1.ConditionFalse)}
		r.RemoveConditions = []rules.MatchCondition{when("Ready", rules.OperatorIn, corev1.ConditionTrue)}
	})
	for _, f := range change {
		f(&r)
	}
	return r
}

// Rules: R4.1-10, R4.6-44.
func TestAPolicyAddsAndRemovesByConditionsOfItsOwn(t *testing.T) {
	removing := func(m ...rules.MatchCondition) func(*rules.Rule) {
		return func(r *rules.Rule) { r.RemoveConditions = m }
	}
	for name, tc := range map[string]struct {
		rule   rules.Rule
		status string
		want   rules.Match
	}{
		"those that add match":                              {policy(), "False", rules.Matches},
		"those that remove match":                           {policy(), "True", rules.Mismatches},
		"neither list can tell":                             {policy(), "Unknown", rules.Undecided},
		"neither list matches":                              {policy(removing(when("Ready", rules.OperatorIn, corev1.ConditionUnknown))), "True", rules.Neither},
		"without those that remove nothing goes":            {policy(removing()), "True", rules.Neither},
		"without those that add nothing comes":              {policy(conditions()), "False", rules.Neither},
		"where both match it is taken away":                 {policy(removing(when("Ready", rules.OperatorNotIn, corev1.ConditionUnknown))), "False", rules.Mismatches},
		"one that adds mismatches, removal unknown":         {policy(conditions(when("Ready", rules.OperatorNotIn, corev1.ConditionUnknown))), "Unknown", rules.Lapsed},
		"Unknown listed for removal is a removal":           {policy(removing(when("Ready", rules.OperatorIn, corev1.ConditionTrue, corev1.ConditionUnknown))), "Unknown", rules.Mismatches},
		"a condition that is missing is in no list":         {policy(conditions(when("Network", rules.OperatorNotIn, corev1.ConditionTrue)), removing(when("Network", rules.OperatorNotIn, corev1.ConditionFalse))), "True", rules.Neither},
		"all of those that remove have to match":            {policy(removing(when("Ready", rules.OperatorIn, corev1.ConditionTrue), when("Network", rules.OperatorIn, corev1.ConditionTrue))), "True", rules.Neither},
		"NotIn no values matches every status":              {policy(conditions(when("Ready", rules.OperatorNotIn)), removing(when("Network", rules.OperatorIn))), "True", rules.Matches},
		"In no values matches none":                         {policy(conditions(when("Ready", rules.OperatorIn)), removing(when("Network", rules.OperatorIn))), "False", rules.Neither},
		"evidence about Lifeboat's own side decides for us": {policy(), "StatusCollectionFailed", rules.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, tc.rule.Validate())
			f := fact(ready(tc.status, "R"))
			if tc.status == "StatusCollectionFailed" {
				f = fact(ready("False", tc.status))
			}
			match, _ := rules.MatchRule(tc.rule, f)
			require.Equal(t, tc.want, match)
		})
	}
}

// Rules: R4.1-5, R4.1-7.
func TestAPolicyIsRefusedByTheFieldThatIsWrong(t *testing.T) {
	for want, rule := range map[string]rules.Rule{
		`addOnConditions[0]: operator "Near"`:                policy(conditions(when("Ready", "Near", corev1.ConditionTrue))),
		`effect "PreferNoSchedule" is none of`:               policy(ruleTaints(puts("k", corev1.TaintEffectPreferNoSchedule))),
		`cluster.karmada.io/not-ready:NoSchedule is Karmada`: policy(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule))),
	} {
		require.Contains(t, rule.Validate(), want)
		match, _ := rules.MatchRule(rule, fact(ready("False", "R")))
		require.Equal(t, rules.Undecided, match)
	}
	require.Empty(t, policy(conditions()).Validate(), "a policy without conditions adds nothing, so it may aim at everybody")
}

// Rules: R4.1-10, R4.1-16, R4.1-21.
func TestTheWindowsOfAPolicy(t *testing.T) {
	match, mismatch, neither := seen(rules.Matches), seen(rules.Mismatches), seen(rules.Neither)
	undecided, lapsed := seen(rules.Undecided), seen(rules.Lapsed)
	for name, tc := range map[string]struct {
		sights                 []sight
		now                    int
		ripens, removes, quiet bool
	}{
		"neither breaks the match":                        {[]sight{{0, match}, {100, neither}, {101, match}, {300, match}}, 300, false, false, false},
		"neither removes nothing, however long":           {[]sight{{0, match}, {300, match}, {310, neither}, {9999, neither}}, 9999, false, false, true},
		"the removal window begins with its own match":    {[]sight{{0, match}, {310, neither}, {400, mismatch}, {579, mismatch}}, 579, false, false, false},
		"and ends with it":                                {[]sight{{0, match}, {310, neither}, {400, mismatch}, {580, mismatch}}, 580, false, true, true},
		"neither breaks a removal":                        {[]sight{{0, match}, {310, mismatch}, {400, neither}, {401, mismatch}, {500, mismatch}}, 500, false, false, false},
		"lapsed breaks the match":                         {[]sight{{0, match}, {100, lapsed}, {101, match}, {300, match}}, 300, false, false, false},
		"but no removal":                                  {[]sight{{0, match}, {310, mismatch}, {400, lapsed}, {490, mismatch}}, 490, false, true, true},
		"and fires none":                                  {[]sight{{0, match}, {310, mismatch}, {490, lapsed}}, 490, false, false, false},
		"undecided leaves all as it is":                   {[]sight{{0, match}, {310, neither}, {400, undecided}, {9999, undecided}}, 9999, false, false, true},
		"what begins lapsed has begun nothing":            {[]sight{{0, lapsed}, {200, mismatch}, {300, mismatch}}, 300, false, false, false},
		"a policy that is deleted is as one that is well": {[]sight{{0, match}, {310, neither}, {400, nil}, {580, nil}}, 580, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := play(tc.sights...)[windowKey]
			require.Equal(t, tc.ripens, w.AddRipe(fixtures.At(tc.now)), "ripe to add")
			require.Equal(t, tc.removes, w.RemoveRipe(fixtures.At(tc.now)), "ripe to remove")
			require.Equal(t, tc.quiet, w.Quiet(fixtures.At(tc.now)), "quiet")
		})
	}
}

// Rules: R4.1-34, R4.1-37.
func TestARuleThatRequiresTheExternalProbeMatchesOnlyWhileItAgrees(t *testing.T) {
	asking := func(r *rules.Rule) { r.RequireExternalProbe = true }
	for name, tc := range map[string]struct {
		rule          rules.Rule
		status        string
		externalProbe rules.ExternalProbe
		want          rules.Match
		why           reason.Reason
	}{
		"it agrees":                                   {unready(asking), "False", rules.ExternalProbeDown, rules.Matches, reason.ConditionsMatch},
		"nobody testifies":                            {unready(asking), "False", rules.ExternalProbeAbsent, rules.Undecided, reason.NoExternalProbe},
		"a word that is none":                         {unready(asking), "False", "Perhaps", rules.Undecided, reason.NoExternalProbe},
		"it sees the member alive":                    {unready(asking), "False", rules.ExternalProbeUp, rules.Mismatches, reason.ExternalProbeDisagrees},
		"alone it decides nothing":                    {unready(asking), "True", rules.ExternalProbeDown, rules.Mismatches, reason.None},
		"a rule that does not ask":                    {unready(), "False", rules.ExternalProbeUp, rules.Matches, reason.ConditionsMatch},
		"a policy that asks":                          {policy(asking), "False", rules.ExternalProbeDown, rules.Matches, reason.ConditionsMatch},
		"a policy whose external probe sees it alive": {policy(asking), "False", rules.ExternalProbeUp, rules.Neither, reason.ExternalProbeDisagrees},
		"a policy that nobody testifies for":          {policy(asking), "False", rules.ExternalProbeAbsent, rules.Undecided, reason.NoExternalProbe},
		"a policy's removal needs no testimony":       {policy(asking), "True", rules.ExternalProbeAbsent, rules.Mismatches, reason.None},
	} {
		t.Run(name, func(t *testing.T) {
			match, why := rules.MatchRule(tc.rule, fact(ready(tc.status, "R")).Testified(tc.externalProbe))
			require.Equal(t, tc.want, match)
			require.Equal(t, tc.why, why)
		})
	}
	// What counts faulty clusters must not count too few; what starts a failover asks.
	c := fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionFalse })
	suspected, _ := rules.Suspected([]rules.Rule{unready(asking)}, c, rules.ExternalProbeDown)
	require.True(t, suspected)
	suspected, _ = rules.Suspected([]rules.Rule{unready(asking)}, c, rules.ExternalProbeAbsent)
	require.False(t, suspected)
}
