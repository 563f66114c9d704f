package placement

import (
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// judgeDivided demands that a trusted cluster outside the previous result gets replicas,
// or that survivors which grow have room for them. Replicas that go to clusters which
// are no target count for nothing.
func (in PreCheckInput) judgeDivided(g karmada.Group, used []karmada.Cluster, targets []karmada.TargetCluster) reason.Verdict {
	d := in.sharing(used, targets)
	switch {
	case len(d.outside) > 0:
		return in.divided(g, d, reason.Count(len(d.outside), "candidate")+" outside the present targets", d.outside)
	case d.full.Reason != reason.None:
		return d.full
	case len(d.inside) > 0:
		message := "the other targets have room"
		if d.pending != "" {
			message = "the other targets grow by their weights"
		}
		return in.divided(g, d, message, d.inside)
	case len(d.kept) > 0 && !d.grows:
		return in.divided(g, d, "the other targets keep what they need", d.kept)
	default:
		return in.noTarget(g)
	}
}

// divided is a yes: it names every cluster that the scheduler uses, and says where
// replicas are added.
func (in PreCheckInput) divided(g karmada.Group, d sharing, message string, where []string) reason.Verdict {
	names := slices.Concat(d.outside, d.inside, d.kept)
	slices.Sort(names)
	return reason.Verdict{OK: true, Candidates: names, Message: message + g.In(where) + d.pending}
}

// sharing is who gets what of a divided workload, as far as it can be trusted.
type sharing struct {
	outside, inside, kept []string       // new targets, targets that grow, targets that stay
	grows                 bool           // a target grows, trusted or not
	pending               string         // whose replicas would be Pending
	full                  reason.Verdict // of a growing cluster without room
}

func (in PreCheckInput) sharing(used []karmada.Cluster, targets []karmada.TargetCluster) sharing {
	var d sharing
	for _, t := range sorted(targets) {
		growth := int64(t.Replicas) - int64(in.had(t.Name))
		d.grows = d.grows || growth > 0
		if at := slices.IndexFunc(used, func(c karmada.Cluster) bool { return c.Name == t.Name }); at >= 0 {
			d.add(in, used[at], growth)
		}
	}
	return d
}

// add enters what a trusted cluster gets.
func (d *sharing) add(in PreCheckInput, c karmada.Cluster, growth int64) {
	if growth <= 0 {
		d.kept = append(d.kept, c.Name)
		return
	}
	_, served := in.Binding.Target(c.Name)
	room := in.unpromised(c, growth)
	if room.OK && !in.Binding.Placement.ByRoom() {
		// The scheduler does not check whether there is room.
		if room = in.room(c, growth); !room.OK && !in.RoomForStaticWeights {
			d.pending += "; pods may stay Pending: " + room.Message
			room.OK = true
		}
	}
	switch {
	case !room.OK:
		d.full = room
	case served < 0:
		d.outside = append(d.outside, c.Name)
	default:
		d.inside = append(d.inside, c.Name)
	}
}

// room reports whether a cluster has the room to grow.
func (in PreCheckInput) room(c karmada.Cluster, growth int64) reason.Verdict {
	if !sized(c.Capacity, in.Binding.Request) {
		if in.RoomUnknownOK {
			return reason.Verdict{OK: true}
		}
		return reason.Verdict{Reason: reason.NoCapacity, Message: fmt.Sprintf(
			"%s would take %d more and its capacity is not known", c.Name, growth)}
	}
	if free := credit(c.Capacity, in.Binding.Requirements(), in.Reserved.promised(c.Name)); free < growth {
		return reason.Verdict{Reason: reason.NoCapacity, Message: fmt.Sprintf(
			"%s would take %d more and has room for %d%s", c.Name, growth, free, in.Reserved.beside(c.Name))}
	}
	return reason.Verdict{OK: true}
}

// unpromised reports whether a cluster can take what it would grow by beside what
// others were promised there. Without such promises the scheduler's word is enough.
func (in PreCheckInput) unpromised(c karmada.Cluster, growth int64) reason.Verdict {
	if in.Reserved.beside(c.Name) == "" {
		return reason.Verdict{OK: true}
	}
	return in.room(c, growth)
}

// judgeComponents demands room for every component at once on one of the clusters that
// the scheduler uses: it sees a workload of zero replicas and needs none. A copy that
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
		return refused(reason.NoCapacity, g, []karmada.Cluster{c}, ": its capacity is not known, and its components need room")
	}
	for name, want := range need {
		if left := free(c.Capacity, name, in.Reserved.promised(c.Name)); left.Cmp(want) < 0 {
			return refused(reason.NoCapacity, g, []karmada.Cluster{c}, ": no room for its components"+in.Reserved.beside(c.Name))
		}
	}
	return reason.Verdict{OK: true}
}
