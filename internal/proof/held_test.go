package proof

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// heldFor is a Deployment that a plain hold task keeps for m1, placed and healthy on m2.
func heldFor() *karmada.Binding {
	ready := int64(2)
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "b", Generation: 3, Replicas: 2, Workload: true,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment"},
		Clusters: []karmada.TargetCluster{{Name: "m2", Replicas: 2}}, Placement: &karmada.Placement{},
		Tasks: []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReason, PurgeMode: karmada.PurgeGracefully, Message: "binding-migration/m1/shop/cart", ClustersBeforeFailover: []string{"m1"}}},
	}
	generation := int64(1)
	b.Status = karmada.BindingStatus{
		ObservedGeneration: 3, Scheduled: &karmada.Condition{Status: corev1.ConditionTrue},
		Aggregated: []karmada.AggregatedItem{{Cluster: "m2", Applied: true, Health: karmada.HealthHealthy, ReadyReplicas: &ready, Generation: &generation, ObservedGeneration: &generation}},
	}
	return b
}

func readyFleet(change func(map[string]karmada.Cluster)) func(string) (karmada.Cluster, bool) {
	fleet := map[string]karmada.Cluster{}
	for _, name := range []string{"m1", "m2"} {
		fleet[name] = karmada.Cluster{Name: name, Conditions: []karmada.Condition{{Type: karmada.ConditionReady, Status: corev1.ConditionTrue}}}
	}
	if change != nil {
		change(fleet)
	}
	return func(name string) (karmada.Cluster, bool) {
		c, known := fleet[name]
		return c, known
	}
}

// Rules: R4.7-55.
func TestJudgeHold_PlacedAndHealthy(t *testing.T) {
	v := JudgeHold(heldFor(), "m1", readyFleet(nil))
	require.NotNil(t, v)
	require.True(t, v.Placed.OK)
	require.True(t, v.Health.OK, v.Health.Message)
	require.True(t, v.SourceReady)
	require.Equal(t, []karmada.TargetCluster{{Name: "m2", Replicas: 2}}, v.On)
}

// Rules: R4.7-55, R4.7-27.
func TestJudgeHold_NotHealthy(t *testing.T) {
	for name, c := range map[string]struct {
		binding func(*karmada.Binding)
		fleet   func(map[string]karmada.Cluster)
	}{
		"one of two ready": {binding: func(b *karmada.Binding) { one := int64(1); b.Status.Aggregated[0].ReadyReplicas = &one }},
		"target not Ready": {fleet: func(f map[string]karmada.Cluster) { f["m2"] = karmada.Cluster{Name: "m2"} }},
		"target not known": {fleet: func(f map[string]karmada.Cluster) { delete(f, "m2") }},
		"target evacuating": {fleet: func(f map[string]karmada.Cluster) {
			c := f["m2"]
			c.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}}
			f["m2"] = c
		}},
		"target kept free": {fleet: func(f map[string]karmada.Cluster) {
			c := f["m2"]
			c.Taints = []corev1.Taint{{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule}}
			f["m2"] = c
		}},
		"target is deleted": {fleet: func(f map[string]karmada.Cluster) { c := f["m2"]; c.Deleting = true; f["m2"] = c }},
		"a survivor is ill": {binding: func(b *karmada.Binding) {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: "m3", Replicas: 2})
		}},
		"no status of it":     {binding: func(b *karmada.Binding) { b.Status.Aggregated = nil }},
		"nothing is a target": {binding: func(b *karmada.Binding) { b.Clusters = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			b := heldFor()
			if c.binding != nil {
				c.binding(b)
			}
			v := JudgeHold(b, "m1", readyFleet(c.fleet))
			require.NotNil(t, v)
			require.False(t, v.Health.OK)
		})
	}
}

// Rules: R4.7-56.
func TestJudgeHold_NotPlain_HasNoVerdict(t *testing.T) {
	for name, change := range map[string]func(*karmada.Binding, map[string]karmada.Cluster){
		"no task":          func(b *karmada.Binding, _ map[string]karmada.Cluster) { b.Tasks = nil },
		"another producer": func(b *karmada.Binding, _ map[string]karmada.Cluster) { b.Tasks[0].Producer = karmada.TaintManager },
		"left to an operator": func(b *karmada.Binding, _ map[string]karmada.Cluster) {
			b.Tasks[0].Reason = karmada.TaskReasonNeedsOperator
		},
		"for a dependent": func(b *karmada.Binding, _ map[string]karmada.Cluster) {
			b.Tasks[0].Reason = karmada.TaskReasonDependent
		},
		"Directly":             func(b *karmada.Binding, _ map[string]karmada.Cluster) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly },
		"copies are preserved": func(b *karmada.Binding, _ map[string]karmada.Cluster) { b.PreservesCopies = true },
		"cannot be read":       func(b *karmada.Binding, _ map[string]karmada.Cluster) { b.Malformed = "x" },
		"being deleted":        func(b *karmada.Binding, _ map[string]karmada.Cluster) { b.Deleting = true },
		"a target again": func(b *karmada.Binding, _ map[string]karmada.Cluster) {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: "m1"})
		},
		"the cluster was deleted": func(_ *karmada.Binding, f map[string]karmada.Cluster) { delete(f, "m1") },
	} {
		t.Run(name, func(t *testing.T) {
			b := heldFor()
			require.Nil(t, JudgeHold(b, "m1", readyFleet(func(f map[string]karmada.Cluster) { change(b, f) })))
		})
	}
}

// The break is certain where a copy that must prove itself is not healthy, whatever a look decides about the survivors.
//
// Rules: R4.7-56, R4.7-24.
func TestHoldVerdict_BreaksTheHealthOfWhatMustProveItself(t *testing.T) {
	m3 := karmada.TargetCluster{Name: "m3", Replicas: 2}
	base := Baseline{Clusters: []karmada.TargetCluster{{Name: "m1", Replicas: 2}, m3}}
	b := heldFor()
	require.False(t, JudgeHold(b, "m1", readyFleet(nil)).Breaks(base))
	b.Clusters = append(b.Clusters, m3)
	require.False(t, JudgeHold(b, "m1", readyFleet(nil)).Breaks(base), "m3 alone is not healthy, and may have been ill before")
	b.Status.Aggregated[0].Health = karmada.HealthUnhealthy
	require.True(t, JudgeHold(b, "m1", readyFleet(nil)).Breaks(base), "m2 has come")
	require.True(t, JudgeHold(b, "m1", readyFleet(nil)).Breaks(Baseline{Clusters: b.Clusters}), "none has come or grown")
}

// A copy that was ill at the eviction need not be healthy: only a look knows.
//
// Rules: R4.7-56, R4.7-25.
func TestHoldVerdict_DecidesNothingAboutSurvivors(t *testing.T) {
	base := Baseline{Clusters: []karmada.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m3", Replicas: 2}}}
	b := heldFor()
	require.True(t, JudgeHold(b, "m1", readyFleet(nil)).Decides(base))
	b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: "m3", Replicas: 2})
	require.False(t, JudgeHold(b, "m1", readyFleet(nil)).Decides(base), "m3 may have been ill before")
	b.Clusters[1].Replicas = 3
	require.True(t, JudgeHold(b, "m1", readyFleet(nil)).Decides(base), "it has grown")
	b.Status.ObservedGeneration = 2
	b.Clusters[1].Replicas = 2
	require.True(t, JudgeHold(b, "m1", readyFleet(nil)).Decides(base), "not placed")
}
