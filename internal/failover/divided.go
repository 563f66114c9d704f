package failover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// share is what a division gives one cluster.
type share struct {
	cluster  Cluster
	weight   int64
	had      int32
	replicas int32
}

func (s share) growth() int64 { return int64(s.replicas) - int64(s.had) }

// sharing is who could get what of a divided workload, as far as it can be trusted.
type sharing struct {
	outside, inside, kept []string // new targets, targets that grow, targets that stay
	sure                  bool     // somebody among them grows, whatever the scheduler leaves to chance
	stays                 bool     // somebody among them keeps replicas, just as surely
	grows                 bool     // anybody grows, trusted or not
	full                  Verdict  // of a growing cluster without room
}

// judgeDivided demands that a candidate outside the previous result gets replicas,
// or that the survivors which grow have room for them. Static weights know no
// capacity: the scheduler would overfill a full cluster without a word. Replicas
// that it would give to clusters we distrust count for nothing.
func (in PreCheckInput) judgeDivided(g group, seen []Cluster, sel selection) Verdict {
	if in.Binding.Placement.byRoom() && !sel.all {
		return in.judgeChosen(g, seen)
	}
	d := in.sharing(seen)
	switch {
	case d.sure && len(d.outside) > 0:
		return Verdict{OK: true, Candidates: d.outside, Message: count(len(d.outside), "candidate") + " outside the present targets" + g.in(d.outside)}
	case d.full.Reason != ReasonNone:
		return d.full
	case d.sure:
		return Verdict{OK: true, Candidates: d.inside, Message: "the other targets have room" + g.in(d.inside)}
	case d.stays && !d.grows:
		return Verdict{OK: true, Candidates: d.kept, Message: "the other targets keep what they need" + g.in(d.kept)}
	default:
		return in.noTarget(g)
	}
}

// judgeChosen judges a division among a choice of the clusters that is the
// scheduler's: then each of them must do.
func (in PreCheckInput) judgeChosen(g group, seen []Cluster) Verdict {
	for _, c := range seen {
		if in.distrusted(c) != "" {
			return in.noTarget(g)
		}
		most := min(int64(in.Binding.Replicas), c.Capacity.credit(in.Binding.Request, nil))
		if v := in.unpromised(c, most); !v.OK {
			return v
		}
	}
	names := clusterNames(seen)
	return Verdict{OK: true, Candidates: names, Message: count(len(names), "candidate") + " with room" + g.in(names)}
}

// sharing foresees the division. Whoever could be lucky is a candidate; but what the
// scheduler leaves to chance must not be able to go to clusters alone that we distrust
// or that have no room for it.
func (in PreCheckInput) sharing(seen []Cluster) sharing {
	var d sharing
	division := in.division(seen)
	unfit := map[string]bool{}
	for _, s := range division.luckiest() {
		unfit[s.cluster.Name] = in.distrusted(s.cluster) != "" || !d.add(in, s)
	}
	for _, s := range division.shares(func(name string) bool { return unfit[name] }) {
		fit := !unfit[s.cluster.Name]
		d.grows = d.grows || s.growth() > 0
		d.sure = d.sure || (fit && s.growth() > 0)
		d.stays = d.stays || (fit && s.growth() <= 0 && s.replicas > 0)
	}
	slices.Sort(d.outside)
	slices.Sort(d.inside)
	slices.Sort(d.kept)
	return d
}

// add enters the most that a trusted cluster could get, and tells whether that fits.
func (d *sharing) add(in PreCheckInput, s share) bool {
	_, served := in.Binding.Target(s.cluster.Name)
	room := Verdict{OK: true}
	switch {
	case s.growth() > 0 && served < 0:
		if room = in.unpromised(s.cluster, s.growth()); room.OK {
			d.outside = append(d.outside, s.cluster.Name)
		}
	case s.growth() > 0:
		if room = in.room(s.cluster, s.growth()); room.OK {
			d.inside = append(d.inside, s.cluster.Name)
		}
	case s.replicas > 0:
		d.kept = append(d.kept, s.cluster.Name)
	}
	if !room.OK {
		d.full = room
	}
	return room.OK
}

