package failover

import (
	"encoding/json"
	"slices"
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
	// the witness alone.
	Endpoint string
	ProxyURL string

	// Taints are spec.taints and, with effect PreferNoExecute, the soft taints of
	// AnnotationSoftTaints: one list, so that no rule forgets half of it.
	Taints     []corev1.Taint
	Conditions []Condition

	// Added are the taints that are ours (AnnotationAddedTaints).
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
	// soft ones), so that a write copies what is not ours without understanding it.
	RawTaints []json.RawMessage

	// Malformed says what of the object could not be understood, empty when fine.
	Malformed string
	// SoftMalformed says the same of AnnotationSoftTaints: it costs soft taints only.
	SoftMalformed string
	// SoftUnreadable tells that AnnotationSoftTaints is no list at all, so that no soft
	// taint can be put or taken away without overwriting what somebody wrote.
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

// AddedTaint records, in the same patch that puts a taint, that it is ours.
type AddedTaint struct {
	Key     string             `json:"key"`
	Effect  corev1.TaintEffect `json:"effect"`
	Rule    string             `json:"rule"`
	Episode string             `json:"episode"`
}

// StoppedBy is the record of a cancelled failover.
type StoppedBy struct {
	Who     string `json:"who"`
	Why     string `json:"why"`
	Episode string `json:"episode"`
}

// Karmada's condition types.
const (
	// ConditionReady stands for a reachable, ready member.
	ConditionReady = "Ready"
	// ConditionCompleteAPIEnablements tells that the list of served kinds is complete.
	ConditionCompleteAPIEnablements = "CompleteAPIEnablements"
)

// OnlyCordoned tells whether all that is ours on a cluster are NoSchedule taints of rules: nothing
// was listed or moved for those.
func (c Cluster) OnlyCordoned() bool {
	others := slices.ContainsFunc(c.Added, func(t AddedTaint) bool { return t.Rule == "" || Triggers(t.Effect) })
	c.Added = nil
	return !others && !c.CarriesOurs()
}

// Writable tells whether taints of an effect can be put and taken away now.
func (c Cluster) Writable(effect corev1.TaintEffect) bool {
	return effect != EffectPreferNoExecute || !c.SoftUnreadable
}
