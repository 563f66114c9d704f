package rules_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A drain, and the order of a taint, match while they stand.
//
// Rules: R4.12-1, R4.1-41, R4.1-42, R4.1-43.
func TestAnOrderIsARuleWithoutWindows(t *testing.T) {
	drained, garbled := fixtures.Drained(karmada.Drain{}), func(c *karmada.Cluster) { c.Malformed = "bad" }
	nobody := func(c *karmada.Cluster) { c.Ordered[0].Who = "" }
	for name, tc := range map[string]struct {
		cluster karmada.Cluster
		rule    string
		want    []rules.Match
	}{
		"nothing":                     {cluster: fixtures.Cluster("m1")},
		"a drain":                     {cluster: fixtures.Cluster("m1", drained), rule: karmada.DrainRule, want: []rules.Match{rules.Matches}},
		"a drain that has ended":      {cluster: fixtures.Cluster("m1", fixtures.DrainTaints()), rule: karmada.DrainRule, want: []rules.Match{rules.Mismatches}},
		"a drain that cannot be read": {cluster: fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{Selector: "a in ("})), rule: karmada.DrainRule, want: []rules.Match{rules.Undecided}},
		"a drain of a cluster that cannot be read":   {cluster: fixtures.Cluster("m1", drained, garbled), rule: karmada.DrainRule, want: []rules.Match{rules.Undecided}},
		"a drain with a rate that is none":           {cluster: fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{Rate: -1})), rule: karmada.DrainRule, want: []rules.Match{rules.Undecided}},
		"another's taint of the drain's key":         {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoExecute(karmada.DrainTaintKey, fixtures.T0)))},
		"a taint is ordered":                         {cluster: fixtures.Cluster("m1", ordersTaints("a")), rule: karmada.TaintRule, want: []rules.Match{rules.Matches}},
		"it is ordered, and stands":                  {cluster: fixtures.Cluster("m1", ordersTaints("a"), putByOrder("a")), rule: karmada.TaintRule, want: []rules.Match{rules.Matches}},
		"a taint whose order has ended":              {cluster: fixtures.Cluster("m1", putByOrder("a")), rule: karmada.TaintRule, want: []rules.Match{rules.Mismatches}},
		"one order of two has ended":                 {cluster: fixtures.Cluster("m1", ordersTaints("b"), putByOrder("a", "b")), rule: karmada.TaintRule, want: []rules.Match{rules.Mismatches, rules.Matches}},
		"an order that nobody gave":                  {cluster: fixtures.Cluster("m1", ordersTaints("a"), nobody), rule: karmada.TaintRule, want: []rules.Match{rules.Undecided}},
		"an order for a cluster that cannot be read": {cluster: fixtures.Cluster("m1", ordersTaints("a"), garbled), rule: karmada.TaintRule, want: []rules.Match{rules.Undecided}},
		"an order that cannot be read any more":      {cluster: fixtures.Cluster("m1", putByOrder("a"), garbled), rule: karmada.TaintRule, want: []rules.Match{rules.Undecided}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []rules.Match
			for _, o := range rules.Observe(nil, tc.cluster, rules.FactOf(tc.cluster)) {
				require.Equal(t, tc.rule, o.Rule)
				require.Zero(t, o.Taint.AddOnMatch+o.Taint.RemoveOnMismatch)
				got = append(got, o.Match)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Rules: R4.12-3.
func TestADrainsTaintIsToleratedOnlyWhenThatWasAskedFor(t *testing.T) {
	seconds := int64(60)
	everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	aMinute := []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	for name, tc := range map[string]struct {
		policy rules.Policy
		honour bool
		want   reason.Reason
		at     time.Time
	}{
		"no toleration counts":               {policy: rules.Policy{Tolerations: everything}, honour: false, want: reason.TaintUntolerated, at: fixtures.T0},
		"nor one with seconds":               {policy: rules.Policy{Tolerations: aMinute}, honour: false, want: reason.TaintUntolerated, at: fixtures.T0},
		"unless ordered so":                  {policy: rules.Policy{Tolerations: everything}, honour: true, want: reason.Tolerated, at: time.Time{}},
		"then with its seconds":              {policy: rules.Policy{Tolerations: aMinute}, honour: true, want: reason.TolerationExpired, at: fixtures.T0.Add(time.Minute)},
		"without a toleration it moves":      {policy: rules.Policy{}, honour: true, want: reason.TaintUntolerated, at: fixtures.T0},
		"what the selector leaves out stays": {policy: rules.Policy{NotDrained: true}, honour: false, want: reason.NoTaint, at: time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			taint := karmada.Drain{HonourTolerations: tc.honour}.RuleTaint()
			hard := fixtures.NoExecute(taint.Key, fixtures.T0)
			hard.Value = taint.Value
			due := rules.DueUnder(tc.policy, []corev1.Taint{hard}, fixtures.T0.Add(time.Second))
			require.Equal(t, tc.want, due.Reason)
			require.Equal(t, !tc.at.IsZero(), due.Affected)
			require.True(t, tc.at.Equal(due.At), "%s", due.At)
		})
	}
	both := []corev1.Taint{fixtures.NoExecute(karmada.DrainTaintKey, fixtures.T0), fixtures.NoExecute("down", fixtures.T0)}
	require.True(t, rules.DueUnder(rules.Policy{NotDrained: true}, both, fixtures.T0).Affected, "another taint moves it all the same")
}

// Rules: R4.12-7, R4.5-1.
func TestADrainedClusterIsUnavailableNotFaulty(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster karmada.Cluster
		want    bool
	}{
		"the order alone":              {cluster: fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{})), want: false},
		"with its taints":              {cluster: fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{}), fixtures.DrainTaints()), want: false},
		"its taints without the order": {cluster: fixtures.Cluster("m1", fixtures.DrainTaints()), want: false},
		"one that fails as well":       {cluster: fixtures.Cluster("m1", fixtures.NotReady, fixtures.Drained(karmada.Drain{}), fixtures.DrainTaints()), want: true},
		"with a taint of a rule":       {cluster: fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{}), fixtures.Tainted(fixtures.NoExecute("down", fixtures.T0)), fixtures.DrainTaints()), want: true},
		"with a taint of others":       {cluster: fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{}), fixtures.DrainTaints(), fixtures.Tainted(fixtures.NoExecute("theirs", fixtures.T0))), want: false},
		"the evacuation taint alone":   {cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule(karmada.EvacuatingTaintKey))), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			suspected, _ := rules.NeedsFailover([]rules.Rule{unready()}, tc.cluster, rules.ExternalProbeDown)
			require.True(t, suspected, "it needs a failover")
			faulty := rules.Faulty([]rules.Rule{unready()}, tc.cluster)
			require.Equal(t, tc.want, faulty)
		})
	}
}

