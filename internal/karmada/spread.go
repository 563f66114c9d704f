package karmada

import (
	"fmt"
	"slices"
)

// The groups that a spread constraint may name.
const (
	SpreadByCluster  = "cluster"
	SpreadByRegion   = "region"
	SpreadByZone     = "zone"
	SpreadByProvider = "provider"
)

// Field is what the constraint spreads by; one that names nothing spreads by cluster.
func (s SpreadConstraint) Field() string {
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
	return s.Field()
}

// groupsOf are the groups that a cluster belongs to: several for a cluster over
// several zones, none for one that lacks the property.
func (s SpreadConstraint) groupsOf(c Cluster) []string {
	if s.SpreadByLabel != "" {
		return nonEmpty(c.Labels[s.SpreadByLabel])
	}
	switch s.Field() {
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

// Grouped sorts clusters into the constraint's groups.
func (s SpreadConstraint) Grouped(clusters []Cluster) map[string][]Cluster {
	out := map[string][]Cluster{}
	for _, c := range clusters {
		for _, name := range s.groupsOf(c) {
			out[name] = append(out[name], c)
		}
	}
	return out
}

// LacksProperty says which property a cluster would need for the spread; the
// scheduler passes over clusters without it, whatever else holds.
func (p *Placement) LacksProperty(c Cluster) string {
	for _, s := range p.SpreadConstraints {
		byField := s.SpreadByLabel == "" && s.Field() != SpreadByCluster
		if byField && len(s.groupsOf(c)) == 0 {
			return s.Field()
		}
	}
	return ""
}

// Unspread says which constraint's minGroups some clusters cannot meet, empty when
// they meet all.
func (p *Placement) Unspread(clusters []Cluster) string {
	if p.IgnoresSpread() {
		return ""
	}
	for _, s := range p.SpreadConstraints {
		if have := len(s.Grouped(clusters)); have < s.least() {
			return Wants(s, have)
		}
	}
	return ""
}

// Wants says what a spread asks for: "spread wants 3", "spread wants 2 by region and has 1".
func Wants(s SpreadConstraint, have int) string {
	if s.Field() == SpreadByCluster {
		return fmt.Sprintf("spread wants %d", s.least())
	}
	return fmt.Sprintf("spread wants %d by %s and has %d", s.least(), s, have)
}

// IgnoresSpread tells whether the scheduler ignores spread constraints: it does where
// replicas are divided by static weight, but for an empty weightPreference.
func (p *Placement) IgnoresSpread() bool {
	if len(p.SpreadConstraints) == 0 {
		return true
	}
	return p.byStaticWeight() && (p.ReplicaScheduling.WeightPreference == nil || len(p.StaticWeights()) > 0)
}

// SpreadBy finds the constraint for a field; the last one wins, as in the scheduler.
func (p *Placement) SpreadBy(field string) (SpreadConstraint, bool) {
	for _, s := range slices.Backward(p.SpreadConstraints) {
		if s.Field() == field {
			return s, true
		}
	}
	return SpreadConstraint{}, false
}

// MaxClusters is the greatest number of clusters that the placement takes, 0 for no bound.
func (p *Placement) MaxClusters() int {
	if p.IgnoresSpread() {
		return 0
	}
	clusters, _ := p.SpreadBy(SpreadByCluster)
	return clusters.MaxGroups
}
