package scheduling

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/klog/v2"
)

// noFitError says why no cluster passed the filters; its text is Karmada's.
type noFitError struct {
	all     int
	reasons map[string]int
}

func (e *noFitError) Error() string {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(e.reasons)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", e.reasons[reason], reason))
	}
	slices.Sort(reasons)
	return fmt.Sprintf("0/%d clusters are available: %s.", e.all, strings.Join(reasons, ", "))
}

// filter keeps the clusters that may serve the binding; the first failing filter gives the reason.
func filter(b *api.Binding, group api.ClusterAffinityTerm, clusters []*api.Cluster) ([]*api.Cluster, error) {
	failure := &noFitError{all: len(clusters), reasons: map[string]int{}}
	var fitting []*api.Cluster
	for _, cluster := range clusters {
		if cluster.DeletionTimestamp != nil {
			continue
		}
		if reason := refuse(b, group, cluster); reason != "" {
			failure.reasons[reason]++
			continue
		}
		fitting = append(fitting, cluster)
	}
	if len(fitting) == 0 {
		return nil, failure
	}
	return fitting, nil
}

// propertyNames are how the filter names the fields that a spread may need.
var propertyNames = map[string]string{"provider": "provider", "region": "region", "zone": "zones"}

func refuse(b *api.Binding, group api.ClusterAffinityTerm, cluster *api.Cluster) string {
	if !servesAPI(b, cluster) {
		return "cluster(s) did not have the API resource"
	}
	// Karmada does not hold taints against a cluster that serves already.
	if b.Target(cluster.Name) == nil {
		if taint := untolerated(b.Spec.Placement.ClusterTolerations, cluster.Spec.Taints); taint != nil {
			return fmt.Sprintf("cluster(s) had untolerated taint {%s}", taint.ToString())
		}
	}
	if overflowOrder(b, group, cluster) < 0 {
		return "cluster(s) did not match the placement cluster affinity constraint"
	}
	for _, constraint := range b.Spec.Placement.SpreadConstraints {
		field := constraint.SpreadByField
		if propertyNames[field] != "" && len(propertyOf(cluster, field)) == 0 {
			return fmt.Sprintf("cluster(s) did not have %s property", propertyNames[field])
		}
	}
	if b.Task(cluster.Name) != nil {
		return "cluster(s) is in the process of eviction"
	}
	return ""
}

// servesAPI says whether the cluster's list has the resource's kind. It is not held against a cluster that
// serves already. A list that is empty or not complete refuses like any other.
func servesAPI(b *api.Binding, cluster *api.Cluster) bool {
	return b.Target(cluster.Name) != nil || slices.ContainsFunc(cluster.Status.APIEnablements, func(group api.APIEnablement) bool {
		return group.GroupVersion == b.Spec.Resource.APIVersion && slices.ContainsFunc(group.Resources, func(served api.APIResource) bool {
			return served.Kind == b.Spec.Resource.Kind
		})
	})
}

func untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		holds := taints[i].Effect == corev1.TaintEffectNoSchedule || taints[i].Effect == corev1.TaintEffectNoExecute
		if holds && !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return tolerates(t, taints[i]) }) {
			return &taints[i]
		}
	}
	return nil
}

// tolerates is Kubernetes' matching without the Lt and Gt operators, which Karmada refuses.
func tolerates(toleration corev1.Toleration, taint corev1.Taint) bool {
	return toleration.ToleratesTaint(klog.Background(), &taint, false)
}

// ToleratedUntil is when a binding's tolerations of NoExecute taints run out: at once, the zero time, where one of
// the taints is not tolerated. Forever: each is, without an end.
func ToleratedUntil(tolerations []corev1.Toleration, taints []corev1.Taint) (until time.Time, forever bool) {
	forever = true
	for _, taint := range taints {
		tolerated := false
		for _, t := range tolerations {
			if !tolerates(t, taint) {
				continue
			}
			tolerated = true
			if t.TolerationSeconds == nil || taint.TimeAdded == nil {
				continue
			}
			end := taint.TimeAdded.Add(time.Duration(*t.TolerationSeconds) * time.Second)
			if forever || end.Before(until) {
				until, forever = end, false
			}
		}
		if !tolerated {
			return time.Time{}, false
		}
	}
	return until, forever
}

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
