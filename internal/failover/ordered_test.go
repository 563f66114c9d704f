package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func orderedTaint(key string) failover.OrderedTaint {
	return failover.OrderedTaint{Key: key, Effect: corev1.TaintEffectNoExecute, Who: "jane", Why: "disks"}
}

// ordersTaints records orders of jane's, and putByOrder the taints that followed from some.
func ordersTaints(keys ...string) func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		for _, key := range keys {
			c.Ordered = append(c.Ordered, orderedTaint(key))
		}
	}
}

func putByOrder(keys ...string) func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		for _, key := range keys {
			c.Taints = append(c.Taints, noExecute(key, t0))
			c.Added = append(c.Added, failover.AddedTaint{Key: key, Effect: corev1.TaintEffectNoExecute, Rule: failover.TaintRule})
		}
	}
}

func TestATaintIsReadAsKubectlWritesIt(t *testing.T) {
	for text, want := range map[string]failover.OrderedTaint{
		"maintenance:NoExecute":               {Key: "maintenance", Effect: "NoExecute"},
		"a.b/degraded=net:PreferNoExecute":    {Key: "a.b/degraded", Value: "net", Effect: "PreferNoExecute"},
		"maintenance":                         {},
		"maintenance:NoSchedule":              {},
		":NoExecute":                          {},
		"a b:NoExecute":                       {},
		"a=b c:NoExecute":                     {},
		failover.DrainTaintKey + ":NoExecute": {},
	} {
		got, wrong := failover.ParseTaint(text)
		if want.Key == "" {
			require.NotEmpty(t, wrong, text)
			continue
		}
		require.Empty(t, wrong, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
}

// Rules: R4.1-42, R4.1-43, R4.1-41.
func TestAnOrderedTaintMatchesWhileItsOrderStands(t *testing.T) {
	garbled := func(c *failover.Cluster) { c.Malformed = "bad" }
	nobody := func(c *failover.Cluster) { c.Ordered[0].Who = "" }
	for name, tc := range map[string]struct {
		cluster failover.Cluster
		want    []failover.Match
	}{
		"nothing":                               {cluster("m1"), nil},
		"an order":                              {cluster("m1", ordersTaints("a")), []failover.Match{failover.Matches}},
		"an order whose taint stands":           {cluster("m1", ordersTaints("a"), putByOrder("a")), []failover.Match{failover.Matches}},
		"a taint whose order has ended":         {cluster("m1", putByOrder("a")), []failover.Match{failover.Mismatches}},
		"one of two has ended":                  {cluster("m1", ordersTaints("b"), putByOrder("a", "b")), []failover.Match{failover.Mismatches, failover.Matches}},
		"an order that nobody gave":             {cluster("m1", ordersTaints("a"), nobody), []failover.Match{failover.Undecided}},
		"a cluster that cannot be read":         {cluster("m1", ordersTaints("a"), garbled), []failover.Match{failover.Undecided}},
		"an order that cannot be read any more": {cluster("m1", putByOrder("a"), garbled), []failover.Match{failover.Undecided}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []failover.Match
			for _, o := range failover.Observe(nil, tc.cluster, failover.FactOf(tc.cluster)) {
				require.Equal(t, failover.TaintRule, o.Rule)
				got = append(got, o.Match)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Rules: R4.1-42, R4.1-43.
func TestAnOrderedTaintHasNoWindows(t *testing.T) {
	with := cluster("m1", ordersTaints("a"))
	w := failover.Windows{}.Advance(failover.Observe(nil, with, failover.FactOf(with)), t0)
	for _, window := range w {
		require.True(t, window.AddRipe(t0))
	}
	require.Len(t, w, 1)
	ended := cluster("m1", putByOrder("a"))
	for _, window := range w.Advance(failover.Observe(nil, ended, failover.FactOf(ended)), t0.Add(time.Second)) {
		require.True(t, window.RemoveRipe(t0.Add(time.Second)))
	}
}

// Rules: R4.1-42.
func TestAClusterWithAnOrderNeedsAFailover(t *testing.T) {
	c := cluster("m1", ordersTaints("a"))
	suspected, why := failover.Suspected(nil, c, failover.WitnessDown)
	require.True(t, suspected)
	require.Equal(t, failover.ReasonTaintOrdered, why)
	require.True(t, c.CarriesOurs())
	faulty, _ := failover.Faulty(nil, c)
	require.False(t, faulty, "it counts as one that a human tainted otherwise: not while it is Ready")
}
