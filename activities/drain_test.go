package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func jane() *karmada.Drain { return &karmada.Drain{Who: "jane", Why: "new kernel"} }

func (b *bench) drainRequest() activities.TaintRequest {
	return activities.TaintRequest{AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, Drain: jane()}
}

// Rules: R4.12-1, R4.12-9.
func TestKubernetesEnhancement4213AndKubernetes3885AndKCP556TheOrderOfADrainIsRecordedOrRefused(t *testing.T) {
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
		"opted out":               {arrange: func(b *bench, _ *activities.TaintRequest) { b.optOutCluster() }, refused: reason.OptedOut, writes: 0},
		"a selector that is none": {arrange: func(_ *bench, r *activities.TaintRequest) { r.Drain.Selector = "a in (" }, refused: reason.Invalid, writes: 0},
		"a selector that matches a workload on it": {
			arrange: func(_ *bench, r *activities.TaintRequest) { r.Drain.Selector = "app=one" }, writes: 1,
		},
		"a selector that matches nothing on it": {
			arrange: func(b *bench, r *activities.TaintRequest) {
				b.bind("two", func(x *karmada.Binding) {
					x.WorkloadLabels = map[string]string{"app": "two"}
					x.Clusters = []karmada.TargetCluster{{Name: "m3", Replicas: 2}}
				})
				r.Drain.Selector = "app=two"
			}, refused: reason.NotTargeting, writes: 0,
		},
		"a selector that matches only what is opted out": {
			arrange: func(b *bench, r *activities.TaintRequest) {
				b.bind("two", func(x *karmada.Binding) {
					x.WorkloadLabels, x.Annotations = map[string]string{"app": "two"}, map[string]string{karmada.AnnotationEnabled: "false"}
				})
				r.Drain.Selector = "app=two"
			}, refused: reason.NotTargeting, writes: 0,
		},
		"a selector that matches a label of the binding alone": {
			arrange: func(b *bench, r *activities.TaintRequest) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Labels = map[string]string{"id": "4"} })
				r.Drain.Selector = "id=4"
			}, writes: 1,
		},
		"the same again": {arrange: func(b *bench, _ *activities.TaintRequest) { b.drain() }, writes: 0},
		"another one stands": {
			arrange: func(b *bench, r *activities.TaintRequest) { b.drain(); r.Drain.Rate = 1 }, refused: reason.Drained, writes: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"app": "one"} })
			r := b.drainRequest()
			c.arrange(b, &r)
			before := len(b.world.Log("taint"))
			out := must[activities.TaintResult](b, activities.NameWriteTaints, r)
			require.Equal(t, c.refused, out.Refused, out.Message)
			require.Len(t, b.world.Log("taint"), before+c.writes)
		})
	}
}

// drain records jane's order.
func (b *bench) drain() {
	b.t.Helper()
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Drain = jane() })
}

// drainTainted records jane's order and puts the taints that follow from it.
func (b *bench) drainTainted() {
	b.t.Helper()
	b.drain()
	r := must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut,
		Add: []rules.RuleObservation{{Rule: karmada.DrainRule, Match: rules.Matches, Taint: jane().RuleTaint()}},
	})
	require.Len(b.t, r.Ours, 2)
}

// Rules: R4.12-8.
func TestNoEvictionIsWrittenAfterTheDrainHasEnded(t *testing.T) {
	b := newBench(t)
	b.drainTainted()
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Drain = nil })
	require.Equal(t, activities.EvictNotAffected, b.evict().End, "its taint still stands, its order does not")
	require.Empty(t, b.world.Log("evict"))
	b.drain()
	require.Equal(t, activities.EvictWritten, b.evict().End)
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
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Deleting = true })
	assess := func() rules.Match {
		a := must[activities.Assessment](b, activities.NameAssessCluster, activities.AssessRequest{Cluster: "m1"})
		for _, o := range a.Sights[0] {
			if o.Rule == karmada.DrainRule {
				return o.Match
			}
		}
		return ""
	}
	require.Empty(t, assess(), "ignored")
	b.acts.Reader = activities.DrainDeleting{Reader: b.acts.Reader}
	require.Equal(t, rules.Matches, assess())
	fleet, err := b.acts.Reader.Clusters(t.Context())
	require.NoError(t, err)
	require.NotNil(t, fleet[0].Drain)
	out := must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		AssessRequest: m1, Mode: rules.ModeEnforce, ClearDrain: true,
	})
	require.Empty(t, out.Refused)
	require.Empty(t, b.world.Log("taint"), "there is no order to remove")
}

