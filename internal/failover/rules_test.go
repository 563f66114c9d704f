package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func when(conditionType, operator string, values ...corev1.ConditionStatus) failover.MatchCondition {
	return failover.MatchCondition{ConditionType: conditionType, Operator: operator, StatusValues: values}
}

func puts(key string, effect corev1.TaintEffect) failover.RuleTaint {
	return failover.RuleTaint{Key: key, Effect: effect, AddOnMatch: 300 * time.Second, RemoveOnMismatch: 180 * time.Second}
}

// unready is the rule that everybody has: not Ready for five minutes moves the workloads.
func unready(change ...func(*failover.Rule)) failover.Rule {
	r := failover.Rule{
		Name:            "unready",
		MatchConditions: []failover.MatchCondition{when("Ready", failover.OperatorNotIn, corev1.ConditionTrue)},
		Taints:          []failover.RuleTaint{puts("acme.io/failed", corev1.TaintEffectNoExecute)},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func conditions(m ...failover.MatchCondition) func(*failover.Rule) {
	return func(r *failover.Rule) { r.MatchConditions = m }
}

func ruleTaints(taints ...failover.RuleTaint) func(*failover.Rule) {
	return func(r *failover.Rule) { r.Taints = taints }
}

func targets(a *failover.ClusterAffinity) func(*failover.Rule) {
	return func(r *failover.Rule) { r.TargetClusters = a }
}

// Rules: R4.1-5, R4.1-7, R4.1-8.
func TestValidateRefusesARuleThatCouldDoHarm(t *testing.T) {
	always := conditions()
	failed := puts("acme.io/failed", corev1.TaintEffectNoExecute)
	for name, tc := range map[string]struct {
		rule failover.Rule
		want string // part of the message; empty: the rule is fine
	}{
		"the rule that everybody has is fine":   {unready(), ""},
		"an unknown operator":                   {unready(conditions(when("Ready", "Near", corev1.ConditionTrue))), `operator "Near" is neither In nor NotIn`},
		"an empty condition type":               {unready(conditions(when("", "In", corev1.ConditionTrue))), "matchConditions[0]: conditionType is empty"},
		"a condition without status values":     {unready(conditions(when("Ready", "In"))), "statusValues is empty"},
		"a status that no condition has":        {unready(conditions(when("Ready", "In", "Perhaps"))), "True, False and Unknown only"},
		"no taints":                             {unready(ruleTaints()), "taints is empty"},
		"a key that is no label name":           {unready(ruleTaints(puts("not a key", corev1.TaintEffectNoExecute))), `key "not a key"`},
		"an empty key":                          {unready(ruleTaints(puts("", corev1.TaintEffectNoExecute))), `key ""`},
		"an effect of Kubernetes' own":          {unready(ruleTaints(puts("k", corev1.TaintEffectPreferNoSchedule))), `effect "PreferNoSchedule" is none of`},
		"a soft taint is fine":                  {unready(ruleTaints(puts("k", failover.EffectPreferNoExecute))), ""},
		"the same key and effect twice":         {unready(ruleTaints(failed, failed)), "acme.io/failed:NoExecute stands twice"},
		"the same key with two effects is fine": {unready(ruleTaints(failed, puts("acme.io/failed", corev1.TaintEffectNoSchedule))), ""},
		"a negative add window": {
			unready(ruleTaints(failover.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute, AddOnMatch: -1})),
			"addOnMatchSeconds -1ns is negative",
		},
		"a negative removal window": {
			unready(ruleTaints(failover.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute, RemoveOnMismatch: -1})),
			"removeOnMismatchSeconds -1ns is negative",
		},
		"windows of no length are fine":     {unready(ruleTaints(failover.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute})), ""},
		"a value that is no label value":    {unready(ruleTaints(failover.RuleTaint{Key: "k", Value: "a b", Effect: corev1.TaintEffectNoExecute})), `value "a b"`},
		"our own companion taint":           {unready(ruleTaints(puts(failover.EvacuatingTaintKey, corev1.TaintEffectNoSchedule))), "is reserved"},
		"Karmada's own not-ready taint":     {unready(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule))), "Karmada's own"},
		"not-ready as NoExecute is fine":    {unready(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoExecute))), ""},
		"no conditions and every cluster":   {unready(always), "needs targetClusters"},
		"no conditions and an empty target": {unready(always, targets(&failover.ClusterAffinity{})), "needs targetClusters"},
		"no conditions and an empty selector": {
			unready(always, targets(&failover.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}})),
			"needs targetClusters",
		},
		"no conditions and only an exclusion":        {unready(always, targets(&failover.ClusterAffinity{Exclude: []string{"m1"}})), "needs targetClusters"},
		"no conditions and names are fine":           {unready(always, targets(names("m1"))), ""},
		"no conditions and labels are fine":          {unready(always, targets(&failover.ClusterAffinity{LabelSelector: matchLabels(map[string]string{"a": "b"})})), ""},
		"no conditions and fields are fine":          {unready(always, targets(&failover.ClusterAffinity{FieldSelector: fields("region", corev1.NodeSelectorOpIn, "east")})), ""},
		"no conditions are fine where nothing moves": {unready(always, ruleTaints(puts("k", corev1.TaintEffectNoSchedule))), ""},
		"no conditions with a soft taint move, too":  {unready(always, ruleTaints(puts("k", failover.EffectPreferNoExecute))), "needs targetClusters"},
		"targets that cannot be understood":          {unready(targets(&failover.ClusterAffinity{FieldSelector: fields("planet", "In", "x")})), "targetClusters: fieldSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.rule.Validate()
			if tc.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tc.want)
		})
	}
}

