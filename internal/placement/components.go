package placement

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// judgeComponents demands room for every component at once on one of the clusters that
// the scheduler uses: it sees a workload of zero replicas and asks for none. A copy that
// runs already needs no more.
func (in PreCheckInput) judgeComponents(g karmada.Group, used []karmada.Cluster) reason.Verdict {
	var fit []string
	var full reason.Verdict
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
	return reason.Verdict{OK: true, Candidates: fit, Message: reason.Count(len(fit), "candidate") + " with room for its components" + g.In(fit)}
}

func (in PreCheckInput) roomForComponents(g karmada.Group, c karmada.Cluster) reason.Verdict {
	need := in.Binding.ComponentNeed()
	if _, at := in.Binding.Target(c.Name); at >= 0 {
		return reason.Verdict{OK: true}
	}
	if !sized(c.Capacity, need) {
		if in.RoomUnknownOK {
			return reason.Verdict{OK: true}
		}
		return in.tooFull(g, []karmada.Cluster{c}, "its capacity is not known, and its components need room")
	}
	for name, want := range need {
		if left := free(c.Capacity, name, in.Reserved.promised(c.Name)); left.Cmp(want) < 0 {
			return in.tooFull(g, []karmada.Cluster{c}, "no room for its components"+in.Reserved.beside(c.Name))
		}
	}
	return reason.Verdict{OK: true}
}
