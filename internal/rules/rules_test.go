package rules_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
		"a reason that speaks of Lifeboat's side never confirms": {rule: unready(), fact: fact(ready("False", "StatusCollectionFailed")), match: rules.Undecided, reason: reason.KarmadaFault},
		"nor does it speak for the member's health": {
			rule: unready(conditions(when("Ready", rules.OperatorIn, corev1.ConditionUnknown))),
			fact: fact(ready("False", "StatusCollectionFailed")), match: rules.Undecided, reason: reason.KarmadaFault,
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
		"an operator's NoExecute taint":                          {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoExecute("operator", fixtures.T0))), want: reason.ForeignTaint},
		"a soft taint":                                           {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.SoftTaint("soft", fixtures.T0))), want: reason.ForeignTaint},
		"Karmada's own NoSchedule taint is nothing":              {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule("cluster.karmada.io/not-ready"))), want: reason.None},
		"Lifeboat's evacuation taint that outlived its failover": {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule(karmada.EvacuatingTaintKey))), want: reason.LifeboatTaint},
		"a Lifeboat taint that outlived its failover":            {cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Added = []karmada.AddedTaint{{Key: "k"}} }), want: reason.LifeboatTaint},
		"a record of a cancelled failover":                       {cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Stopped = &karmada.StoppedBy{Who: "kim"} }), want: reason.LifeboatTaint},
		"what speaks of Lifeboat's own side is no reason to start": {cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) {
			c.Conditions = []karmada.Condition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: "StatusCollectionFailed"}}
		}), rules: []rules.Rule{unready()}, want: reason.None},
		"a refused rule is no reason to start": {cluster: fixtures.Cluster("m1", fixtures.NotReady), rules: []rules.Rule{unready(conditions(when("Ready", "Near", "True")))}, want: reason.None},
	} {
		t.Run(name, func(t *testing.T) {
			suspected, why := rules.NeedsFailover(tc.rules, tc.cluster, rules.ExternalProbeDown)
			require.Equal(t, tc.want != reason.None, suspected)
			require.Equal(t, tc.want, why)
		})
	}
}

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
	suspected, _ := rules.NeedsFailover([]rules.Rule{unready(asking)}, c, rules.ExternalProbeDown)
	require.True(t, suspected)
	suspected, _ = rules.NeedsFailover([]rules.Rule{unready(asking)}, c, rules.ExternalProbeAbsent)
	require.False(t, suspected)
}

// An annotation may have 256 kB; what is frozen and told of it may not.
func TestWhatAnAnnotationSaysIsKeptWithinBounds(t *testing.T) {
	long := strings.Repeat("\x01", 200_000)
	b := fixtures.Duplicated("m1")
	b.HasClusterFailover = true
	b.Annotations = map[string]string{karmada.AnnotationPurgeMode: long, karmada.AnnotationTolerationSeconds: long}
	p := rules.PolicyOf(b, nil)
	require.NotEmpty(t, p.SoftMalformed)
	require.Less(t, len(fixtures.Must(json.Marshal(p))(t)), 2000)

	for _, mode := range []karmada.PurgeMode{
		rules.ResolvePurgeMode(p, "", karmada.PurgeGracefully),
		rules.ResolvePurgeMode(rules.Policy{}, karmada.PurgeMode(long), karmada.PurgeGracefully),
	} {
		cause, why := rules.Unsupported(b, mode)
		require.Equal(t, reason.Malformed, cause)
		require.Less(t, len(mode)+len(why), 1000)
	}
}

// "I set everything and nothing happened", and its contrary, "I switched it off and it
// moved all the same", are both answered by three flags together.
//
// Rules: R4.15-20.
func TestKarmada6925WhatTheControllerManagersFlagsAddUpTo(t *testing.T) {
	const gate, eviction = "--feature-gates=Failover=true", "--enable-no-execute-taint-eviction=true"
	for name, tc := range map[string]struct {
		args           []string
		evicts, taints bool
	}{
		"nothing said":                          {evicts: false, taints: false},
		"the gate alone":                        {args: []string{gate}, evicts: false, taints: true},
		"the flag alone":                        {args: []string{eviction}, evicts: false, taints: false},
		"both":                                  {args: []string{"/bin/karmada-controller-manager", gate, eviction}, evicts: true, taints: true},
		"the gate of preserved state, with it":  {args: []string{"--feature-gates=StatefulFailoverInjection=true,Failover=true"}, evicts: false, taints: true},
		"the gate among others":                 {args: []string{"--feature-gates=A=false,Failover=true", "--enable-no-execute-taint-eviction"}, evicts: true, taints: true},
		"the gate off":                          {args: []string{"--feature-gates=Failover=false", eviction}, evicts: false, taints: false},
		"the taint manager off":                 {args: []string{gate, eviction, "--enable-taint-manager=false"}, evicts: false, taints: true},
		"the policies' controller off":          {args: []string{gate, "--controllers=*,-clustertaintpolicy"}, evicts: false, taints: false},
		"only some controllers on":              {args: []string{gate, "--controllers=cluster,clusterStatus"}, evicts: false, taints: false},
		"only some, the policies' one of those": {args: []string{gate, "--controllers=clustertaintpolicy"}, evicts: false, taints: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := rules.ReadControllerManager(tc.args)
			require.Equal(t, tc.evicts, got.Evicts != "", got.Evicts)
			require.Equal(t, tc.taints, got.Taints)
			require.Equal(t, !strings.Contains(name, "only some"), got.Applications)
			require.Equal(t, strings.Contains(name, "preserved state"), got.State)
		})
	}
}

// Rules: R4.15-17.
func TestPurgeModesOfAnOldKarmadaAreNamed(t *testing.T) {
	require.Empty(t, rules.OldPurgeModes(nil), "not told is not old")
	require.Empty(t, rules.OldPurgeModes([]string{"Directly", "Gracefully", "Never"}))
	require.Empty(t, rules.OldPurgeModes([]string{"Immediately", "Directly", "Graciously", "Gracefully", "Never"}))
	require.Contains(t, rules.OldPurgeModes([]string{"Immediately", "Graciously", "Never"}), "Immediately, Graciously, Never")
}

func TestRuleTitle_NamesTheObjectToLookFor(t *testing.T) {
	for rule, want := range map[string]string{
		karmada.TaintRule: "ordered with lifeboat taint", karmada.DrainRule: "ordered with lifeboat drain",
		rules.PolicyPrefix + "net": "of ClusterTaintPolicy net", "net": "of ClusterTaintRule net",
	} {
		require.Equal(t, want, rules.RuleTitle(rule))
	}
	require.Equal(t, []string{"ClusterTaintPolicy", "ClusterTaintRule"}, []string{rules.Rule{Policy: true}.Kind(), rules.Rule{}.Kind()})
}
