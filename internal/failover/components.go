package failover

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// judgeComponents demands room for every component at once on one of the clusters that
// the scheduler uses: it sees a workload of zero replicas and asks for none. A copy that
// runs already needs no more.
func (in PreCheckInput) judgeComponents(g group, used []Cluster) Verdict {
	var fit []string
	var full Verdict
	for _, c := range used {
		if v := in.roomForComponents(g, c); v.OK {
			fit = append(fit, c.Name)
		} else {
			full = v
		}
	}
	if len(fit) == 0 {
		return full
	}
	return Verdict{OK: true, Candidates: fit, Message: Count(len(fit), "candidate") + " with room for its components" + g.in(fit)}
}

func (in PreCheckInput) roomForComponents(g group, c Cluster) Verdict {
	need := in.Binding.componentNeed()
	if _, at := in.Binding.Target(c.Name); at >= 0 {
		return Verdict{OK: true}
	}
	if !sized(c.Capacity, need) {
		if in.RoomUnknownOK {
			return Verdict{OK: true}
		}
		return in.tooFull(g, []Cluster{c}, "its capacity is not known, and its components need room")
	}
	for name, want := range need {
		if left := free(c.Capacity, name, in.Reserved.promised(c.Name)); left.Cmp(want) < 0 {
			return in.tooFull(g, []Cluster{c}, "no room for its components"+in.Reserved.beside(c.Name))
		}
	}
	return Verdict{OK: true}
}

// componentNeed is what one copy of all components asks for, its pods included.
func (b *Binding) componentNeed() corev1.ResourceList {
	need := corev1.ResourceList{}
	for _, c := range b.Components {
		plus(need, podsOf(c.Request, int64(c.Replicas)))
	}
	return need
}

// podsOf is what so many replicas ask for, the pods themselves included.
func podsOf(request corev1.ResourceList, replicas int64) corev1.ResourceList {
	need := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(replicas, resource.DecimalSI)}
	for _, name := range asked(request) {
		if want := request[name].DeepCopy(); name != corev1.ResourcePods {
			want.Mul(replicas) // false where it is more than 64 bits say; it is right all the same
			need[name] = want
		}
	}
	return need
}

// plus adds one list to another.
func plus(to, more corev1.ResourceList) {
	for name, quantity := range more {
		total := to[name].DeepCopy()
		total.Add(quantity)
		to[name] = total
	}
}
