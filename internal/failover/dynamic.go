package failover

import "fmt"

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

// tooFull says no for want of room.
func (in PreCheckInput) tooFull(g group, seen []Cluster, what string) Verdict {
	names := clusterNames(seen)
	return Verdict{Reason: ReasonNoCapacity, Candidates: names, Message: fmt.Sprintf("%s%s: %s",
		Count(len(names), "candidate"), g.in(names), what)}
}
