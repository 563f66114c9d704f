package scheduling_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

func TestOverflow_FillsTheGroupBeforeItsOverflow(t *testing.T) {
	b := binding(t, `{"clusterAffinities":[{"affinityName":"own","clusterNames":["m2"],"overflowAffinities":[{"clusterNames":["m1"]}]}],
		"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Aggregated"}}`, 5)
	clusters := fleet("m1", "m2", "m3")
	for _, cluster := range clusters {
		cluster.Status.ResourceSummary = &api.ResourceSummary{Allocatable: corev1.ResourceList{"pods": quantity("3")}}
	}
	require.ElementsMatch(t, []api.TargetCluster{on("m2", 3), on("m1", 2)}, scheduling.Decide(b, clusters).Clusters)
}

func TestRoom_ByModels(t *testing.T) {
	models := `[{"grade":0,"ranges":[{"name":"cpu","min":"0"}]},{"grade":1,"ranges":[{"name":"cpu","min":"2"}]}]`
	for name, c := range map[string]struct {
		request string
		counts  [2]int
		room    int
	}{
		"what fits a node's minimum, node by node":            {request: `{"cpu":"700m"}`, counts: [2]int{4, 3}, room: 6},
		"a resource that no grade names is 0":                 {request: `{"example.com/gpu":"1"}`, counts: [2]int{4, 3}, room: 0},
		"without requests 110 pods a node":                    {request: `{}`, counts: [2]int{1, 1}, room: 220},
		"no counted nodes, no room":                           {request: `{}`, counts: [2]int{0, 0}, room: 0},
		"a resource that the placement on nodes does not see": {request: `{"storage":"5"}`, counts: [2]int{0, 1}, room: 110},
	} {
		t.Run(name, func(t *testing.T) {
			clusters := fleet("m1")
			require.NoError(t, json.Unmarshal([]byte(models), &clusters[0].Spec.ResourceModels))
			require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"allocatable":{"pods":"1000","cpu":"1000"},
				"allocatableModelings":[{"grade":1,"count":%d},{"grade":0,"count":%d}]}`, c.counts[1], c.counts[0]), &clusters[0].Status.ResourceSummary))
			for _, replicas := range []int{c.room, c.room + 1} {
				b := binding(t, `{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Aggregated"}}`, int32(max(1, replicas))) //nolint:gosec // small
				require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"resourceRequest":%s}`, c.request), &b.Spec.ReplicaRequirements))
				want := scheduling.Placed
				if replicas > c.room || c.room == 0 {
					want = scheduling.Failed
				}
				require.Equal(t, want, scheduling.Decide(b, clusters).Outcome, "%d replicas", replicas)
			}
		})
	}
}

func TestMatches_FieldSelectors(t *testing.T) {
	cluster := fleet("m1")[0]
	cluster.Spec.Region, cluster.Spec.Zones = "east", []string{"a", "b"}
	for selector, want := range map[string]bool{
		`{}`: true,
		`{"matchExpressions":[{"key":"zone","operator":"In","values":["b","c"]}]}`:     true, // any overlap
		`{"matchExpressions":[{"key":"zone","operator":"In","values":["c"]}]}`:         false,
		`{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["b","c"]}]}`:  false,
		`{"matchExpressions":[{"key":"zone","operator":"NotIn"}]}`:                     true,
		`{"matchExpressions":[{"key":"region","operator":"NotIn"}]}`:                   false, // no valid requirement
		`{"matchExpressions":[{"key":"region","operator":"NotIn","values":["west"]}]}`: true,
		`{"matchExpressions":[{"key":"provider","operator":"In","values":["p"]}]}`:     false,
		`{"matchExpressions":[{"key":"provider","operator":"NotIn","values":["p"]}]}`:  true,
	} {
		affinity := api.ClusterAffinity{FieldSelector: &api.FieldSelector{}}
		require.NoError(t, json.Unmarshal([]byte(selector), affinity.FieldSelector))
		require.Equal(t, want, scheduling.Matches(cluster, &affinity), selector)
	}
}

func TestRegionWithoutRoomDoesNotStandInTheWay(t *testing.T) {
	clusters := fleet("m1", "m2")
	for i, pods := range []string{"1", "5"} {
		clusters[i].Spec.Region = "region-" + clusters[i].Name
		clusters[i].Status.ResourceSummary = &api.ResourceSummary{Allocatable: corev1.ResourceList{"pods": quantity(pods)}}
	}
	b := binding(t, `{"spreadConstraints":[{"spreadByField":"region","minGroups":1,"maxGroups":1},{"spreadByField":"cluster","minGroups":1,"maxGroups":1}]}`, 3)
	require.Equal(t, placed(on("m2", 3)), scheduling.Decide(b, clusters))
}

func TestSpread_BindsAnEmptyWeightPreference(t *testing.T) {
	placement := `{"spreadConstraints":[{"spreadByField":"cluster","minGroups":3,"maxGroups":3}],
		"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted"%s}}`
	clusters := fleet("m1", "m2")
	require.Equal(t, scheduling.Placed, scheduling.Decide(binding(t, fmt.Sprintf(placement, ""), 2), clusters).Outcome)
	require.Equal(t, scheduling.Failed, scheduling.Decide(binding(t, fmt.Sprintf(placement, `,"weightPreference":{}`), 2), clusters).Outcome)
}
