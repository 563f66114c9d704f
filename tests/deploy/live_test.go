package deploy

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A real kube-apiserver takes everything, and has nothing to remark: no deprecated
// version, no unknown field, nothing that Pod Security's restricted level forbids.
//
// Then both programs run as the pods say, as the accounts that were made in Karmada, with
// the roles that were granted: the roles of observe are enough to observe, and not to
// act; those of enforce are.
func TestARealAPIServerTakesItAndTheProgramsRun(t *testing.T) {
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
		for _, program := range []string{"starter", "worker"} {
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
	observing := []*running{l.run(t, podOf(t, base, "worker")), l.run(t, podOf(t, base, "starter"))}
	for _, program := range observing {
		program.ready(t)
	}
	l.awaitLeader(t)
	for _, program := range observing {
		program.stop(t)
	}
	for _, program := range []string{"worker", "starter"} {
		said := l.run(t, podOf(t, example, program)).refusal(t)
		require.Contains(t, said, "create events", "%s: the roles of observe are no roles to act", program)
	}
	l.apply(t, "karmada", kustomized(t, "karmada/enforce"))
	for _, program := range []string{"worker", "starter"} {
		acting := l.run(t, podOf(t, example, program))
		acting.ready(t)
		acting.stop(t)
	}
}

// admit asks whether a pod of a template would be let in.
func (l *lab) admit(t *testing.T, spec corev1.PodSpec) error {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trial", Namespace: namespace}, Spec: spec}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := l.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
