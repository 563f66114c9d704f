package scheduling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// unbounded is the room of a cluster for something that needs none.
const unbounded = int32(math.MaxInt32)

// availableReplicas is how many more replicas the cluster's last known capacity has room for, as Karmada's
// general estimator sees it. What is not known is no room. An estimate is cut to 32 bits; -1 is then no word.
func availableReplicas(b *api.Binding, cluster *api.Cluster) int32 {
	if b.Spec.Replicas == 0 && len(b.Spec.Components) == 0 {
		return unbounded
	}
	estimate := int32(estimateOf(b.Spec.ReplicaRequirements, cluster)) //nolint:gosec // Karmada cuts it, too
	if estimate == -1 || estimate == unbounded {
		return b.Spec.Replicas
	}
	return estimate
}

func estimateOf(requirements *api.ReplicaRequirements, cluster *api.Cluster) int64 {
	summary := cluster.Status.ResourceSummary
	if summary == nil {
		return 0
	}
	left := leftOf(summary, corev1.ResourcePods)
	pods := max(0, left.Value())
	if pods == 0 || requirements == nil {
		return pods
	}
	if byModels, usable := roomByModels(cluster, requirements.ResourceRequest); usable {
		return min(pods, byModels)
	}
	return min(pods, roomBySummary(summary, requirements.ResourceRequest))
}

func roomBySummary(summary *api.ResourceSummary, request corev1.ResourceList) int64 {
	room := int64(math.MaxInt64)
	for name, want := range request {
		if want.Value() <= 0 {
			continue
		}
		if _, known := summary.Allocatable[name]; !known {
			return 0
		}
		left := leftOf(summary, name)
		if left.Value() <= 0 {
			return 0
		}
		room = min(room, amount(name, left)/amount(name, want))
	}
	return room
}

func leftOf(summary *api.ResourceSummary, name corev1.ResourceName) resource.Quantity {
	left := summary.Allocatable[name].DeepCopy()
	left.Sub(summary.Allocated[name])
	left.Sub(summary.Allocating[name])
	return left
}

// amount counts CPU in thousandths and anything else in whole units, rounded up.
func amount(name corev1.ResourceName, quantity resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

// podsPerNode is how many pods Karmada believes a modelled node to take.
const podsPerNode = int64(110)

// roomByModels places replicas on nodes that have their grade's minima; what a grade does not name is 0 there.
// It is not usable without counts or without grades. All replicas are alike, so a node's room is what fits it.
func roomByModels(cluster *api.Cluster, request corev1.ResourceList) (room int64, usable bool) {
	counts, models := cluster.Status.ResourceSummary.AllocatableModelings, cluster.Spec.ResourceModels
	if len(counts) == 0 || len(models) == 0 {
		return 0, false
	}
	perNode := map[int]int64{} // by grade; a grade's last model counts
	for _, model := range models {
		perNode[model.Grade] = roomOfNode(model, request)
	}
	for _, c := range counts {
		if c.Count < 0 {
			return 0, false
		}
		room += int64(c.Count) * perNode[c.Grade]
	}
	return min(room, math.MaxInt32), true
}

func roomOfNode(model api.ResourceModel, request corev1.ResourceList) int64 {
	room := podsPerNode
	for name, want := range request {
		if !placeable(name) || amount(name, want) <= 0 {
			continue
		}
		var has int64
		for _, r := range model.Ranges {
			if r.Name == name {
				has = amount(name, r.Min)
			}
		}
		room = min(room, has/amount(name, want))
	}
	return room
}

// placeable says whether the placement on nodes looks at a resource: CPU, memory, ephemeral storage and what
// Kubernetes calls scalar resources. It looks at nothing else.
func placeable(name corev1.ResourceName) bool {
	if slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name) {
		return true
	}
	text := string(name)
	return strings.Contains(text, "/") || strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(text, corev1.ResourceAttachableVolumesPrefix)
}

// shortError is Karmada's UnschedulableError: the result is left alone.
type shortError struct{ room int32 }

func (e *shortError) Error() string {
	return fmt.Sprintf("Clusters available replicas %d are not enough to schedule.", e.room)
}

// divideByRoom is Aggregated and dynamic weight. What runs stays and only what is missing is shared out, by
// room; what is too much is cut by what each has. A reschedule begins from nothing.
func divideByRoom(b *api.Binding, selected []choice) ([]api.TargetCluster, error) {
	kept := keptTargets(b, selected)
	missing := b.Spec.Replicas
	for _, target := range kept {
		missing -= target.Replicas
	}
	switch {
	case rescheduleRequested(b):
		free := freeRoom(selected)
		for _, target := range kept {
			at := slices.IndexFunc(free, func(t api.TargetCluster) bool { return t.Name == target.Name })
			free[at].Replicas += target.Replicas
		}
		return handOut(b, b.Spec.Replicas, free, nil)
	case missing < 0:
		return handOut(b, b.Spec.Replicas, kept, nil)
	case missing > 0:
		return handOut(b, missing, freeRoom(selected), kept)
	}
	return kept, nil
}

// keptTargets are the entries of the last result whose clusters are selected again.
func keptTargets(b *api.Binding, selected []choice) []api.TargetCluster {
	return slices.DeleteFunc(slices.Clone(b.Spec.Clusters), func(t api.TargetCluster) bool {
		return !slices.ContainsFunc(selected, func(c choice) bool { return c.cluster.Name == t.Name })
	})
}

func freeRoom(selected []choice) []api.TargetCluster {
	var free []api.TargetCluster
	for _, c := range selected {
		free = append(free, api.TargetCluster{Name: c.cluster.Name, Replicas: c.free})
	}
	return free
}

// handOut gives replicas to the clusters by room, on top of what they keep. Aggregated narrows them down to
// the first that together have enough: those that keep replicas, then the largest. Sums are of 32 bits, as
// Karmada's.
func handOut(b *api.Binding, replicas int32, room, kept []api.TargetCluster) ([]api.TargetCluster, error) {
	room = slices.Clone(room)
	slices.SortStableFunc(room, func(x, y api.TargetCluster) int { return cmp.Compare(y.Replicas, x.Replicas) })
	var sum int32
	for _, target := range room {
		sum += target.Replicas
	}
	if sum < replicas {
		return nil, &shortError{room: sum}
	}
	if strategyOf(b) == aggregate {
		room = fewest(room, kept, replicas)
	}
	var seats []seat
	var weights int64
	for _, target := range room {
		seats = append(seats, seat{name: target.Name, weight: int64(target.Replicas)})
		weights += int64(target.Replicas)
	}
	if weights == 0 {
		return kept, nil
	}
	return merge(divideByWeight(replicas, seats, b.Spec.Resource.UID), kept), nil
}

func fewest(room, kept []api.TargetCluster, replicas int32) []api.TargetCluster {
	serves := func(name string) int {
		if slices.ContainsFunc(kept, func(t api.TargetCluster) bool { return t.Name == name && t.Replicas > 0 }) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(room, func(x, y api.TargetCluster) int { return cmp.Compare(serves(y.Name), serves(x.Name)) })
	var sum int32
	for i, target := range room {
		if sum += target.Replicas; sum >= replicas {
			return room[:i+1]
		}
	}
	return room
}

func merge(more, kept []api.TargetCluster) []api.TargetCluster {
	for _, target := range kept {
		if at := slices.IndexFunc(more, func(t api.TargetCluster) bool { return t.Name == target.Name }); at >= 0 {
			more[at].Replicas += target.Replicas
			continue
		}
		more = append(more, target)
	}
	slices.SortFunc(more, func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return more
}
