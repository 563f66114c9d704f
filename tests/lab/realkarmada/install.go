package realkarmada

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/manifests"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"
)

// install starts Karmada's control plane on the lab's API server, in the order of its own installer.
func (c *ControlPlane) install(ctx context.Context) error {
	ca, err := os.ReadFile(c.credential("ca.crt"))
	if err != nil {
		return err
	}
	bundle := base64.StdEncoding.EncodeToString(ca)
	var group errgroup.Group
	group.Go(func() error { return c.startNamespaceController(ctx) })
	group.Go(func() error { return c.startAggregated(ctx, bundle) })
	group.Go(func() error { return c.startWebhook(ctx, bundle) })
	if err := group.Wait(); err != nil {
		return err
	}
	return c.startControllers(ctx)
}

func (c *ControlPlane) credential(name string) string {
	return filepath.Join(c.o.Servers.Credentials(), name)
}

// startNamespaceController starts the controllers of Kubernetes that Karmada's API server needs.
func (c *ControlPlane) startNamespaceController(ctx context.Context) error {
	_, err := c.o.Servers.Add(ctx, server.Child{
		Name: "kube-controller-manager", Binary: c.binary("kube-controller-manager"),
		Args: func([]int) []string {
			return []string{
				"--kubeconfig=" + c.o.Kubeconfig, "--secure-port=0", "--leader-elect=false", "--v=1",
				"--controllers=namespace,garbagecollector,clusterrole-aggregation", "--kube-api-qps=500", "--kube-api-burst=1000",
			}
		},
	})
	return err
}

func (c *ControlPlane) startAggregated(ctx context.Context, bundle string) error {
	if err := c.apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: karmada-system}\n---\n"+
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: karmada-cluster}\n"); err != nil {
		return err
	}
	ports, err := c.o.Servers.Add(ctx, server.Child{
		Name: aggregated, Binary: c.binary(aggregated), Ports: 1,
		Args: func(ports []int) []string {
			return []string{
				"--kubeconfig=" + c.o.Kubeconfig, "--authentication-kubeconfig=" + c.o.Kubeconfig, "--authorization-kubeconfig=" + c.o.Kubeconfig,
				"--etcd-servers=" + c.o.Servers.EtcdURL, "--etcd-prefix=/karmada-aggregated",
				"--tls-cert-file=" + c.credential("apiserver.crt"), "--tls-private-key-file=" + c.credential("apiserver.key"),
				"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--audit-log-path=", "--v=1",
			}
		},
	})
	if err != nil {
		return err
	}
	if err := c.apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: karmada-aggregated-apiserver, namespace: karmada-system}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.cluster.karmada.io}
spec:
  caBundle: %s
  group: cluster.karmada.io
  groupPriorityMinimum: 2000
  versionPriority: 10
  version: v1alpha1
  service: {name: karmada-aggregated-apiserver, namespace: karmada-system, port: %d}
