package k8sadapter

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// capacity reads status.resourceSummary; nil, not known, when it is absent or not
// readable. It is a hint: what is odd about it makes no cluster malformed.
func capacity(summary, models json.RawMessage) *karmada.Capacity {
	if absent(summary) {
		return nil
	}
	var wire struct {
		Allocatable json.RawMessage `json:"allocatable"`
		Allocating  json.RawMessage `json:"allocating"`
		Allocated   json.RawMessage `json:"allocated"`
		Modelings   json.RawMessage `json:"allocatableModelings"`
	}
	var d decoding
	const path = "status.resourceSummary"
	d.into(path, summary, &wire)
	known := karmada.Capacity{
		Allocatable: d.quantities(path, wire.Allocatable), Allocated: d.quantities(path, wire.Allocated), Allocating: d.quantities(path, wire.Allocating),
	}
	if len(d.problems) > 0 {
		return nil
	}
	known.Models, known.ModelsUnknown = nodeModels(models, wire.Modelings)
	return &known
}

// nodeModels joins the grades of spec.resourceModels with the nodes counted of each, as
// Karmada does: by grade, the last definition of a grade, the sum of its counts. None
// where there is no grade or no count, or a negative one.
func nodeModels(models, counts json.RawMessage) (joined []karmada.NodeModel, unknown bool) {
	var grades []struct {
		Grade  uint `json:"grade"`
		Ranges []struct {
			Name corev1.ResourceName `json:"name"`
			Min  json.RawMessage     `json:"min"`
		} `json:"ranges"`
	}
	var counted []struct {
		Grade uint  `json:"grade"`
		Count int64 `json:"count"`
	}
	var d decoding
	d.into("status.resourceSummary.allocatableModelings", counts, &counted)
	d.into("spec.resourceModels", models, &grades)
	byGrade := map[uint]karmada.NodeModel{}
	for _, grade := range grades {
		model := karmada.NodeModel{Min: corev1.ResourceList{}}
		for _, r := range grade.Ranges {
			model.Min[r.Name] = d.quantity("spec.resourceModels", r.Min)
		}
		byGrade[grade.Grade] = model
	}
	negative := false
	for _, c := range counted {
		model, defined := byGrade[c.Grade]
		negative = negative || c.Count < 0
		if model.Count += c.Count; defined {
			byGrade[c.Grade] = model
		}
	}
	if len(d.problems) > 0 {
		return nil, true
	}
	if len(counted) == 0 || negative {
		return nil, false
	}
	for _, grade := range slices.Sorted(maps.Keys(byGrade)) {
		joined = append(joined, byGrade[grade])
	}
	return joined, false
}

// quantities reads an amount of each resource.
func (d *decoding) quantities(path string, raw json.RawMessage) corev1.ResourceList {
	var texts map[corev1.ResourceName]json.RawMessage
	if d.into(path, raw, &texts); texts == nil {
		return nil
	}
	list := make(corev1.ResourceList, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list[name] = d.quantity(path, texts[name])
	}
	return list
}

// immense tells a number that nobody means: of an exponent of three digits, or of more
// digits than any amount has. A member's own agent may report one, and to compare it with
// another would take all time and memory that there is.
var immense = regexp.MustCompile(`[eE][-+]?0*[1-9][0-9]{2}|^.{66}`)

// quantity reads one amount. It is judged as a text before anything reckons with it.
func (d *decoding) quantity(path string, raw json.RawMessage) (amount resource.Quantity) {
	if immense.Match(raw) {
		d.problem(path, "%.40s is no amount of anything", raw)
		return resource.Quantity{}
	}
	d.into(path, raw, &amount)
	return amount
}
