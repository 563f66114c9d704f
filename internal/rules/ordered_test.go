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
)

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

// Rules: R4.1-42, R4.1-43, R4.1-41.
func TestAnOrderedTaintMatchesWhileItsOrderStands(t *testing.T) {
	garbled := func(c *karmada.Cluster) { c.Malformed = "bad" }
	nobody := func(c *karmada.Cluster) { c.Ordered[0].Who = "" }
	for name, tc := range map[string]struct {
		cluster karmada.Cluster
		want    []rules.Match
	}{
		"nothing":                               {cluster: fixtures.Cluster("m1")},
		"an order":                              {cluster: fixtures.Cluster("m1", ordersTaints("a")), want: []rules.Match{rules.Matches}},
		"an order whose taint stands":           {cluster: fixtures.Cluster("m1", ordersTaints("a"), putByOrder("a")), want: []rules.Match{rules.Matches}},
		"a taint whose order has ended":         {cluster: fixtures.Cluster("m1", putByOrder("a")), want: []rules.Match{rules.Mismatches}},
		"one of two has ended":                  {cluster: fixtures.Cluster("m1", ordersTaints("b"), putByOrder("a", "b")), want: []rules.Match{rules.Mismatches, rules.Matches}},
		"an order that nobody gave":             {cluster: fixtures.Cluster("m1", ordersTaints("a"), nobody), want: []rules.Match{rules.Undecided}},
		"a cluster that cannot be read":         {cluster: fixtures.Cluster("m1", ordersTaints("a"), garbled), want: []rules.Match{rules.Undecided}},
		"an order that cannot be read any more": {cluster: fixtures.Cluster("m1", putByOrder("a"), garbled), want: []rules.Match{rules.Undecided}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []rules.Match
			for _, o := range rules.Observe(nil, tc.cluster, rules.FactOf(tc.cluster)) {
				require.Equal(t, karmada.TaintRule, o.Rule)
				got = append(got, o.Match)
			}
			require.Equal(t, tc.want, got)
		})
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
	suspected, why := rules.Suspected(nil, c, rules.ExternalProbeDown)
	require.True(t, suspected)
	require.Equal(t, reason.TaintOrdered, why)
	require.True(t, c.CarriesOurs())
	faulty, _ := rules.Faulty(nil, c)
	require.False(t, faulty, "it counts as one that a human tainted otherwise: not while it is Ready")
}
