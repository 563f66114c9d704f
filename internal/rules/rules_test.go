package rules_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func when(conditionType, operator string, values ...corev1.ConditionStatus) rules.MatchCondition {
	return rules.MatchCondition{ConditionType: conditionType, Operator: operator, StatusValues: values}
}

func puts(key string, effect corev1.TaintEffect) karmada.RuleTaint {
	return karmada.RuleTaint{Key: key, Effect: effect, AddOnMatch: 300 * time.Second, RemoveOnMismatch: 180 * time.Second}
}

// unready is the rule that everybody has: not Ready for five minutes moves the workloads.
func unready(change ...func(*rules.Rule)) rules.Rule {
	r := rules.Rule{
		Name:            "unready",
		MatchConditions: []rules.MatchCondition{when("Ready", rules.OperatorNotIn, corev1.ConditionTrue)},
		Taints:          []karmada.RuleTaint{puts("acme.io/failed", corev1.TaintEffectNoExecute)},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func conditions(m ...rules.MatchCondition) func(*rules.Rule) {
	return func(r *rules.Rule) { r.MatchConditions = m }
}

func ruleTaints(taints ...karmada.RuleTaint) func(*rules.Rule) {
	return func(r *rules.Rule) { r.Taints = taints }
}

func targets(a *karmada.ClusterAffinity) func(*rules.Rule) {
	return func(r *rules.Rule) { r.TargetClusters = a }
}

// Rules: R4.1-5, R4.1-7, R4.1-8.
func TestValidateRefusesARuleThatCouldDoHarm(t *testing.T) {
	always := conditions()
	failed := puts("acme.io/failed", corev1.TaintEffectNoExecute)
	for name, tc := range map[string]struct {
		rule rules.Rule
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
		"a soft taint is fine":                  {unready(ruleTaints(puts("k", karmada.EffectPreferNoExecute))), ""},
		"the same key and effect twice":         {unready(ruleTaints(failed, failed)), "acme.io/failed:NoExecute stands twice"},
		"the same key with two effects is fine": {unready(ruleTaints(failed, puts("acme.io/failed", corev1.TaintEffectNoSchedule))), ""},
		"a negative add window": {
			unready(ruleTaints(karmada.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute, AddOnMatch: -1})),
			"addOnMatchSeconds -1ns is negative",
		},
		"a negative removal window": {
			unready(ruleTaints(karmada.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute, RemoveOnMismatch: -1})),
			"removeOnMismatchSeconds -1ns is negative",
		},
		"windows of no length are fine":     {unready(ruleTaints(karmada.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute})), ""},
		"a value that is no label value":    {unready(ruleTaints(karmada.RuleTaint{Key: "k", Value: "a b", Effect: corev1.TaintEffectNoExecute})), `value "a b"`},
		"Lifeboat's own evacuation taint":   {unready(ruleTaints(puts(karmada.EvacuatingTaintKey, corev1.TaintEffectNoSchedule))), "is reserved"},
		"Karmada's own not-ready taint":     {unready(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule))), "Karmada's own"},
		"not-ready as NoExecute is fine":    {unready(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoExecute))), ""},
		"no conditions and every cluster":   {unready(always), "needs targetClusters"},
		"no conditions and an empty target": {unready(always, targets(&karmada.ClusterAffinity{})), "needs targetClusters"},
		"no conditions and an empty selector": {
			unready(always, targets(&karmada.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}})),
			"needs targetClusters",
		},
		"no conditions and only an exclusion":        {unready(always, targets(&karmada.ClusterAffinity{Exclude: []string{"m1"}})), "needs targetClusters"},
		"no conditions and names are fine":           {unready(always, targets(fixtures.Names("m1"))), ""},
		"no conditions and labels are fine":          {unready(always, targets(&karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"a": "b"})})), ""},
		"no conditions and fields are fine":          {unready(always, targets(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpIn, "east")})), ""},
		"no conditions are fine where nothing moves": {unready(always, ruleTaints(puts("k", corev1.TaintEffectNoSchedule))), ""},
		"no conditions with a soft taint move, too":  {unready(always, ruleTaints(puts("k", karmada.EffectPreferNoExecute))), "needs targetClusters"},
		"targets that cannot be understood":          {unready(targets(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", "In", "x")})), "targetClusters: fieldSelector"},
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

func fact(conditions ...rules.FactCondition) rules.ClusterFact {
	return rules.ClusterFact{Cluster: "m1", ResourceVersion: "10", Conditions: conditions}
}

func ready(status, reason string) rules.FactCondition {
	return rules.FactCondition{Type: "Ready", Status: status, Reason: reason}
}

// Rules: R4.1-3, R4.1-4, R4.1-6, R4.1-19, R4.1-20, R4.1-32.
func TestMatchRule(t *testing.T) {
	inFalse := unready(conditions(when("Ready", rules.OperatorIn, corev1.ConditionFalse)))
	both := unready(conditions(
		when("Ready", rules.OperatorIn, corev1.ConditionFalse),
		when("NetworkReady", rules.OperatorNotIn, corev1.ConditionTrue),
	))
	network := func(status string) rules.FactCondition {
		return rules.FactCondition{Type: "NetworkReady", Status: status}
	}
	for name, tc := range map[string]struct {
		rule   rules.Rule
		fact   rules.ClusterFact
		match  rules.Match
		reason reason.Reason
	}{
		"a listed status matches":                                {inFalse, fact(ready("False", "ClusterNotReachable")), rules.Matches, reason.ConditionsMatch},
		"a status not listed mismatches":                         {inFalse, fact(ready("True", "ClusterReady")), rules.Mismatches, reason.None},
		"an Unknown that In does not list decides nothing":       {inFalse, fact(ready("Unknown", "ClusterStatusUnknown")), rules.Undecided, reason.None},
		"under NotIn an Unknown matches":                         {unready(), fact(ready("Unknown", "ClusterStatusUnknown")), rules.Matches, reason.ConditionsMatch},
		"under NotIn a listed status mismatches":                 {unready(), fact(ready("True", "ClusterReady")), rules.Mismatches, reason.None},
		"a missing condition matches nothing":                    {inFalse, fact(), rules.Mismatches, reason.None},
		"a missing condition matches no NotIn either":            {unready(), fact(network("False")), rules.Mismatches, reason.None},
		"a reason that speaks of Lifeboat's side never confirms": {unready(), fact(ready("False", "StatusCollectionFailed")), rules.Undecided, reason.OurSide},
		"nor does it speak for the member's health": {
			unready(conditions(when("Ready", rules.OperatorIn, corev1.ConditionUnknown))),
			fact(ready("False", "StatusCollectionFailed")), rules.Undecided, reason.OurSide,
		},
		"that reason counts on Ready only": {
			unready(conditions(when("NetworkReady", rules.OperatorIn, corev1.ConditionFalse))),
			fact(rules.FactCondition{Type: "NetworkReady", Status: "False", Reason: "StatusCollectionFailed"}), rules.Matches, reason.ConditionsMatch,
		},
		"all conditions together match":           {both, fact(ready("False", ""), network("Unknown")), rules.Matches, reason.ConditionsMatch},
		"one mismatch decides":                    {both, fact(ready("False", ""), network("True")), rules.Mismatches, reason.None},
		"a mismatch outweighs what is undecided":  {both, fact(ready("Unknown", ""), network("True")), rules.Mismatches, reason.None},
		"a missing one outweighs Lifeboat's side": {both, fact(ready("False", "StatusCollectionFailed")), rules.Mismatches, reason.None},
		"undecided outweighs a match":             {both, fact(ready("Unknown", ""), network("False")), rules.Undecided, reason.None},
		"no conditions always match": {
			unready(conditions(), targets(fixtures.Names("m1"))), fact(), rules.Matches, reason.ConditionsMatch,
		},
		"a malformed rule decides nothing": {
			unready(func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" }), fact(ready("False", "")), rules.Undecided, reason.Malformed,
		},
		"a refused rule decides nothing": {unready(ruleTaints()), fact(ready("False", "")), rules.Undecided, reason.Malformed},
		"a deleted cluster says nothing": {unready(), rules.ClusterFact{Deleted: true}, rules.Undecided, reason.ClusterGone},
	} {
		t.Run(name, func(t *testing.T) {
			match, reason := rules.MatchRule(tc.rule, tc.fact)
			require.Equal(t, tc.match, match)
			require.Equal(t, tc.reason, reason)
		})
	}
}

func TestFactOfSaysWhatTheClusterSays(t *testing.T) {
	c := fixtures.Cluster("m1", fixtures.NotReady)
	c.UID, c.ResourceVersion = "uid", "17"
	require.Equal(t, rules.ClusterFact{
		Cluster: "m1", UID: "uid", ResourceVersion: "17",
		Conditions: []rules.FactCondition{ready("False", "ClusterNotReachable")},
	}, rules.FactOf(c))
}

// Rules: R4.1-39.
func TestNewerComparesNumbersNotText(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"1", "", true}, {"", "1", true}, {"abc", "1", true}, {"1", "abc", true},
	} {
		require.Equal(t, tc.want, rules.Newer(tc.a, tc.b), "%q newer than %q", tc.a, tc.b)
	}
}

// Rules: R4.7-41.
func TestStaleReadIsWhatIsOlderThanBefore(t *testing.T) {
	for _, tc := range []struct {
		before, now string
		want        bool
	}{
		{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"", "1", false}, {"9", "", false}, {"abc", "1", false}, {"9", "abc", false},
	} {
		require.Equal(t, tc.want, rules.IsOlder(tc.now, tc.before), "%q, then %q", tc.before, tc.now)
	}
}

// Rules: R4.1-2, R4.1-17.
func TestObserveJudgesEveryTaintOfEveryRuleThatAimsHere(t *testing.T) {
	two := unready(func(r *rules.Rule) {
		r.Name = "b"
		r.Taints = []karmada.RuleTaint{puts("z", corev1.TaintEffectNoExecute), puts("a", corev1.TaintEffectNoSchedule)}
	})
	elsewhere := unready(targets(fixtures.Names("m9")))
	obs := rules.Observe([]rules.Rule{two, elsewhere}, fixtures.Cluster("m1", fixtures.NotReady), rules.FactOf(fixtures.Cluster("m1", fixtures.NotReady)))
	require.Equal(t, []rules.RuleObservation{
		{Rule: "b", Taint: two.Taints[1], Match: rules.Matches, Reason: reason.ConditionsMatch},
		{Rule: "b", Taint: two.Taints[0], Match: rules.Matches, Reason: reason.ConditionsMatch},
	}, obs)
	require.Equal(t, rules.WindowKey("b/a:NoSchedule"), obs[0].Key())
}

func TestObserveJudgesTheFactNotTheCluster(t *testing.T) {
	obs := rules.Observe([]rules.Rule{unready()}, fixtures.Cluster("m1"), fact(ready("False", "ClusterNotReachable")))
	require.Equal(t, rules.Matches, obs[0].Match)
}

// Rules: R4.1-41.
func TestObserveDecidesNothingOfAMalformedCluster(t *testing.T) {
	broken := fixtures.Cluster("m1", fixtures.NotReady, func(c *karmada.Cluster) { c.Malformed = "status.conditions: not a list" })
	obs := rules.Observe([]rules.Rule{unready()}, broken, rules.FactOf(broken))
	require.Len(t, obs, 1)
	require.Equal(t, rules.Undecided, obs[0].Match)
	require.Equal(t, reason.Malformed, obs[0].Reason)
}

// Rules: R4.1-13, R4.1-14, R4.1-45.
func TestSuspected(t *testing.T) {
	soft := unready(ruleTaints(puts("k", karmada.EffectPreferNoExecute)))
	cordons := unready(ruleTaints(puts("k", corev1.TaintEffectNoSchedule)))
	for name, tc := range map[string]struct {
		cluster karmada.Cluster
		rules   []rules.Rule
		want    reason.Reason
	}{
		"a healthy cluster is not":                               {fixtures.Cluster("m1"), []rules.Rule{unready()}, reason.None},
		"a rule that moves workloads matches":                    {fixtures.Cluster("m1", fixtures.NotReady), []rules.Rule{unready()}, reason.ConditionsMatch},
		"so does one with a soft taint":                          {fixtures.Cluster("m1", fixtures.NotReady), []rules.Rule{soft}, reason.ConditionsMatch},
		"a rule that only cordons has its windows there":         {fixtures.Cluster("m1", fixtures.NotReady), []rules.Rule{cordons}, reason.ConditionsMatch},
		"a rule that only cordons and does not match":            {fixtures.Cluster("m1"), []rules.Rule{cordons}, reason.None},
		"a rule for other clusters does not":                     {fixtures.Cluster("m1", fixtures.NotReady), []rules.Rule{unready(targets(fixtures.Names("m2")))}, reason.None},
		"a human's NoExecute taint":                              {fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoExecute("human", fixtures.T0))), nil, reason.ForeignTaint},
		"a soft taint":                                           {fixtures.Cluster("m1", fixtures.Tainted(fixtures.SoftTaint("soft", fixtures.T0))), nil, reason.ForeignTaint},
		"Karmada's own NoSchedule taint is nothing":              {fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule("cluster.karmada.io/not-ready"))), nil, reason.None},
		"Lifeboat's evacuation taint that outlived its failover": {fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule(karmada.EvacuatingTaintKey))), nil, reason.OursStands},
		"a Lifeboat taint that outlived its failover":            {fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Added = []karmada.AddedTaint{{Key: "k"}} }), nil, reason.OursStands},
		"a record of a cancelled failover":                       {fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Stopped = &karmada.StoppedBy{Who: "kim"} }), nil, reason.OursStands},
		"what speaks of Lifeboat's own side is no reason to start": {fixtures.Cluster("m1", func(c *karmada.Cluster) {
			c.Conditions = []karmada.Condition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: "StatusCollectionFailed"}}
		}), []rules.Rule{unready()}, reason.None},
		"a refused rule is no reason to start": {fixtures.Cluster("m1", fixtures.NotReady), []rules.Rule{unready(conditions(when("Ready", "Near", "True")))}, reason.None},
	} {
		t.Run(name, func(t *testing.T) {
			suspected, why := rules.Suspected(tc.rules, tc.cluster, rules.ExternalProbeDown)
			require.Equal(t, tc.want != reason.None, suspected)
			require.Equal(t, tc.want, why)
		})
	}
}
