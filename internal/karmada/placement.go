package karmada

import (
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
)

// Placement is spec.placement as far as the pre-check reads it; anything beyond
// is named in Binding.UnknownFields.
type Placement struct {
	ClusterAffinity    *ClusterAffinity      `json:"clusterAffinity,omitempty"`
	ClusterAffinities  []ClusterAffinityTerm `json:"clusterAffinities,omitempty"`
	ClusterTolerations []corev1.Toleration   `json:"clusterTolerations,omitempty"`
	SpreadConstraints  []SpreadConstraint    `json:"spreadConstraints,omitempty"`
	ReplicaScheduling  *ReplicaScheduling    `json:"replicaScheduling,omitempty"`
}

// ClusterAffinityTerm is one group of clusterAffinities.
type ClusterAffinityTerm struct {
	AffinityName    string `json:"affinityName"`
	ClusterAffinity `json:",inline"`
}

// SpreadConstraint is one of spec.placement.spreadConstraints.
type SpreadConstraint struct {
	SpreadByField string `json:"spreadByField,omitempty"`
	SpreadByLabel string `json:"spreadByLabel,omitempty"`
	MinGroups     int    `json:"minGroups,omitempty"`
	MaxGroups     int    `json:"maxGroups,omitempty"`
}

// ReplicaScheduling is spec.placement.replicaScheduling.
type ReplicaScheduling struct {
	Type               string            `json:"replicaSchedulingType,omitempty"`
	DivisionPreference string            `json:"replicaDivisionPreference,omitempty"`
	WeightPreference   *WeightPreference `json:"weightPreference,omitempty"`
}

// WeightPreference is how Divided, Weighted shares replicas out.
type WeightPreference struct {
	StaticWeightList []StaticWeight `json:"staticWeightList,omitempty"`
	DynamicWeight    string         `json:"dynamicWeight,omitempty"`
}

// StaticWeight is one entry of staticWeightList.
type StaticWeight struct {
	TargetCluster ClusterAffinity `json:"targetCluster"`
	Weight        int64           `json:"weight"`
}

// Karmada's replica scheduling types.
const (
	SchedulingDuplicated = "Duplicated"
	SchedulingDivided    = "Divided"
)

// Divided reports whether replicas are divided. A placement without
// replicaScheduling behaves as Duplicated.
func (p *Placement) Divided() bool {
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.Type == SchedulingDivided
}

// Karmada's division preferences.
const (
	DivisionAggregated = "Aggregated"
	DivisionWeighted   = "Weighted"
)

// DynamicByAvailableReplicas is Karmada's one dynamic weight.
const DynamicByAvailableReplicas = "AvailableReplicas"

// byStaticWeight reports a division by static weight, by equal ones where none are named.
func (p *Placement) byStaticWeight() bool { return p.Divided() && !p.ByRoom() }

// ByRoom reports a division that follows the room that clusters have: Aggregated, or
// weighted by available replicas.
func (p *Placement) ByRoom() bool {
	if !p.Divided() {
		return false
	}
	r := p.ReplicaScheduling
	return p.Aggregated() || (r.WeightPreference != nil && r.WeightPreference.DynamicWeight != "")
}

// Aggregated reports whether replicas are divided over as few clusters as possible.
func (p *Placement) Aggregated() bool {
	return p.ReplicaScheduling.DivisionPreference == DivisionAggregated
}

// Selectors are all affinities of a placement.
func (p *Placement) Selectors() []*ClusterAffinity {
	out := []*ClusterAffinity{p.ClusterAffinity}
	for i := range p.ClusterAffinities {
		out = append(out, &p.ClusterAffinities[i].ClusterAffinity)
	}
	for _, w := range p.StaticWeights() {
		out = append(out, &w.TargetCluster)
	}
	return out
}

// StaticWeights are the weights that a placement names, nil without any.
func (p *Placement) StaticWeights() []StaticWeight {
	if p.ReplicaScheduling == nil || p.ReplicaScheduling.WeightPreference == nil {
		return nil
	}
	return p.ReplicaScheduling.WeightPreference.StaticWeightList
}

// Group is one affinity that the scheduler tries; a placement without groups has a
// single nameless one.
type Group struct {
	Name     string
	Affinity *ClusterAffinity
}

// In says where: " (m2, m3)", or " (m2, m3) in group "backup"".
func (g Group) In(names []string) string {
	if g.Name == "" {
		return " (" + reason.List(names) + ")"
	}
	return fmt.Sprintf(" (%s) in group %q", reason.List(names), g.Name)
}

// Groups are the affinities that the scheduler tries, in order; never none.
func (p *Placement) Groups() []Group {
	if len(p.ClusterAffinities) == 0 {
		return []Group{{Affinity: p.ClusterAffinity}}
	}
	out := make([]Group, 0, len(p.ClusterAffinities))
	for i := range p.ClusterAffinities {
		term := &p.ClusterAffinities[i]
		out = append(out, Group{Name: term.AffinityName, Affinity: &term.ClusterAffinity})
	}
	return out
}

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

// Wants says what a spread requires: "spread wants 3", "spread wants 2 by region and has 1".
func Wants(s SpreadConstraint, have int) string {
	if s.Field() == SpreadByCluster {
		return fmt.Sprintf("spread wants %d", s.least())
	}
	return fmt.Sprintf("spread wants %d by %s and has %d", s.least(), s, have)
}

// IgnoresSpread reports whether the scheduler ignores spread constraints: it does where
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
