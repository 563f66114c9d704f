package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
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
