package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Binding is a ResourceBinding or a ClusterResourceBinding; Kind tells which.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              BindingSpec   `json:"spec"`
	Status            BindingStatus `json:"status"`
	// PlacementJSON is spec.placement as it stands on the server, unknown fields included; empty without one.
	PlacementJSON string `json:"-"`
	// RawTasks are spec.gracefulEvictionTasks with every field, in the same order.
	RawTasks []any `json:"-"`
}

// BindingSpec is what a binding asks for.
type BindingSpec struct {
	Resource              ObjectReference      `json:"resource"`
	Replicas              int32                `json:"replicas"`
	ReplicaRequirements   *ReplicaRequirements `json:"replicaRequirements"`
	Components            []Component          `json:"components"`
	Clusters              []TargetCluster      `json:"clusters"`
	Placement             *Placement           `json:"placement"`
	GracefulEvictionTasks []EvictionTask       `json:"gracefulEvictionTasks"`
	RequiredBy            []RequiredBy         `json:"requiredBy"`
	PropagateDeps         bool                 `json:"propagateDeps"`
	SchedulerName         string               `json:"schedulerName"`
	RescheduleTriggeredAt *metav1.Time         `json:"rescheduleTriggeredAt"`
	Suspension            *Suspension          `json:"suspension"`
	PreserveOnDeletion    *bool                `json:"preserveResourcesOnDeletion"`
}

// ObjectReference names the resource template.
type ObjectReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// ReplicaRequirements is what one replica needs.
type ReplicaRequirements struct {
	ResourceRequest map[corev1.ResourceName]resource.Quantity `json:"resourceRequest"`
}

// Component is one part of a workload with several pod templates.
type Component struct {
	Name     string `json:"name"`
	Replicas int32  `json:"replicas"`
}

// TargetCluster is one entry of a schedule result.
type TargetCluster struct {
	Name     string `json:"name"`
	Replicas int32  `json:"replicas,omitempty"`
}

// RequiredBy says where a parent of this dependent runs.
type RequiredBy struct {
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Clusters  []TargetCluster `json:"clusters,omitempty"`
}

// Suspension switches parts of Karmada off for one binding.
type Suspension struct {
	Dispatching           bool `json:"dispatching"`
	DispatchingOnClusters *struct {
		ClusterNames []string `json:"clusterNames"`
	} `json:"dispatchingOnClusters"`
	Scheduling bool `json:"scheduling"`
}

// EvictionTask keeps the old copy on a cluster until the task goes.
type EvictionTask struct {
	FromCluster        string       `json:"fromCluster"`
	PurgeMode          string       `json:"purgeMode"`
	Replicas           *int32       `json:"replicas"`
	GracePeriodSeconds *int32       `json:"gracePeriodSeconds"`
	SuppressDeletion   *bool        `json:"suppressDeletion"`
	CreationTimestamp  *metav1.Time `json:"creationTimestamp"`

	PreservedLabelState    map[string]string `json:"preservedLabelState"`
	ClustersBeforeFailover []string          `json:"clustersBeforeFailover"`
}

// Placement says which clusters may serve and how replicas are divided.
type Placement struct {
	ClusterAffinity    *ClusterAffinity      `json:"clusterAffinity"`
	ClusterAffinities  []ClusterAffinityTerm `json:"clusterAffinities"`
	ClusterTolerations []corev1.Toleration   `json:"clusterTolerations"`
	SpreadConstraints  []SpreadConstraint    `json:"spreadConstraints"`
	ReplicaScheduling  *ReplicaScheduling    `json:"replicaScheduling"`
}

// ClusterAffinity selects clusters.
type ClusterAffinity struct {
	LabelSelector *metav1.LabelSelector `json:"labelSelector"`
	FieldSelector *FieldSelector        `json:"fieldSelector"`
	ClusterNames  []string              `json:"clusterNames"`
	Exclude       []string              `json:"exclude"`
}

// ClusterAffinityTerm is one affinity group.
type ClusterAffinityTerm struct {
	AffinityName    string `json:"affinityName"`
	ClusterAffinity `json:",inline"`
	Overflow        []ClusterAffinityTerm `json:"overflowAffinities"`
}

