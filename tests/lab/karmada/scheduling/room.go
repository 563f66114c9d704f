package scheduling

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// plenty is the room of a cluster for something that needs none.
const plenty = int64(math.MaxInt32)

// availableReplicas is how many more replicas the cluster's last known capacity has room for: the estimate
// that Karmada makes from resourceSummary. What is not known is no room.
func availableReplicas(b *api.Binding, cluster *api.Cluster) int64 {
	if b.Spec.Replicas == 0 && len(b.Spec.Components) == 0 {
		return plenty
	}
	summary := cluster.Status.ResourceSummary
	if summary == nil {
		return 0
	}
	pods := left(summary, corev1.ResourcePods)
	room := min(plenty, max(0, pods.Value()))
	if b.Spec.ReplicaRequirements == nil || room == 0 {
		return room
	}
	request := map[corev1.ResourceName]resource.Quantity{}
	for name, quantity := range b.Spec.ReplicaRequirements.ResourceRequest {
		if quantity.Value() > 0 {
			request[name] = quantity
		}
	}
	if byModel, usable := roomByModels(cluster, request); usable {
		return min(room, byModel)
	}
	for name, want := range request {
		room = min(room, roomBySum(summary, name, want))
	}
	return room
}

func roomBySum(summary *api.ResourceSummary, name corev1.ResourceName, want resource.Quantity) int64 {
	if _, known := summary.Allocatable[name]; !known {
		return 0
	}
	have := left(summary, name)
	if have.Sign() <= 0 {
		return 0
	}
	return times(name, have, want)
}

func left(summary *api.ResourceSummary, name corev1.ResourceName) resource.Quantity {
	have := summary.Allocatable[name].DeepCopy()
	have.Sub(summary.Allocated[name])
	have.Sub(summary.Allocating[name])
	return have
}

func times(name corev1.ResourceName, have, want resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return have.MilliValue() / want.MilliValue()
	}
	return have.Value() / want.Value()
}

// roomByModels counts on nodes by their grade; not usable without grades, or when they do not speak of what is
// requested.
func roomByModels(cluster *api.Cluster, request map[corev1.ResourceName]resource.Quantity) (room int64, usable bool) {
	counts, models := cluster.Status.ResourceSummary.AllocatableModelings, cluster.Spec.ResourceModels
	if len(counts) == 0 {
		return 0, false
	}
	from := 0
	for name, want := range request {
		grade := -1
		for i, model := range models {
			least, told := model.Least(name)
			if !told {
				return 0, false
			}
			if grade < 0 && least.Cmp(want) >= 0 {
				grade = i
			}
		}
		if grade < 0 {
			return 0, len(models) > 0
		}
		from = max(from, grade)
	}
	for i := from; i < len(models) && i < len(counts); i++ {
		room += int64(counts[i].Count) * perNode(models[i], request)
	}
	return room, true
}

func perNode(model api.ResourceModel, request map[corev1.ResourceName]resource.Quantity) int64 {
	fits := plenty
	for name, want := range request {
		least, _ := model.Least(name)
		fits = min(fits, times(name, least, want))
	}
	return max(1, fits)
}
