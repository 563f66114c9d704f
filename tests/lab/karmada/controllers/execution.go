package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// execute carries one Work to its member, or takes it away there.
func (p *Plane) execute(ctx context.Context, workKey string) (time.Duration, error) {
	w := p.store.work(workKey)
	if w == nil {
		return 0, nil
	}
	cluster := p.store.cluster(w.Cluster())
	if w.DeletionTimestamp != nil {
		return p.endWork(ctx, w, cluster)
	}
	if w.Spec.SuspendDispatching {
		return 0, p.setWorkCondition(ctx, w, "Dispatching", metav1.ConditionFalse, "SuspendDispatching", "Work dispatching is in a suspended state.")
	}
	if cluster == nil || !cluster.IsReady() {
		return p.knobs().ExecutionRetry.Duration, nil
	}
	if meta.FindStatusCondition(w.Status.Conditions, "Dispatching") == nil {
		err := p.setWorkCondition(ctx, w, "Dispatching", metav1.ConditionTrue, "Dispatching", "Work is being dispatched to member clusters.")
		return max(p.knobs().ApplyLatency.Duration, time.Millisecond), err
	}
	return p.apply(ctx, w)
}

func (p *Plane) apply(ctx context.Context, w *api.Work) (time.Duration, error) {
	member := p.fleet.Member(w.Cluster())
	if member == nil {
		return p.knobs().ExecutionRetry.Duration, nil
	}
	for _, manifest := range w.Spec.Workload.Manifests {
		if err := member.Apply(key(w), string(w.UID), manifest); err != nil {
			failed := p.setWorkCondition(ctx, w, "Applied", metav1.ConditionFalse, "AppliedFailed", "Failed to apply all manifests: "+err.Error())
			return p.knobs().ExecutionRetry.Duration, failed
		}
	}
	return 0, p.setWorkCondition(ctx, w, "Applied", metav1.ConditionTrue, "AppliedSuccessful", "Manifest has been successfully applied")
}

// endWork deletes the copy and lets the Work go. While the cluster is not Ready the Work stays,
// finalizer and all, unless the cluster itself is being deleted.
func (p *Plane) endWork(ctx context.Context, w *api.Work, cluster *api.Cluster) (time.Duration, error) {
	leaving := cluster == nil || cluster.DeletionTimestamp != nil
	if !leaving && !cluster.IsReady() {
		return p.knobs().ExecutionRetry.Duration, nil
	}
	if err := p.deleteCopies(w); err != nil && !leaving {
		return p.knobs().ExecutionRetry.Duration, nil //nolint:nilerr // a member that is away is tried again, at its own pace
	}
	rest := slices.DeleteFunc(slices.Clone(w.Finalizers), func(f string) bool { return f == api.FinalizerWork })
	if len(rest) == len(w.Finalizers) {
		return 0, nil
	}
	_, err := mergePatch(ctx, p.workClient(w.Namespace), w.Name, object{
		"metadata": object{"resourceVersion": w.ResourceVersion, "finalizers": rest},
	})
	return 0, err
}

func (p *Plane) deleteCopies(w *api.Work) error {
	member := p.fleet.Member(w.Cluster())
	if member == nil || w.Spec.PreserveOnDeletion {
		return nil
	}
	var problems []error
	for _, manifest := range w.Spec.Workload.Manifests {
		problems = append(problems, member.Delete(manifest))
	}
	return errors.Join(problems...)
}

func (p *Plane) setWorkCondition(ctx context.Context, w *api.Work, name string, status metav1.ConditionStatus, reason, message string) error {
	conditions, changed := withCondition(w.Status.Conditions, metav1.Condition{Type: name, Status: status, Reason: reason, Message: message})
	if !changed {
		return nil
	}
	return p.patchWorkStatus(ctx, w, object{"conditions": conditions})
}

