package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// leaveRetry is the pace at which a cluster being deleted is looked at.
const leaveRetry = 250 * time.Millisecond

func (p *Plane) clusterEvents() cache.ResourceEventHandler {
	return events(func(old, current *api.Cluster) {
		if current == nil {
			p.debounce.forget(old.Name)
			p.fleet.Forget(old.Name)
			return
		}
		p.cluster.add(current.Name)
		p.taintManager.add(current.Name)
		if old == nil {
			p.clusterStatus.add(current.Name)
		}
	})
}

// syncCluster keeps Karmada's own taints in step with the Ready condition and takes a deleted cluster down.
func (p *Plane) syncCluster(ctx context.Context, name string) (time.Duration, error) {
	c := p.store.cluster(name)
	if c == nil {
		return 0, nil
	}
	if c.DeletionTimestamp != nil {
		return p.endCluster(ctx, c)
	}
	if err := p.ensureNamespace(ctx, name); err != nil {
		return 0, err
	}
	patch := object{}
	if !slices.Contains(c.Finalizers, api.FinalizerCluster) {
		patch["metadata"] = object{"finalizers": append(slices.Clone(c.Finalizers), api.FinalizerCluster)}
	}
	if taints, changed := conditionTaints(c); changed {
		patch["spec"] = object{"taints": taints}
	}
	if len(patch) == 0 {
		return 0, nil
	}
	return 0, p.patchCluster(ctx, c, patch)
}

// conditionTaints are the cluster's taints with Karmada's two as the Ready condition asks for; the others stay.
func conditionTaints(c *api.Cluster) ([]corev1.Taint, bool) {
	wanted := api.TaintNotReady
	if ready := c.Ready(); ready != nil {
		wanted = map[metav1.ConditionStatus]string{
			metav1.ConditionFalse: api.TaintNotReady, metav1.ConditionUnknown: api.TaintUnreachable,
		}[ready.Status]
	}
	present := false
	taints := slices.DeleteFunc(slices.Clone(c.Spec.Taints), func(t corev1.Taint) bool {
		if t.Effect != corev1.TaintEffectNoSchedule || (t.Key != api.TaintNotReady && t.Key != api.TaintUnreachable) {
			return false
		}
		present = present || t.Key == wanted
		return t.Key != wanted
	})
	if wanted != "" && !present {
		now := timestamp()
		taints = append(taints, corev1.Taint{Key: wanted, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now})
		return taints, true
	}
	return taints, len(taints) != len(c.Spec.Taints)
}

func (p *Plane) patchCluster(ctx context.Context, c *api.Cluster, patch object, subresource ...string) error {
	metadata, _ := patch["metadata"].(object)
	if metadata == nil {
		metadata = object{}
	}
	metadata["resourceVersion"] = c.ResourceVersion
	patch["metadata"] = metadata
	if _, err := mergePatch(ctx, p.client.Resource(api.Clusters), c.Name, patch, subresource...); err != nil {
		return fmt.Errorf("update cluster %s: %w", c.Name, err)
	}
	return nil
}

func (p *Plane) ensureNamespace(ctx context.Context, cluster string) error {
	_, err := p.client.Resource(api.Namespaces).Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": api.ExecutionNamespace(cluster)},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create execution namespace: %w", err)
	}
	return nil
}

// endCluster waits until no binding targets the cluster, deletes its Works, its namespace, and lets it go.
func (p *Plane) endCluster(ctx context.Context, c *api.Cluster) (time.Duration, error) {
	if !slices.Contains(c.Finalizers, api.FinalizerCluster) {
		return 0, nil
	}
	works := p.worksIn(c.Name)
	if err := p.deleteOrphans(ctx, works, nil); err != nil {
		return 0, err
	}
	if len(works) > 0 || p.isTargeted(c.Name) {
		return leaveRetry, nil
	}
	if err := p.dropNamespace(ctx, api.ExecutionNamespace(c.Name)); err != nil {
		return 0, err
	}
	rest := slices.DeleteFunc(slices.Clone(c.Finalizers), func(f string) bool { return f == api.FinalizerCluster })
	return 0, p.patchCluster(ctx, c, object{"metadata": object{"finalizers": rest}})
}

// dropNamespace deletes a namespace and does the namespace controller's part, which does not run here.
func (p *Plane) dropNamespace(ctx context.Context, name string) error {
	namespaces := p.client.Resource(api.Namespaces)
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("delete namespace %s: %w", name, err)
	}
	namespace, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		unstructured.RemoveNestedField(namespace.Object, "spec", "finalizers")
		_, err = namespaces.Update(ctx, namespace, metav1.UpdateOptions{}, "finalize")
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("finalize namespace %s: %w", name, err)
	}
	return nil
}

// PatchEndpoint tells Karmada that a member has another address.
func (p *Plane) PatchEndpoint(ctx context.Context, cluster, endpoint string) error {
	_, err := mergePatch(ctx, p.client.Resource(api.Clusters), cluster, object{"spec": object{"apiEndpoint": endpoint}})
	return err
}

// KeptFromScheduling says whether one of Karmada's own taints stands on the cluster.
func KeptFromScheduling(c *api.Cluster) bool {
	return slices.ContainsFunc(c.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == api.TaintNotReady || t.Key == api.TaintUnreachable
	})
}