func fact(conditions ...failover.FactCondition) failover.ClusterFact {
	return failover.ClusterFact{Cluster: "m1", ResourceVersion: "10", Conditions: conditions}
}

func ready(status, reason string) failover.FactCondition {
	return failover.FactCondition{Type: "Ready", Status: status, Reason: reason}
}

// Rules: R4.1-3, R4.1-4, R4.1-6, R4.1-19, R4.1-20, R4.1-32.
func TestMatchRule(t *testing.T) {
	inFalse := unready(conditions(when("Ready", failover.OperatorIn, corev1.ConditionFalse)))
	both := unready(conditions(
		when("Ready", failover.OperatorIn, corev1.ConditionFalse),
		when("NetworkReady", failover.OperatorNotIn, corev1.ConditionTrue),
	))
	network := func(status string) failover.FactCondition {
		return failover.FactCondition{Type: "NetworkReady", Status: status}
	}
	for name, tc := range map[string]struct {
		rule   failover.Rule
		fact   failover.ClusterFact
		match  failover.Match
		reason failover.Reason
	}{
		"a listed status matches":                          {inFalse, fact(ready("False", "ClusterNotReachable")), failover.Matches, failover.ReasonConditionsMatch},
		"a status not listed mismatches":                   {inFalse, fact(ready("True", "ClusterReady")), failover.Mismatches, failover.ReasonNone},
		"an Unknown that In does not list decides nothing": {inFalse, fact(ready("Unknown", "ClusterStatusUnknown")), failover.Undecided, failover.ReasonNone},
		"under NotIn an Unknown matches":                   {unready(), fact(ready("Unknown", "ClusterStatusUnknown")), failover.Matches, failover.ReasonConditionsMatch},
		"under NotIn a listed status mismatches":           {unready(), fact(ready("True", "ClusterReady")), failover.Mismatches, failover.ReasonNone},
		"a missing condition matches nothing":              {inFalse, fact(), failover.Mismatches, failover.ReasonNone},
		"a missing condition matches no NotIn either":      {unready(), fact(network("False")), failover.Mismatches, failover.ReasonNone},
		"a reason that speaks of our side never confirms":  {unready(), fact(ready("False", "StatusCollectionFailed")), failover.Undecided, failover.ReasonOurSide},
		"nor does it speak for the member's health": {
			unready(conditions(when("Ready", failover.OperatorIn, corev1.ConditionUnknown))),
			fact(ready("False", "StatusCollectionFailed")), failover.Undecided, failover.ReasonOurSide,
		},
		"that reason counts on Ready only": {
			unready(conditions(when("NetworkReady", failover.OperatorIn, corev1.ConditionFalse))),
			fact(failover.FactCondition{Type: "NetworkReady", Status: "False", Reason: "StatusCollectionFailed"}), failover.Matches, failover.ReasonConditionsMatch,
		},
		"all conditions together match":          {both, fact(ready("False", ""), network("Unknown")), failover.Matches, failover.ReasonConditionsMatch},
		"one mismatch decides":                   {both, fact(ready("False", ""), network("True")), failover.Mismatches, failover.ReasonNone},
		"a mismatch outweighs what is undecided": {both, fact(ready("Unknown", ""), network("True")), failover.Mismatches, failover.ReasonNone},
		"a missing one outweighs our side":       {both, fact(ready("False", "StatusCollectionFailed")), failover.Mismatches, failover.ReasonNone},
		"undecided outweighs a match":            {both, fact(ready("Unknown", ""), network("False")), failover.Undecided, failover.ReasonNone},
		"no conditions always match": {
			unready(conditions(), targets(names("m1"))), fact(), failover.Matches, failover.ReasonConditionsMatch,
		},
		"a malformed rule decides nothing": {
			unready(func(r *failover.Rule) { r.Malformed = "spec.taints: not a list" }), fact(ready("False", "")), failover.Undecided, failover.ReasonMalformed,
		},
		"a refused rule decides nothing": {unready(ruleTaints()), fact(ready("False", "")), failover.Undecided, failover.ReasonMalformed},
		"a deleted cluster says nothing": {unready(), failover.ClusterFact{Deleted: true}, failover.Undecided, failover.ReasonClusterGone},
	} {
		t.Run(name, func(t *testing.T) {
			match, reason := failover.MatchRule(tc.rule, tc.fact)
			require.Equal(t, tc.match, match)
			require.Equal(t, tc.reason, reason)
		})
	}
}

