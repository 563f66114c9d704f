package k8sadapter

import (
	"encoding/json"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// capacity reads status.resourceSummary; nil, not known, when it is absent or not
// readable. It is a hint: what is odd about it makes no cluster malformed.
func capacity(summary, models json.RawMessage) *failover.Capacity {
	if absent(summary) {
		return nil
	}
	var wire struct {
		Allocatable corev1.ResourceList `json:"allocatable"`
		Allocating  corev1.ResourceList `json:"allocating"`
		Allocated   corev1.ResourceList `json:"allocated"`
		Modelings   json.RawMessage     `json:"allocatableModelings"`
	}
	var d decoding
	if d.into("status.resourceSummary", summary, &wire); len(d.problems) > 0 {
		return nil
	}
	known := failover.Capacity{Allocatable: wire.Allocatable, Allocated: wire.Allocated, Allocating: wire.Allocating}
	known.Models, known.ModelsUnknown = nodeModels(models, wire.Modelings)
	return &known
}

// nodeModels joins the grades of spec.resourceModels with their counts, by position as
// Karmada does.
func nodeModels(models, counts json.RawMessage) (joined []failover.NodeModel, unknown bool) {
	var grades []struct {
		Ranges []struct {
			Name corev1.ResourceName `json:"name"`
			Min  resource.Quantity   `json:"min"`
		} `json:"ranges"`
	}
	var counted []struct {
		Count int64 `json:"count"`
	}
	var d decoding
	d.into("status.resourceSummary.allocatableModelings", counts, &counted)
	d.into("spec.resourceModels", models, &grades)
	if len(d.problems) > 0 || (len(counted) > 0 && len(counted) < len(grades)) {
		return nil, true
	}
	if len(counted) == 0 {
		return nil, false
	}
	for i, grade := range grades {
		model := failover.NodeModel{Min: corev1.ResourceList{}, Count: counted[i].Count}
		for _, r := range grade.Ranges {
			model.Min[r.Name] = r.Min
		}
		joined = append(joined, model)
	}
	return joined, false
}