// A taint that an operator put says that the cluster is to be left, not that it failed; a NoSchedule
// taint says even less. Two healthy clusters of three under such taints halted a fleet.
//
// Rules: R4.5-1.
func TestAHealthyClusterUnderAnOperatorsTaintIsNotFaulty(t *testing.T) {
	byRule := func(effect corev1.TaintEffect) func(*karmada.Cluster) {
		return func(c *karmada.Cluster) {
			c.Taints = append(c.Taints, corev1.Taint{Key: "down", Effect: effect})
			c.Added = append(c.Added, karmada.AddedTaint{Key: "down", Effect: effect, Rule: "not-ready"})
		}
	}
	cordons := unready(ruleTaints(puts("down", corev1.TaintEffectNoSchedule)))
	for _, tc := range []struct {
		name    string
		rules   []rules.Rule
		cluster karmada.Cluster
		want    bool
	}{
		{name: "healthy, NoExecute by an operator", cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoExecute("operator", fixtures.T0)))},
		{name: "healthy, a soft taint by an operator", cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.SoftTaint("operator", fixtures.T0)))},
		{name: "healthy, a taint ordered from Lifeboat", cluster: fixtures.Cluster("m1", ordersTaints("a"), putByOrder("a"))},
		{name: "healthy, the record of a cancelled failover", cluster: fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Stopped = &karmada.StoppedBy{Who: "kim"} })},
		{name: "not Ready, NoExecute by an operator", cluster: fixtures.Cluster("m1", fixtures.NotReady, fixtures.Tainted(fixtures.NoExecute("operator", fixtures.T0))), want: true},
		{name: "not Ready, a taint ordered from Lifeboat", cluster: fixtures.Cluster("m1", fixtures.NotReady, ordersTaints("a"), putByOrder("a")), want: true},
		{name: "healthy, the taint of a rule in its removal window", cluster: fixtures.Cluster("m1", byRule(corev1.TaintEffectNoExecute)), want: true},
		{name: "cordoned by an operator", cluster: fixtures.Cluster("m1", fixtures.Tainted(fixtures.NoSchedule("operator")))},
		{name: "cordoned by a rule that matches", rules: []rules.Rule{cordons}, cluster: fixtures.Cluster("m1", fixtures.NotReady, byRule(corev1.TaintEffectNoSchedule))},
		{name: "cordoned by a rule that matches no more", rules: []rules.Rule{cordons}, cluster: fixtures.Cluster("m1", byRule(corev1.TaintEffectNoSchedule))},
		{name: "cordoned beside a rule that moves", rules: []rules.Rule{cordons, unready()}, cluster: fixtures.Cluster("m1", fixtures.NotReady, byRule(corev1.TaintEffectNoSchedule)), want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faulty := rules.Faulty(tc.rules, tc.cluster)
			require.Equal(t, tc.want, faulty)
		})
	}
}