func TestFactOfSaysWhatTheClusterSays(t *testing.T) {
	c := cluster("m1", notReady)
	c.UID, c.ResourceVersion = "uid", "17"
	require.Equal(t, failover.ClusterFact{
		Cluster: "m1", UID: "uid", ResourceVersion: "17",
		Conditions: []failover.FactCondition{ready("False", "ClusterNotReachable")},
	}, failover.FactOf(c))
}

// Rules: R4.1-39.
func TestNewerComparesNumbersNotText(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"1", "", true}, {"", "1", true}, {"abc", "1", true}, {"1", "abc", true},
	} {
		require.Equal(t, tc.want, failover.Newer(tc.a, tc.b), "%q newer than %q", tc.a, tc.b)
	}
}

// Rules: R4.7-41.
func TestRewoundIsWhatIsOlderThanBefore(t *testing.T) {
	for _, tc := range []struct {
		before, now string
		want        bool
	}{
		{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"", "1", false}, {"9", "", false}, {"abc", "1", false}, {"9", "abc", false},
	} {
		require.Equal(t, tc.want, failover.Rewound(tc.before, tc.now), "%q, then %q", tc.before, tc.now)
	}
}

// Rules: R4.1-2, R4.1-17.
func TestObserveJudgesEveryTaintOfEveryRuleThatAimsHere(t *testing.T) {
	two := unready(func(r *failover.Rule) {
		r.Name = "b"
		r.Taints = []failover.RuleTaint{puts("z", corev1.TaintEffectNoExecute), puts("a", corev1.TaintEffectNoSchedule)}
	})
	elsewhere := unready(targets(names("m9")))
	obs := failover.Observe([]failover.Rule{two, elsewhere}, cluster("m1", notReady), failover.FactOf(cluster("m1", notReady)))
	require.Equal(t, []failover.RuleObservation{
		{Rule: "b", Taint: two.Taints[1], Match: failover.Matches, Reason: failover.ReasonConditionsMatch},
		{Rule: "b", Taint: two.Taints[0], Match: failover.Matches, Reason: failover.ReasonConditionsMatch},
	}, obs)
	require.Equal(t, failover.WindowKey("b/a:NoSchedule"), obs[0].Key())
}

func TestObserveJudgesTheFactNotTheCluster(t *testing.T) {
	obs := failover.Observe([]failover.Rule{unready()}, cluster("m1"), fact(ready("False", "ClusterNotReachable")))
	require.Equal(t, failover.Matches, obs[0].Match)
}

// Rules: R4.1-41.
func TestObserveDecidesNothingOfAMalformedCluster(t *testing.T) {
	broken := cluster("m1", notReady, func(c *failover.Cluster) { c.Malformed = "status.conditions: not a list" })
	obs := failover.Observe([]failover.Rule{unready()}, broken, failover.FactOf(broken))
	require.Len(t, obs, 1)
	require.Equal(t, failover.Undecided, obs[0].Match)
	require.Equal(t, failover.ReasonMalformed, obs[0].Reason)
}

