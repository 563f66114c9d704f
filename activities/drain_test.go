package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func jane() *karmada.Drain { return &karmada.Drain{Who: "jane", Why: "new kernel"} }

func (b *bench) drainRequest() activities.TaintRequest {
	return activities.TaintRequest{AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, Drain: jane()}
}

// Rules: R4.12-1, R4.12-9.
func TestKubernetesEnhancement4213AndKubernetes3885AndKCP556TheOrderOfADrainIsRecordedOrRefused(t *testing.T) {
	selects := func(selector string) func(*bench, *activities.TaintRequest) {
		return func(_ *bench, r *activities.TaintRequest) { r.Drain.Selector = selector }
	}
	for name, c := range map[string]taintRow{
		"recorded":                {writes: 1},
		"the failover observes":   {ask: failoverObserves, refused: reason.ModeObserve},
		"the worker observes":     {world: workerObserves, refused: reason.ModeObserve},
		"opted out":               {world: (*bench).optOutCluster, refused: reason.OptedOut},
		"a selector that is none": {ask: selects("a in ("), refused: reason.Invalid},
		"a selector that matches a workload on it": {ask: selects("app=one"), writes: 1},
		"a selector that matches nothing on it": {
			world: func(b *bench) {
				b.bind("two", labelled("app", "two"), func(x *karmada.Binding) { x.Clusters = on("m3") })
			},
			ask:     selects("app=two"),
			refused: reason.NotTargeting,
		},
		"a selector that matches only what is opted out": {
			world:   func(b *bench) { b.bind("two", labelled("app", "two"), optedOut) },
			ask:     selects("app=two"),
			refused: reason.NotTargeting,
		},
		"a selector that matches a label of the binding alone": {
			world: app(func(x *karmada.Binding) { x.Labels = map[string]string{"id": "4"} }), ask: selects("id=4"), writes: 1,
		},
		"the same again":     {world: (*bench).drain},
		"another one stands": {world: (*bench).drain, ask: func(_ *bench, r *activities.TaintRequest) { r.Drain.Rate = 1 }, refused: reason.Drained},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.does(app(labelled("app", "one")))
			c.run(t, b, b.drainRequest())
		})
	}
}

func optedOut(x *karmada.Binding) {
	x.Annotations = map[string]string{karmada.AnnotationEnabled: "false"}
}

// drain records jane's order.
func (b *bench) drain() {
	b.does(m1Is(func(c *karmada.Cluster) { c.Drain = jane() }))
}

// Invariant 3: the order is the failure's reason, and is read again before the write.
//
// Rules: R4.1-43, R4.12-8.
func TestNoEvictionIsWrittenAfterItsOrderHasEnded(t *testing.T) {
	for name, order := range map[string]struct {
		given, ended func(*bench)
		follows      rules.RuleObservation
	}{
		"a drain": {
			given: (*bench).drain, ended: m1Is(func(c *karmada.Cluster) { c.Drain = nil }),
			follows: rules.RuleObservation{Rule: karmada.DrainRule, Match: rules.Matches, Taint: jane().RuleTaint()},
		},
		"a taint": {
			given: (*bench).orders, ended: m1Is(func(c *karmada.Cluster) { c.Ordered = nil }),
			follows: rules.RuleObservation{Rule: karmada.TaintRule, Match: rules.Matches, Taint: disks().RuleTaint()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			order.given(b)
			r := b.taints()
			r.Add = []rules.RuleObservation{order.follows}
			require.Len(t, b.taint(r).Added, 2)
			order.ended(b)
			require.Equal(t, activities.EvictNotAffected, b.evict().End, "its taint still stands, its order does not")
			require.Empty(t, b.world.Log("evict"))
			order.given(b)
			require.Equal(t, activities.EvictWritten, b.evict().End)
		})
	}
}

// Rules: R4.12-7.
func TestADrainedFleetIsNotHalted(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"m1", "m2"} {
		b.world.ChangeCluster(name, func(c *karmada.Cluster) { c.Drain = jane() })
	}
	r := must[activities.FleetResult](b, activities.NameAssessFleet, activities.FleetRequest{})
	require.Empty(t, r.Pace.Faulty)
	require.Equal(t, pace.TierNormal, r.Pace.Tier)
}

