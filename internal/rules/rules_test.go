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
		"the rule that everybody has is fine":   {rule: unready()},
		"an unknown operator":                   {rule: unready(conditions(when("Ready", "Near", corev1.ConditionTrue))), want: `operator "Near" is neither In nor NotIn`},
		"an empty condition type":               {rule: unready(conditions(when("", "In", corev1.ConditionTrue))), want: "matchConditions[0]: conditionType is empty"},
		"a condition without status values":     {rule: unready(conditions(when("Ready", "In"))), want: "statusValues is empty"},
		"a status that no condition has":        {rule: unready(conditions(when("Ready", "In", "Perhaps"))), want: "True, False and Unknown only"},
		"no taints":                             {rule: unready(ruleTaints()), want: "taints is empty"},
		"a key that is no label name":           {rule: unready(ruleTaints(puts("not a key", corev1.TaintEffectNoExecute))), want: `key "not a key"`},
		"an empty key":                          {rule: unready(ruleTaints(puts("", corev1.TaintEffectNoExecute))), want: `key ""`},
		"an effect of Kubernetes' own":          {rule: unready(ruleTaints(puts("k", corev1.TaintEffectPreferNoSchedule))), want: `effect "PreferNoSchedule" is none of`},
		"a soft taint is fine":                  {rule: unready(ruleTaints(puts("k", karmada.EffectPreferNoExecute)))},
		"the same key and effect twice":         {rule: unready(ruleTaints(failed, failed)), want: "acme.io/failed:NoExecute stands twice"},
		"the same key with two effects is fine": {rule: unready(ruleTaints(failed, puts("acme.io/failed", corev1.TaintEffectNoSchedule)))},
		"a negative add window": {
			rule: unready(ruleTaints(karmada.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute, AddOnMatch: -1})),
			want: "addOnMatchSeconds -1ns is negative",
		},
		"a negative removal window": {
			rule: unready(ruleTaints(karmada.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute, RemoveOnMismatch: -1})),
			want: "removeOnMismatchSeconds -1ns is negative",
		},
		"windows of no length are fine":     {rule: unready(ruleTaints(karmada.RuleTaint{Key: "k", Effect: corev1.TaintEffectNoExecute}))},
		"a value that is no label value":    {rule: unready(ruleTaints(karmada.RuleTaint{Key: "k", Value: "a b", Effect: corev1.TaintEffectNoExecute})), want: `value "a b"`},
		"Lifeboat's own evacuation taint":   {rule: unready(ruleTaints(puts(karmada.EvacuatingTaintKey, corev1.TaintEffectNoSchedule))), want: "is reserved"},
		"Karmada's own not-ready taint":     {rule: unready(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule))), want: "Karmada's own"},
		"not-ready as NoExecute is fine":    {rule: unready(ruleTaints(puts("cluster.karmada.io/not-ready", corev1.TaintEffectNoExecute)))},
		"no conditions and every cluster":   {rule: unready(always), want: "needs targetClusters"},
		"no conditions and an empty target": {rule: unready(always, targets(&karmada.ClusterAffinity{})), want: "needs targetClusters"},
		"no conditions and an empty selector": {
			rule: unready(always, targets(&karmada.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}})),
			want: "needs targetClusters",
		},
		"no conditions and only an exclusion":        {rule: unready(always, targets(&karmada.ClusterAffinity{Exclude: []string{"m1"}})), want: "needs targetClusters"},
		"no conditions and names are fine":           {rule: unready(always, targets(fixtures.Names("m1")))},
		"no conditions and labels are fine":          {rule: unready(always, targets(&karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"a": "b"})}))},
		"no conditions and fields are fine":          {rule: unready(always, targets(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("region", corev1.NodeSelectorOpIn, "east")}))},
		"no conditions are fine where nothing moves": {rule: unready(always, ruleTaints(puts("k", corev1.TaintEffectNoSchedule)))},
		"no conditions with a soft taint move, too":  {rule: unready(always, ruleTaints(puts("k", karmada.EffectPreferNoExecute))), want: "needs targetClusters"},
		"targets that cannot be understood":          {rule: unready(targets(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", "In", "x")})), want: "targetClusters: fieldSelector"},
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
		"a listed status matches":                                {rule: inFalse, fact: fact(ready("False", "ClusterNotReachable")), match: rules.Matches, reason: reason.ConditionsMatch},
		"a status not listed mismatches":                         {rule: inFalse, fact: fact(ready("True", "ClusterReady")), match: rules.Mismatches, reason: reason.None},
		"an Unknown that In does not list decides nothing":       {rule: inFalse, fact: fact(ready("Unknown", "ClusterStatusUnknown")), match: rules.Undecided, reason: reason.None},
		"under NotIn an Unknown matches":                         {rule: unready(), fact: fact(ready("Unknown", "ClusterStatusUnknown")), match: rules.Matches, reason: reason.ConditionsMatch},
		"under NotIn a listed status mismatches":                 {rule: unready(), fact: fact(ready("True", "ClusterReady")), match: rules.Mismatches, reason: reason.None},
		"a missing condition matches nothing":                    {rule: inFalse, fact: fact(), match: rules.Mismatches, reason: reason.None},
		"a missing condition matches no NotIn either":            {rule: unready(), fact: fact(network("False")), match: rules.Mismatches, reason: reason.None},
		"a reason that speaks of Lifeboat's side never confirms": {rule: unready(), fact: fact(ready("False", "StatusCollectionFailed")), match: rules.Undecided, reason: reason.OurSide},
		"nor does it speak for the member's health": {
			rule: unready(conditions(when("Ready", rules.OperatorIn, corev1.ConditionUnknown))),
			fact: fact(ready("False", "StatusCollectionFailed")), match: rules.Undecided, reason: reason.OurSide,
		},
		"that reason counts on Ready only": {
			rule: unready(conditions(when("NetworkReady", rules.OperatorIn, corev1.ConditionFalse))),
			fact: fact(rules.FactCondition{Type: "NetworkReady", Status: "False", Reason: "StatusCollectionFailed"}), match: rules.Matches, reason: reason.ConditionsMatch,
		},
		"all conditions together match":           {rule: both, fact: fact(ready("False", ""), network("Unknown")), match: rules.Matches, reason: reason.ConditionsMatch},
		"one mismatch decides":                    {rule: both, fact: fact(ready("False", ""), network("True")), match: rules.Mismatches, reason: reason.None},
		"a mismatch outweighs what is undecided":  {rule: both, fact: fact(ready("Unknown", ""), network("True")), match: rules.Mismatches, reason: reason.None},
		"a missing one outweighs Lifeboat's side": {rule: both, fact: fact(ready("False", "StatusCollectionFailed")), match: rules.Mismatches, reason: reason.None},
		"undecided outweighs a match":             {rule: both, fact: fact(ready("Unknown", ""), network("False")), match: rules.Undecided, reason: reason.None},
		"no conditions always match": {
			rule: unready(conditions(), targets(fixtures.Names("m1"))), fact: fact(), match: rules.Matches, reason: reason.ConditionsMatch,
		},
		"a malformed rule decides nothing": {
			rule: unready(func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" }), fact: fact(ready("False", "")), match: rules.Undecided, reason: reason.Malformed,
		},
		"a refused rule decides nothing": {rule: unready(ruleTaints()), fact: fact(ready("False", "")), match: rules.Undecided, reason: reason.Malformed},
		"a deleted cluster says nothing": {rule: unready(), fact: rules.ClusterFact{Deleted: true}, match: rules.Undecided, reason: reason.ClusterGone},
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
		{a: "10", b: "9", want: true}, {a: "9", b: "10", want: false}, {a: "9", b: "9", want: false}, {a: "1", want: true}, {b: "1", want: true}, {a: "abc", b: "1", want: true}, {a: "1", b: "abc", want: true},
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
		{before: "10", now: "9", want: true}, {before: "9", now: "10", want: false}, {before: "9", now: "9", want: false}, {now: "1", want: false}, {before: "9", want: false}, {before: "abc", now: "1", want: false}, {before: "9", now: "abc", want: false},
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
		"a healthy cluster is not":                               {cluster: fixtures.Cluster("m1"), rules: []rules.Rule{unready()}, want: reason.None},
		"a rule that moves workloads matches":                    {cluster: fixtures.Cluster("m1", fixtures.NotReady), rules: []rules.Rule{unready()}, want: reason.ConditionsMatch},
		"so does one with a soft taint":                          {cluster: fixtures.Cluster("m1", fixtures.NotReady), rules: []rules.Rule{soft}, want: reason.ConditionsMatch},
		"a rule that only cordons has its windows there":         {cluster: fixtures.Cluster("m1", fixtures.NotReady), rules: []rules.Rule{cordons}, want: reason.ConditionsMatch},
		"a rule that only cordons and does not match":            {cluster: fixtures.Cluster("m1"), rules: []rules.Rule{cordons}, want: reason.None},
		"a rule for other clusters does not":                     {cluster: fixtures.Cluster("m1", fixtures.NotReady), rules: []rules.Rule{unready(targets(fixtures.Names("m2")))}, want: reason.None},
		"a human's NoExecute taint":                              {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoExecute("human", fixtures.T0))), want: reason.ForeignTaint},
		"a soft taint":                                           {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.SoftTaint("soft", fixtures.T0))), want: reason.ForeignTaint},
		"Karmada's own NoSchedule taint is nothing":              {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule("cluster.karmada.io/not-ready"))), want: reason.None},
		"Lifeboat's evacuation taint that outlived its failover": {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule(karmada.EvacuatingTaintKey))), want: reason.OursStands},
		"a Lifeboat taint that outlived its failover":            {cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Added = []karmada.AddedTaint{{Key: "k"}} }), want: reason.OursStands},
		"a record of a cancelled failover":                       {cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Stopped = &karmada.StoppedBy{Who: "kim"} }), want: reason.OursStands},
		"what speaks of Lifeboat's own side is no reason to start": {cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) {
			c.Conditions = []karmada.Condition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: "StatusCollectionFailed"}}
		}), rules: []rules.Rule{unready()}, want: reason.None},
		"a refused rule is no reason to start": {cluster: fixtures.Cluster("m1", fixtures.NotReady), rules: []rules.Rule{unready(conditions(when("Ready", "Near", "True")))}, want: reason.None},
	} {
		t.Run(name, func(t *testing.T) {
			suspected, why := rules.Suspected(tc.rules, tc.cluster, rules.ExternalProbeDown)
			require.Equal(t, tc.want != reason.None, suspected)
			require.Equal(t, tc.want, why)
		})
	}
}