// Rules: R4.1-13, R4.1-14, R4.1-45.
func TestSuspected(t *testing.T) {
	soft := unready(ruleTaints(puts("k", failover.EffectPreferNoExecute)))
	cordons := unready(ruleTaints(puts("k", corev1.TaintEffectNoSchedule)))
	for name, tc := range map[string]struct {
		cluster failover.Cluster
		rules   []failover.Rule
		want    failover.Reason
	}{
		"a healthy cluster is not":                       {cluster("m1"), []failover.Rule{unready()}, failover.ReasonNone},
		"a rule that moves workloads matches":            {cluster("m1", notReady), []failover.Rule{unready()}, failover.ReasonConditionsMatch},
		"so does one with a soft taint":                  {cluster("m1", notReady), []failover.Rule{soft}, failover.ReasonConditionsMatch},
		"a rule that only cordons has its windows there": {cluster("m1", notReady), []failover.Rule{cordons}, failover.ReasonConditionsMatch},
		"a rule that only cordons and does not match":    {cluster("m1"), []failover.Rule{cordons}, failover.ReasonNone},
		"a rule for other clusters does not":             {cluster("m1", notReady), []failover.Rule{unready(targets(names("m2")))}, failover.ReasonNone},
		"a human's NoExecute taint":                      {cluster("m1", tainted(noExecute("human", t0))), nil, failover.ReasonForeignTaint},
		"a soft taint":                                   {cluster("m1", tainted(softTaint("soft", t0))), nil, failover.ReasonForeignTaint},
		"Karmada's own NoSchedule taint is nothing":      {cluster("m1", tainted(noSchedule("cluster.karmada.io/not-ready"))), nil, failover.ReasonNone},
		"our companion taint that outlived its episode":  {cluster("m1", tainted(noSchedule(failover.EvacuatingTaintKey))), nil, failover.ReasonOursStands},
		"a taint of ours that outlived its episode":      {cluster("m1", func(c *failover.Cluster) { c.Added = []failover.AddedTaint{{Key: "k"}} }), nil, failover.ReasonOursStands},
		"a record of a cancelled failover":               {cluster("m1", func(c *failover.Cluster) { c.Stopped = &failover.StoppedBy{Who: "kim"} }), nil, failover.ReasonOursStands},
		"what speaks of our own side is no reason to start": {cluster("m1", func(c *failover.Cluster) {
			c.Conditions = []failover.Condition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: "StatusCollectionFailed"}}
		}), []failover.Rule{unready()}, failover.ReasonNone},
		"a refused rule is no reason to start": {cluster("m1", notReady), []failover.Rule{unready(conditions(when("Ready", "Near", "True")))}, failover.ReasonNone},
	} {
		t.Run(name, func(t *testing.T) {
			suspected, reason := failover.Suspected(tc.rules, tc.cluster, failover.WitnessDown)
			require.Equal(t, tc.want != failover.ReasonNone, suspected)
			require.Equal(t, tc.want, reason)
		})
	}
}

// Rules: R4.1-28, R4.2-2.
func TestOursIsOnlyWhatTheAnnotationLists(t *testing.T) {
	ours, theirs := noExecute("ours", t0), noExecute("theirs", t0)
	c := cluster("m1", tainted(ours, theirs, noSchedule("ours"), softTaint("soft", t0)), func(c *failover.Cluster) {
		c.Added = []failover.AddedTaint{{Key: "ours", Effect: corev1.TaintEffectNoExecute}}
	})
	require.True(t, failover.OursAdded(c, ours))
	require.False(t, failover.OursAdded(c, noSchedule("ours")), "another effect is another taint")
	require.Equal(t, []corev1.Taint{theirs, softTaint("soft", t0)}, failover.Foreign(c), "a human's soft taint triggers like a human's NoExecute")
	hard, soft := failover.Triggering(c.Taints)
	require.Equal(t, []corev1.Taint{ours, theirs}, hard)
	require.Equal(t, []corev1.Taint{softTaint("soft", t0)}, soft)
	require.Len(t, c.Taints, 4, "the cluster's own list is left alone")
}
