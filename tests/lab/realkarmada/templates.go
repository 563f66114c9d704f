package realkarmada

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/webhook"
)

// templates are the kinds of resource template that the lab makes for bindings.
var templates = map[string]schema.GroupVersionResource{
	"Deployment":  {Group: "apps", Version: "v1", Resource: "deployments"},
	"StatefulSet": {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"ConfigMap":   {Version: "v1", Resource: "configmaps"},
	"ClusterRole": {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	"Job":         {Group: "batch", Version: "v1", Resource: "jobs"},
	"Namespace":   {Version: "v1", Resource: "namespaces"},
	"Service":     {Version: "v1", Resource: "services"},

	"PersistentVolumeClaim":    {Version: "v1", Resource: "persistentvolumeclaims"},
	"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
}

// bindingRef names a binding in the queue.
type bindingRef struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// playTemplates gives each binding the resource template that it names, and has its faults hold.
// A new binding gets its template before Karmada sees it: the binding controller does not come back
// to a binding without one.
func (c *ControlPlane) playTemplates() error {
	var err error
	if c.webhook, err = webhook.StartForBindings(c.ctx, c.config, c.o.Logger, c.admitBinding); err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[bindingRef]())
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.client, 0)
	for _, resource := range []schema.GroupVersionResource{api.ResourceBindings, api.ClusterResourceBindings} {
		enqueue := func(o any) {
			if u, ok := o.(*unstructured.Unstructured); ok {
				queue.Add(bindingRef{resource, u.GetNamespace(), u.GetName()})
			}
		}
		_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(before, now any) {
				was, ok := before.(*unstructured.Unstructured)
				is, also := now.(*unstructured.Unstructured)
				if ok && also && !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) {
					enqueue(now)
				}
			},
			DeleteFunc: func(o any) { c.deleteTemplate(o) },
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
	}
	c.works = factory.ForResource(api.Works).Lister()
	factory.Start(c.ctx.Done())
	factory.WaitForCacheSync(c.ctx.Done())
	c.tasks.Go(func() { <-c.ctx.Done(); queue.ShutDown() })
	c.tasks.Go(func() {
		for {
			ref, over := queue.Get()
			if over {
				return
			}
			if err := c.playTemplate(c.ctx, ref); err != nil {
				c.o.Logger.Warn("template not made, will retry", "binding", ref.namespace+"/"+ref.name, "error", err)
				queue.AddRateLimited(ref)
			} else {
				queue.Forget(ref)
			}
			queue.Done(ref)
		}
	})
	return nil
}

// workUID is the uid of a Work by "namespace/name", empty where there is none.
func (c *ControlPlane) workUID(ref string) string {
	namespace, name, _ := strings.Cut(ref, "/")
	object, err := c.works.ByNamespace(namespace).Get(name)
	if err != nil {
		return ""
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		return string(u.GetUID())
	}
	return ""
}

