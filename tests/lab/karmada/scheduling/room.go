package scheduling

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
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
