package karmada

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Selects reports whether the affinity selects a cluster, as today's Karmada scheduler
// would: exclude wins, everything else is ANDed, no names means any name, and a nil
// affinity selects every cluster. The error says what of the affinity cannot be
// understood; then nothing is selected.
func (a *ClusterAffinity) Selects(c Cluster) (bool, error) { return a.SelectsIn(0, c) }

// SelectsIn is Selects as a release of Karmada has it.
func (a *ClusterAffinity) SelectsIn(release Release, c Cluster) (bool, error) {
	if a == nil {
		return true, nil
	}
	labelled, err := matchesLabels(a.LabelSelector, c)
	if err != nil {
		return false, err
	}
	fielded, err := a.FieldSelector.matches(release, c)
	if err != nil {
		return false, err
	}
	named := len(a.ClusterNames) == 0 || slices.Contains(a.ClusterNames, c.Name)
	return labelled && fielded && named && !slices.Contains(a.Exclude, c.Name), nil
}

func matchesLabels(s *metav1.LabelSelector, c Cluster) (bool, error) {
	if s == nil {
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false, fmt.Errorf("labelSelector: %w", err)
	}
	return selector.Matches(labels.Set(c.Labels)), nil
}

// matches reports whether every expression matches; without any, every cluster does.
func (s *FieldSelector) matches(release Release, c Cluster) (bool, error) {
	if s == nil {
		return true, nil
	}
	all := true
	for _, expr := range s.MatchExpressions {
		ok, err := matchesField(release, expr, c)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func matchesField(release Release, expr corev1.NodeSelectorRequirement, c Cluster) (bool, error) {
	if expr.Operator != corev1.NodeSelectorOpIn && expr.Operator != corev1.NodeSelectorOpNotIn {
		// Karmada's webhook refuses every other operator.
		return false, fmt.Errorf("fieldSelector: operator %q of %s is neither In nor NotIn", expr.Operator, expr.Key)
	}
	switch expr.Key {
	case SpreadByZone:
		return matchesZones(release, expr, c.Zones), nil
	case SpreadByProvider:
		return matchesText(expr, c.Provider), nil
	case SpreadByRegion:
		return matchesText(expr, c.Region), nil
	default:
		return false, fmt.Errorf("fieldSelector: key %q is none of provider, region, zone", expr.Key)
	}
}

// matchesZones: any zone that is listed suffices for In, and rules NotIn out. Before
// Karmada 1.18 In needs all of them.
func matchesZones(release Release, expr corev1.NodeSelectorRequirement, zones []string) bool {
	listed := func(zone string) bool { return slices.Contains(expr.Values, zone) }
	switch {
	case expr.Operator == corev1.NodeSelectorOpNotIn:
		return !slices.ContainsFunc(zones, listed)
	case release.Before(OverlapsZones):
		return len(zones) > 0 && !slices.ContainsFunc(zones, func(zone string) bool { return !listed(zone) })
	default:
		return slices.ContainsFunc(zones, listed)
	}
}

// matchesText matches as a label selector does: without values, or with one that no
// label may have, the expression selects nothing, NotIn included.
func matchesText(expr corev1.NodeSelectorRequirement, value string) bool {
	operator := selection.In
	if expr.Operator == corev1.NodeSelectorOpNotIn {
		operator = selection.NotIn
	}
	requirement, err := labels.NewRequirement(expr.Key, operator, expr.Values)
	if err != nil {
		return false
	}
	set := labels.Set{}
	if value != "" {
		set[expr.Key] = value
	}
	return requirement.Matches(set)
}

func nonEmpty(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}

// Release is the minor version of Karmada 1.x that the pre-check follows; 0 is
// the newest known one.
type Release int

// NewestRelease is the newest release whose rules are known.
const NewestRelease Release = 19

// ParseRelease reads "1.19"; anything else means the newest.
func ParseRelease(version string) Release {
	minor, found := strings.CutPrefix(version, "1.")
	n, err := strconv.Atoi(minor)
	if !found || err != nil {
		return 0
	}
	return Release(n)
}

func (k Release) String() string { return "1." + strconv.Itoa(int(k)) }

// Before reports whether the release has the rules from before a minor version.
func (k Release) Before(minor Release) bool { return k != 0 && k < minor }

// The minor versions in which Karmada's scheduler changed a rule.
const (
	DividesByWebster Release = 16 // before: fractions are cut, the rest goes to the heaviest
	SkipsFullGroups  Release = 17 // before: a region without room makes the selection fail
	OverlapsZones    Release = 18 // before: zone In needs every zone of the cluster
)

// Narrow reports whether the affinity names something; an empty selector selects everything.
func (a *ClusterAffinity) Narrow() bool {
	if a == nil {
		return false
	}
	labelled := a.LabelSelector != nil && len(a.LabelSelector.MatchLabels)+len(a.LabelSelector.MatchExpressions) > 0
	fielded := a.FieldSelector != nil && len(a.FieldSelector.MatchExpressions) > 0
	return len(a.ClusterNames) > 0 || labelled || fielded
}

// ClusterAffinity selects clusters. Field selectors and label selectors are kept
// in Kubernetes' own terms; an empty affinity selects every cluster.
type ClusterAffinity struct {
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	FieldSelector *FieldSelector        `json:"fieldSelector,omitempty"`
	ClusterNames  []string              `json:"clusterNames,omitempty"`
	Exclude       []string              `json:"exclude,omitempty"`
}

// FieldSelector selects clusters by provider, region and zone.
type FieldSelector struct {
	MatchExpressions []corev1.NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}