func (c *ControlPlane) playTemplate(ctx context.Context, ref bindingRef) error {
	b, err := c.client.Resource(ref.resource).Namespace(ref.namespace).Get(ctx, ref.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	template, err := c.provide(ctx, b)
	if err != nil || template == "" {
		return err
	}
	// As Karmada's detector does after a change of a template: the binding controller follows that.
	_, err = api.MergePatch(ctx, c.client.Resource(ref.resource).Namespace(ref.namespace), ref.name, map[string]any{
		"spec": map[string]any{"resource": map[string]any{"resourceVersion": template}},
	})
	return err
}

// admitBinding makes a new binding's template, and gives it the label without which Karmada's
// scheduler does not look at a binding.
func (c *ControlPlane) admitBinding(ctx context.Context, request *admissionv1.AdmissionRequest) ([]webhook.Patch, error) {
	if request.DryRun != nil && *request.DryRun {
		return nil, nil
	}
	b := &unstructured.Unstructured{}
	if err := json.Unmarshal(request.Object.Raw, &b.Object); err != nil {
		return nil, fmt.Errorf("decode binding: %w", err)
	}
	if _, err := c.provide(ctx, b); err != nil {
		c.o.Logger.Warn("template not made", "binding", b.GetNamespace()+"/"+b.GetName(), "error", err)
	}
	if placement, _, _ := unstructured.NestedMap(b.Object, "spec", "placement"); placement == nil {
		return nil, nil // an attached binding: it follows its parents
	}
	labels := map[string]string{}
	maps.Copy(labels, b.GetLabels())
	labels["propagationpolicy.karmada.io/permanent-id"] = "lab"
	return []webhook.Patch{{Op: "add", Path: "/metadata/labels", Value: labels}}, nil
}

// provide makes a binding's template, and has members hold back what it says. It returns the
// version of a template that it changed.
func (c *ControlPlane) provide(ctx context.Context, b *unstructured.Unstructured) (changed string, err error) {
	stuck, isStuck := stuckIn(b.GetAnnotations())
	if isStuck || c.isRationed(slotOf(b)) {
		if err := c.ration(ctx, slotOf(b), stuck); err != nil {
			return "", err
		}
	}
	template, resource := templateOf(b, isStuck)
	if template == nil {
		return "", nil
	}
	for _, name := range configMapsOf(b) {
		needed := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		needed.SetName(name)
		needed.SetNamespace(b.GetNamespace())
		if err := c.create(ctx, templates["ConfigMap"], needed); err != nil {
			return "", err
		}
	}
	if err := c.create(ctx, resource, template); err != nil {
		return "", err
	}
	return c.label(ctx, resource, template)
}

// stuckIn are the members that keep some or all pods from running: "member2=1,member3=0".
func stuckIn(annotations map[string]string) (stuck string, is bool) {
	stuck, is = annotations[api.FaultStuckReadyAt]
	never, isNever := annotations[api.FaultNeverReadyOn]
	for name := range strings.SplitSeq(never, ",") {
		stuck += "," + name + "=0"
	}
	return stuck, is || isNever
}

// label sets the labels of a template that was there before, and returns its version if it did.
func (c *ControlPlane) label(ctx context.Context, resource schema.GroupVersionResource, template *unstructured.Unstructured) (changed string, err error) {
	at := c.client.Resource(resource).Namespace(template.GetNamespace())
	standing, err := at.Get(ctx, template.GetName(), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	change := map[string]any{} // Karmada's own labels stay
	for name, value := range template.GetLabels() {
		if standing.GetLabels()[name] != value {
			change[name] = value
		}
	}
	for name := range standing.GetLabels() {
		if _, wanted := template.GetLabels()[name]; !wanted && !strings.Contains(name, "karmada.io/") {
			change[name] = nil
		}
	}
	if len(change) == 0 {
		return "", nil
	}
	after, err := api.MergePatch(ctx, at, template.GetName(), map[string]any{"metadata": map[string]any{"labels": change}})
	if err != nil {
		return "", err
	}
	return after.GetResourceVersion(), nil
}

func (c *ControlPlane) create(ctx context.Context, resource schema.GroupVersionResource, u *unstructured.Unstructured) error {
	_, err := c.client.Resource(resource).Namespace(u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// configMapsOf are the ConfigMaps that a binding's workload needs, as its annotation lists them.
func configMapsOf(b *unstructured.Unstructured) []string {
	var listed []struct{ Kind, Name string }
	if json.Unmarshal([]byte(b.GetAnnotations()["resourcebinding.karmada.io/dependencies"]), &listed) != nil {
		return nil
	}
	var names []string
	for _, d := range listed {
		if d.Kind == "ConfigMap" {
			names = append(names, d.Name)
		}
	}
	return names
}

func (c *ControlPlane) deleteTemplate(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	b, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	template, resource := templateOf(b, false)
	if template == nil {
		return
	}
	err := c.client.Resource(resource).Namespace(template.GetNamespace()).Delete(c.ctx, template.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.o.Logger.Warn("template not deleted", "template", template.GetName(), "error", err)
	}
}

// slotOf is the extended resource that the pods of a binding's workload need one of, where a member
// keeps some of them from running.
func slotOf(b *unstructured.Unstructured) string {
	hash := fnv.New32a()
	hash.Write([]byte(b.GetNamespace() + "/" + b.GetName()))
	return fmt.Sprintf("lab.lifeboat.dev/slot-%08x", hash.Sum32())
}

// templateOf is the resource template of a binding; nil for kinds that the lab does not make.
func templateOf(b *unstructured.Unstructured, slots bool) (*unstructured.Unstructured, schema.GroupVersionResource) {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(b.Object, append([]string{"spec", "resource"}, path...)...)
		return s
	}
	resource, known := templates[text("kind")]
	if !known || text("name") == "" {
		return nil, resource
	}
	t := &unstructured.Unstructured{Object: map[string]any{"apiVersion": text("apiVersion"), "kind": text("kind")}}
	t.SetName(text("name"))
	t.SetNamespace(text("namespace"))
	t.SetLabels(labelsOf(b))
	if text("kind") == "Namespace" {
		// Karmada carries every other Namespace to all clusters, by a Work of its own.
		t.SetLabels(map[string]string{"namespace.karmada.io/skip-auto-propagation": "true"})
	}
	if spec := specOf(b, text("kind"), text("name"), slots); spec != nil {
		t.Object["spec"] = spec
	}
	return t, resource
}

// labelsOf are those that a binding's annotation gives its workload, or the binding's own.
func labelsOf(b *unstructured.Unstructured) map[string]string {
	var labels map[string]string
	if json.Unmarshal([]byte(b.GetAnnotations()[api.TemplateLabels]), &labels) == nil && labels != nil {
		return labels
	}
	return b.GetLabels()
}

func podsOf(b *unstructured.Unstructured, slots bool) map[string]any {
	replicas, _, _ := unstructured.NestedInt64(b.Object, "spec", "replicas")
	requests, _, _ := unstructured.NestedMap(b.Object, "spec", "replicaRequirements", "resourceRequest")
	name, _, _ := unstructured.NestedString(b.Object, "spec", "resource", "name")
	if requests == nil {
		requests = map[string]any{}
	}
	resources := map[string]any{"requests": requests}
	if slots {
		requests[slotOf(b)] = "1"
		resources["limits"] = map[string]any{slotOf(b): "1"}
	}
	labels := map[string]any{"app": name}
	annotations := map[string]any{}
	if after, is := b.GetAnnotations()[api.FaultReadyAfter]; is {
		annotations[api.FaultReadyAfter] = after
	}
	var environment []any // Karmada's interpreter reads dependencies off it
	for _, name := range configMapsOf(b) {
		environment = append(environment, map[string]any{"configMapRef": map[string]any{"name": name}})
	}
	spec := map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels, "annotations": annotations},
			"spec": map[string]any{
				"terminationGracePeriodSeconds": int64(0),
				"containers":                    []any{map[string]any{"name": "main", "image": "fake", "resources": resources, "envFrom": environment}},
			},
		},
	}
	if kind, _, _ := unstructured.NestedString(b.Object, "spec", "resource", "kind"); kind == "StatefulSet" {
		spec["serviceName"] = name
	}
	return spec
}