// FieldSelector selects clusters by provider, region and zone.
type FieldSelector struct {
	MatchExpressions []corev1.NodeSelectorRequirement `json:"matchExpressions"`
}

// SpreadConstraint bounds the number of groups a result is spread over; 0 MaxGroups means no bound.
type SpreadConstraint struct {
	SpreadByField string `json:"spreadByField"`
	SpreadByLabel string `json:"spreadByLabel"`
	MinGroups     int    `json:"minGroups"`
	MaxGroups     int    `json:"maxGroups"`
}

// ReplicaScheduling says how replicas are divided.
type ReplicaScheduling struct {
	Type               string            `json:"replicaSchedulingType"`
	DivisionPreference string            `json:"replicaDivisionPreference"`
	WeightPreference   *WeightPreference `json:"weightPreference"`
}

// WeightPreference weighs clusters against each other.
type WeightPreference struct {
	DynamicWeight    string         `json:"dynamicWeight"`
	StaticWeightList []StaticWeight `json:"staticWeightList"`
}

// StaticWeight gives the clusters it matches a weight.
type StaticWeight struct {
	TargetCluster ClusterAffinity `json:"targetCluster"`
	Weight        int64           `json:"weight"`
}

// BindingStatus is what Karmada reports.
type BindingStatus struct {
	SchedulerObservedGeneration    int64              `json:"schedulerObservedGeneration"`
	SchedulerObservingAffinityName string             `json:"schedulerObservingAffinityName"`
	LastScheduledTime              *metav1.Time       `json:"lastScheduledTime"`
	Conditions                     []metav1.Condition `json:"conditions"`
	AggregatedStatus               []AggregatedStatus `json:"aggregatedStatus"`
}

// AggregatedStatus is one cluster's copy as Karmada last saw it.
type AggregatedStatus struct {
	ClusterName string         `json:"clusterName"`
	Status      map[string]any `json:"status,omitempty"`
	Applied     bool           `json:"applied,omitempty"`
	Health      string         `json:"health,omitempty"`
}

// Work carries one binding's manifest to one cluster.
type Work struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Workload struct {
			Manifests []map[string]any `json:"manifests"`
		} `json:"workload"`
		SuspendDispatching bool `json:"suspendDispatching"`
		PreserveOnDeletion bool `json:"preserveResourcesOnDeletion"`
	} `json:"spec"`
	Status struct {
		Conditions       []metav1.Condition `json:"conditions"`
		ManifestStatuses []ManifestStatus   `json:"manifestStatuses"`
	} `json:"status"`
}

// ManifestStatus is the state of one manifest of a Work in its member cluster.
type ManifestStatus struct {
	Identifier ManifestIdentifier `json:"identifier"`
	Status     map[string]any     `json:"status,omitempty"`
	Health     string             `json:"health,omitempty"`
}

