package scheduling_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

const (
	div  = `{"clusterAffinity":{"clusterNames":["m1","m2"]},"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"staticWeightList":[{"targetCluster":{"clusterNames":["m1"]},"weight":1},{"targetCluster":{"clusterNames":["m2"]},"weight":2}]}}}`
	only = `{"clusterAffinity":{"clusterNames":["m1"]}}`
	dup  = `{"spreadConstraints":[{"spreadByField":"cluster","minGroups":2,"maxGroups":2}]}`
	one  = `{"clusterAffinities":[{"affinityName":"primary","clusterNames":["m1"]},{"affinityName":"backup","clusterNames":["m2","m3"]}],"spreadConstraints":[{"spreadByField":"cluster","minGroups":1,"maxGroups":1}]}`
	even = `{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted"}}`
)

func fleet(names ...string) []*api.Cluster {
	var clusters []*api.Cluster
	for _, name := range names {
		clusters = append(clusters, &api.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.ClusterStatus{APIEnablements: api.ServedAPIs()},
		})
	}
	return clusters
}

func tainted(clusters []*api.Cluster, name string) []*api.Cluster {
	for _, cluster := range clusters {
		if cluster.Name == name {
			cluster.Spec.Taints = []corev1.Taint{{Key: "failed", Effect: corev1.TaintEffectNoExecute}}
		}
	}
	return clusters
}

// strip takes what is known of the clusters' APIs away.
func strip(clusters []*api.Cluster) []*api.Cluster {
	for _, cluster := range clusters {
		cluster.Status.APIEnablements = nil
	}
	return clusters
}

// binding has been scheduled before with the same placement, to the given clusters.
func binding(t *testing.T, placement string, replicas int32, clusters ...api.TargetCluster) *api.Binding {
	b := &api.Binding{PlacementJSON: placement}
	require.NoError(t, json.Unmarshal([]byte(placement), &b.Spec.Placement))
	b.Annotations = map[string]string{api.AnnotationAppliedPlacement: placement}
	b.Spec.Resource = api.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}
	b.Spec.Replicas, b.Spec.Clusters = replicas, clusters
	return b
}

func on(name string, replicas int32) api.TargetCluster {
	return api.TargetCluster{Name: name, Replicas: replicas}
}

func evicted(b *api.Binding, cluster string) *api.Binding {
	b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, api.EvictionTask{FromCluster: cluster})
	return b
}

