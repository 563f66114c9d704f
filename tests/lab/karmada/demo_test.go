package karmada_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

func TestTheDemonstrationIsMixedAndOnlyOneBindingHasNowhereToGo(t *testing.T) {
	names := []string{"member1", "member2", "member3", "member4", "member5", "member6"}
	bindings := karmada.DemoWorkloads(60, names)
	require.Len(t, bindings, 60)
	kinds, stuck, onFirst := map[string]int{}, 0, 0
	seen := map[string]bool{}
	for i := range bindings {
		b, err := api.From[api.Binding](bindings[i].Object)
		require.NoError(t, err)
		require.False(t, seen[b.Ref()], b.Ref())
		seen[b.Ref()] = true
		kinds[b.Spec.Resource.Kind]++
		clusters := fleet(names...)
		placed := scheduling.Decide(b, clusters)
		require.Equal(t, scheduling.Placed, placed.Outcome, b.Ref())
		b.Spec.Clusters = placed.Clusters
		if b.Target("member1") == nil {
			continue
		}
		onFirst++
		b.Spec.Clusters = slices.DeleteFunc(placed.Clusters, func(c api.TargetCluster) bool { return c.Name == "member1" })
		b.Spec.GracefulEvictionTasks = []api.EvictionTask{{FromCluster: "member1"}}
		if scheduling.Decide(b, clusters).Outcome != scheduling.Placed {
			stuck++
		}
	}
	require.Equal(t, 1, stuck)
	require.Greater(t, onFirst, 20)
	for _, kind := range []string{"Deployment", "StatefulSet", "ConfigMap", "ClusterRole"} {
		require.Greater(t, kinds[kind], 3, kind)
	}
}

func fleet(names ...string) []*api.Cluster {
	var clusters []*api.Cluster
	for _, name := range names {
		c := &api.Cluster{}
		c.Name = name
		c.Status.APIEnablements = api.ServedAPIs()
		clusters = append(clusters, c)
	}
	return clusters
}
