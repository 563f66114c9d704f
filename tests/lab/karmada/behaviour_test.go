package karmada_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// What Lifeboat's stories do not ask of the simulation. The traps and faults are those of the stories,
// which fail where one of them is missing.
func TestInvalidWritesAreRefusedAndCopiesAreKept(t *testing.T) {
	knobs := karmada.DefaultKnobs()
	knobs.WorkloadReadyAfter.Duration = 200 * time.Millisecond
	o := karmada.Options{Knobs: knobs, MemberDir: t.TempDir(), Members: []karmada.MemberSpec{{Name: "m1"}}}
	w := start(t, o)
	bindings := w.client.Resource(api.ResourceBindings).Namespace("default")
	b := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"resource":  map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
			"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{"m1"}}}, "replicas": int64(1),
		},
	}}
	_, err := bindings.Create(t.Context(), b, metav1.CreateOptions{})
	require.NoError(t, err)

	for _, taints := range [][]corev1.Taint{
		{{Key: "k", Effect: "PreferNoExecute"}},
		{{Key: "k", Effect: "PreferNoSchedule"}},
		{{Key: "k", Value: "a", Effect: "NoExecute"}, {Key: "k", Value: "b", Effect: "NoExecute"}},
	} {
		_, err := api.MergePatch(t.Context(), w.client.Resource(api.Clusters), "m1", map[string]any{"spec": map[string]any{"taints": taints}})
		require.True(t, apierrors.IsInvalid(err), "%v: %v", taints, err)
	}
	for _, wrong := range []map[string]any{
		{"purgeMode": "Immediately"}, {"reason": "no spaces"}, {"reason": strings.Repeat("a", 33)}, {"message": strings.Repeat("a", 1025)},
	} {
		task := map[string]any{"fromCluster": "x", "reason": "Test", "producer": "test"}
		maps.Copy(task, wrong)
		_, err := api.MergePatch(t.Context(), bindings, "web", map[string]any{"spec": map[string]any{"gracefulEvictionTasks": []any{task}}})
		require.True(t, apierrors.IsInvalid(err), "%v: %v", wrong, err)
	}

	copies := func() []karmada.MemberStatus { return w.sim.Members() }
	require.True(t, eventually(func() bool { return len(copies()[0].Workloads) == 1 && copies()[0].Workloads[0].ReadyReplicas == 1 }))
	before := copies()[0].Workloads[0].UID
	require.NoError(t, w.sim.Close())
	w.sim, err = karmada.Start(t.Context(), w.cfg, o)
	require.NoError(t, err)
	require.Equal(t, before, copies()[0].Workloads[0].UID, "a member keeps its copies from one run to the next")
}
