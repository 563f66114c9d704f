package controllers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
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

// probeTimeout bounds one probe; members answer at once or refuse at once.
const probeTimeout = 5 * time.Second

// probeCluster is one probe of one member; it asks to be called again after the status period.
func (p *Plane) probeCluster(ctx context.Context, name string) (time.Duration, error) {
	period := max(p.knobs().StatusPeriod.Duration, 10*time.Millisecond)
	c := p.store.cluster(name)
	if c == nil {
		return 0, nil
	}
	// The first report comes after the not-ready taint: taking that away again is what tells the
	// scheduler of a new cluster.
	if !slices.Contains(c.Finalizers, api.FinalizerCluster) {
		return 10 * time.Millisecond, nil
	}
	observed := p.observe(ctx, c)
	if ctx.Err() != nil {
		return 0, nil
	}
	ready := p.debounce.adjust(c, observed, p.knobs(), time.Now())
	if err := p.reportStatus(ctx, c, ready); err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	return period, nil
}

// observe asks the member's /readyz.
func (p *Plane) observe(ctx context.Context, c *api.Cluster) metav1.Condition {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	ready := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message}
	}
	unreachable := ready(metav1.ConditionFalse, "ClusterNotReachable", "cluster is not reachable")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Spec.APIEndpoint+"/readyz", nil)
	if err != nil {
		return unreachable
	}
	response, err := p.probe.Do(request)
	if err != nil {
		return unreachable
	}
	_, _ = io.Copy(io.Discard, response.Body) // or the next probe needs another connection
	_ = response.Body.Close()
	switch {
	case response.StatusCode == http.StatusOK:
		return ready(metav1.ConditionTrue, "ClusterReady", "cluster is healthy and ready to accept workloads")
	case response.StatusCode >= http.StatusBadRequest:
		return unreachable
	default:
		return ready(metav1.ConditionFalse, "ClusterNotReady", "cluster is reachable but health endpoint responded without ok")
	}
}

// reportStatus writes the cluster's status if it differs. APIs and capacity are collected only while the
// cluster is Ready.
func (p *Plane) reportStatus(ctx context.Context, c *api.Cluster, ready metav1.Condition) error {
	status := object{}
	conditions, changed := withCondition(c.Status.Conditions, ready)
	if ready.Status == metav1.ConditionTrue && len(c.Status.APIEnablements) == 0 {
		status["apiEnablements"] = api.ServedAPIs()
		conditions, _ = withCondition(conditions, metav1.Condition{
			Type: "CompleteAPIEnablements", Status: metav1.ConditionTrue, Reason: "Complete",
			Message: "collected complete APIEnablements from the cluster",
		})
		changed = true
	}
	if changed {
		status["conditions"] = conditions
	}
	if ready.Status == metav1.ConditionTrue {
		if summary := p.capacity(c); summary != nil && !sameCapacity(summary, c.Status.ResourceSummary) {
			status["resourceSummary"] = summary
			status["kubernetesVersion"] = "v1.36.2"
			status["nodeSummary"] = object{"totalNum": 1, "readyNum": 1}
		}
	}
	if len(status) == 0 {
		return nil
	}
	return p.patchCluster(ctx, c, object{"status": status}, "status")
}

func (p *Plane) capacity(c *api.Cluster) *api.ResourceSummary {
	member := p.fleet.Member(c.Name)
	if member == nil {
		return nil
	}
	cpus := member.CPUs()
	if cpus == 0 {
		cpus = 1000
	}
	return &api.ResourceSummary{
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(cpus, resource.DecimalSI),
			corev1.ResourceMemory: resource.MustParse("1Ti"),
			corev1.ResourcePods:   resource.MustParse("1M"),
		},
		Allocated: member.Allocated(),
	}
}

func sameCapacity(a, b *api.ResourceSummary) bool {
	return b != nil && equality.Semantic.DeepEqual(a.Allocatable, b.Allocatable) && equality.Semantic.DeepEqual(a.Allocated, b.Allocated)
}

// debouncer keeps the Ready condition where it is until a different observation has lasted.
type debouncer struct {
	mu   sync.Mutex
	seen map[string]observation
}

type observation struct {
	status metav1.ConditionStatus
	since  time.Time
}

func newDebouncer() *debouncer { return &debouncer{seen: map[string]observation{}} }

func (d *debouncer) forget(cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.seen, cluster)
}

// adjust is Karmada's rule: the first observation counts at once; later, one that differs from the
// current condition counts when it has been observed for as long as the threshold. A flap starts anew.
func (d *debouncer) adjust(c *api.Cluster, observed metav1.Condition, k Knobs, now time.Time) metav1.Condition {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, known := d.seen[c.Name]
	if !known || last.status != observed.Status {
		last = observation{status: observed.Status, since: now}
		d.seen[c.Name] = last
	}
	current := c.Ready()
	if !known || current == nil || current.Status == observed.Status {
		return observed
	}
	threshold := k.FailureThreshold.Duration
	if observed.Status == metav1.ConditionTrue {
		threshold = k.SuccessThreshold.Duration
	}
	if now.Before(last.since.Add(threshold)) {
		return *current
	}
	return observed
}
