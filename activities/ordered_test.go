package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func disks() karmada.OrderedTaint {
	return karmada.OrderedTaint{Key: "disks", Effect: corev1.TaintEffectNoExecute, Who: "jane", Why: "new disks"}
}

func (b *bench) orderRequest() activities.TaintRequest {
	o := disks()
	return activities.TaintRequest{Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, Order: &o}
}

// orders records jane's order of a taint.
func (b *bench) orders() {
	b.t.Helper()
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Ordered = []karmada.OrderedTaint{disks()} })
}

// Rules: R4.1-42, R4.1-44, R4.15-7, R4.15-10.
func TestTheOrderOfATaintIsRecordedOrRefused(t *testing.T) {
	ours := func(c *karmada.Cluster) {
		c.Taints = []corev1.Taint{{Key: "disks", Effect: corev1.TaintEffectNoExecute}}
		c.Added = []karmada.AddedTaint{{Key: "disks", Effect: corev1.TaintEffectNoExecute, Rule: "disks"}}
	}
	for name, c := range map[string]struct {
		arrange func(*bench, *activities.TaintRequest)
		refused reason.Reason
		writes  int
	}{
		"recorded": {arrange: func(*bench, *activities.TaintRequest) {}, writes: 1},
		"the failover observes": {
			arrange: func(_ *bench, r *activities.TaintRequest) { r.Mode = rules.ModeObserve }, refused: reason.ModeObserve, writes: 0,
		},
		"the worker observes": {
			arrange: func(b *bench, _ *activities.TaintRequest) { b.acts.Settings.Terms.Mode = rules.ModeObserve }, refused: reason.ModeObserve, writes: 0,
		},
		"opted out":             {arrange: func(b *bench, _ *activities.TaintRequest) { b.optOutCluster() }, refused: reason.OptedOut, writes: 0},
		"a key that is none":    {arrange: func(_ *bench, r *activities.TaintRequest) { r.Order.Key = "a b" }, refused: reason.Invalid, writes: 0},
		"the same again":        {arrange: func(b *bench, _ *activities.TaintRequest) { b.orders() }, writes: 0},
		"with another value":    {arrange: func(b *bench, r *activities.TaintRequest) { b.orders(); r.Order.Value = "x" }, refused: reason.TaintOrdered, writes: 0},
		"a rule put it already": {arrange: func(b *bench, _ *activities.TaintRequest) { b.world.ChangeCluster("m1", ours) }, refused: reason.OursStands, writes: 0},
		"others put it already": {arrange: func(b *bench, _ *activities.TaintRequest) {
			b.world.ChangeCluster("m1", func(c *karmada.Cluster) { ours(c); c.Added = nil })
		}, refused: reason.ForeignTaint, writes: 0},
		"a cluster that nobody understands": {arrange: func(b *bench, _ *activities.TaintRequest) {
			b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Malformed = "bad" })
		}, refused: reason.Malformed, writes: 0},
		"a soft one where their list cannot be read": {arrange: func(b *bench, r *activities.TaintRequest) {
			r.Order.Effect = karmada.EffectPreferNoExecute
			b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.SoftUnreadable = true })
		}, refused: reason.Malformed, writes: 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r := b.orderRequest()
			c.arrange(b, &r)
			before := len(b.world.Log("taint"))
			out := must[activities.TaintResult](b, activities.NameWriteTaints, r)
			require.Equal(t, c.refused, out.Refused, out.Message)
			require.Len(t, b.world.Log("taint"), before+c.writes)
		})
	}
}

// orderTainted records jane's order and puts the taints that follow from it.
func (b *bench) orderTainted() {
	b.t.Helper()
	b.orders()
	r := must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut,
		Add: []rules.RuleObservation{{Rule: karmada.TaintRule, Match: rules.Matches, Taint: disks().RuleTaint()}},
	})
	require.Len(b.t, r.Ours, 2)
}

// Invariant 3: the order is the failure's reason, and is read again before the write.
//
// Rules: R4.1-43.
func TestNoEvictionIsWrittenAfterTheOrderOfATaintHasEnded(t *testing.T) {
	b := newBench(t)
	b.orderTainted()
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Ordered = nil })
	require.Equal(t, activities.EvictNotAffected, b.evict().End, "its taint still stands, its order does not")
	require.Empty(t, b.world.Log("evict"))
	b.orders()
	require.Equal(t, activities.EvictWritten, b.evict().End)
}

// Rules: R4.1-43.
func TestTheEndOfAnOrderEndsThatOrderAlone(t *testing.T) {
	b := newBench(t)
	other := disks()
	other.Key = "heat"
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Ordered = []karmada.OrderedTaint{disks(), other} })
	r := b.orderRequest()
	r.Order, r.EndOrders, r.Mode = nil, []karmada.OrderedTaint{{Key: "disks", Effect: corev1.TaintEffectNoExecute}}, rules.ModeEnforce
	must[activities.TaintResult](b, activities.NameWriteTaints, r)
	require.Equal(t, []karmada.OrderedTaint{other}, b.world.PeekCluster("m1").Ordered)
	r.EndOrders, r.EndAllOrders = nil, true
	must[activities.TaintResult](b, activities.NameWriteTaints, r)
	require.Empty(t, b.world.PeekCluster("m1").Ordered)
}
