package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

func (p *Plane) bindingEvents() cache.ResourceEventHandler {
	return events(func(_, current *api.Binding) {
		if current == nil || current.Annotations[api.NoWorks] != "" {
			return
		}
		p.binding.addAfter(current.Ref(), p.knobs().BindingLatency.Duration)
		if len(current.Spec.GracefulEvictionTasks) > 0 {
			p.eviction.add(current.Ref())
		}
	})
}

// workEvents: a change of status, or a Work's end, rebuilds the aggregated status; a change of target
// clusters alone does not.
func (p *Plane) workEvents() cache.ResourceEventHandler {
	return events(func(old, current *api.Work) {
		switch {
		case current == nil:
			p.binding.add(old.BindingRef())
			p.bindingStatus.add(old.BindingRef())
		case old == nil:
			p.execution.add(key(current))
			p.bindingStatus.add(current.BindingRef())
		default:
			if current.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
				p.execution.add(key(current))
			} else if current.Generation != old.Generation {
				p.execution.addAfter(key(current), p.knobs().ApplyLatency.Duration)
			}
			if !reflect.DeepEqual(old.Status, current.Status) {
				p.bindingStatus.add(current.BindingRef())
			}
		}
	})
}

func key(w *api.Work) string { return w.Namespace + "/" + w.Name }

// syncWorks makes a binding's Works follow its targets and its eviction tasks.
func (p *Plane) syncWorks(ctx context.Context, ref string) (time.Duration, error) {
	b := p.store.binding(ref)
	if b == nil {
		return 0, nil
	}
	if b.DeletionTimestamp != nil {
		return 0, p.endBinding(ctx, b)
	}
	if err := p.ensureFinalizer(ctx, b); err != nil {
		return 0, err
	}
	works := p.worksOf(ref)
	if err := p.deleteOrphans(ctx, works, keptClusters(b)); err != nil {
		return 0, err
	}
	// Karmada creates nothing while a Work stands where a task says Directly.
	if blockedByDirectly(b, works) {
		return p.knobs().DirectlyRetry.Duration, nil
	}
	var problems []error
	for _, target := range targetClusters(b) {
		problems = append(problems, p.ensureWork(ctx, b, target, works))
	}
	return 0, errors.Join(problems...)
}

// targetClusters are the clusters that get a Work: the schedule result and where parents of a dependent run.
func targetClusters(b *api.Binding) []api.TargetCluster {
	targets := slices.Clone(b.Spec.Clusters)
	for _, parent := range b.Spec.RequiredBy {
		for _, target := range parent.Clusters {
			if !slices.ContainsFunc(targets, func(t api.TargetCluster) bool { return t.Name == target.Name }) {
				targets = append(targets, api.TargetCluster{Name: target.Name, Replicas: b.Spec.Replicas})
			}
		}
	}
	return targets
}

// keptClusters keep the Work they have: targets, and clusters held by a task other than Directly.
func keptClusters(b *api.Binding) sets.Set[string] {
	kept := sets.New[string]()
	for _, target := range targetClusters(b) {
		kept.Insert(target.Name)
	}
	for _, task := range b.Spec.GracefulEvictionTasks {
		if task.PurgeMode != "Directly" {
			kept.Insert(task.FromCluster)
		}
	}
	return kept
}

func blockedByDirectly(b *api.Binding, works []*api.Work) bool {
	return slices.ContainsFunc(works, func(w *api.Work) bool {
		task := b.Task(w.Cluster())
		return task != nil && task.PurgeMode == "Directly"
	})
}

func (p *Plane) deleteOrphans(ctx context.Context, works []*api.Work, kept sets.Set[string]) error {
	var problems []error
	for _, w := range works {
		if kept.Has(w.Cluster()) || w.DeletionTimestamp != nil {
			continue
		}
		problems = append(problems, p.deleteWork(ctx, w))
	}
	return errors.Join(problems...)
}

func (p *Plane) deleteWork(ctx context.Context, w *api.Work) error {
	precondition := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &w.UID}}
	err := p.workClient(w.Namespace).Delete(ctx, w.Name, precondition)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (p *Plane) ensureWork(ctx context.Context, b *api.Binding, target api.TargetCluster, works []*api.Work) error {
	index := slices.IndexFunc(works, func(w *api.Work) bool { return w.Cluster() == target.Name })
	manifest := manifestFor(b, target)
	if labels := preservedLabels(b, target.Name); len(labels) > 0 && p.knobs().StatefulFailoverInjection {
		inject(manifest, labels)
	}
	if index < 0 {
		work := newWork(b, target.Name, manifest)
		_, err := p.workClient(work.GetNamespace()).Create(ctx, work, metav1.CreateOptions{})
		return err
	}
	w := works[index]
	if w.DeletionTimestamp != nil {
		return nil // its end brings the binding back into the queue
	}
	suspended := suspendedOn(b, target.Name)
	if len(w.Spec.Workload.Manifests) == 1 && reflect.DeepEqual(w.Spec.Workload.Manifests[0], manifest) &&
		w.Spec.SuspendDispatching == suspended {
		return nil
	}
	_, err := mergePatch(ctx, p.workClient(w.Namespace), w.Name, object{
		"metadata": object{"resourceVersion": w.ResourceVersion},
		"spec":     object{"suspendDispatching": suspended, "workload": object{"manifests": []any{manifest}}},
	})
	return err
}

