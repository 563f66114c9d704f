package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// policy is a ClusterTaintPolicy as its author would write it: taint when not Ready,
// untaint when Ready.
func policy(change ...func(*failover.Rule)) failover.Rule {
	r := unready(func(r *failover.Rule) {
		r.Name, r.Policy = failover.PolicyPrefix+"p", true
		r.MatchConditions = []failover.MatchCondition{when("Ready", failover.OperatorIn, corev1.ConditionFalse)}
		r.RemoveConditions = []failover.MatchCondition{when("Ready", failover.OperatorIn, corev1.ConditionTrue)}
	})
	for _, f := range change {
		f(&r)
	}
	return r
}

// Rules: R4.1-10, R4.6-44.
func TestAPolicyAddsAndRemovesByConditionsOfItsOwn(t *testing.T) {
	removing := func(m ...failover.MatchCondition) func(*failover.Rule) {
		return func(r *failover.Rule) { r.RemoveConditions = m }
	}
	for name, tc := range map[string]struct {
		rule   failover.Rule
		status string
		want   failover.Match
	}{
		"those that add match":                       {policy(), "False", failover.Matches},
		"those that remove match":                    {policy(), "True", failover.Mismatches},
		"neither list can tell":                      {policy(), "Unknown", failover.Undecided},
		"neither list matches":                       {policy(removing(when("Ready", failover.OperatorIn, corev1.ConditionUnknown))), "True", failover.Neither},
		"without those that remove nothing goes":     {policy(removing()), "True", failover.Neither},
		"without those that add nothing comes":       {policy(conditions()), "False", failover.Neither},
		"where both match it is taken away":          {policy(removing(when("Ready", failover.OperatorNotIn, corev1.ConditionUnknown))), "False", failover.Mismatches},
		"one that adds mismatches, removal unknown":  {policy(conditions(when("Ready", failover.OperatorNotIn, corev1.ConditionUnknown))), "Unknown", failover.Lapsed},
		"Unknown listed for removal is a removal":    {policy(removing(when("Ready", failover.OperatorIn, corev1.ConditionTrue, corev1.ConditionUnknown))), "Unknown", failover.Mismatches},
		"a condition that is missing is in no list":  {policy(conditions(when("Network", failover.OperatorNotIn, corev1.ConditionTrue)), removing(when("Network", failover.OperatorNotIn, corev1.ConditionFalse))), "True", failover.Neither},
		"all of those that remove have to match":     {policy(removing(when("Ready", failover.OperatorIn, corev1.ConditionTrue), when("Network", failover.OperatorIn, corev1.ConditionTrue))), "True", failover.Neither},
		"NotIn no values matches every status":       {policy(conditions(when("Ready", failover.OperatorNotIn)), removing(when("Network", failover.OperatorIn))), "True", failover.Matches},
		"In no values matches none":                  {policy(conditions(when("Ready", failover.OperatorIn)), removing(when("Network", failover.OperatorIn))), "False", failover.Neither},
		"evidence about our own side decides for us": {policy(), "StatusCollectionFailed", failover.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, tc.rule.Validate())
			f := fact(ready(tc.status, "R"))
			if tc.status == "StatusCollectionFailed" {
				f = fact(ready("False", tc.status))
			}
			match, _ := failover.MatchRule(tc.rule, f)
			require.Equal(t, tc.want, match)
		})
	}
}

// Rules: R4.1-5, R4.1-7.
func TestAPolicyIsRefusedByTheFieldThatIsWrong(t *testing.T) {
	for want, rule := range map[string]failover.Rule{
		`addOnConditions[0]: operator "Near"`:                policy(conditions(when("Ready", "Near", corev1.ConditionTrue))),
		`effect "PreferNoSchedule" is none of`:               policy(ruleTaints(puts("k", corev1.TaintEffectPreferNoSchedule))),
		`cluster.karmada.io/not-ready:NoSchedule is Karmada`: policy(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule))),
	} {
		require.Contains(t, rule.Validate(), want)
		match, _ := failover.MatchRule(rule, fact(ready("False", "R")))
		require.Equal(t, failover.Undecided, match)
	}
	require.Empty(t, policy(conditions()).Validate(), "a policy without conditions adds nothing, so it may aim at everybody")
}

// Rules: R4.1-10, R4.1-16, R4.1-21.
func TestTheWindowsOfAPolicy(t *testing.T) {
	match, mismatch, neither := seen(failover.Matches), seen(failover.Mismatches), seen(failover.Neither)
	undecided, lapsed := seen(failover.Undecided), seen(failover.Lapsed)
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
			require.Equal(t, tc.ripens, w.AddRipe(at(tc.now)), "ripe to add")
			require.Equal(t, tc.removes, w.RemoveRipe(at(tc.now)), "ripe to remove")
			require.Equal(t, tc.quiet, w.Quiet(at(tc.now)), "quiet")
		})
	}
}

// Rules: R4.1-34, R4.1-37.
func TestARuleThatRequiresTheWitnessMatchesOnlyWhileItAgrees(t *testing.T) {
	asking := func(r *failover.Rule) { r.RequireWitness = true }
	for name, tc := range map[string]struct {
		rule    failover.Rule
		status  string
		witness failover.Witness
		want    failover.Match
		why     failover.Reason
	}{
		"it agrees":                             {unready(asking), "False", failover.WitnessDown, failover.Matches, failover.ReasonConditionsMatch},
		"nobody testifies":                      {unready(asking), "False", failover.WitnessAbsent, failover.Undecided, failover.ReasonNoWitness},
		"a word that is none":                   {unready(asking), "False", "Perhaps", failover.Undecided, failover.ReasonNoWitness},
		"it sees the member alive":              {unready(asking), "False", failover.WitnessUp, failover.Mismatches, failover.ReasonWitnessDisagrees},
		"alone it decides nothing":              {unready(asking), "True", failover.WitnessDown, failover.Mismatches, failover.ReasonNone},
		"a rule that does not ask":              {unready(), "False", failover.WitnessUp, failover.Matches, failover.ReasonConditionsMatch},
		"a policy that asks":                    {policy(asking), "False", failover.WitnessDown, failover.Matches, failover.ReasonConditionsMatch},
		"a policy whose witness sees it alive":  {policy(asking), "False", failover.WitnessUp, failover.Neither, failover.ReasonWitnessDisagrees},
		"a policy that nobody testifies for":    {policy(asking), "False", failover.WitnessAbsent, failover.Undecided, failover.ReasonNoWitness},
		"a policy's removal needs no testimony": {policy(asking), "True", failover.WitnessAbsent, failover.Mismatches, failover.ReasonNone},
	} {
		t.Run(name, func(t *testing.T) {
			match, why := failover.MatchRule(tc.rule, fact(ready(tc.status, "R")).Testified(tc.witness))
			require.Equal(t, tc.want, match)
			require.Equal(t, tc.why, why)
		})
	}
	// What counts faulty clusters must not count too few; what starts a failover asks.
	c := cluster("m1", func(c *failover.Cluster) { c.Conditions[0].Status = corev1.ConditionFalse })
	suspected, _ := failover.Suspected([]failover.Rule{unready(asking)}, c, failover.WitnessDown)
	require.True(t, suspected)
	suspected, _ = failover.Suspected([]failover.Rule{unready(asking)}, c, failover.WitnessAbsent)
	require.False(t, suspected)
}
