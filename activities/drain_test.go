package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func jane() *karmada.Drain { return &karmada.Drain{Who: "jane", Why: "new kernel"} }

func (b *bench) drainRequest() activities.TaintRequest {
	return activities.TaintRequest{Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, Drain: jane()}
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
		Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut,
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
		Cluster: "m1", UID: "uid-m1", Mode: rules.ModeEnforce, ClearDrain: true,
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
	request := activities.TaintRequest{Cluster: "m1", UID: "uid-m1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut}
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
