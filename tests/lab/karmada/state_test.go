package karmada_test

import (
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// handsStateOn: with the feature gate on, the new copy of a Directly move wears the
// preserved labels while the task stands, and no longer.
func handsStateOn(s *scene) {
	s.create(2, "Duplicated", nil)
	s.await("scheduled", settled(s.home))
	s.evict(map[string]any{
		"suppressDeletion": true, "purgeMode": "Directly", "clustersBeforeFailover": []any{s.home},
		"preservedLabelState": map[string]any{"checkpoint": "17"},
	})
	s.await("moved", settled(s.away))
	require.Equal(s.t, map[string]string{"checkpoint": "17"}, s.worn())
	s.release()
	require.True(s.t, eventually(func() bool { return len(s.worn()) == 0 }), "rendered anew without them")
	s.await("and it stays", settled(s.away))
}

// handsNothingOn: with Gracefully the labels in the task reach nobody.
func handsNothingOn(s *scene) {
	s.create(2, "Duplicated", nil)
	s.await("scheduled", settled(s.home))
	s.evict(map[string]any{
		"suppressDeletion": true, "purgeMode": "Gracefully", "clustersBeforeFailover": []any{s.home},
		"preservedLabelState": map[string]any{"checkpoint": "17"},
	})
	s.await("moved", settled(s.away))
	require.Empty(s.t, s.worn())
}

// worn are the labels of the copy that the away member is to run.
func (s *scene) worn() map[string]string {
	list, err := s.client.Resource(api.Works).Namespace(api.ExecutionNamespace(s.away)).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	require.Len(s.t, list.Items, 1)
	manifests, _, err := unstructured.NestedSlice(list.Items[0].Object, "spec", "workload", "manifests")
	require.NoError(s.t, err)
	labels, _, err := unstructured.NestedStringMap(manifests[0].(map[string]any), "metadata", "labels") //nolint:errcheck,forcetypeassert // the simulation's own
	require.NoError(s.t, err)
	return labels
}