// Rules: R4.1-15.
func TestADeletedClusterIsDrainedWhereTheConfigurationSaysSo(t *testing.T) {
	b := newBench(t)
	b.does(m1Is(fixtures.DeletingCluster))
	assess := func() rules.Match {
		for _, o := range b.assess(activities.AssessRequest{Cluster: "m1"}).Sights[0] {
			if o.Rule == karmada.DrainRule {
				return o.Match
			}
		}
		return ""
	}
	require.Empty(t, assess(), "ignored")
	b.world.DrainDeleting = true
	require.Equal(t, rules.Matches, assess())
	require.NotNil(t, fixtures.Must(b.acts.Reader.Clusters(t.Context()))(t)[0].Drain)
	taintRow{}.run(t, b, activities.TaintRequest{AssessRequest: m1, Mode: rules.ModeEnforce, ClearDrain: true}) // there is no order to remove
}

// What others put on a cluster that nobody understands moves nothing, and nothing of
// Lifeboat's is put beside it: which taints are Lifeboat's there is not known.
//
// Rules: R4.1-41.
func TestNothingIsPutOnAMalformedCluster(t *testing.T) {
	b := newBench(t)
	maintained(b)
	r := b.taints()
	r.Add = nil
	garble := func(why string) func(*bench) { return m1Is(func(c *karmada.Cluster) { c.Malformed = why }) }
	taintRow{world: garble("annotation " + karmada.AnnotationAddedTaints + ": a number"), refused: reason.Malformed}.run(t, b, r)
	taintRow{world: garble(""), writes: 1}.run(t, b, r)
}

// Rules: R4.2-8, R4.12-8, R4.3-23.
func TestBansGoWhenTheDrainHasEnded(t *testing.T) {
	ban := func(targets ...string) func(*bench) {
		return app(func(x *karmada.Binding) {
			x.Clusters, x.Tasks = on(targets...), task(karmada.TaskReasonBanned, "")
			x.Tasks[0].PurgeMode, x.Tasks[0].Replicas = karmada.PurgeDirectly, fixtures.Ptr(int32(2))
		})
	}
	b := newBench(t)
	lift := func(mode rules.Mode) activities.BansResult {
		return must[activities.BansResult](b, activities.NameLiftBans, activities.BansRequest{Cluster: "m1", Mode: mode})
	}
	b.does(ban("m2"), (*bench).drain)
	require.True(t, lift(rules.ModeEnforce).Refused, "it is drained again")
	b.does(m1Is(func(c *karmada.Cluster) { c.Drain = nil }))
	lift(rules.ModeObserve)
	b.does(app(malformed))
	require.Equal(t, 1, lift(rules.ModeEnforce).Malformed)
	require.Empty(t, b.world.Log("release"), "drained, observed, or not understood")
	b.does(app(func(x *karmada.Binding) { x.Malformed = "" }))
	lift(rules.ModeEnforce)
	require.Empty(t, b.world.Peek(appKey("app")).Tasks)
	require.Equal(t, "m2", b.world.Peek(appKey("app")).Clusters[0].Name)

	b.does(ban())
	lift(rules.ModeEnforce)
	app := b.world.Peek(appKey("app"))
	_, at := app.Target("m1")
	require.GreaterOrEqual(t, at, 0, "never neither a target nor a hold")
}

func disks() karmada.OrderedTaint {
	return karmada.OrderedTaint{Key: "disks", Effect: corev1.TaintEffectNoExecute, Who: "jane", Why: "new disks"}
}

func (b *bench) orderRequest() activities.TaintRequest {
	return activities.TaintRequest{AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, Order: fixtures.Ptr(disks())}
}

// orders records jane's order of a taint.
func (b *bench) orders() {
	b.does(m1Is(func(c *karmada.Cluster) { c.Ordered = []karmada.OrderedTaint{disks()} }))
}

