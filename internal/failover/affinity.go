package failover

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The keys of Karmada's cluster field selector.
const (
	FieldProvider = "provider"
	FieldRegion   = "region"
	FieldZone     = "zone"
)

// Selects tells whether the affinity selects a cluster, as Karmada's scheduler
// would: exclude wins, everything else is ANDed, no names means any name, and a nil
// affinity selects every cluster. The error says what of the affinity cannot be
// understood; then nothing is selected.
func (a *ClusterAffinity) Selects(c Cluster) (bool, error) {
	if a == nil {
		return true, nil
	}
	labelled, err := matchesLabels(a.LabelSelector, c)
	if err != nil {
		return false, err
	}
	fielded, err := a.FieldSelector.matches(c)
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

// matches refuses a selector without expressions: some versions of Karmada let it
// select every cluster and some none.
func (s *FieldSelector) matches(c Cluster) (bool, error) {
	if s == nil {
		return true, nil
	}
	if len(s.MatchExpressions) == 0 {
		return false, errors.New("fieldSelector: has no matchExpressions")
	}
	all := true
	for _, expr := range s.MatchExpressions {
		ok, err := matchesField(expr, c)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func matchesField(expr corev1.NodeSelectorRequirement, c Cluster) (bool, error) {
	values, err := fieldValues(expr.Key, c)
	if err != nil {
		return false, err
	}
	listed := func(v string) bool { return slices.Contains(expr.Values, v) }
	switch expr.Operator { //nolint:exhaustive // every other operator is refused below, as Karmada's webhook does
	case corev1.NodeSelectorOpIn:
		// A cluster over several zones is in only when all of them are listed.
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !listed(v) }), nil
	case corev1.NodeSelectorOpNotIn:
		return !slices.ContainsFunc(values, listed), nil
	default:
		return false, fmt.Errorf("fieldSelector: operator %q of %s is neither In nor NotIn", expr.Operator, expr.Key)
	}
}

func fieldValues(key string, c Cluster) ([]string, error) {
	switch key {
	case FieldProvider:
		return nonEmpty(c.Provider), nil
	case FieldRegion:
		return nonEmpty(c.Region), nil
	case FieldZone:
		return c.Zones, nil
	default:
		return nil, fmt.Errorf("fieldSelector: key %q is none of provider, region, zone", key)
	}
}

func nonEmpty(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}
