package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.1-48, R4.1-50, R4.1-51.
func TestAMemberThatAnswersTheProbeContradictsNotReachable(t *testing.T) {
	asking := func(r *rules.Rule) { r.RequireExternalProbe = true }
	cordon := ruleTaints(puts("slow", corev1.TaintEffectNoSchedule))
	soft := ruleTaints(puts("slow", karmada.EffectPreferNoExecute))
	stands := fixtures.Tainted(corev1.Taint{Key: failedTaint.Key, Effect: failedTaint.Effect})
	for name, tc := range map[string]struct {
		rule    rules.Rule
		cluster karmada.Cluster
		probe   rules.ExternalProbe
		want    rules.Match
		why     reason.Reason
	}{
		"it answers":                              {rule: unready(), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeUp, want: rules.Neither, why: reason.MemberAnswers},
		"a soft taint":                            {rule: unready(soft), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeUp, want: rules.Neither, why: reason.MemberAnswers},
		"the rule requires the probe":             {rule: unready(asking), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeUp, want: rules.Neither, why: reason.MemberAnswers},
		"a policy":                                {rule: policy(), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeUp, want: rules.Neither, why: reason.MemberAnswers},
		"a policy requires the probe":             {rule: policy(asking), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeUp, want: rules.Neither, why: reason.MemberAnswers},
		"it does not answer":                      {rule: unready(), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeDown, want: rules.Matches, why: reason.ConditionsMatch},
		"the probe has never reached it":          {rule: unready(), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeAbsent, want: rules.Matches, why: reason.ConditionsMatch},
		"a taint that moves nothing is put":       {rule: unready(cordon), cluster: fixtures.Cluster("m1", fixtures.NotReady), probe: rules.ExternalProbeUp, want: rules.Matches, why: reason.ConditionsMatch},
		"a taint that stands stays":               {rule: unready(), cluster: fixtures.Cluster("m1", fixtures.NotReady, stands), probe: rules.ExternalProbeUp, want: rules.Undecided, why: reason.MemberAnswers},
		"likewise where the rule requires it":     {rule: unready(asking), cluster: fixtures.Cluster("m1", fixtures.NotReady, stands), probe: rules.ExternalProbeUp, want: rules.Undecided, why: reason.MemberAnswers},
		"Karmada reached it, and it is not ready": {rule: unready(), cluster: fixtures.Cluster("m1", saysNotReady), probe: rules.ExternalProbeUp, want: rules.Matches, why: reason.ConditionsMatch},
		"the cluster is ready":                    {rule: unready(), cluster: fixtures.Cluster("m1"), probe: rules.ExternalProbeUp, want: rules.Mismatches, why: reason.None},
	} {
		t.Run(name, func(t *testing.T) {
			observed := rules.Observe([]rules.Rule{tc.rule}, tc.cluster, rules.FactOf(tc.cluster).Testified(tc.probe))
			require.Len(t, observed, 1)
			require.Equal(t, tc.want, observed[0].Match)
			require.Equal(t, tc.why, observed[0].Reason)
		})
	}
}

// saysNotReady is a member that Karmada reaches, and that says of itself that it is not ready.
func saysNotReady(c *karmada.Cluster) {
	c.Conditions = []karmada.Condition{{Type: karmada.ConditionReady, Status: corev1.ConditionFalse, Reason: "ClusterNotReady"}}
}

// Another condition is no word of Karmada about the way to the member.
//
// Rules: R4.1-48.
func TestARuleThatDoesNotAskForReadyIsNotContradicted(t *testing.T) {
	rule := unready(conditions(when("NetworkReady", rules.OperatorIn, corev1.ConditionFalse)))
	c := fixtures.Cluster("m1", fixtures.NotReady, func(c *karmada.Cluster) {
		c.Conditions = append(c.Conditions, karmada.Condition{Type: "NetworkReady", Status: corev1.ConditionFalse})
	})
	observed := rules.Observe([]rules.Rule{rule}, c, rules.FactOf(c).Testified(rules.ExternalProbeUp))
	require.Equal(t, rules.Matches, observed[0].Match)
}

// The failover of a contradicted rule runs, to report it; the fleet's pace counts the cluster
// as faulty, which slows the pace and moves nothing.
//
// Rules: R4.1-48.
func TestAContradictedClusterIsSuspected(t *testing.T) {
	list, c := []rules.Rule{unready()}, fixtures.Cluster("m1", fixtures.NotReady)
	suspected, why := rules.NeedsFailover(list, c, rules.ExternalProbeUp)
	require.True(t, suspected)
	require.Equal(t, reason.MemberAnswers, why)
	faulty := rules.Faulty(list, c)
	require.True(t, faulty)
}

// Rules: R4.1-50.
func TestTheWindowBeginsWhenTheMemberAnswersNoMore(t *testing.T) {
	match, answers := seen(rules.Matches), seen(rules.Neither)
	answers[0].Reason = reason.MemberAnswers
	w := play(sight{0, match}, sight{100, answers}, sight{400, answers}, sight{500, match}, sight{799, match})[windowKey]
	require.False(t, w.AddRipe(fixtures.At(799)))
	require.True(t, w.AddRipe(fixtures.At(800)))
	w = play(sight{0, answers}, sight{5000, answers})[windowKey]
	require.False(t, w.Quiet(fixtures.At(5000)), "a cancelled failover stays open until the contradiction ends")
}
