package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

func matchesLabels(cluster *api.Cluster, selector *metav1.LabelSelector) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(cluster.Labels))
}

func matchesFields(cluster *api.Cluster, selector *api.FieldSelector) bool {
	if selector == nil {
		return true
	}
	return !slices.ContainsFunc(selector.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		return !matchesField(cluster, r)
	})
}

func matchesField(cluster *api.Cluster, requirement corev1.NodeSelectorRequirement) bool {
	var values []string
	switch requirement.Key {
	case "provider":
		values = []string{cluster.Spec.Provider}
	case "region":
		values = []string{cluster.Spec.Region}
	case "zone":
		values = zones(cluster)
	}
	switch requirement.Operator {
	case corev1.NodeSelectorOpIn:
		// Every zone of the cluster must be listed, as in Karmada.
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool {
			return !slices.Contains(requirement.Values, v)
		})
	case corev1.NodeSelectorOpNotIn:
		return !slices.ContainsFunc(values, func(v string) bool { return slices.Contains(requirement.Values, v) })
	default:
		return false
	}
}

func zones(cluster *api.Cluster) []string {
	if cluster.Spec.Zone != "" {
		return []string{cluster.Spec.Zone}
	}
	return cluster.Spec.Zones
}
