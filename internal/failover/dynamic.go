package failover

import (
	"fmt"
	"slices"
)

// byStaticWeight tells a division by static weight, by equal ones where none are named.
func (p *Placement) byStaticWeight() bool { return p.Divided() && !p.byRoom() }

// byRoom tells a division that follows the room that clusters have: Aggregated, or
// weighted by available replicas.
func (p *Placement) byRoom() bool {
	if !p.Divided() {
		return false
	}
	r := p.ReplicaScheduling
	return p.aggregated() || (r.WeightPreference != nil && r.WeightPreference.DynamicWeight != "")
}

func (p *Placement) aggregated() bool {
	return p.ReplicaScheduling.DivisionPreference == DivisionAggregated
}

// enough tells whether the scheduler finds room for every replica of a workload that
// it divides by room, whichever clusters it selects; never tells that it cannot.
func (in PreCheckInput) enough(seen []Cluster, sel selection) (enough, never bool) {
	if !in.dividesByRoom() {
		return true, false
	}
	holds := make([]int64, 0, len(seen))
	for _, c := range seen {
		holds = append(holds, in.Binding.holds(c))
	}
	slices.Sort(holds)
	want := int64(in.Binding.Replicas)
	worst, best := sum(holds[:min(sel.least, len(holds))]), sum(holds[max(0, len(holds)-sel.most):])
	if sel.seeks {
		worst = best
	}
	return worst >= want, best < want
}

func (in PreCheckInput) dividesByRoom() bool {
	return in.Binding.Placement.byRoom() && in.Binding.Replicas > 0
}

func sum(numbers []int64) int64 {
	var total int64
	for _, n := range numbers {
		total += n
	}
	return total
}

// tooFull says no for want of room.
func (in PreCheckInput) tooFull(g group, seen []Cluster, what string) Verdict {
	names := clusterNames(seen)
	return Verdict{Reason: ReasonNoCapacity, Candidates: names, Message: fmt.Sprintf("%s%s: %s",
		count(len(names), "candidate"), g.in(names), what)}
}

// divisionByRoom divides as Karmada's dynamic strategies do. What clusters have already
// they keep; what is missing goes by room. When there is too much, what they have is
// cut in proportion.
func (in PreCheckInput) divisionByRoom(seen []Cluster) division {
	d := division{aggregated: in.Binding.Placement.aggregated()}
	var assigned int32
	for _, c := range seen {
		s := share{cluster: c, weight: c.Capacity.credit(in.Binding.Request, nil)}
		if t, at := in.Binding.Target(c.Name); at >= 0 {
			s.had = t.Replicas
		}
		s.replicas = s.had
		assigned += s.had
		d.base = append(d.base, s)
	}
	switch missing := in.Binding.Replicas - assigned; {
	case missing > 0:
		d.replicas, d.keepers = missing, d.aggregated
	case missing < 0:
		d.base, d.replicas = in.cutDown(), in.Binding.Replicas
	}
	return d
}

// cutDown weighs the former result, clusters that the scheduler no longer sees
// included, by what each has.
func (in PreCheckInput) cutDown() []share {
	var shares []share
	for _, t := range in.survivors() {
		s := share{cluster: Cluster{Name: t.Name}, weight: int64(t.Replicas), had: t.Replicas}
		if at := slices.IndexFunc(in.Fleet, func(c Cluster) bool { return c.Name == t.Name }); at >= 0 {
			s.cluster = in.Fleet[at]
		}
		shares = append(shares, s)
	}
	return shares
}

// fewest counts the shares from the front that together have the room.
func fewest(shares []share, want int64) int {
	var room int64
	for i, s := range shares {
		if room += s.weight; room >= want {
			return i + 1
		}
	}
	return len(shares)
}
