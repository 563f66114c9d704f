package deploy

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const managerFlags = "--feature-gates=Failover=true"

// Every block of the quickstart is played in its order, with a real kubectl, on two API
// servers: one is Karmada's, one the host cluster's. The pods run as the host cluster has
// them, with the Secrets that the guide makes.
func TestQuickstart_BlockByBlock(t *testing.T) {
	t.Parallel()
	g := newGuide(t)

	said := g.play("1. Check without writing", 0, 4)
	var failed []string
	for _, found := range regexp.MustCompile(`(?m)^(?:failed|unknown) +(.+?) {2,}`).FindAllStringSubmatch(said, -1) {
		failed = append(failed, found[1])
	}
	require.ElementsMatch(t, []string{
		"Read clustertaintrules", "Watch clustertaintrules", "Watch everything", "Karmada definitions", "Plan",
		"Temporal namespace quickstart", "Temporal search attributes",
	}, failed, "the guide says what fails before setup:\n%s", said)

	g.play("2. Create the accounts", 0, 0)
	in, err := g.karmada.client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "true", in.Labels["namespace.karmada.io/skip-auto-propagation"])
	require.False(t, g.mayAct(), "who observes is granted nothing to act with")

	for range 2 { // it can be repeated
		g.play("3. Create the Secrets", 0, 0)
	}
	for _, name := range sources {
		s, err := g.host.client.CoreV1().Secrets(namespace).Get(t.Context(), "lifeboat-"+name+"-karmada", metav1.GetOptions{})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"token", "kubeconfig"}, slices.Collect(maps.Keys(s.Data)))
	}
	g.replace("deploy/kustomize/base/temporal.toml", "temporal-frontend.temporal.svc:7233", g.karmada.at.TemporalAddress)
	g.replace("deploy/kustomize/base/temporal.toml", `"lifeboat"`, `"quickstart"`)
	// Nothing here is about how long a drain waits for a source that answers.
	g.replace("deploy/kustomize/base/lifeboat.yaml", "log:\n", "health: {detection: 8s, minHealthy: 2s, pollInterval: 5s}\nlog:\n")
	g.play("4. Start the pods", 0, 0)
	g.runPods()
	g.karmada.awaitLeader(t)

	g.play("5. Observe", 0, 0)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.Contains(c, g.play("5. Observe", 1, 0), "shop/cart-deployment")
	}, patience, time.Second)
	require.Contains(t, g.flags(), managerFlags, "Karmada's failover is on for as long as Lifeboat observes")
	require.False(t, g.mayAct())

	g.play("6. Turn Karmada's evictions off", 0, 0)
	require.NotContains(t, g.flags(), managerFlags)
	g.play("7. Enforce", 0, 0)
	require.True(t, g.mayAct())
	g.play("7. Enforce", 1, 0)
	g.runPods()
	g.play("7. Enforce", 2, 0)
	g.onlyWhereItBelongs()

	g.play("Going back", 0, 0)
	g.runPods()
	g.stopPods()
	g.play("Going back", 1, 0)
	g.nothingIsLeft()
	for _, name := range sources {
		require.FileExists(t, filepath.Join(g.folder, name, "main.go"))
	}
	require.NoDirExists(t, filepath.Join(g.folder, "secrets"))
}

// sources are folders of the checkout that have the names of the programs.
var sources = []string{"controller", "worker"}

// guide is a desk with what the quickstart asks for: a checkout, two kubeconfigs, programs.
type guide struct {
	*testing.T
	karmada, host *lab
	folder        string
	blocks        map[string][]string // by heading
	pods          []*running
}

