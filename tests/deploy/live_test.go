package deploy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// A real kube-apiserver takes everything, and has nothing to remark: no deprecated
// version, no unknown field, nothing that Pod Security's restricted level forbids.
//
// Then both programs run as the pods say, as the accounts that were made in Karmada, with
// the roles that were granted: the roles of observe are enough to observe, and not to
// act; those of enforce are.
func TestARealAPIServerTakesItAndTheProgramsRun(t *testing.T) {
	t.Parallel() // it waits, as the quickstart does
	l := startLab(t)
	base, example := kustomized(t, "base"), kustomized(t, "overlays/enforce")
	l.apply(t, "karmada", kustomized(t, "karmada/observe"))
	l.apply(t, "host", base)
	l.apply(t, "host", example)
	l.apply(t, "host", rendered(t, `
podAnnotations: {a: b}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]
affinity: {nodeAffinity: {}}
imagePullSecrets: [{name: registry}]
networkPolicy: {enabled: true}
worker: {extraVolumes: [{name: audit, emptyDir: {}}], extraVolumeMounts: [{name: audit, mountPath: /var/log/lifeboat}]}`))
	require.Empty(t, l.warnings.texts())
	for _, all := range []objects{base, example} {
		for _, program := range []string{"controller", "worker"} {
			require.NoError(t, l.admit(t, podOf(t, all, program).Spec.Template.Spec), "Pod Security refuses the pods")
		}
	}
	careless := podOf(t, base, "worker").Deployment
	careless.Name, careless.Spec.Template.Spec.SecurityContext = "trial", nil
	require.True(t, apierrors.IsForbidden(l.admit(t, careless.Spec.Template.Spec)), "Pod Security refuses nothing: the label has no effect")
	_, err := l.client.AppsV1().Deployments(namespace).Create(t.Context(), &careless, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.NotEmpty(t, l.warnings.texts(), "the API server warns of nothing")

	l.setUp(t)
	observing := []*running{l.run(t, podOf(t, base, "worker")), l.run(t, podOf(t, base, "controller"))}
	for _, program := range observing {
		program.ready(t)
	}
	l.awaitLeader(t)
	for _, program := range observing {
		program.stop(t)
	}
	for _, program := range []string{"worker", "controller"} {
		said := l.run(t, podOf(t, example, program)).refusal(t)
		require.Contains(t, said, "create events", "%s: the roles of observe are no roles to act", program)
	}
	l.apply(t, "karmada", kustomized(t, "karmada/enforce"))
	for _, program := range []string{"worker", "controller"} {
		acting := l.run(t, podOf(t, example, program))
		acting.ready(t)
		acting.stop(t)
	}
	l.apply(t, "karmada", kustomized(t, "karmada/fields"))
	l.fields(t)
}

// fields tries what the worker's credentials may change once the policy stands: what the
// worker changes, and nothing else.
func (l *lab) fields(t *testing.T) {
	config := rest.AnonymousClientConfig(l.config)
	config.BearerToken = l.credentials(t, "lifeboat-worker")["token"]
	worker, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	cluster := schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	binding := schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	_, err = l.dynamic.Resource(binding).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": map[string]any{
			"name": "cart", "labels": map[string]any{"app": "cart"}, "annotations": map[string]any{"kept": "as it is"},
			"finalizers": []any{"karmada.io/binding-controller"},
		},
		"spec": map[string]any{
			"resource": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "cart"},
			"replicas": int64(1), "clusters": []any{map[string]any{"name": "member1", "replicas": int64(1)}},
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	change := func(resource schema.GroupVersionResource, name, patch string, sub ...string) error {
		in := dynamic.ResourceInterface(worker.Resource(resource))
		if resource == binding {
			in = worker.Resource(resource).Namespace("default")
		}
		_, err := in.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, sub...)
		return err
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) { // the API server reads a policy a moment later
		require.ErrorContains(c, change(binding, "cart", `{"spec":{"replicas":7}}`), "lifeboat-worker-fields")
	}, patience, 50*time.Millisecond)
	for _, tried := range []struct{ patch, refusal string }{
		{patch: `{"spec":{"suspension":{"dispatching":true}}}`, refusal: "may change no such field"},
		{patch: `{"spec":{"resource":{"name":"other"}}}`, refusal: "may change no such field"},
		{patch: `{"spec":{"replicas":null}}`, refusal: "may remove no such field"},
		{patch: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"gone","uid":"00000000-0000-0000-0000-000000000000"}]}}`, refusal: "no such metadata"},
		{patch: `{"metadata":{"finalizers":null}}`, refusal: "no such metadata"},
		{patch: `{"metadata":{"labels":{"app":"other"}}}`, refusal: "no such metadata"},
		{patch: `{"metadata":{"annotations":{"kept":null}}}`, refusal: "no such annotation"},
		{patch: `{"metadata":{"annotations":{"kept":"other"}}}`, refusal: "no such annotation"},
		{patch: `{"metadata":{"annotations":{"failover.lifeboat.dev/enabled":"false"}}}`, refusal: "no such annotation"},
		{patch: `{"metadata":{"annotations":null}}`, refusal: "no such annotation"},
	} {
		require.ErrorContains(t, change(binding, "cart", tried.patch), tried.refusal, tried.patch)
	}
	for _, tried := range []struct{ patch, refusal string }{
		{patch: `{"spec":{"apiEndpoint":"https://elsewhere"}}`, refusal: "may change no such field"},
		{patch: `{"spec":{"secretRef":{"namespace":"a","name":"b"}}}`, refusal: "may change no such field"},
		{patch: `{"metadata":{"finalizers":["example.com/more"]}}`, refusal: "no such metadata"},
		{patch: `{"metadata":{"annotations":{"more":"x"}}}`, refusal: "no such annotation"},
	} {
		require.ErrorContains(t, change(cluster, "member1", tried.patch), tried.refusal, tried.patch)
	}
	for resource, name := range map[schema.GroupVersionResource]string{binding: "cart", cluster: "member1"} {
		require.True(t, apierrors.IsForbidden(change(resource, name, `{"status":{"conditions":[]}}`, "status")), "status of %s", name)
	}
	require.NoError(t, change(binding, "cart", `{"spec":{"clusters":[],"rescheduleTriggeredAt":"2026-01-02T03:04:05Z",`+
		`"gracefulEvictionTasks":[{"fromCluster":"member1","producer":"Lifeboat","reason":"TaintUntolerated","suppressDeletion":true}]}}`))
	own := []byte(`{"metadata":{"annotations":{"failover.lifeboat.dev/stopped-by":"x"}}}`)
	stands, err := l.dynamic.Resource(cluster).Patch(t.Context(), "member1", types.MergePatchType, own, metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, change(cluster, "member1", `{"metadata":{"resourceVersion":"`+stands.GetResourceVersion()+`",`+
		`"annotations":{"failover.lifeboat.dev/drained-by":"x","failover.lifeboat.dev/stopped-by":null}},`+
		`"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`))
}

// admit asks whether a pod of a template would be let in.
func (l *lab) admit(t *testing.T, spec corev1.PodSpec) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trial", Namespace: namespace}, Spec: spec}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := l.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
