package scheduling

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
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