// room tells whether a surviving target can take what it would grow by.
func (in PreCheckInput) room(c Cluster, growth int64) Verdict {
	if !c.Capacity.sized(in.Binding.Request) {
		if in.RoomUnknownOK {
			return Verdict{OK: true}
		}
		return Verdict{Reason: ReasonNoCapacity, Message: fmt.Sprintf(
			"%s would take %d more and its capacity is not known", c.Name, growth)}
	}
	if free := c.Capacity.credit(in.Binding.Request, in.Reserved.promised(c.Name)); free < growth {
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

// division is what the scheduler divides over whom. What the order among equals
// decides is left to chance: Karmada breaks ties one way in one version and another
// way in the next.
type division struct {
	base       []share // in no order, with what they keep
	replicas   int32   // to be shared out on top of that
	byHad      bool    // of equal weight, those that have most come first
	aggregated bool    // as few as have room together
	keepers    bool    // those that have some come first of all, when aggregated
}

func (in PreCheckInput) division(seen []Cluster) division {
	if in.Binding.Placement.byRoom() {
		return in.divisionByRoom(seen)
	}
	return division{base: weighted(in.Binding, seen), replicas: in.Binding.Replicas, byHad: true}
}

// shares foresees the division; where the order is open, those that are first come first.
func (d division) shares(first func(name string) bool) []share {
	shares := slices.Clone(d.base)
	byWeight := func(x, y share) int {
		had := 0
		if d.byHad {
			had = cmp.Compare(y.had, x.had)
		}
		return cmp.Or(cmp.Compare(y.weight, x.weight), had, firstly(first, x, y))
	}
	slices.SortFunc(shares, func(x, y share) int {
		if d.keepers && (x.had > 0) != (y.had > 0) {
			return cmp.Compare(y.had, x.had)
		}
		return byWeight(x, y)
	})
	taking := shares
	if d.aggregated && d.replicas > 0 {
		taking = shares[:fewest(shares, int64(d.replicas))]
		slices.SortFunc(taking, byWeight)
	}
	dispense(taking, d.replicas)
	return shares
}

// luckiest are the shares when each cluster by itself comes first among its equals.
// Those of one weight that have the same are all as lucky.
func (d division) luckiest() []share {
	type class struct {
		weight int64
		had    int32
	}
	most := map[class]int32{}
	lucky := slices.Clone(d.base)
	for i, s := range lucky {
		of := class{s.weight, s.had}
		if _, known := most[of]; !known {
			shares := d.shares(func(name string) bool { return name == s.cluster.Name })
			at := slices.IndexFunc(shares, func(x share) bool { return x.cluster.Name == s.cluster.Name })
			most[of] = shares[at].replicas
		}
		lucky[i].replicas = most[of]
	}
	return lucky
}

func firstly(first func(name string) bool, x, y share) int {
	switch fx, fy := first(x.cluster.Name), first(y.cluster.Name); {
	case fx && !fy:
		return -1
	case fy && !fx:
		return 1
	default:
		return strings.Compare(x.cluster.Name, y.cluster.Name)
	}
}

// dispense adds replicas to shares by weight: fractions are cut, and what is left
// goes one each from the front.
func dispense(shares []share, replicas int32) {
	var sum int64
	for _, s := range shares {
		sum += s.weight
	}
	if sum == 0 {
		return
	}
	left := replicas
	for i := range shares {
		part := int32(shares[i].weight * int64(replicas) / sum)
		shares[i].replicas += part
		left -= part
	}
	for i := range shares {
		if left <= 0 {
			break
		}
		shares[i].replicas++
		left--
	}
}

// weighted are the shares under static weights: the highest weight of the entries
// that select a cluster counts, clusters without weight get nothing unless none has any.
func weighted(b *Binding, clusters []Cluster) []share {
	var some, equal []share
	for _, c := range clusters {
		s := share{cluster: c, weight: staticWeight(b, c)}
		if t, at := b.Target(c.Name); at >= 0 {
			s.had = t.Replicas
		}
		if s.weight > 0 {
			some = append(some, s)
		}
		s.weight = 1
		equal = append(equal, s)
	}
	if len(some) == 0 {
		return equal
	}
	return some
}

func staticWeight(b *Binding, c Cluster) int64 {
	var most int64
	for _, w := range b.Placement.staticWeights() {
		// Unsupported has shown that every selector can be understood.
		if selected, err := w.TargetCluster.Selects(c); err == nil && selected {
			most = max(most, w.Weight)
		}
	}
	return most
}
