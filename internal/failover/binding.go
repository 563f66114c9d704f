package failover

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BindingKind tells the two kinds of bindings apart.
type BindingKind string

// The kinds of work.karmada.io/v1alpha2.
const (
	KindResourceBinding        BindingKind = "ResourceBinding"
	KindClusterResourceBinding BindingKind = "ClusterResourceBinding"
)

// BindingKey names a binding. Namespace is empty for a ClusterResourceBinding.
type BindingKey struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Kind is the kind that the key names.
func (k BindingKey) Kind() BindingKind {
	if k.Namespace == "" {
		return KindClusterResourceBinding
	}
	return KindResourceBinding
}

// String is "<namespace>/<name>", with "-" for the namespace of a
// ClusterResourceBinding: the form that workflow ids and the CLI use.
func (k BindingKey) String() string {
	if k.Namespace == "" {
		return "-/" + k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys by namespace, then by name.
func (k BindingKey) Compare(other BindingKey) int {
	return cmp.Or(strings.Compare(k.Namespace, other.Namespace), strings.Compare(k.Name, other.Name))
}

// ParseBindingKey reads what String wrote; whole is false where a part is missing.
func ParseBindingKey(text string) (key BindingKey, whole bool) {
	namespace, name, whole := strings.Cut(text, "/")
	if namespace == "-" {
		namespace = ""
	}
	return BindingKey{Namespace: namespace, Name: name}, whole
}

// Binding is what the rules see of a ResourceBinding or ClusterResourceBinding.
type Binding struct {
	Key             BindingKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Deleting        bool
	Labels          map[string]string
	Annotations     map[string]string
	// WorkloadLabels are those of the workload itself, as the manifest in its Work has them.
	// Karmada copies none of them to the binding. Nil where they were not read, or where no
	// Work of the binding stands on the cluster that was asked.
	WorkloadLabels map[string]string

	Resource  Resource
	Replicas  int32 // spec.replicas
	Workload  bool  // replicas > 0, or replicaRequirements, or components (Karmada's IsWorkload)
	Clusters  []TargetCluster
	Tasks     []Task
	Placement *Placement

	Priority      int32 // spec.schedulePriority.priority
	PropagateDeps bool
	RequiredBy    []RequiredBy
	// Request is what one replica asks for (spec.replicaRequirements.resourceRequest).
	Request corev1.ResourceList
	// HasRequirements tells that spec.replicaRequirements is there, also without requests.
	HasRequirements bool
	// Components are spec.components, the parts of a workload with several pod templates.
	Components []Component
	// PlacedComponents tells that an item of spec.clusters shares components out.
	PlacedComponents    bool
	SchedulerName       string
	SchedulingSuspended bool
	HasClusterFailover  bool // spec.failover.cluster is set
	PurgeMode           PurgeMode
	// PreservesCopies is spec.preserveResourcesOnDeletion: the end of a Work deletes nothing
	// on its member.
	PreservesCopies       bool
	SoftTolerationSeconds *int64 // spec.failover.cluster.tolerationSeconds, where the API has it
	// StateRules are spec.failover.cluster.statePreservation.rules.
	StateRules            []StateRule
	RescheduleTriggeredAt *time.Time

	// PlacementPending tells that the scheduler has yet to apply spec.placement.
	PlacementPending bool

	Status BindingStatus

	// RawClusters and RawTasks are the items of spec.clusters and
	// spec.gracefulEvictionTasks as they stand in the object, index by index, so
	// that a write copies what is not ours without understanding it.
	RawClusters []json.RawMessage
	RawTasks    []json.RawMessage

	// UnknownFields are paths under spec.placement that this version does not read.
	UnknownFields []string
	// Malformed says what of the object could not be understood, empty when fine.
	Malformed string
}

// Resource is spec.resource: the template that the binding propagates.
type Resource struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
}

// Component is one of spec.components. Request is what one of its replicas asks for,
// nil when nothing was said.
type Component struct {
	Name     string
	Replicas int32
	Request  corev1.ResourceList
}

// TargetCluster is one of spec.clusters.
type TargetCluster struct {
	Name     string `json:"name"`
	Replicas int32  `json:"replicas,omitempty"`
}

// PurgeMode is how the old copy goes. Empty means that nothing was said.
type PurgeMode string

// Karmada's purge modes.
const (
	PurgeGracefully PurgeMode = "Gracefully"
	PurgeDirectly   PurgeMode = "Directly"
	PurgeNever      PurgeMode = "Never"
)

// Task is one of spec.gracefulEvictionTasks.
type Task struct {
	FromCluster            string
	PurgeMode              PurgeMode
	Replicas               *int32
	Reason                 string
	Message                string
	Producer               string
	SuppressDeletion       *bool
	CreationTimestamp      *time.Time
	ClustersBeforeFailover []string
	// State is preservedLabelState: labels for the new copy.
	State map[string]string
}

// Ours tells a hold task of Lifeboat.
func (t Task) Ours() bool { return t.Producer == Producer }

// BindingStatus is what the scheduler and the status controllers report.
type BindingStatus struct {
	ObservedGeneration int64  // status.schedulerObservedGeneration
	ObservedAffinity   string // status.schedulerObservingAffinityName
	LastScheduled      *time.Time
	Scheduled          *Condition // condition Scheduled, nil when absent
	Aggregated         []AggregatedItem
}

// Health is aggregatedStatus[].health.
type Health string

// Karmada's health values; an absent one is HealthUnknown.
const (
	HealthHealthy   Health = "Healthy"
	HealthUnhealthy Health = "Unhealthy"
	HealthUnknown   Health = "Unknown"
)

// AggregatedItem is one of status.aggregatedStatus. The counts come from its raw
// status and are nil where the kind does not report them.
type AggregatedItem struct {
	Cluster            string
	Applied            bool
	Health             Health
	Generation         *int64
	ObservedGeneration *int64
	Replicas           *int64
	ReadyReplicas      *int64
	// Status is the copy's own status, as it was collected; nil where none was, and in
	// what the watch keeps.
	Status    json.RawMessage
	Malformed string
}

// Placement is spec.placement as far as the pre-check reads it; anything beyond
// is named in Binding.UnknownFields.
type Placement struct {
	ClusterAffinity    *ClusterAffinity      `json:"clusterAffinity,omitempty"`
	ClusterAffinities  []ClusterAffinityTerm `json:"clusterAffinities,omitempty"`
	ClusterTolerations []corev1.Toleration   `json:"clusterTolerations,omitempty"`
	SpreadConstraints  []SpreadConstraint    `json:"spreadConstraints,omitempty"`
	ReplicaScheduling  *ReplicaScheduling    `json:"replicaScheduling,omitempty"`
}

// ClusterAffinity selects clusters. Field selectors and label selectors are kept
// in Kubernetes' own terms; an empty affinity selects every cluster.
type ClusterAffinity struct {
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	FieldSelector *FieldSelector        `json:"fieldSelector,omitempty"`
	ClusterNames  []string              `json:"clusterNames,omitempty"`
	Exclude       []string              `json:"exclude,omitempty"`
}

// ClusterAffinityTerm is one group of clusterAffinities.
type ClusterAffinityTerm struct {
	AffinityName    string `json:"affinityName"`
	ClusterAffinity `json:",inline"`
}

// FieldSelector selects clusters by provider, region and zone.
type FieldSelector struct {
	MatchExpressions []corev1.NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}

// SpreadConstraint is one of spec.placement.spreadConstraints.
type SpreadConstraint struct {
	SpreadByField string `json:"spreadByField,omitempty"`
	SpreadByLabel string `json:"spreadByLabel,omitempty"`
	MinGroups     int    `json:"minGroups,omitempty"`
	MaxGroups     int    `json:"maxGroups,omitempty"`
}

// ReplicaScheduling is spec.placement.replicaScheduling.
type ReplicaScheduling struct {
	Type               string            `json:"replicaSchedulingType,omitempty"`
	DivisionPreference string            `json:"replicaDivisionPreference,omitempty"`
	WeightPreference   *WeightPreference `json:"weightPreference,omitempty"`
}

// WeightPreference is how Divided, Weighted shares replicas out.
type WeightPreference struct {
	StaticWeightList []StaticWeight `json:"staticWeightList,omitempty"`
	DynamicWeight    string         `json:"dynamicWeight,omitempty"`
}

// StaticWeight is one entry of staticWeightList.
type StaticWeight struct {
	TargetCluster ClusterAffinity `json:"targetCluster"`
	Weight        int64           `json:"weight"`
}

// Karmada's replica scheduling types.
const (
	SchedulingDuplicated = "Duplicated"
	SchedulingDivided    = "Divided"
)

// Divided tells whether replicas are divided. A placement without
// replicaScheduling behaves as Duplicated.
func (p *Placement) Divided() bool {
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.Type == SchedulingDivided
}

// Work is one Work of a binding in a member's execution namespace.
type Work struct {
	Namespace string
	Name      string
	UID       types.UID
	Cluster   string
	Deleting  bool
}

// requirements are what the scheduler counts a replica by: nil where none were made.
func (b *Binding) requirements() corev1.ResourceList {
	if b.HasRequirements && b.Request == nil {
		return corev1.ResourceList{}
	}
	return b.Request
}

// TaskFor finds the task for a cluster, whoever wrote it, Lifeboat's where there are
// several; index is -1 when there is none.
func (b *Binding) TaskFor(cluster string) (task *Task, index int) {
	index = -1
	for i := range b.Tasks {
		t := &b.Tasks[i]
		if t.FromCluster == cluster && (index < 0 || t.Ours() && !task.Ours()) {
			task, index = t, i
		}
	}
	return task, index
}

// Held tells whether a task of Lifeboat's stands for any cluster.
func (b *Binding) Held() bool { return slices.ContainsFunc(b.Tasks, Task.Ours) }

// ForeignTask is a task of another producer for a cluster, nil without one.
func (b *Binding) ForeignTask(cluster string) *Task {
	for i := range b.Tasks {
		if t := &b.Tasks[i]; t.FromCluster == cluster && !t.Ours() {
			return t
		}
	}
	return nil
}

// Target finds a cluster in spec.clusters; index is -1 when it is no target.
func (b *Binding) Target(cluster string) (target *TargetCluster, index int) {
	for i := range b.Clusters {
		if b.Clusters[i].Name == cluster {
			return &b.Clusters[i], i
		}
	}
	return nil, -1
}

// HeldElsewhere tells whether a hold task of ours for another cluster stands that a
// migration may own.
func (b *Binding) HeldElsewhere(cluster string) bool {
	for _, t := range b.Tasks {
		if t.FromCluster != cluster && t.active() && !t.ForDependent() {
			return true
		}
	}
	return false
}
