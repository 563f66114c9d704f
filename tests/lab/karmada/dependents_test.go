package karmada_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// dependentsLeaveAtOnce: the ConfigMap that a Deployment needs is taken from the old cluster as soon as
// spec.clusters says so, although the task keeps the Deployment there; a task of its own keeps it too.
func dependentsLeaveAtOnce(s *scene) {
	name := s.name() + "-cfg"
	listed, err := json.Marshal([]map[string]string{{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name}})
	require.NoError(s.t, err)
	s.create(2, "Duplicated", map[string]string{api.AnnotationDependencies: string(listed)})
	_, err = s.bindings().Patch(s.t.Context(), s.name(), types.MergePatchType, []byte(`{"spec":{"propagateDeps":true}}`), metav1.PatchOptions{})
	require.NoError(s.t, err)
	s.await("scheduled", settled(s.home))
	on := func(cluster string) bool {
		list, err := s.client.Resource(api.Works).Namespace(api.ExecutionNamespace(cluster)).List(s.t.Context(), metav1.ListOptions{})
		require.NoError(s.t, err)
		for _, w := range list.Items {
			if w.GetAnnotations()[api.AnnotationBindingName] == name+"-configmap" && w.GetDeletionTimestamp() == nil {
				return true
			}
		}
		return false
	}
	require.True(s.t, eventually(func() bool { return on(s.home) }), "it came with its parent")

	s.evict(map[string]any{"suppressDeletion": true})
	s.await("placed elsewhere", settled(s.away))
	require.True(s.t, eventually(func() bool { return !on(s.home) && on(s.away) }), "it left with its parent's target")
	require.True(s.t, eventually(func() bool { return len(s.copies(s.home)) == 1 }), "and the old copy still runs there")
}
