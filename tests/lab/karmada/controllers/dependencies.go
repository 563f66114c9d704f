package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// dependencyEvents wake the dependencies-distributor: whatever happens to a parent concerns its dependents.
func (p *Plane) dependencyEvents() cache.ResourceEventHandler {
	return events(func(old, current *api.Binding) {
		b := current
		if b == nil {
			b = old
		}
		if b.Kind != api.KindClusterResourceBinding && (b.Spec.PropagateDeps || old != nil && old.Spec.PropagateDeps) {
			p.dependencies.add(b.Ref())
		}
	})
}

// distribute makes the bindings of a parent's dependents say where the parent runs: in spec.clusters, and
// nowhere else. Eviction tasks of the parent are not looked at, so a dependent leaves at once.
func (p *Plane) distribute(ctx context.Context, ref string) (time.Duration, error) {
	_, namespace, name := api.SplitRef(ref)
	parent := p.store.binding(ref)
	wanted := map[string]api.ObjectReference{}
	if parent != nil && parent.DeletionTimestamp == nil && parent.Spec.PropagateDeps {
		for _, d := range dependenciesOf(parent) {
			wanted[bindingName(d)] = d
		}
	}
	var problems []error
	for _, b := range p.allBindings() {
		if b.Kind == api.KindClusterResourceBinding || b.Namespace != namespace || b.DeletionTimestamp != nil {
			continue
		}
		var entry *api.RequiredBy
		if _, needs := wanted[b.Name]; needs {
			entry = &api.RequiredBy{Namespace: namespace, Name: name, Clusters: parent.Spec.Clusters}
			delete(wanted, b.Name)
		}
		problems = append(problems, p.require(ctx, b, name, entry))
	}
	for attached, resource := range wanted {
		problems = append(problems, p.attach(ctx, parent, attached, resource))
	}
	return 0, errors.Join(problems...)
}

// dependenciesOf reads the list that Karmada's interpreter would have written on the parent: the
// laboratory has no templates to interpret, so a test writes it.
func dependenciesOf(parent *api.Binding) []api.ObjectReference {
	var listed []api.ObjectReference
	if json.Unmarshal([]byte(parent.Annotations[api.AnnotationDependencies]), &listed) != nil {
		return nil
	}
	return listed
}

// bindingName is the name that Karmada gives the binding of a resource.
func bindingName(r api.ObjectReference) string {
	return strings.ReplaceAll(strings.ToLower(r.Name+"-"+r.Kind), ":", ".")
}

// require makes one entry of requiredBy stand, or go when it is nil.
func (p *Plane) require(ctx context.Context, b *api.Binding, parent string, entry *api.RequiredBy) error {
	next := slices.DeleteFunc(slices.Clone(b.Spec.RequiredBy), func(r api.RequiredBy) bool {
		return r.Name == parent && r.Namespace == b.Namespace
	})
	if entry != nil {
		next = append(next, *entry)
	}
	slices.SortFunc(next, func(x, y api.RequiredBy) int { return strings.Compare(x.Name, y.Name) })
	if reflect.DeepEqual(next, b.Spec.RequiredBy) || len(next) == 0 && len(b.Spec.RequiredBy) == 0 {
		return nil
	}
	_, err := mergePatch(ctx, p.bindingClient(b), b.Name, object{
		"metadata": object{"resourceVersion": b.ResourceVersion}, "spec": object{"requiredBy": next},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// attach makes the binding of a dependent that has no policy of its own: without placement, so that no
// scheduler ever looks at it.
func (p *Plane) attach(ctx context.Context, parent *api.Binding, name string, resource api.ObjectReference) error {
	entry := api.RequiredBy{Namespace: parent.Namespace, Name: parent.Name, Clusters: parent.Spec.Clusters}
	content, err := json.Marshal(object{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": api.KindResourceBinding,
		"metadata": object{
			"namespace": parent.Namespace, "name": name,
			"labels": object{api.LabelBindingID: string(uuid.NewUUID())},
		},
		"spec": object{
			"resource": object{
				"apiVersion": resource.APIVersion, "kind": resource.Kind, "namespace": parent.Namespace, "name": resource.Name,
			},
			"requiredBy": []api.RequiredBy{entry},
		},
	})
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		return err
	}
	_, err = p.client.Resource(api.ResourceBindings).Namespace(parent.Namespace).Create(ctx, u, metav1.CreateOptions{})
	return err
}
