package karmada

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Binding is what the rules see of a ResourceBinding or ClusterResourceBinding.
type Binding struct {
	Key             BindingKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Deleting        bool
	// PermanentID is Karmada's label that names the binding's Works too. Labels are the others: those
	// of many bindings are equal.
	PermanentID string
	Labels      map[string]string
	Annotations map[string]string
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
	// Request is what one replica requests (spec.replicaRequirements.resourceRequest).
	Request corev1.ResourceList
	// HasRequirements reports that spec.replicaRequirements is there, also without requests.
	HasRequirements bool
	// Components are spec.components, the parts of a workload with several pod templates.
	Components []Component
	// PlacedComponents reports that an item of spec.clusters shares components out.
	PlacedComponents    bool
	SchedulerName       string
	SchedulingSuspended bool
	// Unclaimed reports that the binding has none of the labels by which Karmada's scheduler selects
	// what it looks at: its policy was deleted.
	Unclaimed bool
	// DispatchingSuspended is spec.suspension.dispatching, SuspendedOn its dispatchingOnClusters:
	// Karmada applies no Work there, and deletes them all the same.
	DispatchingSuspended bool
	SuspendedOn          []string
	HasClusterFailover   bool // spec.failover.cluster is set
	PurgeMode            PurgeMode
	// PreservesCopies is spec.preserveResourcesOnDeletion: the end of a Work deletes nothing
	// on its member.
	PreservesCopies       bool
	SoftTolerationSeconds *int64 // spec.failover.cluster.tolerationSeconds, where the API has it
	// StateRules are spec.failover.cluster.statePreservation.rules.
	StateRules []StateRule
	// Application is spec.failover.application, nil where that is not set.
	Application           *ApplicationFailover
	RescheduleTriggeredAt *time.Time

	// PlacementPending reports that the scheduler has yet to apply spec.placement.
	PlacementPending bool

	Status BindingStatus

	// RawClusters and RawTasks are the items of spec.clusters and
	// spec.gracefulEvictionTasks as they stand in the object, index by index, so
	// that a write copies what is not Lifeboat's without understanding it.
	RawClusters []json.RawMessage
	RawTasks    []json.RawMessage

	// UnknownFields are paths under spec.placement that this version does not read.
	UnknownFields []string
	// Malformed says what of the object could not be understood, empty when fine.
	Malformed string
}

// Resource is spec.resource: the template that the binding propagates.
type Resource struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
}

// ApplicationFailover is spec.failover.application: the workload leaves a cluster on which it has
// been unhealthy for longer than it tolerates.
type ApplicationFailover struct {
	// TolerationSeconds is decisionConditions.tolerationSeconds, DefaultApplicationToleration where
	// it is not set. A negative one is kept, for the rules to refuse.
	TolerationSeconds int64
	// PurgeMode is empty where the field is.
	PurgeMode PurgeMode
	// GraceSeconds is gracePeriodSeconds, 0 where that is not set.
	GraceSeconds int64
	// StateRules are statePreservation.rules.
	StateRules []StateRule
}

// DefaultApplicationToleration is Karmada's default of decisionConditions.tolerationSeconds.
const DefaultApplicationToleration = 300

// Component is one of spec.components. Request is what one of its replicas requests,
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
	Cluster string
	Applied bool
	// AppliedMessage says why it is not applied.
	AppliedMessage     string
	Health             Health
	Generation         *int64
	ObservedGeneration *int64
	Replicas           *int64
	ReadyReplicas      *int64
	// DesiredPods is a DaemonSet's desiredNumberScheduled: on so many nodes a pod of it is to run.
	DesiredPods *int64
	// Status is the copy's own status, as it was collected; nil where none was, and in
	// what the watch keeps.
	Status    json.RawMessage
	Malformed string
}

// Work is one Work of a binding in a member's execution namespace.
type Work struct {
	Namespace string
	Name      string
	UID       types.UID
	Cluster   string
	Deleting  bool
	// RetainsReplicas: its workload carries LabelRetainReplicas. Read with the Work of a Deployment alone.
	RetainsReplicas bool `json:",omitempty"`
	// PreservesCopy is its own spec.preserveResourcesOnDeletion. Read with the Work of a binding alone.
	PreservesCopy bool `json:",omitempty"`
	// OverriddenReplicas are those that an OverridePolicy gives the copy, nil without one. Read with the Work of a binding alone.
	OverriddenReplicas *int64 `json:",omitempty"`
	// APIVersion is its manifest's, empty where that is not known. Read with the Work of a binding alone.
	APIVersion string `json:"-"`
}