// A garbled annotation of a cluster makes no fleet look healthier: its conditions count.
//
// Rules: R4.5-1.
func TestAClusterThatNobodyUnderstandsCountsByItsConditions(t *testing.T) {
	garbled := func(c *karmada.Cluster) { c.Malformed = "annotation: a number" }
	for want, c := range map[bool]karmada.Cluster{true: fixtures.Cluster("m1", fixtures.NotReady, garbled), false: fixtures.Cluster("m1", garbled)} {
		faulty := rules.Faulty([]rules.Rule{unready()}, c)
		require.Equal(t, want, faulty)
	}
}

// Rules: R4.1-15.
func TestADeletionTimestampDrainsWhereAskedFor(t *testing.T) {
	deleting := fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Deleting = true })
	d := karmada.DrainedByDeletion(deleting)
	require.NotNil(t, d)
	require.True(t, d.Deletion)
	require.Empty(t, d.Validate())
	require.Nil(t, karmada.DrainedByDeletion(fixtures.Cluster("m1")))
	ordered := fixtures.Cluster("m1", fixtures.Drained(karmada.Drain{Rate: 1}))
	ordered.Deleting = true
	require.Equal(t, ordered.Drain, karmada.DrainedByDeletion(ordered), "an operator's order goes first")
}

func orderedTaint(key string) karmada.OrderedTaint {
	return karmada.OrderedTaint{Key: key, Effect: corev1.TaintEffectNoExecute, Who: "jane", Why: "disks"}
}

// ordersTaints records orders of jane's, and putByOrder the taints that followed from some.
func ordersTaints(keys ...string) func(*karmada.Cluster) {
	return func(c *karmada.Cluster) {
		for _, key := range keys {
			c.Ordered = append(c.Ordered, orderedTaint(key))
		}
	}
}

func putByOrder(keys ...string) func(*karmada.Cluster) {
	return func(c *karmada.Cluster) {
		for _, key := range keys {
			c.Taints = append(c.Taints, fixtures.NoExecute(key, fixtures.T0))
			c.Added = append(c.Added, karmada.AddedTaint{Key: key, Effect: corev1.TaintEffectNoExecute, Rule: karmada.TaintRule})
		}
	}
}

// Rules: R4.1-42, R4.1-43.
func TestAnOrderedTaintHasNoWindows(t *testing.T) {
	with := fixtures.Cluster("m1", ordersTaints("a"))
	w := rules.Windows{}.Advance(rules.Observe(nil, with, rules.FactOf(with)), fixtures.T0)
	for _, window := range w {
		require.True(t, window.AddRipe(fixtures.T0))
	}
	require.Len(t, w, 1)
	ended := fixtures.Cluster("m1", putByOrder("a"))
	for _, window := range w.Advance(rules.Observe(nil, ended, rules.FactOf(ended)), fixtures.T0.Add(time.Second)) {
		require.True(t, window.RemoveRipe(fixtures.T0.Add(time.Second)))
	}
}

// Rules: R4.1-42.
func TestAClusterWithAnOrderNeedsAFailover(t *testing.T) {
	c := fixtures.Cluster("m1", ordersTaints("a"))
	suspected, why := rules.NeedsFailover(nil, c, rules.ExternalProbeDown)
	require.True(t, suspected)
	require.Equal(t, reason.TaintOrdered, why)
	require.True(t, c.HasLifeboatMark())
	faulty := rules.Faulty(nil, c)
	require.False(t, faulty, "it counts as one that an operator tainted otherwise: not while it is Ready")
}