func newGuide(t *testing.T) *guide {
	g := &guide{T: t, karmada: startLab(t, "--members", "2"), host: startLab(t), folder: t.TempDir(), blocks: map[string][]string{}}
	raw, err := os.ReadFile("../../docs/quickstart.md")
	require.NoError(t, err)
	heading := ""
	for i, part := range strings.Split(string(raw), "\n```") {
		if i%2 == 1 {
			g.blocks[heading] = append(g.blocks[heading], strings.TrimPrefix(part, "\n"))
		} else if found := regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(part, -1); found != nil {
			heading = found[len(found)-1][1]
		}
	}
	require.NoError(t, os.CopyFS(filepath.Join(g.folder, "deploy"), os.DirFS(folder)))
	for _, name := range sources {
		require.NoError(t, os.MkdirAll(filepath.Join(g.folder, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(g.folder, name, "main.go"), nil, 0o600))
	}
	for name, from := range map[string]*lab{"karmada": g.karmada, "host": g.host} {
		config, err := os.ReadFile(from.at.Kubeconfig)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(g.folder, name+".kubeconfig"), config, 0o600))
	}
	// Nobody is at a terminal, and no controller of a namespace is there to wait for.
	g.program("lifeboat", `case "$*" in *--reason*) set -- "$@" --yes;; esac; exec `+binary(t, "lifeboat")+` "$@"`)
	g.program("kubectl", `if [ "$1" = delete ]; then set -- "$@" --wait=false; fi; exec `+binary(t, "kubectl")+` "$@"`)
	g.program("editor", `exec sed -i -e 's/Failover=true/Failover=false/' -e 's/eviction=true/eviction=false/' `+
		`-e 's/manager=true/manager=false/' -e 's/controllers=\*/&,-gracefulEviction,-applicationFailover,-clustertaintpolicy/' "$1"`)
	g.world()
	return g
}

func (g *guide) program(name, script string) {
	file := filepath.Join(g.folder, "path", name)
	require.NoError(g, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(g, os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // it is to be run
}

// world is a workload in Karmada, and Karmada's controller manager on the host cluster.
func (g *guide) world() {
	for l, name := range map[*lab]string{g.karmada: "shop", g.host: "karmada-system"} {
		_, err := l.client.CoreV1().Namespaces().Create(g.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.True(g, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	}
	labels := map[string]string{"app": "karmada-controller-manager"}
	_, err := g.host.client.AppsV1().Deployments("karmada-system").Create(g.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: labels["app"]},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: labels["app"], Image: labels["app"], Command: []string{
				"/bin/karmada-controller-manager", managerFlags, "--enable-taint-manager=true", "--enable-no-execute-taint-eviction=true", "--controllers=*",
			}}}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(g, err)
	binding := schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	_, err = g.karmada.dynamic.Resource(binding).Namespace("shop").Create(g.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": map[string]any{
			"name": "cart-deployment", "labels": map[string]any{"propagationpolicy.karmada.io/permanent-id": "cart"},
		},
		"spec": map[string]any{
			"resource": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "cart"},
			"replicas": int64(2), "schedulerName": "default-scheduler", "clusters": []any{map[string]any{"name": "member1", "replicas": int64(2)}},
			"placement": map[string]any{
				"clusterAffinity":   map[string]any{"clusterNames": []any{"member1", "member2"}},
				"replicaScheduling": map[string]any{"replicaSchedulingType": "Duplicated"},
				"spreadConstraints": []any{map[string]any{"spreadByField": "cluster", "minGroups": int64(1), "maxGroups": int64(1)}},
			},
		},
	}}, metav1.CreateOptions{})
	require.NoError(g, err)
}

// play runs a block in a shell that stops at the first failure, and is what it says.
func (g *guide) play(heading string, at, exit int) string {
	require.Greater(g, len(g.blocks[heading]), at, "the guide has no such block: %s", heading)
	exports := strings.NewReplacer("temporal-frontend:7233", g.karmada.at.TemporalAddress, "NAMESPACE=lifeboat", "NAMESPACE=quickstart").
		Replace(g.blocks[""][0])
	cmd := exec.CommandContext(g.Context(), "bash", "-ec", exports+"\n"+g.blocks[heading][at]) //nolint:gosec // a guide of this repository
	cmd.Dir = g.folder
	cmd.Env = []string{
		"HOME=" + g.folder, "USER=jane", "KUBE_EDITOR=" + filepath.Join(g.folder, "path", "editor"),
		"PATH=" + filepath.Join(g.folder, "path") + ":" + os.Getenv("PATH"),
	}
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		require.NoError(g, err)
	}
	require.Equal(g, exit, cmd.ProcessState.ExitCode(), "%s:\n%s\n%s", heading, g.blocks[heading][at], out)
	return string(out)
}

