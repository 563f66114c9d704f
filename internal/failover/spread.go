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
// replicas are divided by static weight, but for an empty weightPreference.
func (p *Placement) ignoresSpread() bool {
	if len(p.SpreadConstraints) == 0 {
		return true
	}
	return p.byStaticWeight() && (p.ReplicaScheduling.WeightPreference == nil || len(p.staticWeights()) > 0)
}

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

// crashes names a group that makes the scheduler fail for a workload that is not
// divided, before Karmada 1.17: it scores the groups of a spread by their clusters with
// room for every replica, and divides by their number.
func (in PreCheckInput) crashes(seen []Cluster) string {
	b := in.Binding
	p := b.Placement
	if !in.Karmada.before(karmadaSkipsFullGroups) || p.Divided() || b.Replicas == 0 || p.ignoresSpread() {
		return ""
	}
	for _, s := range p.SpreadConstraints {
		if s.SpreadByLabel != "" || s.field() == SpreadByCluster {
			continue
		}
		groups := s.grouped(seen)
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			if !slices.ContainsFunc(groups[name], func(c Cluster) bool { return in.free(c)+int64(in.had(c.Name)) >= int64(b.Replicas) }) {
				return s.field() + " " + name
			}
		}
	}
	return ""
}