func TestTheSchedulerDecidesAsKarmada(t *testing.T) {
	cases := map[string]struct {
		binding  *api.Binding
		clusters []*api.Cluster
		want     scheduling.Decision
	}{
		"a divided binding whose cluster was evicted is divided anew over the rest": {
			binding: evicted(binding(t, div, 3, on("m2", 2)), "m1"), clusters: fleet("m1", "m2"),
			want: placed(on("m2", 3)),
		},
		"a divided binding whose replicas add up is left alone, wherever they are": {
			binding: evicted(binding(t, div, 3, on("m1", 1), on("m2", 2)), "m1"), clusters: fleet("m1", "m2"),
			want: scheduling.Decision{Outcome: scheduling.NotNeeded},
		},
		"weights divide seat by seat: the fifth replica goes to 1/3, not to 2/7": {
			binding: binding(t, div, 5), clusters: fleet("m1", "m2", "m3"),
			want: placed(on("m1", 2), on("m2", 3)),
		},
		"a Divided binding without a preference is an error": {
			binding: binding(t, `{"replicaScheduling":{"replicaSchedulingType":"Divided"}}`, 2), clusters: fleet("m1"),
			want: scheduling.Decision{Outcome: scheduling.Failed, Reason: "SchedulerError", Message: "unsupported replica scheduling strategy"},
		},
		"a cluster that is not known to serve the kind is refused, unless it serves already": {
			binding: binding(t, even, 2, on("m1", 1)), clusters: strip(fleet("m1", "m2")),
			want: placed(on("m1", 2)),
		},
		"without weights the rest goes by name and nobody keeps zero replicas": {
			binding: binding(t, even, 2), clusters: fleet("m3", "m2", "m1"),
			want: placed(on("m1", 1), on("m2", 1)),
		},
		"an evicted cluster is banned even without a taint": {
			binding: evicted(binding(t, only, 2), "m1"), clusters: fleet("m1", "m2", "m3"),
			want: scheduling.Decision{Outcome: scheduling.NoFit, Reason: "NoClusterFit", Message: "0/3 clusters are available: 1 cluster(s) is in the process of eviction, 2 cluster(s) did not match the placement cluster affinity constraint."},
		},
		"a taint is named in the reason": {
			binding: binding(t, only, 2), clusters: tainted(fleet("m1", "m2"), "m1"),
			want: scheduling.Decision{Outcome: scheduling.NoFit, Reason: "NoClusterFit", Message: "0/2 clusters are available: 1 cluster(s) did not match the placement cluster affinity constraint, 1 cluster(s) had untolerated taint {failed:NoExecute}."},
		},
		"a taint is not held against a cluster that serves already": {
			binding: binding(t, only, 2, on("m1", 2)), clusters: tainted(fleet("m1", "m2"), "m1"),
			want: placed(on("m1", 2)),
		},
		"too few clusters for the spread is an error, not an empty result": {
			binding: evicted(binding(t, dup, 2, on("m2", 2)), "m1"), clusters: fleet("m1", "m2"),
			want: scheduling.Decision{Outcome: scheduling.Failed, Reason: "SchedulerError", Message: "the number of feasible clusters is less than spreadConstraint.MinGroups"},
		},
		"a duplicated binding keeps the clusters it has": {
			binding: binding(t, dup, 2, on("m3", 2), on("m2", 2)), clusters: fleet("m1", "m2", "m3"),
			want: placed(on("m2", 2), on("m3", 2)),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, scheduling.Decide(c.binding, c.clusters))
		})
	}
}

func placed(targets ...api.TargetCluster) scheduling.Decision {
	return scheduling.Decision{Outcome: scheduling.Placed, Clusters: targets, Reason: "Success", Message: scheduling.SuccessMessage}
}

func TestAffinityGroupsGoForwardOnlyUntilARescheduleIsAsked(t *testing.T) {
	b := evicted(binding(t, one, 2), "m1")
	b.Status.SchedulerObservingAffinityName = "primary"
	forward := scheduling.Decide(b, fleet("m1", "m2", "m3"))
	require.Equal(t, "backup", forward.AffinityName)
	require.Equal(t, []api.TargetCluster{on("m2", 2)}, forward.Clusters)

	b = evicted(binding(t, one, 2, on("m1", 2)), "m2")
	evicted(b, "m3")
	b.Status.SchedulerObservingAffinityName = "backup"
	require.Equal(t, scheduling.NoFit, scheduling.Decide(b, fleet("m1", "m2", "m3")).Outcome, "the earlier group is not tried again")

	last := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	asked := metav1.NewTime(last.Add(time.Second))
	b.Status.LastScheduledTime, b.Spec.RescheduleTriggeredAt = &last, &asked
	back := scheduling.Decide(b, fleet("m1", "m2", "m3"))
	require.Equal(t, "primary", back.AffinityName)
	require.Equal(t, []api.TargetCluster{on("m1", 2)}, back.Clusters)
}

func TestAClusterBeingDeletedIsLeftAndNeverChosen(t *testing.T) {
	clusters := fleet("m1", "m2")
	now := metav1.Now()
	clusters[0].DeletionTimestamp = &now
	got := scheduling.Decide(binding(t, div, 3, on("m1", 1), on("m2", 2)), clusters)
	require.Equal(t, []api.TargetCluster{on("m2", 3)}, got.Clusters)
}

func TestRoomBreaksTiesBetweenClusters(t *testing.T) {
	clusters := fleet("m1", "m2", "m3")
	for i, pods := range []string{"10", "10", "20"} {
		clusters[i].Status.ResourceSummary = &api.ResourceSummary{Allocatable: corev1.ResourceList{"pods": quantity(pods)}}
	}
	got := scheduling.Decide(binding(t, dup, 2), clusters)
	require.Equal(t, []api.TargetCluster{on("m3", 2), on("m1", 2)}, got.Clusters)
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }
