package k8sadapter

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

type bindingSpecWire struct {
	Resource              json.RawMessage `json:"resource"`
	Replicas              json.RawMessage `json:"replicas"`
	ReplicaRequirements   json.RawMessage `json:"replicaRequirements"`
	Components            json.RawMessage `json:"components"`
	Clusters              json.RawMessage `json:"clusters"`
	Placement             json.RawMessage `json:"placement"`
	Tasks                 json.RawMessage `json:"gracefulEvictionTasks"`
	RequiredBy            json.RawMessage `json:"requiredBy"`
	SchedulerName         json.RawMessage `json:"schedulerName"`
	Failover              json.RawMessage `json:"failover"`
	PropagateDeps         json.RawMessage `json:"propagateDeps"`
	RescheduleTriggeredAt json.RawMessage `json:"rescheduleTriggeredAt"`
	Suspension            json.RawMessage `json:"suspension"`
	SchedulePriority      json.RawMessage `json:"schedulePriority"`
	PreservesCopies       json.RawMessage `json:"preserveResourcesOnDeletion"`
}

// DecodeBinding reads a ResourceBinding or ClusterResourceBinding
// (work.karmada.io/v1alpha2) from its JSON. It never fails: what cannot be
// understood is named in Malformed.
func DecodeBinding(raw []byte) karmada.Binding {
	var d decoding
	outline, meta := d.object(raw)
	var spec bindingSpecWire
	d.into("spec", outline.Spec, &spec)
	binding := karmada.Binding{
		Key: karmada.BindingKey{Namespace: meta.Namespace, Name: meta.Name},
		UID: meta.UID, ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		Deleting: meta.DeletionTimestamp != nil, Labels: meta.Labels, Annotations: meta.Annotations,
	}
	d.template(&binding, spec)
	d.schedule(&binding, spec)
	d.failover(&binding, spec.Failover)
	binding.Status = d.bindingStatus(outline.Status)
	binding.PlacementPending = placementPending(&binding)
	binding.Malformed = d.malformed()
	return binding
}

// template reads what the binding propagates.
func (d *decoding) template(b *karmada.Binding, spec bindingSpecWire) {
	var resource struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Namespace  string    `json:"namespace"`
		Name       string    `json:"name"`
		UID        types.UID `json:"uid"`
	}
	d.into("spec.resource", spec.Resource, &resource)
	if resource.APIVersion == "" || resource.Kind == "" || resource.Name == "" {
		d.problem("spec.resource", "apiVersion, kind and name are required")
	}
	for _, part := range []*string{&resource.APIVersion, &resource.Kind, &resource.Namespace, &resource.Name} {
		if len(*part) > maxResourcePart {
			d.problem("spec.resource", "%.40s… is longer than %d bytes", *part, maxResourcePart)
			*part = reason.Bounded(*part)
		}
	}
	b.Resource = karmada.Resource(resource)
	d.into("spec.replicas", spec.Replicas, &b.Replicas)
	if b.Replicas < 0 {
		d.problem("spec.replicas", "%d is negative", b.Replicas)
	}
	b.Request = d.request("spec.replicaRequirements", spec.ReplicaRequirements)
	b.HasRequirements = !absent(spec.ReplicaRequirements)
	b.Components = d.components(spec.Components)
	b.Workload = b.Replicas > 0 || b.HasRequirements || len(b.Components) > 0
	b.RequiredBy = d.requiredBy(spec.RequiredBy)
	d.into("spec.propagateDeps", spec.PropagateDeps, &b.PropagateDeps)
	d.into("spec.preserveResourcesOnDeletion", spec.PreservesCopies, &b.PreservesCopies)
}

// requiredBy reads the parents of a dependent, and where they run.
func (d *decoding) requiredBy(raw json.RawMessage) []karmada.RequiredBy {
	var parents []karmada.RequiredBy
	for _, item := range d.items("spec.requiredBy", raw) {
		var wire struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Clusters  []struct {
				Name string `json:"name"`
			} `json:"clusters"`
		}
		d.into("spec.requiredBy", item, &wire)
		parent := karmada.RequiredBy{Namespace: wire.Namespace, Name: wire.Name}
		for _, c := range wire.Clusters {
			parent.Clusters = append(parent.Clusters, c.Name)
		}
		parents = append(parents, parent)
	}
	return parents
}

