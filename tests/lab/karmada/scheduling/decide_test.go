package scheduling_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

// What a real scheduler answered is asked in tests/compare. Here is what it was not asked.
func TestDecide_WhatTheOracleWasNotAsked(t *testing.T) {
	const aggregated = `"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Aggregated"}`
	for name, c := range map[string]struct {
		placement string
		want      scheduling.Decision
	}{
		"a group is full before its overflow gets any": {
			placement: `{"clusterAffinities":[{"affinityName":"own","clusterNames":["m2"],"overflowAffinities":[{"clusterNames":["m1"]}]}],` + aggregated + `}`,
			want: scheduling.Decision{
				Outcome: scheduling.Placed, AffinityName: "own", Reason: scheduling.ReasonSuccess, Message: scheduling.SuccessMessage,
				Clusters: []api.TargetCluster{{Name: "m2", Replicas: 3}, {Name: "m1", Replicas: 2}},
			},
		},
		"Divided without a preference is an error": {
			placement: `{"replicaScheduling":{"replicaSchedulingType":"Divided"}}`,
			want:      scheduling.Decision{Outcome: scheduling.Failed, Reason: "SchedulerError", Message: "unsupported replica scheduling strategy"},
		},
		"a taint is named in the reason": {
			placement: `{"clusterAffinity":{"clusterNames":["m3"]}}`,
			want: scheduling.Decision{
				Outcome: scheduling.NoFit, Reason: "NoClusterFit",
				Message: "0/3 clusters are available: 1 cluster(s) had untolerated taint {failed:NoExecute}, 2 cluster(s) did not match the placement cluster affinity constraint.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &api.Binding{PlacementJSON: c.placement}
			require.NoError(t, json.Unmarshal([]byte(c.placement), &b.Spec.Placement))
			b.Spec.Resource = api.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}
			b.Spec.Replicas = 5
			var clusters []*api.Cluster
			for _, name := range []string{"m1", "m2", "m3"} {
				clusters = append(clusters, &api.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.ClusterStatus{
					APIEnablements:  api.ServedAPIs(),
					ResourceSummary: &api.ResourceSummary{Allocatable: corev1.ResourceList{"pods": resource.MustParse("3")}},
				}})
			}
			clusters[2].Spec.Taints = []corev1.Taint{{Key: "failed", Effect: corev1.TaintEffectNoExecute}}
			require.Equal(t, c.want, scheduling.Decide(b, clusters))
		})
	}
}
