package controllers

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

func (p *Plane) schedulerBindingEvents() cache.ResourceEventHandler {
	return events(func(old, current *api.Binding) {
		switch {
		case current == nil:
			p.faults.forget(old.UID)
		case old == nil || old.Generation != current.Generation:
			p.requestSchedule(current)
		}
	})
}

// schedulerClusterEvents: a change of labels, of spec (taints too), or the start of a deletion puts
// every binding in the queue whose current affinity matches. A creation does not.
func (p *Plane) schedulerClusterEvents() cache.ResourceEventHandler {
	return events(func(old, current *api.Cluster) {
		if old == nil || current == nil {
			return
		}
		if old.Generation == current.Generation && maps.Equal(old.Labels, current.Labels) &&
			(old.DeletionTimestamp == nil) == (current.DeletionTimestamp == nil) {
			return
		}
		for _, b := range p.allBindings() {
			if scheduling.Responsible(b) && affectedBy(b, old, current) {
				p.requestSchedule(b)
			}
		}
	})
}

func affectedBy(b *api.Binding, old, current *api.Cluster) bool {
	affinity := b.Spec.Placement.ClusterAffinity
	if groups := b.Spec.Placement.ClusterAffinities; len(groups) > 0 {
		if b.Status.SchedulerObservedGeneration != b.Generation {
			return true
		}
		affinity = &groups[scheduling.ObservedGroup(b)].ClusterAffinity
	}
	return scheduling.Matches(current, affinity) || scheduling.Matches(old, affinity)
}

func (p *Plane) requestSchedule(b *api.Binding) {
	if scheduling.Responsible(b) {
		p.scheduler.addAfter(b.Ref(), p.knobs().SchedulerLatency.Duration)
	}
}

// schedule is one pass of the scheduler over one binding, from the cached state as Karmada's.
func (p *Plane) schedule(ctx context.Context, ref string) (time.Duration, error) {
	if err := p.awaitTurn(ctx, ref); err != nil {
		return 0, err
	}
	b := p.store.binding(ref)
	if b == nil || !scheduling.Responsible(b) {
		p.faults.settle(ref)
		return 0, nil
	}
	decision := p.faults.distort(b, p.allClusters(), scheduling.Decide(b, p.allClusters()))
	if err := p.carryOut(ctx, b, decision); err != nil {
		if apierrors.IsNotFound(err) {
			return 0, nil
		}
		return 0, err
	}
	if decision.Outcome == scheduling.Failed {
		return p.faults.backoff(ref, p.knobs().SchedulerBackoff.Duration), nil
	}
	p.faults.settle(ref)
	return 0, nil
}

// awaitTurn waits until the knob schedulerRate lets the scheduler place a binding; a pass that places nothing
// does not wait.
func (p *Plane) awaitTurn(ctx context.Context, ref string) error {
	perSecond, b := p.knobs().SchedulerRate, p.store.binding(ref)
	if perSecond == 0 || b == nil || !scheduling.Responsible(b) {
		return nil
	}
	if d := scheduling.Decide(b, p.allClusters()); d.Outcome != scheduling.Placed || scheduling.SameResult(b.Spec.Clusters, d.Clusters) {
		return nil
	}
	p.turns.SetLimit(rate.Limit(perSecond))
	return p.turns.Wait(ctx)
}

// carryOut writes the result, then the affinity group, then condition and observed generation: three
// writes, as Karmada's. The generation observed is the one read before, not the one the result makes.
func (p *Plane) carryOut(ctx context.Context, b *api.Binding, d scheduling.Decision) error {
	current, err := p.writeResult(ctx, b, d)
	if err != nil {
		return err
	}
	if d.AffinityName != "" && d.AffinityName != b.Status.SchedulerObservingAffinityName {
		group := object{"status": object{"schedulerObservingAffinityName": d.AffinityName}}
		patched, err := mergePatch(ctx, p.bindingClient(b), b.Name, group, "status")
		if err != nil {
			return err
		}
		if current, err = api.From[api.Binding](patched.Object); err != nil {
			return err
		}
	}
	return p.updateStatus(ctx, current, func(now *api.Binding) object { return scheduledStatus(now, b.Generation, d) })
}

// writeResult is the blind patch: computed from what was read before, without resourceVersion, the whole array.
func (p *Plane) writeResult(ctx context.Context, b *api.Binding, d scheduling.Decision) (*api.Binding, error) {
	patch := object{}
	if d.Outcome == scheduling.Placed || d.Outcome == scheduling.NoFit {
		if !api.SamePlacement(b.Annotations[api.AnnotationAppliedPlacement], b.PlacementJSON) {
			patch["metadata"] = object{"annotations": object{api.AnnotationAppliedPlacement: b.PlacementJSON}}
		}
		if !scheduling.SameResult(b.Spec.Clusters, d.Clusters) {
			patch["spec"] = object{"clusters": d.Clusters}
		}
	}
	if len(patch) == 0 {
		return b, nil
	}
	patched, err := mergePatch(ctx, p.bindingClient(b), b.Name, patch)
	if err != nil {
		return nil, err
	}
	return api.From[api.Binding](patched.Object)
}

// scheduledStatus is the status patch that a decision asks for; empty when nothing changes.
func scheduledStatus(b *api.Binding, observed int64, d scheduling.Decision) object {
	status := object{}
	if d.Outcome == scheduling.NotNeeded {
		if b.Status.SchedulerObservedGeneration != observed {
			status["schedulerObservedGeneration"] = observed
		}
		return status
	}
	condition := metav1.Condition{Type: "Scheduled", Status: metav1.ConditionFalse, Reason: d.Reason, Message: d.Message}
	if d.Outcome == scheduling.Placed {
		condition.Status = metav1.ConditionTrue
		status["schedulerObservedGeneration"] = observed
		status["lastScheduledTime"] = timestamp()
	}
	if conditions, changed := withCondition(b.Status.Conditions, condition); changed {
		status["conditions"] = conditions
	}
	return status
}

// updateStatus patches a binding's status under its resourceVersion, so that scheduler and status
// controller do not undo each other's conditions; change is asked again after a conflict.
func (p *Plane) updateStatus(ctx context.Context, b *api.Binding, change func(*api.Binding) object) error {
	for {
		status := change(b)
		if len(status) == 0 {
			return nil
		}
		patch := object{"metadata": object{"resourceVersion": b.ResourceVersion}, "status": status}
		_, err := mergePatch(ctx, p.bindingClient(b), b.Name, patch, "status")
		if !apierrors.IsConflict(err) {
			return err
		}
		var fresh *unstructured.Unstructured
		if fresh, err = p.bindingClient(b).Get(ctx, b.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if b, err = api.From[api.Binding](fresh.Object); err != nil {
			return err
		}
	}
}

// clustersNamed picks clusters by name, in the order of the fleet.
func clustersNamed(clusters []*api.Cluster, names []string) []*api.Cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c *api.Cluster) bool { return !slices.Contains(names, c.Name) })
}
