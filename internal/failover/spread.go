package failover

import (
	"fmt"
	"maps"
	"slices"
)

// The groups that a spread constraint may name.
const (
	SpreadByCluster  = "cluster"
	SpreadByRegion   = "region"
	SpreadByZone     = "zone"
	SpreadByProvider = "provider"
)

// DynamicByAvailableReplicas is Karmada's one dynamic weight.
const DynamicByAvailableReplicas = "AvailableReplicas"

// field is what the constraint spreads by; one that names nothing spreads by cluster.
func (s SpreadConstraint) field() string {
	if s.SpreadByField == "" && s.SpreadByLabel == "" {
		return SpreadByCluster
	}
	return s.SpreadByField
}

// least is minGroups, which Karmada's webhook fills with 1.
func (s SpreadConstraint) least() int { return max(1, s.MinGroups) }

func (s SpreadConstraint) String() string {
	if s.SpreadByLabel != "" {
		return "label " + s.SpreadByLabel
	}
	return s.field()
}

// groupsOf are the groups that a cluster belongs to: several for a cluster over
// several zones, none for one that lacks the property.
func (s SpreadConstraint) groupsOf(c Cluster) []string {
	if s.SpreadByLabel != "" {
		return nonEmpty(c.Labels[s.SpreadByLabel])
	}
	switch s.field() {
	case SpreadByRegion:
		return nonEmpty(c.Region)
	case SpreadByZone:
		return c.Zones
	case SpreadByProvider:
		return nonEmpty(c.Provider)
	default:
		return []string{c.Name}
	}
}

// grouped sorts clusters into the constraint's groups.
func (s SpreadConstraint) grouped(clusters []Cluster) map[string][]Cluster {
	out := map[string][]Cluster{}
	for _, c := range clusters {
		for _, name := range s.groupsOf(c) {
			out[name] = append(out[name], c)
		}
	}
	return out
}

// lacksProperty says which property a cluster would need for the spread; the
// scheduler passes over clusters without it, whatever else holds.
func (p *Placement) lacksProperty(c Cluster) string {
	for _, s := range p.SpreadConstraints {
		byField := s.SpreadByLabel == "" && s.field() != SpreadByCluster
		if byField && len(s.groupsOf(c)) == 0 {
			return s.field()
		}
	}
	return ""
}

// unspread says which constraint's minGroups some clusters cannot meet, empty when
// they meet all.
func (p *Placement) unspread(clusters []Cluster) string {
	if p.ignoresSpread() {
		return ""
	}
	for _, s := range p.SpreadConstraints {
		if have := len(s.grouped(clusters)); have < s.least() {
			return wants(s, have)
		}
	}
	return ""
}

// wants says what a spread asks for: "spread wants 3", "spread wants 2 by region and has 1".
func wants(s SpreadConstraint, have int) string {
	if s.field() == SpreadByCluster {
		return fmt.Sprintf("spread wants %d", s.least())
	}
	return fmt.Sprintf("spread wants %d by %s and has %d", s.least(), s, have)
}

// ignoresSpread tells whether the scheduler ignores spread constraints: it does where
// replicas are divided by static weight.
func (p *Placement) ignoresSpread() bool { return len(p.SpreadConstraints) == 0 || p.byStaticWeight() }

// spreadBy finds the constraint for a field; the last one wins, as in the scheduler.
func (p *Placement) spreadBy(field string) (SpreadConstraint, bool) {
	for _, s := range slices.Backward(p.SpreadConstraints) {
		if s.field() == field {
			return s, true
		}
	}
	return SpreadConstraint{}, false
}

// maxClusters is the greatest number of clusters that the placement takes, 0 for no bound.
func (p *Placement) maxClusters() int {
	if p.ignoresSpread() {
		return 0
	}
	clusters, _ := p.spreadBy(SpreadByCluster)
	return clusters.MaxGroups
}

// selection is what the scheduler makes of the clusters that pass its filters. Which
// ones it prefers depends on its version, so only what holds for every choice is kept.
type selection struct {
	least int    // it selects so many or more
	most  int    // it selects so many or fewer
	all   bool   // it selects every one
	seeks bool   // where replicas are divided by room, it looks for a choice that has enough
	why   string // it fails, and why; the rest then means nothing
}

// selects foresees the scheduler's selection. It knows spread by cluster and by
// region only; zones, providers and labels beside them do not change its choice.
func (p *Placement) selects(seen []Cluster) selection {
	n := len(seen)
	if p.ignoresSpread() {
		return selection{least: n, most: n, all: true, seeks: true}
	}
	clusters, byCluster := p.spreadBy(SpreadByCluster)
	if regions, byRegion := p.spreadBy(SpreadByRegion); byRegion {
		return selectByRegion(regions, clusters, seen)
	}
	switch {
	case !byCluster:
		return selection{why: "the scheduler spreads by cluster and by region only"}
	case n < clusters.MinGroups:
		return selection{why: wants(clusters, n)}
	case clusters.MaxGroups <= 0:
		return selection{why: "without maxGroups the scheduler selects nothing"}
	}
	most := min(n, clusters.MaxGroups)
	return selection{least: most, most: most, all: most == n, seeks: true}
}

// selectByRegion: the scheduler looks for a set of regions, as many as the spread
// allows, that together have enough clusters; it takes one cluster of each, and
// more of them while the spread by cluster allows it.
func selectByRegion(regions, clusters SpreadConstraint, seen []Cluster) selection {
	var sizes []int
	for _, members := range regions.grouped(seen) {
		sizes = append(sizes, len(members))
	}
	if len(sizes) < regions.MinGroups {
		return selection{why: wants(regions, len(sizes))}
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	most := min(len(sizes), regions.MaxGroups)
	within := 0
	for _, size := range sizes[:max(0, most)] {
		within += size
	}
	if most < max(1, regions.MinGroups) || within < clusters.MinGroups {
		return selection{why: fmt.Sprintf("no %d regions have %d clusters", regions.MaxGroups, clusters.MinGroups)}
	}
	least := max(1, regions.MinGroups, min(clusters.MinGroups, clusters.MaxGroups))
	return selection{least: least, most: max(most, min(within, clusters.MaxGroups)), all: least >= len(seen)}
}

// crashes names a group that makes the scheduler fail for a workload that is not
// divided: it scores the groups of a spread by their clusters with room for every
// replica, and divides by their number.
func (b *Binding) crashes(seen []Cluster) string {
	p := b.Placement
	if p.Divided() || b.Replicas == 0 || p.ignoresSpread() {
		return ""
	}
	for _, s := range p.SpreadConstraints {
		if s.SpreadByLabel != "" || s.field() == SpreadByCluster {
			continue
		}
		groups := s.grouped(seen)
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			if !slices.ContainsFunc(groups[name], func(c Cluster) bool { return b.holds(c) >= int64(b.Replicas) }) {
				return s.field() + " " + name
			}
		}
	}
	return ""
}

// holds is what the scheduler credits a cluster with, what it has already included.
func (b *Binding) holds(c Cluster) int64 {
	had := int64(0)
	if t, at := b.Target(c.Name); at >= 0 {
		had = int64(t.Replicas)
	}
	return c.Capacity.credit(b.Request, nil) + had
}
