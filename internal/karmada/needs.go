package karmada

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Requirements are what the scheduler counts a replica by: nil where none were made.
func (b *Binding) Requirements() corev1.ResourceList {
	if b.HasRequirements && b.Request == nil {
		return corev1.ResourceList{}
	}
	return b.Request
}

// ComponentNeed is what one copy of all components requests, its pods included.
func (b *Binding) ComponentNeed() corev1.ResourceList {
	need := corev1.ResourceList{}
	for _, c := range b.Components {
		Plus(need, PodsOf(c.Request, int64(c.Replicas)))
	}
	return need
}

// PodsOf is what so many replicas ask for, the pods themselves included.
func PodsOf(request corev1.ResourceList, replicas int64) corev1.ResourceList {
	need := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(replicas, resource.DecimalSI)}
	for _, name := range Asked(request) {
		if want := request[name].DeepCopy(); name != corev1.ResourcePods {
			want.Mul(replicas) // false where it is more than 64 bits say; it is right all the same
			need[name] = want
		}
	}
	return need
}

// Plus adds one list to another.
func Plus(to, more corev1.ResourceList) {
	for name, quantity := range more {
		total := to[name].DeepCopy()
		total.Add(quantity)
		to[name] = total
	}
}

// Asked are the resources that one replica requests, sorted.
func Asked(request corev1.ResourceList) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name, want := range request {
		if want.Sign() > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Assigned reports whether the scheduler assigns replicas; what has none, or is made of
// components, goes to every selected cluster as a whole.
func (b *Binding) Assigned() bool {
	return (b.Replicas > 0 || b.HasRequirements) && len(b.Components) == 0
}

// RunsPods reports whether it is a workload, also one of a kind that has no replicas in a binding.
func (b *Binding) RunsPods() bool {
	kind := b.Resource.GroupKind()
	return b.Workload || kind == KindDaemonSet || kind == KindCronJob
}

// Divides reports whether there are replicas to divide.
func (b *Binding) Divides() bool { return b.Workload && b.Placement.Divided() && b.Replicas > 0 }

// SumOf is how many replicas targets have together.
func SumOf(targets []TargetCluster) int32 {
	var sum int32
	for _, t := range targets {
		sum += t.Replicas
	}
	return sum
}

// Lacks is what a target was given and has not got ready yet, nil for nothing. A kind
// that reports no replicas has all of them once it is healthy.
func (b *Binding) Lacks(t TargetCluster) corev1.ResourceList {
	item := cmp.Or(b.Item(t.Name), &AggregatedItem{})
	silent := item.Replicas == nil && item.ReadyReplicas == nil
	if silent && item.Health == HealthHealthy && item.Applied {
		return nil
	}
	if len(b.Components) > 0 {
		return b.ComponentNeed()
	}
	lacking := int64(t.Replicas)
	if item.ReadyReplicas != nil {
		lacking -= *item.ReadyReplicas
	}
	if lacking <= 0 {
		return nil
	}
	return PodsOf(b.Request, lacking)
}

// Missing is what has no place yet, nil for nothing: replicas that no cluster was
// given, or one whole copy.
func (b *Binding) Missing() corev1.ResourceList {
	switch {
	case len(b.Components) > 0 && len(b.Clusters) == 0:
		return b.ComponentNeed()
	case b.Replicas > 0 && (b.Placement.Divided() || len(b.Clusters) == 0):
		if lacking := b.Replicas - SumOf(b.Clusters); lacking > 0 {
			return PodsOf(b.Request, int64(lacking))
		}
	}
	return nil
}

// Outstanding is what a binding will ask for once the failing cluster is out.
func (b *Binding) Outstanding(survivors []TargetCluster) corev1.ResourceList {
	if len(b.Components) > 0 {
		return b.ComponentNeed()
	}
	return PodsOf(b.Request, int64(max(0, b.Replicas-SumOf(survivors))))
}