// What others put on a cluster that nobody understands moves nothing, and nothing of
// Lifeboat's is put beside it: which taints are Lifeboat's there is not known.
//
// Rules: R4.1-41.
func TestNothingIsPutOnAMalformedCluster(t *testing.T) {
	b := newBench(t)
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	request := activities.TaintRequest{AssessRequest: m1, Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut}
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Malformed = "annotation " + karmada.AnnotationAddedTaints + ": a number" })
	require.Equal(t, reason.Malformed, must[activities.TaintResult](b, activities.NameWriteTaints, request).Refused)
	require.Empty(t, b.world.Log("taint"))
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Malformed = "" })
	require.Empty(t, must[activities.TaintResult](b, activities.NameWriteTaints, request).Refused)
	require.Len(t, b.world.Log("taint"), 1)
}

// Rules: R4.2-8, R4.12-8, R4.3-23.
func TestBansGoWhenTheDrainHasEnded(t *testing.T) {
	ban := func(x *karmada.Binding) {
		replicas := int32(2)
		x.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}}
		x.Tasks = []karmada.Task{{
			FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonBanned, PurgeMode: karmada.PurgeDirectly, Replicas: &replicas,
		}}
	}
	request := activities.BansRequest{Cluster: "m1", Mode: rules.ModeEnforce}
	b := newBench(t)
	b.world.Change(appKey("app"), ban)
	b.drain()
	require.True(t, must[activities.BansResult](b, activities.NameLiftBans, request).Refused, "it is drained again")
	require.Empty(t, b.world.Log("release"))
	b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Drain = nil })
	must[activities.BansResult](b, activities.NameLiftBans, activities.BansRequest{Cluster: "m1", Mode: rules.ModeObserve})
	require.Empty(t, b.world.Log("release"))
	garble := func(why string) { b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Malformed = why }) }
	garble("spec.placement: a number")
	require.Equal(t, 1, must[activities.BansResult](b, activities.NameLiftBans, request).Malformed)
	require.Empty(t, b.world.Log("release"), "nobody understands it")
	garble("")
	must[activities.BansResult](b, activities.NameLiftBans, request)
	require.Empty(t, b.world.Peek(appKey("app")).Tasks)
	require.Equal(t, "m2", b.world.Peek(appKey("app")).Clusters[0].Name)

	b.world.Change(appKey("app"), func(x *karmada.Binding) { ban(x); x.Clusters = nil })
	must[activities.BansResult](b, activities.NameLiftBans, request)
	app := b.world.Peek(appKey("app"))
	_, at := app.Target("m1")
	require.GreaterOrEqual(t, at, 0, "never neither a target nor a hold")
}

func disks() karmada.OrderedTaint {
	return karmada.OrderedTaint{Key: "disks", Effect: corev1.TaintEffectNoExecute, Who: "jane", Why: "new disks"}
}

func (b *bench) orderRequest() activities.TaintRequest {
	o := disks()
	return activities.TaintRequest{AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, Order: &o}
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
		AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut,
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

// Rules: R4.12-5.
func TestListTargeting_WithSelector_FreezesWhomTheDrainLeavesOut(t *testing.T) {
	b := newBench(t)
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"app": "one"} })
	b.bind("other", func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"app": "two"} })
	b.bind("unknown", func(x *karmada.Binding) { x.Labels = map[string]string{"app": "one"} })
	b.world.DropWork("karmada-es-m1", "shop-unknown")
	drain := jane()
	drain.Selector = "app=one"
	page := must[activities.TargetingPage](b, activities.NameListTargeting, activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Drain: drain})
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
		arrange func(*bench)
		end     activities.CheckEnd
	}{
		"other labels": {arrange: func(*bench) {}, end: activities.CheckPass},
		"labels of the workload that match": {arrange: func(b *bench) {
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"tier": "gold"} })
		}, end: activities.CheckBlocked},
		"no Work": {arrange: func(b *bench) { b.world.DropWork("karmada-es-m1", "shop-app") }, end: activities.CheckBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Settings.Approval = queue.ApprovalRules{Selector: "tier=gold"}
			b.fail()
			c.arrange(b)
			check := b.preCheck(func(*activities.PreCheckRequest) {})
			require.Equal(t, c.end, check.End, check.Message)
		})
	}
}