func newWork(b *api.Binding, cluster string, manifest object) *unstructured.Unstructured {
	idLabel := api.LabelBindingID
	annotations := object{api.AnnotationBindingNamespace: b.Namespace, api.AnnotationBindingName: b.Name}
	if b.Kind == api.KindClusterResourceBinding {
		idLabel = api.LabelClusterBindingID
		annotations = object{api.AnnotationClusterBindingName: b.Name}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
		"metadata": object{
			"namespace": api.ExecutionNamespace(cluster), "name": api.WorkName(b.Spec.Resource),
			"finalizers":  []any{api.FinalizerWork},
			"annotations": annotations,
			"labels":      object{idLabel: b.Labels[idLabel], api.LabelWorkID: string(uuid.NewUUID())},
		},
		"spec": object{
			"suspendDispatching":          suspendedOn(b, cluster),
			"preserveResourcesOnDeletion": b.Spec.PreserveOnDeletion != nil && *b.Spec.PreserveOnDeletion,
			"workload":                    object{"manifests": []any{manifest}},
		},
	}}
}

// manifestFor renders what the member gets. There is no resource template behind a binding of the
// laboratory, so it is made from the binding alone; fault annotations travel with it.
func manifestFor(b *api.Binding, target api.TargetCluster) object {
	metadata := object{"name": b.Spec.Resource.Name}
	if b.Spec.Resource.Namespace != "" {
		metadata["namespace"] = b.Spec.Resource.Namespace
	}
	annotations := object{}
	for name, value := range maps.All(b.Annotations) {
		if api.IsFault(name) {
			annotations[name] = value
		}
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if labels := templateLabels(b); len(labels) > 0 {
		metadata["labels"] = labels
	}
	manifest := object{"apiVersion": b.Spec.Resource.APIVersion, "kind": b.Spec.Resource.Kind, "metadata": metadata}
	if b.IsWorkload() {
		manifest["spec"] = workloadSpec(b, target)
	}
	return manifest
}

// templateLabels are nil where the annotation is no JSON object of texts.
func templateLabels(b *api.Binding) object {
	var wire map[string]string
	if json.Unmarshal([]byte(b.Annotations[api.TemplateLabels]), &wire) != nil {
		return nil
	}
	labels := object{}
	for name, value := range wire {
		labels[name] = value
	}
	return labels
}

func workloadSpec(b *api.Binding, target api.TargetCluster) object {
	spec := object{"replicas": int64(target.Replicas)}
	if b.Spec.ReplicaRequirements == nil {
		return spec
	}
	requests := object{}
	for name, quantity := range b.Spec.ReplicaRequirements.ResourceRequest {
		requests[string(name)] = quantity.String()
	}
	container := object{"name": "main", "resources": object{"requests": requests}}
	spec["template"] = object{"spec": object{"containers": []any{container}}}
	return spec
}

func suspendedOn(b *api.Binding, cluster string) bool {
	s := b.Spec.Suspension
	if s == nil {
		return false
	}
	return s.Dispatching || (s.DispatchingOnClusters != nil && slices.Contains(s.DispatchingOnClusters.ClusterNames, cluster))
}

func finalizerOf(b *api.Binding) string {
	if b.Kind == api.KindClusterResourceBinding {
		return api.FinalizerClusterResourceBinding
	}
	return api.FinalizerBinding
}

func (p *Plane) ensureFinalizer(ctx context.Context, b *api.Binding) error {
	if slices.Contains(b.Finalizers, finalizerOf(b)) {
		return nil
	}
	return p.setFinalizers(ctx, b, append(slices.Clone(b.Finalizers), finalizerOf(b)))
}

// endBinding deletes the Works of a binding that goes, without waiting for their end.
func (p *Plane) endBinding(ctx context.Context, b *api.Binding) error {
	if err := p.deleteOrphans(ctx, p.worksOf(b.Ref()), nil); err != nil {
		return err
	}
	if !slices.Contains(b.Finalizers, finalizerOf(b)) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(b.Finalizers), func(f string) bool { return f == finalizerOf(b) })
	return p.setFinalizers(ctx, b, rest)
}

func (p *Plane) setFinalizers(ctx context.Context, b *api.Binding, finalizers []string) error {
	_, err := mergePatch(ctx, p.bindingClient(b), b.Name, object{
		"metadata": object{"resourceVersion": b.ResourceVersion, "finalizers": finalizers},
	})
	if err != nil {
		return fmt.Errorf("set finalizers of %s: %w", b.Ref(), err)
	}
	return nil
}