func (c *ControlPlane) isRationed(slot string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.rationed[slot]
	return is
}

// ration has every member that runs offer plenty of a slot, but for those that are stuck:
// "member2=1,member3=0". A dead member offers it when it is revived.
func (c *ControlPlane) ration(ctx context.Context, slot, stuck string) error {
	c.mu.Lock()
	c.rationed[slot] = stuck
	running := make([]*member, 0, len(c.members))
	for _, m := range c.members {
		if m.alive && m.copies != nil {
			running = append(running, m)
		}
	}
	c.mu.Unlock()
	for _, m := range running {
		if err := m.offer(ctx, slot, stuck); err != nil {
			return err
		}
	}
	return nil
}

// offerAll has a member that was started or revived offer every slot.
func (c *ControlPlane) offerAll(ctx context.Context, m *member) error {
	c.mu.Lock()
	rationed := maps.Clone(c.rationed)
	c.mu.Unlock()
	for slot, stuck := range rationed {
		if err := m.offer(ctx, slot, stuck); err != nil {
			return err
		}
	}
	return nil
}

// offer sets how much of a slot a member's node has.
func (m *member) offer(ctx context.Context, slot, stuck string) error {
	count := strconv.Itoa(plenty)
	for item := range strings.SplitSeq(stuck, ",") {
		if name, few, found := strings.Cut(item, "="); found && name == m.spec.Name {
			count = few
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"capacity": map[string]any{slot: count}, "allocatable": map[string]any{slot: count},
	}})
	if err != nil {
		return err
	}
	_, err = m.client.CoreV1().Nodes().Patch(ctx, m.nodeName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("offer %s of %s on %s: %w", count, slot, m.spec.Name, err)
	}
	return nil
}
