package karmada

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is what the rules see of a member cluster (cluster.karmada.io/v1alpha1 Cluster).
type Cluster struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	Annotations     map[string]string
	Deleting        bool

	Provider string
	Region   string
	Zones    []string // spec.zones, or the deprecated spec.zone

	// Endpoint is the member's own API server, ProxyURL the proxy on the way there: for
	// the external probe alone.
	Endpoint string
	ProxyURL string

	// Taints are spec.taints and, with effect PreferNoExecute, the soft taints of
	// AnnotationSoftTaints: one list, so that no rule forgets half of it.
	Taints     []corev1.Taint
	Conditions []Condition

	// Added are the taints that are Lifeboat's (AnnotationAddedTaints).
	Added []AddedTaint
	// Stopped is AnnotationStoppedBy, nil when absent.
	Stopped *StoppedBy
	// Drain is AnnotationDrain, nil when absent.
	Drain *Drain
	// Ordered is AnnotationOrderedTaints.
	Ordered []OrderedTaint

	// APIEnablements are the served kinds as "group/version/Kind"; nil means not known.
	APIEnablements []string
	// Capacity is status.resourceSummary; nil means not known.
	Capacity *Capacity

	// RawTaints are the items of spec.taints as they stand in the object (without the
	// soft ones), so that a write copies what is not Lifeboat's without understanding it.
	RawTaints []json.RawMessage

	// Malformed says what of the object could not be understood, empty when fine.
	Malformed string
	// SoftMalformed says the same of AnnotationSoftTaints: it costs soft taints only.
	SoftMalformed string
	// SoftUnreadable reports that AnnotationSoftTaints is no list at all, so that no soft
	// taint can be put or taken away without overwriting what another actor wrote.
	SoftUnreadable bool
}

// Condition is one of status.conditions.
type Condition struct {
	Type           string
	Status         corev1.ConditionStatus
	Reason         string
	Message        string
	LastTransition time.Time
}

// AddedTaint records, in the same patch that puts a taint, that it is Lifeboat's.
type AddedTaint struct {
	Key        string             `json:"key"`
	Effect     corev1.TaintEffect `json:"effect"`
	Rule       string             `json:"rule"`
	FailoverID string             `json:"failoverID"`
}

// StoppedBy is the record of a cancelled failover.
type StoppedBy struct {
	Who        string `json:"who"`
	Why        string `json:"why"`
	FailoverID string `json:"failoverID"`
}

// ConditionReady is Karmada's condition that the member is reachable and ready.
const ConditionReady = "Ready"

// OnlyCordoned reports whether all that is Lifeboat's on a cluster are NoSchedule taints of rules: nothing
// was listed or moved for those.
func (c Cluster) OnlyCordoned() bool {
	others := slices.ContainsFunc(c.Added, func(t AddedTaint) bool { return t.Rule == "" || Triggers(t.Effect) })
	c.Added = nil
	return !others && !c.HasLifeboatMark()
}

// Writable reports whether taints of an effect can be put and taken away now.
func (c Cluster) Writable(effect corev1.TaintEffect) bool { return Writable(effect, c.SoftUnreadable) }

// Writable is Writable of a cluster whose soft taints can be read, or not: the others can always be written.
func Writable(effect corev1.TaintEffect, softUnreadable bool) bool {
	return effect != EffectPreferNoExecute || !softUnreadable
}

// Capacity is status.resourceSummary: what a member has and what of it is spoken for.
type Capacity struct {
	Allocatable corev1.ResourceList
	// Allocated is held by pods that have a node, Allocating asked for by pods that wait for one.
	Allocated  corev1.ResourceList
	Allocating corev1.ResourceList
	// Models are the member's nodes by size, empty where Karmada keeps no models of them.
	Models []NodeModel
	// ModelsUnknown reports that there are models which could not be understood.
	ModelsUnknown bool
}

// NodeModel is one grade of spec.resourceModels: nodes that have at least Min free,
// and how many of them there are (status.resourceSummary.allocatableModelings).
type NodeModel struct {
	Min   corev1.ResourceList
	Count int64
}