func (g *guide) replace(file, old, with string) {
	file = filepath.Join(g.folder, file)
	raw, err := os.ReadFile(file)
	require.NoError(g, err)
	require.Contains(g, string(raw), old)
	require.NoError(g, os.WriteFile(file, []byte(strings.ReplaceAll(string(raw), old, with)), 0o600))
}

// runPods runs the pods as the host cluster has them now, in place of those that run.
func (g *guide) runPods() {
	g.stopPods()
	for _, program := range []string{"worker", "controller"} {
		d, err := g.host.client.AppsV1().Deployments(namespace).Get(g.Context(), "lifeboat-"+program, metav1.GetOptions{})
		require.NoError(g, err)
		p := pod{Deployment: *d, container: d.Spec.Template.Spec.Containers[0]}
		g.pods = append(g.pods, start(g.T, p, g.files(p)))
	}
	for _, r := range g.pods {
		r.ready(g.T)
	}
}

func (g *guide) stopPods() {
	for _, r := range g.pods {
		r.stop(g.T)
	}
	g.pods = nil
}

// files are what a kubelet would mount.
func (g *guide) files(p pod) map[string]string {
	files := map[string]string{}
	for _, mount := range p.container.VolumeMounts {
		for _, v := range p.Spec.Template.Spec.Volumes {
			switch {
			case v.Name != mount.Name:
			case v.ConfigMap != nil:
				m, err := g.host.client.CoreV1().ConfigMaps(namespace).Get(g.Context(), v.ConfigMap.Name, metav1.GetOptions{})
				require.NoError(g, err)
				for name, content := range m.Data {
					files[mount.MountPath+"/"+name] = content
				}
			case v.Secret != nil:
				s, err := g.host.client.CoreV1().Secrets(namespace).Get(g.Context(), v.Secret.SecretName, metav1.GetOptions{})
				require.NoError(g, err)
				for name, content := range s.Data {
					files[mount.MountPath+"/"+name] = string(content)
				}
			}
		}
	}
	return files
}

// mayAct tells whether the worker has been granted the rights of enforce.
func (g *guide) mayAct() bool {
	_, err := g.karmada.client.RbacV1().ClusterRoleBindings().Get(g.Context(), "lifeboat-worker-act", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	require.NoError(g, err)
	return true
}

func (g *guide) flags() []string {
	d, err := g.host.client.AppsV1().Deployments("karmada-system").Get(g.Context(), "karmada-controller-manager", metav1.GetOptions{})
	require.NoError(g, err)
	return d.Spec.Template.Spec.Containers[0].Command
}

// onlyWhereItBelongs: no pod and no Secret in Karmada, no right on the host cluster.
func (g *guide) onlyWhereItBelongs() {
	deployments, err := g.karmada.client.AppsV1().Deployments(metav1.NamespaceAll).List(g.Context(), metav1.ListOptions{})
	require.NoError(g, err)
	require.Empty(g, deployments.Items)
	secrets, err := g.karmada.client.CoreV1().Secrets(namespace).List(g.Context(), metav1.ListOptions{})
	require.NoError(g, err)
	require.Empty(g, secrets.Items)
	roles, err := g.host.client.RbacV1().ClusterRoles().List(g.Context(), metav1.ListOptions{})
	require.NoError(g, err)
	for _, role := range roles.Items {
		require.NotContains(g, role.Name, "lifeboat")
	}
}

// nothingIsLeft: what the guide has made is gone, or going where no controller ends it.
func (g *guide) nothingIsLeft() {
	require.False(g, g.mayAct())
	crd := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	require.EventuallyWithT(g, func(c *assert.CollectT) {
		_, err := g.karmada.dynamic.Resource(crd).Get(g.Context(), "clustertaintrules.failover.lifeboat.dev", metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), "%v", err)
	}, patience, 100*time.Millisecond)
	for _, l := range []*lab{g.karmada, g.host} {
		ns, err := l.client.CoreV1().Namespaces().Get(g.Context(), namespace, metav1.GetOptions{})
		require.NoError(g, err)
		require.NotNil(g, ns.DeletionTimestamp)
	}
	deployments, err := g.host.client.AppsV1().Deployments(namespace).List(g.Context(), metav1.ListOptions{})
	require.NoError(g, err)
	require.Empty(g, deployments.Items)
}
