package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.1-48, R4.1-50, R4.1-51.
func TestAMemberThatAnswersTheProbeContradictsNotReachable(t *testing.T) {
	asking := func(r *failover.Rule) { r.RequireWitness = true }
	cordon := ruleTaints(puts("slow", corev1.TaintEffectNoSchedule))
	soft := ruleTaints(puts("slow", failover.EffectPreferNoExecute))
	stands := tainted(corev1.Taint{Key: failedTaint.Key, Effect: failedTaint.Effect})
	for name, tc := range map[string]struct {
		rule    failover.Rule
		cluster failover.Cluster
		probe   failover.Witness
		want    failover.Match
		why     failover.Reason
	}{
		"it answers":                              {unready(), cluster("m1", notReady), failover.WitnessUp, failover.Neither, failover.ReasonMemberAnswers},
		"a soft taint":                            {unready(soft), cluster("m1", notReady), failover.WitnessUp, failover.Neither, failover.ReasonMemberAnswers},
		"the rule requires the probe":             {unready(asking), cluster("m1", notReady), failover.WitnessUp, failover.Neither, failover.ReasonMemberAnswers},
		"a policy":                                {policy(), cluster("m1", notReady), failover.WitnessUp, failover.Neither, failover.ReasonMemberAnswers},
		"a policy requires the probe":             {policy(asking), cluster("m1", notReady), failover.WitnessUp, failover.Neither, failover.ReasonMemberAnswers},
		"it does not answer":                      {unready(), cluster("m1", notReady), failover.WitnessDown, failover.Matches, failover.ReasonConditionsMatch},
		"the probe has never reached it":          {unready(), cluster("m1", notReady), failover.WitnessAbsent, failover.Matches, failover.ReasonConditionsMatch},
		"a taint that moves nothing is put":       {unready(cordon), cluster("m1", notReady), failover.WitnessUp, failover.Matches, failover.ReasonConditionsMatch},
		"a taint that stands stays":               {unready(), cluster("m1", notReady, stands), failover.WitnessUp, failover.Undecided, failover.ReasonMemberAnswers},
		"likewise where the rule requires it":     {unready(asking), cluster("m1", notReady, stands), failover.WitnessUp, failover.Undecided, failover.ReasonMemberAnswers},
		"Karmada reached it, and it is not ready": {unready(), cluster("m1", saysNotReady), failover.WitnessUp, failover.Matches, failover.ReasonConditionsMatch},
		"the cluster is ready":                    {unready(), cluster("m1"), failover.WitnessUp, failover.Mismatches, failover.ReasonNone},
	} {
		t.Run(name, func(t *testing.T) {
			observed := failover.Observe([]failover.Rule{tc.rule}, tc.cluster, failover.FactOf(tc.cluster).Testified(tc.probe))
			require.Len(t, observed, 1)
			require.Equal(t, tc.want, observed[0].Match)
			require.Equal(t, tc.why, observed[0].Reason)
		})
	}
}

// saysNotReady is a member that Karmada reaches, and that says of itself that it is not ready.
func saysNotReady(c *failover.Cluster) {
	c.Conditions = []failover.Condition{{Type: failover.ConditionReady, Status: corev1.ConditionFalse, Reason: "ClusterNotReady"}}
}

// Another condition is no word of Karmada about the way to the member.
//
// Rules: R4.1-48.
func TestARuleThatDoesNotAskForReadyIsNotContradicted(t *testing.T) {
	rule := unready(conditions(when("NetworkReady", failover.OperatorIn, corev1.ConditionFalse)))
	c := cluster("m1", notReady, func(c *failover.Cluster) {
		c.Conditions = append(c.Conditions, failover.Condition{Type: "NetworkReady", Status: corev1.ConditionFalse})
	})
	observed := failover.Observe([]failover.Rule{rule}, c, failover.FactOf(c).Testified(failover.WitnessUp))
	require.Equal(t, failover.Matches, observed[0].Match)
}

// The failover of a contradicted rule runs, to report it; the fleet's pace counts the cluster
// as faulty, which slows the pace and moves nothing.
//
// Rules: R4.1-48.
func TestAContradictedClusterIsSuspected(t *testing.T) {
	rules, c := []failover.Rule{unready()}, cluster("m1", notReady)
	suspected, why := failover.Suspected(rules, c, failover.WitnessUp)
	require.True(t, suspected)
	require.Equal(t, failover.ReasonMemberAnswers, why)
	faulty, _ := failover.Faulty(rules, c)
	require.True(t, faulty)
}

// Rules: R4.1-50.
func TestTheWindowBeginsWhenTheMemberAnswersNoMore(t *testing.T) {
	match, answers := seen(failover.Matches), seen(failover.Neither)
	answers[0].Reason = failover.ReasonMemberAnswers
	w := play(sight{0, match}, sight{100, answers}, sight{400, answers}, sight{500, match}, sight{799, match})[windowKey]
	require.False(t, w.AddRipe(at(799)))
	require.True(t, w.AddRipe(at(800)))
	w = play(sight{0, answers}, sight{5000, answers})[windowKey]
	require.False(t, w.Quiet(at(5000)), "a cancelled failover stays open until the contradiction ends")
}
