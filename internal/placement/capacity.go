package placement

import (
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// credit is how many more replicas the scheduler believes a cluster has room for:
// Karmada's general estimate, in which what is not known counts as nothing. A nil request
// is one that was never made: only pods count then. Taken is taken away from what is free
// first; nil for the scheduler's own view.
//
// As with Karmada's it fits into 32 bits: a member says what it has, and one that says too
// much must not make the sum of all run over.
func credit(c *karmada.Capacity, request, taken corev1.ResourceList) int64 {
	return max(0, min(believed(c, request, taken), math.MaxInt32))
}

func believed(c *karmada.Capacity, request, taken corev1.ResourceList) int64 {
	if c == nil {
		return 0
	}
	most := free(c, corev1.ResourcePods, taken).Value()
	switch {
	case most <= 0:
		return 0
	case request == nil:
		return most
	case c.ModelsUnknown:
		return 0
	}
	asked := karmada.Asked(request)
	if len(c.Models) > 0 {
		most = min(most, creditByModels(c, request, asked))
		if taken == nil {
			return most
		}
		// No model shows what others were promised: the sums do.
	}
	for _, name := range asked {
		most = min(most, creditBy(c, name, request[name], taken))
	}
	return most
}

// podsPerNode is what Karmada takes for the greatest number of pods on a node.
const podsPerNode = 110

// creditByModels counts replicas node by node, each grade's nodes as if they had no
// more than its minimum and room for 110 pods. They have nothing of a resource that
// their grade does not name.
func creditByModels(c *karmada.Capacity, request corev1.ResourceList, asked []corev1.ResourceName) (most int64) {
	for _, model := range c.Models {
		perNode := int64(podsPerNode)
		for _, name := range asked {
			if countedByNode(name) {
				perNode = min(perNode, quotient(name, model.Min[name], request[name]))
			}
		}
		most = min(math.MaxInt32, most+max(0, min(model.Count, math.MaxInt32))*perNode)
	}
	return most
}

// countedByNode reports whether it is a resource that Karmada counts node by node: CPU, memory,
// ephemeral storage, huge pages and those with a domain. Pods are counted by themselves.
func countedByNode(name corev1.ResourceName) bool {
	native := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	return slices.Contains(native, name) ||
		strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func creditBy(c *karmada.Capacity, name corev1.ResourceName, want resource.Quantity, taken corev1.ResourceList) int64 {
	if _, known := c.Allocatable[name]; !known {
		return 0
	}
	return quotient(name, *free(c, name, taken), want)
}

// quotient is how often want fits, CPU counted in thousandths as Karmada does.
func quotient(name corev1.ResourceName, have, want resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return max(0, have.MilliValue()) / max(1, want.MilliValue())
	}
	return max(0, have.Value()) / max(1, want.Value())
}

func free(c *karmada.Capacity, name corev1.ResourceName, taken corev1.ResourceList) *resource.Quantity {
	left := c.Allocatable[name].DeepCopy()
	for _, list := range []corev1.ResourceList{c.Allocated, c.Allocating, taken} {
		left.Sub(list[name])
	}
	return &left
}

// sized reports whether the summary says enough to prove room for a request. What no
// pod asked for yet is missing among what is allocated, and none of it is.
func sized(c *karmada.Capacity, request corev1.ResourceList) bool {
	if c == nil || c.ModelsUnknown {
		return false
	}
	_, total := c.Allocatable[corev1.ResourcePods]
	_, used := c.Allocated[corev1.ResourcePods]
	return total && used && !slices.ContainsFunc(karmada.Asked(request), func(name corev1.ResourceName) bool {
		_, known := c.Allocatable[name]
		return !known
	})
}
