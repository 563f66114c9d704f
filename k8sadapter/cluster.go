package k8sadapter

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DecodeCluster reads a Cluster (cluster.karmada.io/v1alpha1) from its JSON. It
// never fails: Malformed names the fields that it cannot read.
func DecodeCluster(raw []byte) karmada.Cluster {
	var d decoding
	outline, meta := d.object(raw)
	spec, status := d.section("spec", outline.Spec), d.section("status", outline.Status)
	cluster := karmada.Cluster{
		Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Labels: meta.Labels, Annotations: meta.Annotations, Deleting: meta.DeletionTimestamp != nil,
		Conditions:     d.conditions(status.fields["conditions"]),
		APIEnablements: apiEnablements(status.fields["apiEnablements"]),
		Capacity:       capacity(status.fields["resourceSummary"], spec.fields["resourceModels"]),
	}
	spec.read("provider", &cluster.Provider)
	spec.read("region", &cluster.Region)
	cluster.Zones = spec.zones()
	spec.read("apiEndpoint", &cluster.Endpoint)
	spec.read("proxyURL", &cluster.ProxyURL)
	cluster.RawTaints = spec.items("taints")
	for _, item := range cluster.RawTaints {
		var taint corev1.Taint
		d.into("spec.taints", item, &taint)
		cluster.Taints = append(cluster.Taints, taint)
	}
	readSoftTaints(&cluster)
	d.annotation(meta.Annotations, karmada.AnnotationAddedTaints, &cluster.Added)
	d.annotation(meta.Annotations, karmada.AnnotationStoppedBy, &cluster.Stopped)
	d.annotation(meta.Annotations, karmada.AnnotationDrain, &cluster.Drain)
	d.annotation(meta.Annotations, karmada.AnnotationOrderedTaints, &cluster.Ordered)
	cluster.Malformed = d.malformed()
	return cluster
}

// zones are spec.zones, or the deprecated spec.zone where there are none.
func (s section) zones() (zones []string) {
	var zone string
	s.read("zones", &zones)
	s.read("zone", &zone)
	if len(zones) == 0 && zone != "" {
		return []string{zone}
	}
	return zones
}

// softTaintWire is one item of AnnotationSoftTaints.
type softTaintWire struct {
	Key       string             `json:"key"`
	Value     string             `json:"value,omitempty"`
	Effect    corev1.TaintEffect `json:"effect,omitempty"` // absent, or PreferNoExecute
	TimeAdded *metav1.Time       `json:"timeAdded,omitempty"`
}

// readSoftTaints adds the soft taints to the cluster's other taints. People write the
// annotation by hand: its problems go to SoftMalformed, so that the hard taints and the rules
// of the cluster still count. Each item is read alone.
func readSoftTaints(c *karmada.Cluster) {
	value, found := c.Annotations[karmada.AnnotationSoftTaints]
	if !found {
		return
	}
	var d decoding
	path := annotationPath(karmada.AnnotationSoftTaints)
	items := d.items(path, json.RawMessage(value))
	c.SoftUnreadable = len(d.problems) > 0
	for _, item := range items {
		if taint, ok := d.softTaint(path, item); ok {
			c.Taints = append(c.Taints, taint)
		}
	}
	c.SoftMalformed = d.malformed()
}

func (d *decoding) softTaint(path string, item json.RawMessage) (corev1.Taint, bool) {
	var soft softTaintWire
	before := len(d.problems)
	d.into(path, item, &soft)
	switch {
	case len(d.problems) > before:
		return corev1.Taint{}, false
	case soft.Key == "" || soft.Effect != "" && soft.Effect != karmada.EffectPreferNoExecute:
		d.problem(path, "key %q with effect %q is no soft taint", soft.Key, soft.Effect)
		return corev1.Taint{}, false
	case soft.TimeAdded.IsZero():
		// Such a taint keeps new bindings away, but without a time no toleration ever runs out.
		d.problem(path, "key %q has no timeAdded: it never moves anything", soft.Key)
	}
	return corev1.Taint{
		Key: soft.Key, Value: soft.Value, Effect: karmada.EffectPreferNoExecute, TimeAdded: soft.TimeAdded,
	}, true
}

// annotation reads an annotation that holds JSON.
func (d *decoding) annotation(annotations map[string]string, name string, target any) {
	if value, found := annotations[name]; found {
		d.into(annotationPath(name), json.RawMessage(value), target)
	}
}

func annotationPath(name string) string { return "metadata.annotations[" + name + "]" }

// apiEnablements are the served kinds; nil (unknown) when the list is absent or malformed, so
// that such a cluster does not look like one that serves nothing.
func apiEnablements(raw json.RawMessage) (kinds []string) {
	var wire []struct {
		GroupVersion string `json:"groupVersion"`
		Resources    []struct {
			Kind string `json:"kind"`
		} `json:"resources"`
	}
	var d decoding
	if d.into("status.apiEnablements", raw, &wire); len(d.problems) > 0 {
		return nil
	}
	for _, group := range wire {
		for _, served := range group.Resources {
			kinds = append(kinds, group.GroupVersion+"/"+served.Kind)
		}
	}
	return kinds
}

// capacity reads status.resourceSummary; nil (unknown) when it is absent or malformed. It is a
// hint: a malformed one does not make the cluster malformed.
func capacity(summary, models json.RawMessage) *karmada.Capacity {
	if absent(summary) {
		return nil
	}
	var d decoding
	const path = "status.resourceSummary"
	fields := d.section(path, summary)
	known := karmada.Capacity{
		Allocatable: d.quantities(path, fields.fields["allocatable"]),
		Allocated:   d.quantities(path, fields.fields["allocated"]),
		Allocating:  d.quantities(path, fields.fields["allocating"]),
	}
	if len(d.problems) > 0 {
		return nil
	}
	known.Models, known.ModelsUnknown = nodeModels(models, fields.fields["allocatableModelings"])
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

// excessive matches a number with an exponent of three digits, or with more digits than a real
// amount has. The member's agent may report such a number, and a comparison with it would use
// unbounded time and memory.
var excessive = regexp.MustCompile(`[eE][-+]?0*[1-9][0-9]{2}|^.{66}`)

// quantity reads one amount. It checks the text before it parses a number.
func (d *decoding) quantity(path string, raw json.RawMessage) (amount resource.Quantity) {
	if excessive.Match(raw) {
		d.problem(path, "%.40s is not a valid amount", raw)
		return resource.Quantity{}
	}
	d.into(path, raw, &amount)
	return amount
}
