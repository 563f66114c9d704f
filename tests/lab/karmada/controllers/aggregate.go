package controllers

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// aggregate rebuilds a binding's aggregated status from its Works: all of them, those on dead
// clusters and those on their way out too.
func (p *Plane) aggregate(ctx context.Context, ref string) (time.Duration, error) {
	b := p.store.binding(ref)
	if b == nil {
		return 0, nil
	}
	items, condition := summarize(p.worksOf(ref))
	err := p.updateStatus(ctx, b, func(now *api.Binding) object {
		status := object{}
		if !reflect.DeepEqual(items, now.Status.AggregatedStatus) {
			status["aggregatedStatus"] = items
		}
		if conditions, changed := withCondition(now.Status.Conditions, condition); changed {
			status["conditions"] = conditions
		}
		return status
	})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
}

func summarize(works []*api.Work) ([]api.AggregatedStatus, metav1.Condition) {
	var items []api.AggregatedStatus
	condition := metav1.Condition{
		Type: "FullyApplied", Status: metav1.ConditionTrue, Reason: "FullyAppliedSuccess",
		Message: "All works have been successfully applied",
	}
	for _, w := range works {
		item := itemOf(w)
		if !item.Applied {
			condition.Status, condition.Reason = metav1.ConditionFalse, "FullyAppliedFailed"
			condition.Message = "Failed to apply all works, see status.aggregatedStatus for details"
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b api.AggregatedStatus) int { return strings.Compare(a.ClusterName, b.ClusterName) })
	return items, condition
}

// itemOf: a Work that is not applied has unknown health, whatever its manifests say.
func itemOf(w *api.Work) api.AggregatedStatus {
	item := api.AggregatedStatus{ClusterName: w.Cluster(), Health: "Unknown", Applied: meta.IsStatusConditionTrue(w.Status.Conditions, "Applied")}
	if len(w.Status.ManifestStatuses) == 1 && item.Applied {
		item.Status = w.Status.ManifestStatuses[0].Status
		item.Health = w.Status.ManifestStatuses[0].Health
	}
	return item
}