// ManifestIdentifier names one manifest of a Work.
type ManifestIdentifier struct {
	Ordinal   int    `json:"ordinal"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Cluster is a member cluster.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		APIEndpoint string         `json:"apiEndpoint"`
		Provider    string         `json:"provider"`
		Region      string         `json:"region"`
		Zones       []string       `json:"zones"`
		Taints      []corev1.Taint `json:"taints"`
		// ResourceModels are grades of nodes by size.
		ResourceModels []ResourceModel `json:"resourceModels"`
	} `json:"spec"`
	Status ClusterStatus `json:"status"`
}

// ResourceModel is one grade: nodes with at least so much of each resource.
type ResourceModel struct {
	Grade  int `json:"grade"`
	Ranges []struct {
		Name corev1.ResourceName `json:"name"`
		Min  resource.Quantity   `json:"min"`
	} `json:"ranges"`
}

// ClusterStatus is what Karmada knows about a member cluster.
type ClusterStatus struct {
	Conditions      []metav1.Condition `json:"conditions"`
	APIEnablements  []APIEnablement    `json:"apiEnablements"`
	ResourceSummary *ResourceSummary   `json:"resourceSummary"`
}

// APIEnablement is one API group version that a member serves.
type APIEnablement struct {
	GroupVersion string        `json:"groupVersion"`
	Resources    []APIResource `json:"resources"`
}

// APIResource is one kind of an API group version.
type APIResource struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// ResourceSummary is a member cluster's capacity.
type ResourceSummary struct {
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	Allocated   corev1.ResourceList `json:"allocated,omitempty"`
	Allocating  corev1.ResourceList `json:"allocating,omitempty"`
	// AllocatableModelings count the nodes of each grade of spec.resourceModels.
	AllocatableModelings []struct {
		Grade int `json:"grade"`
		Count int `json:"count"`
	} `json:"allocatableModelings,omitempty"`
}

// Target finds the entry of a cluster in the schedule result.
func (b *Binding) Target(cluster string) *TargetCluster {
	for i := range b.Spec.Clusters {
		if b.Spec.Clusters[i].Name == cluster {
			return &b.Spec.Clusters[i]
		}
	}
	return nil
}

// Task finds the first eviction task that holds the copy on a cluster.
func (b *Binding) Task(cluster string) *EvictionTask {
	for i := range b.Spec.GracefulEvictionTasks {
		if b.Spec.GracefulEvictionTasks[i].FromCluster == cluster {
			return &b.Spec.GracefulEvictionTasks[i]
		}
	}
	return nil
}

// IsWorkload says whether the resource runs replicas (Karmada's rule).
func (b *Binding) IsWorkload() bool {
	return b.Spec.Replicas > 0 || b.Spec.ReplicaRequirements != nil || len(b.Spec.Components) > 0
}

// Ref is the binding's identity across both kinds: "rb/namespace/name" or "crb/name".
func (b *Binding) Ref() string {
	if b.Kind == KindClusterResourceBinding {
		return "crb/" + b.Name
	}
	return "rb/" + b.Namespace + "/" + b.Name
}

// BindingRef is the Ref of the binding a Work belongs to; empty when it names none.
func (w *Work) BindingRef() string {
	if name := w.Annotations[AnnotationClusterBindingName]; name != "" {
		return "crb/" + name
	}
	if name := w.Annotations[AnnotationBindingName]; name != "" {
		return "rb/" + w.Annotations[AnnotationBindingNamespace] + "/" + name
	}
	return ""
}

// Cluster is the cluster a Work is for.
func (w *Work) Cluster() string {
	cluster, _ := ClusterOfNamespace(w.Namespace)
	return cluster
}

// Ready is the cluster's Ready condition, nil while there is none.
func (c *Cluster) Ready() *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, "Ready")
}

// IsReady says whether Karmada believes the cluster is ready.
func (c *Cluster) IsReady() bool { return meta.IsStatusConditionTrue(c.Status.Conditions, "Ready") }

// Object is what From can produce.
type Object interface{ Binding | Work | Cluster }

// From decodes an object that a dynamic client returned.
func From[T Object](content map[string]any) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, out); err != nil {
		return nil, err
	}
	if binding, ok := any(out).(*Binding); ok {
		binding.PlacementJSON = placementJSON(content)
		binding.RawTasks, _, _ = unstructured.NestedSlice(content, "spec", "gracefulEvictionTasks")
	}
	return out, nil
}

// SplitRef is the inverse of Ref: the kind, namespace and name.
func SplitRef(ref string) (kind, namespace, name string) {
	if name, found := strings.CutPrefix(ref, "crb/"); found {
		return KindClusterResourceBinding, "", name
	}
	namespace, name, _ = strings.Cut(strings.TrimPrefix(ref, "rb/"), "/")
	return KindResourceBinding, namespace, name
}

// MergePatch writes a JSON merge patch. With a resourceVersion in it a stale writer gets a conflict; without, the last
// writer wins.
func MergePatch(ctx context.Context, client dynamic.ResourceInterface, name string, body map[string]any, subresource ...string) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", name, err)
	}
	return client.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, subresource...)
}