// Heed notes what the old Work says about its copy; nil says nothing. Karmada's execution controller obeys
// the flag in the Work. The binding controller copies it from the binding, but not to a cluster that has left
// spec.clusters. If either flag is set, the copy counts as preserved. Where that is wrong, a copy stays until an operator
// releases it, or nothing is written. The opposite error leaves a copy that runs unseen beside the new one.
func (b *Binding) Heed(old *Work) {
	b.PreservesCopies = b.PreservesCopies || old != nil && old.PreservesCopy
}

// Target finds a cluster in spec.clusters; index is -1 when it is no target.
func (b *Binding) Target(cluster string) (target *TargetCluster, index int) {
	at := slices.IndexFunc(b.Clusters, func(t TargetCluster) bool { return t.Name == cluster })
	if at < 0 {
		return nil, -1
	}
	return &b.Clusters[at], at
}

// Targets reports whether a cluster is one of spec.clusters.
func (b *Binding) Targets(cluster string) bool {
	_, at := b.Target(cluster)
	return at >= 0
}

// NotDispatchedTo reports whether Karmada applies nothing of the binding on a cluster.
func (b *Binding) NotDispatchedTo(cluster string) bool {
	return b.DispatchingSuspended || slices.Contains(b.SuspendedOn, cluster)
}

// StateRule is one of spec.failover.cluster.statePreservation.rules: what of the old
// copy's status the new copy gets, and in which label.
type StateRule struct {
	Label string `json:"aliasLabelName"`
	Path  string `json:"jsonPath"` // in Karmada's dialect, from the status on
}

// MaxStateRules and MaxStatePath bound what an attempt freezes of one binding's state
// rules; MaxStatePath is in bytes. A binding beyond them is malformed.
const (
	MaxStateRules = 16
	MaxStatePath  = 1024
)

// MaxTolerations bounds what an attempt freezes of one placement's tolerations, in bytes as
// they stand in the object. A binding beyond it is malformed.
const MaxTolerations = 16_384

// Item finds the status of a cluster's copy, nil when none is reported.
func (b *Binding) Item(cluster string) *AggregatedItem {
	return find(b.Status.Aggregated, func(i AggregatedItem) bool { return i.Cluster == cluster })
}

// find is the first item that fits, nil where none does.
func find[T any](items []T, fits func(T) bool) *T {
	if at := slices.IndexFunc(items, fits); at >= 0 {
		return &items[at]
	}
	return nil
}

// Without is the binding with some of its targets gone.
func (b *Binding) Without(clusters []string) *Binding {
	out := *b
	out.Clusters = slices.DeleteFunc(slices.Clone(b.Clusters), func(t TargetCluster) bool { return slices.Contains(clusters, t.Name) })
	return &out
}

// RescheduleRequired reports whether the scheduler divides from scratch when it next looks.
func (b *Binding) RescheduleRequired() bool {
	at, last := b.RescheduleTriggeredAt, b.Status.LastScheduled
	return at != nil && last != nil && at.After(*last)
}

// ApiServed reports whether the scheduler takes the resource's API as served: a cluster
// that serves the binding already always passes, any other only where Karmada lists the
// API. Where Karmada lists none, it is not known to be served.
func (b *Binding) ApiServed(c Cluster, serves bool) bool {
	// The core group may be written with its empty name.
	api := b.Resource.Api()
	return serves || slices.Contains(c.APIEnablements, api) || slices.Contains(c.APIEnablements, "/"+api)
}

// Api is "group/version/Kind".
func (r Resource) Api() string { return r.APIVersion + "/" + r.Kind }

