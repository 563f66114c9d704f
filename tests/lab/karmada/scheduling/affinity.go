package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// Matches says whether a cluster satisfies an affinity; a nil affinity is satisfied by every cluster.
func Matches(cluster *api.Cluster, affinity *api.ClusterAffinity) bool {
	if affinity == nil {
		return true
	}
	if slices.Contains(affinity.Exclude, cluster.Name) {
		return false
	}
	if len(affinity.ClusterNames) > 0 && !slices.Contains(affinity.ClusterNames, cluster.Name) {
		return false
	}
	return matchesLabels(cluster, affinity.LabelSelector) && matchesFields(cluster, affinity.FieldSelector)
}

// overflowOrder is 0 for a cluster of the group itself, n for one of its nth overflow term, -1 for any other.
// Only workloads overflow.
func overflowOrder(b *api.Binding, group api.ClusterAffinityTerm, cluster *api.Cluster) int {
	if Matches(cluster, &group.ClusterAffinity) {
		return 0
	}
	if !b.IsWorkload() {
		return -1
	}
	for i := range group.Overflow {
		if Matches(cluster, &group.Overflow[i].ClusterAffinity) {
			return i + 1
		}
	}
	return -1
}

func matchesLabels(cluster *api.Cluster, selector *metav1.LabelSelector) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(cluster.Labels))
}

// matchesFields matches zones by Karmada's own rules, provider and region as if they were labels: a term that
// is no valid requirement, NotIn without values among them, matches nothing.
func matchesFields(cluster *api.Cluster, selector *api.FieldSelector) bool {
	if selector == nil {
		return true
	}
	return !slices.ContainsFunc(selector.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		if r.Key == "zone" {
			return !matchesZones(cluster.Spec.Zones, r)
		}
		return !matchesField(cluster, r)
	})
}

func matchesZones(zones []string, requirement corev1.NodeSelectorRequirement) bool {
	listed := slices.ContainsFunc(zones, func(zone string) bool { return slices.Contains(requirement.Values, zone) })
	switch requirement.Operator {
	case corev1.NodeSelectorOpIn:
		return listed
	case corev1.NodeSelectorOpNotIn:
		return !listed
	case corev1.NodeSelectorOpExists:
		return len(zones) > 0
	case corev1.NodeSelectorOpDoesNotExist:
		return len(zones) == 0
	default:
		return false
	}
}

var fieldOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

func matchesField(cluster *api.Cluster, requirement corev1.NodeSelectorRequirement) bool {
	fields := labels.Set{}
	for name, value := range map[string]string{"provider": cluster.Spec.Provider, "region": cluster.Spec.Region} {
		if value != "" {
			fields[name] = value
		}
	}
	parsed, err := labels.NewRequirement(requirement.Key, fieldOperators[requirement.Operator], requirement.Values)
	return err == nil && parsed.Matches(fields)
}