// request reads replicaRequirements.resourceRequest; what else a replica requires is
// for the member's own scheduler.
func (d *decoding) request(path string, raw json.RawMessage) corev1.ResourceList {
	var wire struct {
		Request json.RawMessage `json:"resourceRequest"`
	}
	d.into(path, raw, &wire)
	return d.quantities(path, wire.Request)
}

func (d *decoding) components(raw json.RawMessage) []karmada.Component {
	var components []karmada.Component
	for _, item := range d.items("spec.components", raw) {
		var wire struct {
			Name         string          `json:"name"`
			Replicas     int32           `json:"replicas"`
			Requirements json.RawMessage `json:"replicaRequirements"`
		}
		d.into("spec.components", item, &wire)
		components = append(components, karmada.Component{
			Name: wire.Name, Replicas: wire.Replicas, Request: d.request("spec.components", wire.Requirements),
		})
	}
	return components
}

// schedule reads what the scheduler reads and writes.
func (d *decoding) schedule(b *karmada.Binding, spec bindingSpecWire) {
	b.RawClusters = d.items("spec.clusters", spec.Clusters)
	b.Clusters = d.targets(b.RawClusters)
	b.PlacedComponents = slices.ContainsFunc(b.RawClusters, sharesComponents)
	b.RawTasks = d.items("spec.gracefulEvictionTasks", spec.Tasks)
	b.Tasks = d.tasks(b.RawTasks)
	d.placement(b, spec.Placement)
	d.into("spec.schedulerName", spec.SchedulerName, &b.SchedulerName)

	var triggered *metav1.Time
	d.into("spec.rescheduleTriggeredAt", spec.RescheduleTriggeredAt, &triggered)
	b.RescheduleTriggeredAt = timeOf(triggered)
	var suspension struct {
		Scheduling bool `json:"scheduling"`
	}
	d.into("spec.suspension", spec.Suspension, &suspension)
	b.SchedulingSuspended = suspension.Scheduling
	var priority struct {
		Priority int32 `json:"priority"`
	}
	d.into("spec.schedulePriority", spec.SchedulePriority, &priority)
	b.Priority = priority.Priority
}

func (d *decoding) targets(items []json.RawMessage) []karmada.TargetCluster {
	targets := make([]karmada.TargetCluster, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		d.into("spec.clusters", item, &targets[i])
		name := targets[i].Name
		switch {
		case name == "":
			d.problem("spec.clusters", "item %d names no cluster", i)
		case seen[name]:
			d.problem("spec.clusters", "%s stands there twice", name)
		case targets[i].Replicas < 0:
			d.problem("spec.clusters", "%s has %d replicas", name, targets[i].Replicas)
		}
		seen[name] = true
	}
	return targets
}

// sharesComponents tells whether an item of spec.clusters says which components run there.
func sharesComponents(item json.RawMessage) bool {
	var wire struct {
		Components json.RawMessage `json:"components"`
	}
	var d decoding
	d.into("components", item, &wire)
	return !absent(wire.Components) && string(wire.Components) != "[]"
}

// taskWire is one of spec.gracefulEvictionTasks.
type taskWire struct {
	FromCluster            string            `json:"fromCluster"`
	PurgeMode              karmada.PurgeMode `json:"purgeMode,omitempty"`
	Replicas               *int32            `json:"replicas,omitempty"`
	Reason                 string            `json:"reason"`
	Message                string            `json:"message,omitempty"`
	Producer               string            `json:"producer"`
	SuppressDeletion       *bool             `json:"suppressDeletion,omitempty"`
	CreationTimestamp      *metav1.Time      `json:"creationTimestamp,omitempty"`
	ClustersBeforeFailover []string          `json:"clustersBeforeFailover,omitempty"`
	PreservedLabelState    map[string]string `json:"preservedLabelState,omitempty"`
}

func (d *decoding) tasks(items []json.RawMessage) []karmada.Task {
	tasks := make([]karmada.Task, len(items))
	for i, item := range items {
		var wire taskWire
		d.into("spec.gracefulEvictionTasks", item, &wire)
		if wire.FromCluster == "" {
			d.problem("spec.gracefulEvictionTasks", "item %d names no cluster", i)
		}
		tasks[i] = karmada.Task{
			FromCluster: wire.FromCluster, PurgeMode: wire.PurgeMode, Replicas: wire.Replicas,
			Reason: wire.Reason, Message: wire.Message, Producer: wire.Producer,
			SuppressDeletion: wire.SuppressDeletion, CreationTimestamp: timeOf(wire.CreationTimestamp),
			ClustersBeforeFailover: wire.ClustersBeforeFailover, State: wire.PreservedLabelState,
		}
	}
	return tasks
}