func (p *Plane) patchWorkStatus(ctx context.Context, w *api.Work, status object) error {
	patch := object{"metadata": object{"resourceVersion": w.ResourceVersion}, "status": status}
	if _, err := mergePatch(ctx, p.workClient(w.Namespace), w.Name, patch, "status"); err != nil {
		return fmt.Errorf("update status of Work %s: %w", key(w), err)
	}
	return nil
}

// collect copies what the member says of a Work's manifests into the Work's status. What a dead
// member last said stays.
func (p *Plane) collect(ctx context.Context, workKey string) (time.Duration, error) {
	w := p.store.work(workKey)
	if w == nil || w.DeletionTimestamp != nil {
		return 0, nil
	}
	member := p.fleet.Member(w.Cluster())
	if member == nil {
		return 0, nil
	}
	statuses := make([]api.ManifestStatus, 0, len(w.Spec.Workload.Manifests))
	for i, manifest := range w.Spec.Workload.Manifests {
		status, health, err := member.Report(manifest)
		if err != nil {
			return 0, nil //nolint:nilerr // nobody tells of a dead member's copies; its revival brings the Work back
		}
		statuses = append(statuses, api.ManifestStatus{Identifier: identify(i, manifest), Status: status, Health: health})
	}
	if reflect.DeepEqual(statuses, w.Status.ManifestStatuses) {
		return 0, nil
	}
	return 0, p.patchWorkStatus(ctx, w, object{"manifestStatuses": statuses})
}

func identify(ordinal int, manifest object) api.ManifestIdentifier {
	text := func(m object, field string) string {
		value, _ := m[field].(string)
		return value
	}
	metadata, _ := manifest["metadata"].(map[string]any)
	kind := schema.FromAPIVersionAndKind(text(manifest, "apiVersion"), text(manifest, "kind"))
	return api.ManifestIdentifier{
		Ordinal: ordinal, Group: kind.Group, Version: kind.Version, Kind: kind.Kind,
		Namespace: text(metadata, "namespace"), Name: text(metadata, "name"),
	}
}

// aggregate rebuilds a binding's aggregated status from its Works: all of them, those on dead
// clusters and those on their way out too.
func (p *Plane) aggregate(ctx context.Context, ref string) (time.Duration, error) {
	b := p.store.binding(ref)
	if b == nil {
		return 0, nil
	}
	items, condition := summarize(p.worksOf(ref))
	err := p.updateStatus(ctx, b, func(now *api.Binding) object {
		status := object{}
		if !reflect.DeepEqual(items, now.Status.AggregatedStatus) {
			status["aggregatedStatus"] = items
		}
		if conditions, changed := withCondition(now.Status.Conditions, condition); changed {
			status["conditions"] = conditions
		}
		return status
	})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
}

func summarize(works []*api.Work) ([]api.AggregatedStatus, metav1.Condition) {
	var items []api.AggregatedStatus
	condition := metav1.Condition{
		Type: "FullyApplied", Status: metav1.ConditionTrue, Reason: "FullyAppliedSuccess",
		Message: "All works have been successfully applied",
	}
	for _, w := range works {
		item := itemOf(w)
		if !item.Applied {
			condition.Status, condition.Reason = metav1.ConditionFalse, "FullyAppliedFailed"
			condition.Message = "Failed to apply all works, see status.aggregatedStatus for details"
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b api.AggregatedStatus) int { return strings.Compare(a.ClusterName, b.ClusterName) })
	return items, condition
}

// itemOf: a Work that is not applied has unknown health, whatever its manifests say.
func itemOf(w *api.Work) api.AggregatedStatus {
	item := api.AggregatedStatus{ClusterName: w.Cluster(), Health: "Unknown", Applied: meta.IsStatusConditionTrue(w.Status.Conditions, "Applied")}
	if len(w.Status.ManifestStatuses) == 1 && item.Applied {
		item.Status = w.Status.ManifestStatuses[0].Status
		item.Health = w.Status.ManifestStatuses[0].Health
	}
	return item
}