`, bundle, ports[0])); err != nil {
		return err
	}
	return c.served(ctx, "cluster.karmada.io/v1alpha1")
}

// startWebhook starts Karmada's webhook and installs the CRDs, whose conversion it serves.
func (c *ControlPlane) startWebhook(ctx context.Context, bundle string) error {
	folder := filepath.Join(c.o.Dir, "webhook")
	if err := copyAs(folder, map[string]string{"tls.crt": c.credential("apiserver.crt"), "tls.key": c.credential("apiserver.key")}); err != nil {
		return err
	}
	// It watches the CRDs of its own API, and does not serve without them.
	ports, err := c.o.Servers.Add(ctx, server.Child{
		Name: karmadaWebhook, Binary: c.binary(karmadaWebhook), Ports: 3,
		Args: func(ports []int) []string {
			return []string{
				"--kubeconfig=" + c.o.Kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--cert-dir=" + folder,
				fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[1]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[2]),
				"--allow-no-execute-taint-policy=true", "--v=2",
			}
		},
	})
	if err != nil {
		return err
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	if err := c.installCRDs(ctx, address, bundle); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(c.o.Bin, "manifests", "webhook-configuration.yaml"))
	if err != nil {
		return err
	}
	return c.apply(ctx, filled(string(text), "https://karmada-webhook.karmada-system.svc:443", address, bundle))
}

func filled(text, service, address, bundle string) string {
	return strings.NewReplacer(service, address, "{{caBundle}}", bundle).Replace(text)
}

func (c *ControlPlane) installCRDs(ctx context.Context, address, bundle string) error {
	folder := filepath.Join(c.o.Dir, "crds")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(c.o.Bin, "manifests", "crds"))); err != nil {
		return fmt.Errorf("copy CRDs: %w", err)
	}
	patches, err := filepath.Glob(filepath.Join(folder, "patches", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range patches {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(filled(string(text), "https://{{name}}.{{namespace}}.svc:443", address, bundle)), 0o600); err != nil {
			return err
		}
	}
	rendered, err := exec.CommandContext(ctx, c.binary("kubectl"), "kustomize", folder).Output()
	if err != nil {
		return fmt.Errorf("render Karmada's CRDs: %w", err)
	}
	if err := c.apply(ctx, string(rendered)); err != nil {
		return err
	}
	for _, group := range []string{"work.karmada.io/v1alpha2", "work.karmada.io/v1alpha1", "policy.karmada.io/v1alpha1", "apps.karmada.io/v1alpha1"} {
		if err := c.served(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// served waits until the API server serves a group and version.
func (c *ControlPlane) served(ctx context.Context, groupVersion string) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	var last error
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		_, last = client.ServerResourcesForGroupVersion(groupVersion)
		return last == nil, nil
	}); err != nil {
		return fmt.Errorf("wait until %s is served: %w", groupVersion, last)
	}
	return nil
}

// apply applies YAML, again and again while parts of Karmada are still coming up.
func (c *ControlPlane) apply(ctx context.Context, text string) error {
	objects, err := manifests.Decode([]byte(text))
	if err != nil {
		return err
	}
	return again(ctx, func() error {
		copies := make([]*unstructured.Unstructured, len(objects))
		for i, o := range objects {
			copies[i] = o.DeepCopy()
		}
		return manifests.ApplyObjects(ctx, c.config, copies)
	})
}

// again does something until it succeeds, or startTimeout has passed.
func again(ctx context.Context, do func() error) error {
	var last error
	if err := wait.PollUntilContextTimeout(ctx, 300*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		last = do()
		return last == nil, nil
	}); err != nil {
		return fmt.Errorf("%w (%w)", last, err)
	}
	return nil
}

// copyAs copies files into a new folder, under other names.
func copyAs(folder string, files map[string]string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, from := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// stages is the file that says how kwok plays nodes and pods.
func (c *ControlPlane) stages() string { return filepath.Join(c.o.Dir, "kwok-stages.yaml") }

// writeStages writes kwok's own fast stages, in which a pod gets ready when its annotation says.
func (c *ControlPlane) writeStages() error {
	all, err := manifests.Load([]string{filepath.Join(c.o.Bin, "manifests", "kwok")})
	if err != nil {
		return err
	}
	var documents []string
	for _, stage := range all {
		if stage.GetName() == "pod-ready" {
			delay := map[string]any{"durationMilliseconds": int64(0), "durationFrom": map[string]any{
				"expressionFrom": fmt.Sprintf(".metadata.annotations[%q]", api.FaultReadyAfter),
			}}
			if err := unstructured.SetNestedMap(stage.Object, delay, "spec", "delay"); err != nil {
				return err
			}
		}
		document, err := yaml.Marshal(stage.Object)
		if err != nil {
			return err
		}
		documents = append(documents, string(document))
	}
	return os.WriteFile(c.stages(), []byte(strings.Join(documents, "---\n")), 0o600)
}

// specOf is the spec of a binding's resource template, nil for kinds that need none.
func specOf(b *unstructured.Unstructured, kind, name string, slots bool) map[string]any {
	switch kind {
	case "Deployment", "StatefulSet":
		return podsOf(b, slots)
	case "Job":
		return jobOf(b)
	case "CustomResourceDefinition":
		return definitionOf(name)
	case "PersistentVolumeClaim":
		return map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}
	case "Service":
		return map[string]any{"selector": map[string]any{"app": name}, "ports": []any{map[string]any{"port": int64(80)}}}
	}
	return nil
}

// jobOf is a Job that has nothing to do and completes at once. One that is said to be ready after
// some time has a pod for which there is no node: it runs for ever.
func jobOf(b *unstructured.Unstructured) map[string]any {
	pods, node := int64(0), map[string]any{}
	if _, runs := b.GetAnnotations()[api.FaultReadyAfter]; runs {
		pods, node = 1, map[string]any{"lab.lifeboat.dev/no-such-node": ""}
	}
	return map[string]any{
		"parallelism": pods, "completions": pods,
		"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "nodeSelector": node,
			"containers": []any{map[string]any{"name": "main", "image": "fake"}},
		}},
	}
}

// definitionOf is a CustomResourceDefinition of that name, "<plural>.<group>".
func definitionOf(name string) map[string]any {
	plural, group, _ := strings.Cut(name, ".")
	return map[string]any{
		"group": group, "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "kind": strings.ToUpper(plural[:1]) + plural[1:]},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}},
	}
}