// placement reads spec.placement strictly: a field that karmada.Placement does
// not have could change where the binding may go, so its path is kept.
func (d *decoding) placement(b *karmada.Binding, raw json.RawMessage) {
	if absent(raw) {
		return
	}
	var placement karmada.Placement
	unknown, err := kjson.UnmarshalStrict(raw, &placement)
	if err != nil {
		d.problem("spec.placement", "%v", err)
		return
	}
	b.Placement = &placement
	d.tolerations(&placement, raw)
	for _, field := range unknown {
		path := field.Error()
		if at := kjson.FieldError(nil); errors.As(field, &at) {
			path = at.FieldPath()
		}
		b.UnknownFields = append(b.UnknownFields, "spec.placement."+path)
	}
}

// annotationAppliedPlacement is the placement by which the scheduler last placed.
const annotationAppliedPlacement = "policy.karmada.io/applied-placement"

// placementPending tells whether the scheduler would place anew for the sake of the
// placement alone. It looks at the one affinity group that it stands at; an annotation
// that it cannot read counts for nothing.
func placementPending(b *karmada.Binding) bool {
	text, found := b.Annotations[annotationAppliedPlacement]
	var applied karmada.Placement
	if !found || b.Placement == nil || kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &applied) != nil {
		return false
	}
	now := *b.Placement
	observed := func(p karmada.Placement) []karmada.ClusterAffinityTerm {
		return slices.DeleteFunc(slices.Clone(p.ClusterAffinities), func(t karmada.ClusterAffinityTerm) bool {
			return t.AffinityName != b.Status.ObservedAffinity
		})
	}
	if reflect.DeepEqual(now, applied) {
		return false
	}
	here, before := observed(now), observed(applied)
	now.ClusterAffinities, applied.ClusterAffinities = nil, nil
	return !reflect.DeepEqual(now, applied) || len(here) == 0 || !reflect.DeepEqual(here, before)
}

// tolerations bounds what an attempt would freeze of one binding's tolerations.
func (d *decoding) tolerations(p *karmada.Placement, raw json.RawMessage) {
	var wire struct {
		Tolerations json.RawMessage `json:"clusterTolerations"`
	}
	d.into("spec.placement", raw, &wire)
	if len(wire.Tolerations) > karmada.MaxTolerations {
		d.problem("spec.placement.clusterTolerations", "%d bytes, more than %d", len(wire.Tolerations), karmada.MaxTolerations)
		p.ClusterTolerations = nil
	}
}

// failover reads spec.failover.cluster; the purge mode is only what stands there.
func (d *decoding) failover(b *karmada.Binding, raw json.RawMessage) {
	var wire struct {
		Cluster *struct {
			PurgeMode         karmada.PurgeMode `json:"purgeMode"`
			TolerationSeconds *int64            `json:"tolerationSeconds"`
			StatePreservation *struct {
				Rules []karmada.StateRule `json:"rules"`
			} `json:"statePreservation"`
		} `json:"cluster"`
	}
	d.into("spec.failover", raw, &wire)
	if wire.Cluster == nil {
		return
	}
	b.HasClusterFailover = true
	b.PurgeMode = wire.Cluster.PurgeMode
	b.SoftTolerationSeconds = wire.Cluster.TolerationSeconds
	if keep := wire.Cluster.StatePreservation; keep != nil {
		b.StateRules = d.stateRules(keep.Rules)
	}
}

// stateRules bounds what an attempt would freeze of one binding.
func (d *decoding) stateRules(rules []karmada.StateRule) []karmada.StateRule {
	const path = "spec.failover.cluster.statePreservation.rules"
	if len(rules) > karmada.MaxStateRules {
		d.problem(path, "%d rules, more than %d", len(rules), karmada.MaxStateRules)
		return nil
	}
	for i, r := range rules {
		if len(r.Path) > karmada.MaxStatePath || len(r.Label) > karmada.MaxStatePath {
			d.problem(path, "rule %d is longer than %d bytes", i, karmada.MaxStatePath)
			return nil
		}
	}
	return rules
}
