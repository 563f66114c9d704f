package scheduling

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

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
