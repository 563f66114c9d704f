package k8sadapter

import (
	"encoding/json"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type clusterSpecWire struct {
	Provider json.RawMessage `json:"provider"`
	Region   json.RawMessage `json:"region"`
	Zone     json.RawMessage `json:"zone"`
	Zones    json.RawMessage `json:"zones"`
	Taints   json.RawMessage `json:"taints"`
	Endpoint json.RawMessage `json:"apiEndpoint"`
	ProxyURL json.RawMessage `json:"proxyURL"`
	Models   json.RawMessage `json:"resourceModels"`
}

type clusterStatusWire struct {
	Conditions      json.RawMessage `json:"conditions"`
	APIEnablements  json.RawMessage `json:"apiEnablements"`
	ResourceSummary json.RawMessage `json:"resourceSummary"`
}

// DecodeCluster reads a Cluster (cluster.karmada.io/v1alpha1) from its JSON. It
// never fails: what cannot be understood is named in Malformed.
func DecodeCluster(raw []byte) karmada.Cluster {
	var d decoding
	outline, meta := d.object(raw)
	var spec clusterSpecWire
	d.into("spec", outline.Spec, &spec)
	var status clusterStatusWire
	d.into("status", outline.Status, &status)

	cluster := karmada.Cluster{
		Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Labels: meta.Labels, Annotations: meta.Annotations, Deleting: meta.DeletionTimestamp != nil,
		Conditions:     d.conditions(status.Conditions),
		APIEnablements: apiEnablements(status.APIEnablements),
		Capacity:       capacity(status.ResourceSummary, spec.Models),
	}
	d.into("spec.provider", spec.Provider, &cluster.Provider)
	d.into("spec.region", spec.Region, &cluster.Region)
	cluster.Zones = d.zones(spec)
	d.into("spec.apiEndpoint", spec.Endpoint, &cluster.Endpoint)
	d.into("spec.proxyURL", spec.ProxyURL, &cluster.ProxyURL)
	cluster.Taints, cluster.RawTaints = d.taints(spec.Taints)
	readSoftTaints(&cluster)
	d.annotation(meta.Annotations, karmada.AnnotationAddedTaints, &cluster.Added)
	d.annotation(meta.Annotations, karmada.AnnotationStoppedBy, &cluster.Stopped)
	d.annotation(meta.Annotations, karmada.AnnotationDrain, &cluster.Drain)
	d.annotation(meta.Annotations, karmada.AnnotationOrderedTaints, &cluster.Ordered)
	cluster.Malformed = d.malformed()
	return cluster
}

func (d *decoding) zones(spec clusterSpecWire) []string {
	var zones []string
	d.into("spec.zones", spec.Zones, &zones)
	var zone string
	d.into("spec.zone", spec.Zone, &zone)
	if len(zones) == 0 && zone != "" {
		return []string{zone}
	}
	return zones
}

func (d *decoding) taints(raw json.RawMessage) (taints []corev1.Taint, items []json.RawMessage) {
	items = d.items("spec.taints", raw)
	for _, item := range items {
		var taint corev1.Taint
		d.into("spec.taints", item, &taint)
		taints = append(taints, taint)
	}
	return taints, items
}

// softTaintWire is one item of AnnotationSoftTaints.
type softTaintWire struct {
	Key       string             `json:"key"`
	Value     string             `json:"value,omitempty"`
	Effect    corev1.TaintEffect `json:"effect,omitempty"` // absent, or PreferNoExecute
	TimeAdded *metav1.Time       `json:"timeAdded,omitempty"`
}

// readSoftTaints adds the soft taints to the cluster's others. The annotation is
// written by hand, and what is wrong with it is kept apart: it must not cost the
// cluster its hard taints and its rules. Items are read each for itself.
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
		// It stands and keeps newcomers away, but there is no clock to move anybody by.
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

// apiEnablements are the served kinds; nil, not known, when absent or not readable,
// for an unreadable list must not look like a cluster that serves nothing.
func apiEnablements(raw json.RawMessage) []string {
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
	var kinds []string
	for _, group := range wire {
		for _, served := range group.Resources {
			kinds = append(kinds, group.GroupVersion+"/"+served.Kind)
		}
	}
	return kinds
}
