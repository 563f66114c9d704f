package failover

import (
	"fmt"
	"slices"
)

// judgeDivided demands that a trusted cluster outside the previous result gets replicas,
// or that survivors which grow have room for them. Replicas that go to clusters which
// nobody should be moved to count for nothing.
func (in PreCheckInput) judgeDivided(g group, used []Cluster, targets []TargetCluster) Verdict {
	d := in.sharing(used, targets)
	switch {
	case len(d.outside) > 0:
		return in.divided(g, d, Count(len(d.outside), "candidate")+" outside the present targets", d.outside)
	case d.full.Reason != ReasonNone:
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
func (in PreCheckInput) divided(g group, d sharing, message string, where []string) Verdict {
	names := slices.Concat(d.outside, d.inside, d.kept)
	slices.Sort(names)
	return Verdict{OK: true, Candidates: names, Message: message + g.in(where) + d.pending}
}

// sharing is who gets what of a divided workload, as far as it can be trusted.
type sharing struct {
	outside, inside, kept []string // new targets, targets that grow, targets that stay
	grows                 bool     // anybody grows, trusted or not
	pending               string   // whose replicas would be Pending
	full                  Verdict  // of a growing cluster without room
}

func (in PreCheckInput) sharing(used []Cluster, targets []TargetCluster) sharing {
	var d sharing
	for _, t := range sorted(targets) {
		growth := int64(t.Replicas) - int64(in.had(t.Name))
		d.grows = d.grows || growth > 0
		if at := slices.IndexFunc(used, func(c Cluster) bool { return c.Name == t.Name }); at >= 0 {
			d.add(in, used[at], growth)
		}
	}
	return d
}

// add enters what a trusted cluster gets.
func (d *sharing) add(in PreCheckInput, c Cluster, growth int64) {
	if growth <= 0 {
		d.kept = append(d.kept, c.Name)
		return
	}
	_, served := in.Binding.Target(c.Name)
	room := in.unpromised(c, growth)
	if room.OK && !in.Binding.Placement.byRoom() {
		// Nobody else looks whether there is room.
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

// room tells whether a cluster has the room to grow.
func (in PreCheckInput) room(c Cluster, growth int64) Verdict {
	if !sized(c.Capacity, in.Binding.Request) {
		if in.RoomUnknownOK {
			return Verdict{OK: true}
		}
		return Verdict{Reason: ReasonNoCapacity, Message: fmt.Sprintf(
			"%s would take %d more and its capacity is not known", c.Name, growth)}
	}
	if free := credit(c.Capacity, in.Binding.requirements(), in.Reserved.promised(c.Name)); free < growth {
		return Verdict{Reason: ReasonNoCapacity, Message: fmt.Sprintf(
			"%s would take %d more and has room for %d%s", c.Name, growth, free, in.Reserved.beside(c.Name))}
	}
	return Verdict{OK: true}
}

// unpromised tells whether a cluster can take what it would grow by beside what
// others were promised there. Without such promises the scheduler's word is enough.
func (in PreCheckInput) unpromised(c Cluster, growth int64) Verdict {
	if in.Reserved.beside(c.Name) == "" {
		return Verdict{OK: true}
	}
	return in.room(c, growth)
}