// Group is the API group of the resource, empty for the core group.
func (r Resource) Group() string {
	group, _, found := strings.Cut(r.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// GroupKind is "Job.batch", or "Namespace" in the core group.
func (r Resource) GroupKind() string {
	return strings.TrimSuffix(r.Kind+"."+r.Group(), ".")
}

// IsAppsKind reports whether a resource is one of the given kinds of Kubernetes' own apps group.
func (r Resource) IsAppsKind(kinds sets.Set[string]) bool {
	return r.Group() == "apps" && kinds.Has(r.Kind)
}

// DefinesKind reports whether it is the binding of a CustomResourceDefinition.
func (b *Binding) DefinesKind() bool { return b.Resource.GroupKind() == KindCRD }

// OfPolicy is " of PropagationPolicy shop/cart", empty when none is known.
func (b *Binding) OfPolicy() string {
	namespace, name, ok := strings.Cut(b.PolicyID(), "/")
	switch {
	case !ok:
		return ""
	case namespace == "":
		return " of ClusterPropagationPolicy " + name
	default:
		return " of PropagationPolicy " + namespace + "/" + name
	}
}

// OfMultiClusterService reports whether a MultiClusterService has Karmada propagate the binding: it is of no policy.
func (b *Binding) OfMultiClusterService() bool {
	return b.Labels["binding.karmada.io/managed-by"] == "MultiClusterService"
}

// PolicyID names the policy that a binding comes from, empty when none is known.
func (b *Binding) PolicyID() string {
	if name := b.Annotations[AnnotationPolicyName]; name != "" {
		return b.Annotations[AnnotationPolicyNamespace] + "/" + name
	}
	if name := b.Annotations[AnnotationClusterPolicyName]; name != "" {
		return "/" + name
	}
	return ""
}

// Selectable are the labels that a selector reads: those of the workload, and beside them
// those of the binding itself, such as Karmada's permanent ids. The workload's win.
func (b *Binding) Selectable() labels.Set {
	own := labels.Set{}
	if b.PermanentID != "" {
		own[b.Key.Kind().PermanentIDLabel()] = b.PermanentID
	}
	return labels.Merge(labels.Merge(own, b.Labels), b.WorkloadLabels)
}

// TargetNames are the names of targets, sorted.
func TargetNames(targets []TargetCluster) []string {
	return sortedNames(targets, func(t TargetCluster) string { return t.Name })
}

// ScheduledTrue reports whether the scheduler has accepted the targets of a binding.
func ScheduledTrue(b *Binding) bool {
	return b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionTrue
}

// ScheduledFalse reports whether the scheduler has refused a binding.
func ScheduledFalse(b *Binding) bool {
	return b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionFalse
}

// JobFinished reports whether the Job's copy on a cluster has completed or failed for good,
// as its last collected status says. A Job without a status counts as one that runs.
func (b *Binding) JobFinished(cluster string) bool {
	item := b.Item(cluster)
	if item == nil {
		return false
	}
	var status struct {
		Conditions []struct {
			Type   string                 `json:"type"`
			Status corev1.ConditionStatus `json:"status"`
		} `json:"conditions"`
		CompletionTime string `json:"completionTime"`
	}
	if json.Unmarshal(item.Status, &status) != nil {
		return false
	}
	for _, c := range status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return status.CompletionTime != ""
}

// RequiredBy is one of spec.requiredBy: a parent of a dependent, and where that runs.
type RequiredBy struct {
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Clusters  []string `json:"clusters,omitempty"`
}

// Task is one of spec.gracefulEvictionTasks.
type Task struct {
	FromCluster            string     `json:"fromCluster"`
	PurgeMode              PurgeMode  `json:"purgeMode,omitempty"`
	Replicas               *int32     `json:"replicas,omitempty"`
	Reason                 string     `json:"reason"`
	Message                string     `json:"message,omitempty"`
	Producer               string     `json:"producer"`
	SuppressDeletion       *bool      `json:"suppressDeletion,omitempty"`
	CreationTimestamp      *time.Time `json:"creationTimestamp,omitempty"`
	ClustersBeforeFailover []string   `json:"clustersBeforeFailover,omitempty"`
	// State are labels for the new copy.
	State map[string]string `json:"preservedLabelState,omitempty"`
}

// PurgeMode is how the old copy goes. Empty means that nothing was said.
type PurgeMode string

// ObservedGroup is the index of the affinity group that the scheduler stands at. A
// name that it does not find means the first, to the scheduler too.
func (b *Binding) ObservedGroup() int {
	return max(0, slices.IndexFunc(b.Placement.ClusterAffinities, func(t ClusterAffinityTerm) bool {
		return t.AffinityName == b.Status.ObservedAffinity
	}))
}
