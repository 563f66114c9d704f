package k8sadapter

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// installation reads what an API server defines, allows and runs, and installs Lifeboat's own
// definitions.
type installation struct{ *requester }

// Undefined names the resources that Lifeboat needs and the API server does not serve.
func (c *installation) Undefined(ctx context.Context) (missing []string, err error) {
	served := map[schema.GroupVersion]*metav1.APIResourceList{}
	for _, r := range []schema.GroupVersionResource{clusterResource, rbResource, crbResource, workResource, ppResource, ruleResource} {
		version := r.GroupVersion()
		if served[version] == nil {
			served[version] = &metav1.APIResourceList{}
			err := c.read(ctx, "/apis/"+version.String(), "the resources of "+version.String(), served[version])
			if err != nil && !errors.Is(err, karmada.ErrGone) { // without such a group it serves none
				return nil, err
			}
		}
		if !slices.ContainsFunc(served[version].APIResources, func(s metav1.APIResource) bool { return s.Name == r.Resource }) {
			missing = append(missing, r.GroupResource().String())
		}
	}
	return missing, nil
}

// read decodes a document, which an error names.
func (c *installation) read(ctx context.Context, path, name string, into any) error {
	raw, err := c.document(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// document reads a path that every user may read, such as /readyz.
func (c *installation) document(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	raw, err := c.rest.Get().MaxRetries(0).AbsPath(path).Do(ctx).Raw()
	if err != nil {
		return nil, classify(request{verb: "get", resource: schema.GroupVersionResource{Resource: path}}, err, 0)
	}
	return raw, nil
}

// PurgeModes are those in Karmada's definition of an eviction task: they differ by release.
// None when the definition lists none.
func (c *installation) PurgeModes(ctx context.Context) ([]string, error) {
	var all struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	path := "/openapi/v3/apis/" + bindingVersion.String()
	if err := c.read(ctx, path, "Karmada's definition of a ResourceBinding", &all); err != nil {
		return nil, err
	}
	for name, definition := range all.Components.Schemas {
		if strings.HasSuffix(name, ".ResourceBinding") {
			modes, _, err := unstructured.NestedStringSlice(definition, "properties", "spec", "properties",
				"gracefulEvictionTasks", "items", "properties", "purgeMode", "enum")
			return modes, err
		}
	}
	return nil, nil
}

// ClusterTaintPolicies are the names of Karmada's own rules; none where it has no such
// definition.
func (c *installation) ClusterTaintPolicies(ctx context.Context) ([]string, error) {
	names, err := listAll(ctx, c.requester, policyResource, func(raw []byte) string {
		_, meta := new(decoding).object(raw) // a malformed one counts
		return meta.Name
	})
	if errors.Is(err, karmada.ErrGone) {
		return nil, nil
	}
	return names, err
}

// ControllerManagerFlags are the command and arguments of a Deployment's containers.
func (c *installation) ControllerManagerFlags(ctx context.Context, namespace, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	d, err := c.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, classify(request{verb: "get", resource: deploymentResource, name: name}, err, 0)
	}
	var flags []string
	for _, container := range d.Spec.Template.Spec.Containers {
		flags = slices.Concat(flags, container.Command, container.Args)
	}
	return flags, nil
}

// SecondEvictor searches all bindings for tasks of Karmada's taint manager. The evidence names
// the first and counts the others; it is empty when there is none.
func (c *installation) SecondEvictor(ctx context.Context) (evidence string, err error) {
	found := 0
	for _, kind := range bindingKinds {
		err := c.each(ctx, request{resource: bindingResource(kind)}, func(raw json.RawMessage) {
			b := DecodeBinding(raw)
			for _, task := range b.Tasks {
				if task.Producer != karmada.TaintManager {
					continue
				}
				if found++; found == 1 {
					evidence = fmt.Sprintf("%s %s carries a task of producer %s for cluster %s",
						kind, b.Key, task.Producer, task.FromCluster)
				}
			}
		})
		if err != nil {
			return "", fmt.Errorf("look for a second evictor: %w", err)
		}
	}
	if found > 1 {
		evidence += fmt.Sprintf(", and %d more such tasks stand", found-1)
	}
	return evidence, nil
}

// Healthy reports whether the API server is ready to serve (GET /readyz).
func (c *installation) Healthy(ctx context.Context) error {
	_, err := c.document(ctx, "/readyz")
	return err
}

//go:embed crds/*.yaml
var definitions embed.FS

// establishedPoll is how often the status of a new definition is read.
const establishedPoll = 200 * time.Millisecond

// Definitions are Lifeboat's own CustomResourceDefinitions.
func Definitions() ([]*unstructured.Unstructured, error) {
	files, err := definitions.ReadDir("crds")
	if err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		definition := &unstructured.Unstructured{}
		raw, err := definitions.ReadFile("crds/" + file.Name())
		if err == nil {
			err = yaml.Unmarshal(raw, &definition.Object)
		}
		if err != nil {
			return nil, fmt.Errorf("read definition %s: %w", file.Name(), err)
		}
		all = append(all, definition)
	}
	return all, nil
}

// InstallCRDs creates or updates Lifeboat's definitions by server-side apply and
// returns when the API server serves them. It may be repeated.
func (c *installation) InstallCRDs(ctx context.Context) error {
	all, err := Definitions()
	if err != nil {
		return err
	}
	for _, definition := range all {
		name := definition.GetName()
		r := request{verb: "patch", resource: crdResource, name: name}
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := c.dynamic.Resource(crdResource).Apply(ctx, name, definition, options); err != nil {
			return fmt.Errorf("install: %w", classify(r, err, 0))
		}
	}
	for _, definition := range all {
		if err := c.awaitEstablished(ctx, definition.GetName()); err != nil {
			return fmt.Errorf("install %s: %w", definition.GetName(), err)
		}
	}
	return nil
}

// awaitEstablished waits until a definition is served, as long as the context allows.
func (c *installation) awaitEstablished(ctx context.Context, name string) error {
	return wait.PollUntilContextCancel(ctx, establishedPoll, true, func(ctx context.Context) (bool, error) {
		raw, err := c.do(ctx, request{verb: "get", resource: crdResource, name: name})
		if err != nil {
			return false, err
		}
		var d decoding
		outline, _ := d.object(raw)
		conditions := d.conditions(d.section("status", outline.Status).fields["conditions"])
		return slices.ContainsFunc(conditions, func(c karmada.Condition) bool {
			return c.Type == "Established" && c.Status == corev1.ConditionTrue
		}), nil
	})
}