// Ready reports whether the member is reachable and ready by Karmada's word.
func (c Cluster) Ready() bool {
	ready := c.ReadyCondition()
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// ReadyCondition is the condition Ready, nil when absent.
func (c Cluster) ReadyCondition() *Condition {
	return find(c.Conditions, func(cond Condition) bool { return cond.Type == ConditionReady })
}

// HasLifeboatMark reports whether a taint or a Lifeboat annotation stands on a cluster.
func (c Cluster) HasLifeboatMark() bool {
	return len(c.Added)+len(c.Ordered) > 0 || c.Stopped != nil || c.Drain != nil && !c.Drain.Deletion
}

// Outage names the outage that a cluster is in, by how its Ready condition stands and when
// it turned to that, as Karmada wrote it: "False@2026-03-01T03:00:00Z". It is only ever
// compared for being the same. Empty while the cluster answers, and where it is not said
// since when it does not.
func (c Cluster) Outage() string {
	if ready := c.ReadyCondition(); ready != nil {
		return OutageOf(ready.Turned())
	}
	return ""
}

// Turned is how a condition stands and when it turned to that, empty where that is not said.
func (c Condition) Turned() string {
	if c.LastTransition.IsZero() {
		return ""
	}
	return string(c.Status) + "@" + c.LastTransition.UTC().Format(time.RFC3339)
}

// OutageOf is how the Ready condition turned, empty where it turned to True.
func OutageOf(turned string) string {
	if strings.HasPrefix(turned, string(corev1.ConditionTrue)+"@") {
		return ""
	}
	return turned
}

// ClusterNames are the names of clusters, sorted.
func ClusterNames(clusters []Cluster) []string {
	return sortedNames(clusters, func(c Cluster) string { return c.Name })
}

// ProvesNothing reports whether what a cluster reports is no evidence: it is not Ready, is being
// deleted, or is evacuating.
func (c Cluster) ProvesNothing() bool { return !c.Ready() || c.Deleting || c.Evacuating() }

// Evacuating reports by a cluster's taints whether workloads leave it: a triggering one, whoever put it, or
// Lifeboat's evacuation NoSchedule taint.
func (c Cluster) Evacuating() bool {
	hard, soft := Triggering(c.Taints)
	return len(hard)+len(soft) > 0 || HasTaint(c.Taints, EvacuatingTaintKey, corev1.TaintEffectNoSchedule)
}

// HasTaint reports whether a taint with a key and an effect is among taints.
func HasTaint(taints []corev1.Taint, key string, effect corev1.TaintEffect) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == key && t.Effect == effect })
}

// OrderedTaint is an operator's order that a taint which moves bindings stand on a cluster
// (one item of AnnotationOrderedTaints). As with a [Drain] the annotation is the order's
// one home, and the taint follows from it: a run that died forgets nothing.
type OrderedTaint struct {
	Key        string             `json:"key"`
	Value      string             `json:"value,omitempty"`
	Effect     corev1.TaintEffect `json:"effect"` // NoExecute or PreferNoExecute
	Who        string             `json:"who"`
	Why        string             `json:"why"`
	FailoverID string             `json:"failoverID,omitempty"`
}

// Drain is the order that a cluster be emptied (AnnotationDrain on the Cluster).
// Only the annotation says whether the order holds: a run reads the cluster, so that a run that
// died forgets nothing.
type Drain struct {
	Who string `json:"who"`
	Why string `json:"why"`
	// Selector limits it to workloads whose labels match; empty means all of them.
	Selector string `json:"selector,omitempty"`
	// Rate bounds its own evictions per second, below the fleet's pace; 0 leaves it to that.
	Rate float64 `json:"rate,omitempty"`
	// HonourTolerations lets bindings that tolerate the drain's taint stay.
	HonourTolerations bool   `json:"honourTolerations,omitempty"`
	FailoverID        string `json:"failoverID,omitempty"`
	// Deletion reports that no operator ordered it: the cluster is being deleted.
	Deletion bool `json:"deletion,omitempty"`
}

// Triggers reports whether an effect makes bindings move: NoExecute and PreferNoExecute.
func Triggers(e corev1.TaintEffect) bool {
	return e == corev1.TaintEffectNoExecute || e == EffectPreferNoExecute
}

// Triggering picks the taints that make bindings move: hard ones (NoExecute) and
// soft ones (PreferNoExecute).
func Triggering(taints []corev1.Taint) (hard, soft []corev1.Taint) {
	for _, t := range taints {
		switch t.Effect { //nolint:exhaustive // the other effects move nothing
		case corev1.TaintEffectNoExecute:
			hard = append(hard, t)
		case EffectPreferNoExecute:
			soft = append(soft, t)
		}
	}
	return hard, soft
}

func sortedNames[T any](items []T, name func(T) string) []string {
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, name(item))
	}
	slices.Sort(names)
	return names
}
