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
		"those that add match":                              {rule: policy(), status: "False", want: rules.Matches},
		"those that remove match":                           {rule: policy(), status: "True", want: rules.Mismatches},
		"neither list can tell":                             {rule: policy(), status: "Unknown", want: rules.Undecided},
		"neither list matches":                              {rule: policy(removing(when("Ready", rules.OperatorIn, corev1.ConditionUnknown))), status: "True", want: rules.Neither},
		"without those that remove nothing goes":            {rule: policy(removing()), status: "True", want: rules.Neither},
		"without those that add nothing comes":              {rule: policy(conditions()), status: "False", want: rules.Neither},
		"where both match it is taken away":                 {rule: policy(removing(when("Ready", rules.OperatorNotIn, corev1.ConditionUnknown))), status: "False", want: rules.Mismatches},
		"one that adds mismatches, removal unknown":         {rule: policy(conditions(when("Ready", rules.OperatorNotIn, corev1.ConditionUnknown))), status: "Unknown", want: rules.Lapsed},
		"Unknown listed for removal is a removal":           {rule: policy(removing(when("Ready", rules.OperatorIn, corev1.ConditionTrue, corev1.ConditionUnknown))), status: "Unknown", want: rules.Mismatches},
		"a condition that is missing is in no list":         {rule: policy(conditions(when("Network", rules.OperatorNotIn, corev1.ConditionTrue)), removing(when("Network", rules.OperatorNotIn, corev1.ConditionFalse))), status: "True", want: rules.Neither},
		"all of those that remove have to match":            {rule: policy(removing(when("Ready", rules.OperatorIn, corev1.ConditionTrue), when("Network", rules.OperatorIn, corev1.ConditionTrue))), status: "True", want: rules.Neither},
		"NotIn no values matches every status":              {rule: policy(conditions(when("Ready", rules.OperatorNotIn)), removing(when("Network", rules.OperatorIn))), status: "True", want: rules.Matches},
		"In no values matches none":                         {rule: policy(conditions(when("Ready", rules.OperatorIn)), removing(when("Network", rules.OperatorIn))), status: "False", want: rules.Neither},
		"evidence about Lifeboat's own side decides for us": {rule: policy(), status: "StatusCollectionFailed", want: rules.Undecided},
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
		"neither breaks the match":                        {sights: []sight{{0, match}, {100, neither}, {101, match}, {300, match}}, now: 300, ripens: false, removes: false, quiet: false},
		"neither removes nothing, however long":           {sights: []sight{{0, match}, {300, match}, {310, neither}, {9999, neither}}, now: 9999, ripens: false, removes: false, quiet: true},
		"the removal window begins with its own match":    {sights: []sight{{0, match}, {310, neither}, {400, mismatch}, {579, mismatch}}, now: 579, ripens: false, removes: false, quiet: false},
		"and ends with it":                                {sights: []sight{{0, match}, {310, neither}, {400, mismatch}, {580, mismatch}}, now: 580, ripens: false, removes: true, quiet: true},
		"neither breaks a removal":                        {sights: []sight{{0, match}, {310, mismatch}, {400, neither}, {401, mismatch}, {500, mismatch}}, now: 500, ripens: false, removes: false, quiet: false},
		"lapsed breaks the match":                         {sights: []sight{{0, match}, {100, lapsed}, {101, match}, {300, match}}, now: 300, ripens: false, removes: false, quiet: false},
		"but no removal":                                  {sights: []sight{{0, match}, {310, mismatch}, {400, lapsed}, {490, mismatch}}, now: 490, ripens: false, removes: true, quiet: true},
		"and fires none":                                  {sights: []sight{{0, match}, {310, mismatch}, {490, lapsed}}, now: 490, ripens: false, removes: false, quiet: false},
		"undecided leaves all as it is":                   {sights: []sight{{0, match}, {310, neither}, {400, undecided}, {9999, undecided}}, now: 9999, ripens: false, removes: false, quiet: true},
		"what begins lapsed has begun nothing":            {sights: []sight{{0, lapsed}, {200, mismatch}, {300, mismatch}}, now: 300, ripens: false, removes: false, quiet: false},
		"a policy that is deleted is as one that is well": {sights: []sight{{0, match}, {310, neither}, {400, nil}, {580, nil}}, now: 580, ripens: false, removes: true, quiet: true},
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
		"it agrees":                                   {rule: unready(asking), status: "False", externalProbe: rules.ExternalProbeDown, want: rules.Matches, why: reason.ConditionsMatch},
		"nobody testifies":                            {rule: unready(asking), status: "False", externalProbe: rules.ExternalProbeAbsent, want: rules.Undecided, why: reason.NoExternalProbe},
		"a word that is none":                         {rule: unready(asking), status: "False", externalProbe: "Perhaps", want: rules.Undecided, why: reason.NoExternalProbe},
		"it sees the member alive":                    {rule: unready(asking), status: "False", externalProbe: rules.ExternalProbeUp, want: rules.Mismatches, why: reason.ExternalProbeDisagrees},
		"alone it decides nothing":                    {rule: unready(asking), status: "True", externalProbe: rules.ExternalProbeDown, want: rules.Mismatches, why: reason.None},
		"a rule that does not ask":                    {rule: unready(), status: "False", externalProbe: rules.ExternalProbeUp, want: rules.Matches, why: reason.ConditionsMatch},
		"a policy that asks":                          {rule: policy(asking), status: "False", externalProbe: rules.ExternalProbeDown, want: rules.Matches, why: reason.ConditionsMatch},
		"a policy whose external probe sees it alive": {rule: policy(asking), status: "False", externalProbe: rules.ExternalProbeUp, want: rules.Neither, why: reason.ExternalProbeDisagrees},
		"a policy that nobody testifies for":          {rule: policy(asking), status: "False", externalProbe: rules.ExternalProbeAbsent, want: rules.Undecided, why: reason.NoExternalProbe},
		"a policy's removal needs no testimony":       {rule: policy(asking), status: "True", externalProbe: rules.ExternalProbeAbsent, want: rules.Mismatches, why: reason.None},
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