// Rules: R4.1-42, R4.1-44, R4.15-7, R4.15-10.
func TestTheOrderOfATaintIsRecordedOrRefused(t *testing.T) {
	others := func(c *karmada.Cluster) {
		c.Taints = []corev1.Taint{{Key: "disks", Effect: corev1.TaintEffectNoExecute}}
	}
	own := func(c *karmada.Cluster) {
		others(c)
		c.Added = []karmada.AddedTaint{{Key: "disks", Effect: corev1.TaintEffectNoExecute, Rule: "disks"}}
	}
	for name, c := range map[string]taintRow{
		"recorded":              {writes: 1},
		"the failover observes": {ask: failoverObserves, refused: reason.ModeObserve},
		"the worker observes":   {world: workerObserves, refused: reason.ModeObserve},
		"opted out":             {world: (*bench).optOutCluster, refused: reason.OptedOut},
		"a key that is none":    {ask: func(_ *bench, r *activities.TaintRequest) { r.Order.Key = "a b" }, refused: reason.Invalid},
		"the same again":        {world: (*bench).orders},
		"with another value": {
			world: (*bench).orders, ask: func(_ *bench, r *activities.TaintRequest) { r.Order.Value = "x" }, refused: reason.TaintOrdered,
		},
		"a rule put it already":             {world: m1Is(own), refused: reason.LifeboatTaint},
		"others put it already":             {world: m1Is(others), refused: reason.ForeignTaint},
		"a cluster that nobody understands": {world: m1Is(func(c *karmada.Cluster) { c.Malformed = "bad" }), refused: reason.Malformed},
		"a soft one where their list cannot be read": {
			world:   m1Is(func(c *karmada.Cluster) { c.SoftUnreadable = true }),
			ask:     func(_ *bench, r *activities.TaintRequest) { r.Order.Effect = karmada.EffectPreferNoExecute },
			refused: reason.Malformed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c.run(t, b, b.orderRequest())
		})
	}
}

// Rules: R4.1-43.
func TestTheEndOfAnOrderEndsThatOrderAlone(t *testing.T) {
	b := newBench(t)
	other := disks()
	other.Key = "heat"
	b.does(m1Is(func(c *karmada.Cluster) { c.Ordered = []karmada.OrderedTaint{disks(), other} }))
	r := b.orderRequest()
	r.Order, r.EndOrders = nil, []karmada.OrderedTaint{{Key: "disks", Effect: corev1.TaintEffectNoExecute}}
	b.taint(r)
	require.Equal(t, []karmada.OrderedTaint{other}, b.world.PeekCluster("m1").Ordered)
	r.EndOrders, r.EndAllOrders = nil, true
	b.taint(r)
	require.Empty(t, b.world.PeekCluster("m1").Ordered)
}

// Rules: R4.12-5.
func TestListTargeting_WithSelector_FreezesWhomTheDrainLeavesOut(t *testing.T) {
	b := newBench(t)
	b.does(app(labelled("app", "one")))
	b.bind("other", labelled("app", "two"))
	b.bind("unknown", func(x *karmada.Binding) { x.Labels = map[string]string{"app": "one"} })
	b.world.DropWork("karmada-es-m1", "shop-unknown")
	drain := jane()
	drain.Selector = "app=one"
	page := b.list(activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Drain: drain})
	left := map[string]bool{}
	for _, i := range page.Items {
		left[i.Key.Name] = page.Policies[i.Policy].NotDrained
	}
	require.Equal(t, map[string]bool{"app": false, "other": true, "unknown": true}, left)
}

// A workload without a Work on the cluster has no known labels: an operator is asked.
//
// Rules: R4.6-33.
func TestPreCheck_ApprovalSelector_AsksWhereLabelsAreNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		world func(*bench)
		end   activities.CheckEnd
	}{
		"other labels":                      {end: activities.CheckPass},
		"labels of the workload that match": {world: app(labelled("tier", "gold")), end: activities.CheckBlocked},
		"no Work":                           {world: func(b *bench) { b.world.DropWork("karmada-es-m1", "shop-app") }, end: activities.CheckBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Settings.Approval = queue.ApprovalRules{Selector: "tier=gold"}
			b.fail()
			check := b.does(c.world).preCheck()
			require.Equal(t, c.end, check.End, check.Message)
		})
	}
}
