package k8sadapter

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// DecodeBinding reads a ResourceBinding or ClusterResourceBinding
// (work.karmada.io/v1alpha2) from its JSON. It never fails: Malformed names the fields
// that it cannot read.
func DecodeBinding(raw []byte) karmada.Binding {
	var d decoding
	outline, meta := d.object(raw)
	spec := d.section("spec", outline.Spec)
	binding := karmada.Binding{
		Key: karmada.BindingKey{Namespace: meta.Namespace, Name: meta.Name},
		UID: meta.UID, ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		Deleting: meta.DeletionTimestamp != nil, Labels: meta.Labels, Annotations: meta.Annotations,
	}
	label := binding.Key.Kind().PermanentIDLabel()
	binding.PermanentID = binding.Labels[label]
	delete(binding.Labels, label)
	applied := binding.Annotations[annotationAppliedPlacement]
	delete(binding.Annotations, annotationAppliedPlacement) // it repeats the object
	binding.Unclaimed = !slices.ContainsFunc(claims, func(label string) bool { return binding.Labels[label] != "" })
	d.template(&binding, spec)
	d.schedule(&binding, spec)
	d.failover(&binding, spec.section("failover"))
	binding.Status = d.bindingStatus(d.section("status", outline.Status), binding.Resource)
	binding.PlacementPending = placementPending(&binding, applied)
	binding.Malformed = d.malformed()
	return binding
}

// claims are the labels of which Karmada's scheduler demands one (pkg/scheduler/event_handler.go):
// those of a policy, which go when it is deleted, and that of another manager.
var claims = []string{
	"propagationpolicy.karmada.io/permanent-id", "clusterpropagationpolicy.karmada.io/permanent-id", "binding.karmada.io/managed-by",
}

// maxResourcePart is how long a name, kind or version of the propagated resource may be, in
// bytes: the list of all bindings carries it.
const maxResourcePart = 512

// template reads what the binding propagates.
func (d *decoding) template(b *karmada.Binding, spec section) {
	r := &b.Resource
	spec.read("resource", r)
	if r.APIVersion == "" || r.Kind == "" || r.Name == "" {
		d.problem("spec.resource", "apiVersion, kind and name are required")
	}
	for _, part := range []*string{&r.APIVersion, &r.Kind, &r.Namespace, &r.Name} {
		if len(*part) > maxResourcePart {
			d.problem("spec.resource", "%.40s… is longer than %d bytes", *part, maxResourcePart)
			*part = reason.Bounded(*part)
		}
	}
	spec.read("replicas", &b.Replicas)
	if b.Replicas < 0 {
		d.problem("spec.replicas", "%d is negative", b.Replicas)
	}
	b.Request = spec.request()
	b.HasRequirements = !absent(spec.fields["replicaRequirements"])
	b.Components = d.components(spec.items("components"))
	b.Workload = b.Replicas > 0 || b.HasRequirements || len(b.Components) > 0
	b.RequiredBy = d.requiredBy(spec.items("requiredBy"))
	spec.read("propagateDeps", &b.PropagateDeps)
	spec.read("preserveResourcesOnDeletion", &b.PreservesCopies)
}

// requiredBy reads the parents of a dependent, and where they run.
func (d *decoding) requiredBy(items []json.RawMessage) (parents []karmada.RequiredBy) {
	for _, item := range items {
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

// request reads replicaRequirements.resourceRequest, and nothing else of it: the member's
// scheduler uses the rest.
func (s section) request() corev1.ResourceList {
	requirements := s.section("replicaRequirements")
	raw := requirements.fields["resourceRequest"]
	return requests.of(s.d, raw, func() corev1.ResourceList { return s.d.quantities(requirements.path, raw) })
}

func (d *decoding) components(items []json.RawMessage) (components []karmada.Component) {
	for _, item := range items {
		fields := d.section("spec.components", item)
		component := karmada.Component{Request: fields.request()}
		fields.read("name", &component.Name)
		fields.read("replicas", &component.Replicas)
		components = append(components, component)
	}
	return components
}

// schedule reads what the scheduler reads and writes.
func (d *decoding) schedule(b *karmada.Binding, spec section) {
	b.RawClusters = spec.items("clusters")
	b.Clusters = d.targets(b.RawClusters)
	b.PlacedComponents = slices.ContainsFunc(b.RawClusters, sharesComponents)
	b.RawTasks = spec.items("gracefulEvictionTasks")
	b.Tasks = d.tasks(b.RawTasks)
	placement := placements.of(d, spec.fields["placement"], func() decodedPlacement { return d.placement(spec.fields["placement"]) })
	b.Placement, b.UnknownFields = placement.placement, placement.unknown
	spec.read("schedulerName", &b.SchedulerName)
	b.RescheduleTriggeredAt = spec.time("rescheduleTriggeredAt")
	suspension := spec.section("suspension")
	suspension.read("scheduling", &b.SchedulingSuspended)
	suspension.read("dispatching", &b.DispatchingSuspended)
	suspension.section("dispatchingOnClusters").read("clusterNames", &b.SuspendedOn)
	spec.section("schedulePriority").read("priority", &b.Priority)
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
			d.problem("spec.clusters", "%s is listed twice", name)
		case targets[i].Replicas < 0:
			d.problem("spec.clusters", "%s has %d replicas", name, targets[i].Replicas)
		}
		seen[name] = true
	}
	return targets
}

// sharesComponents reports whether an item of spec.clusters lists components.
func sharesComponents(item json.RawMessage) bool {
	components := new(decoding).section("spec.clusters", item).fields["components"]
	return !absent(components) && string(components) != "[]"
}

func (d *decoding) tasks(items []json.RawMessage) []karmada.Task {
	tasks := make([]karmada.Task, len(items))
	for i, item := range items {
		d.into("spec.gracefulEvictionTasks", item, &tasks[i])
		if tasks[i].FromCluster == "" {
			d.problem("spec.gracefulEvictionTasks", "item %d names no cluster", i)
		}
	}
	return tasks
}

// placement reads spec.placement strictly: a field that karmada.Placement lacks could change
// where the binding may go, so its path is kept.
func (d *decoding) placement(raw json.RawMessage) (read decodedPlacement) {
	if absent(raw) {
		return read
	}
	const path = "spec.placement"
	var placement karmada.Placement
	unknown, err := kjson.UnmarshalStrict(raw, &placement)
	if err != nil {
		d.problem(path, "%v", err)
		return read
	}
	// A failover freezes the tolerations of every binding.
	if size := len(d.section(path, raw).fields["clusterTolerations"]); size > karmada.MaxTolerations {
		d.problem(path+".clusterTolerations", "%d bytes, more than %d", size, karmada.MaxTolerations)
		placement.ClusterTolerations = nil
	}
	read.placement = &placement
	for _, field := range unknown {
		unknownPath := field.Error()
		if at := kjson.FieldError(nil); errors.As(field, &at) {
			unknownPath = at.FieldPath()
		}
		read.unknown = append(read.unknown, path+"."+unknownPath)
	}
	return read
}

// annotationAppliedPlacement is the placement of the scheduler's last decision.
const annotationAppliedPlacement = "policy.karmada.io/applied-placement"

// placementPending reports whether the scheduler would schedule again only because the
// placement is not the one that it applied last. As the scheduler does, it compares only the
// observed affinity group, and ignores an annotation that it cannot read.
func placementPending(b *karmada.Binding, annotation string) bool {
	last := appliedPlacements.of(&decoding{}, json.RawMessage(annotation), func() *karmada.Placement {
		var placement karmada.Placement
		if annotation == "" || kjson.UnmarshalCaseSensitivePreserveInts([]byte(annotation), &placement) != nil {
			return nil
		}
		return &placement
	})
	if last == nil || b.Placement == nil || reflect.DeepEqual(b.Placement, last) {
		return false
	}
	now, applied := *b.Placement, *last
	observed := func(p karmada.Placement) []karmada.ClusterAffinityTerm {
		return slices.DeleteFunc(slices.Clone(p.ClusterAffinities), func(t karmada.ClusterAffinityTerm) bool {
			return t.AffinityName != b.Status.ObservedAffinity
		})
	}
	here, before := observed(now), observed(applied)
	now.ClusterAffinities, applied.ClusterAffinities = nil, nil
	return !reflect.DeepEqual(now, applied) || len(here) == 0 || !reflect.DeepEqual(here, before)
}

// failover reads spec.failover.cluster and spec.failover.application; a PurgeMode is empty where the field is.
func (d *decoding) failover(b *karmada.Binding, failover section) {
	if !absent(failover.fields["cluster"]) {
		b.HasClusterFailover = true
		cluster := failover.section("cluster")
		cluster.read("purgeMode", &b.PurgeMode)
		cluster.read("tolerationSeconds", &b.SoftTolerationSeconds)
		b.StateRules = d.stateRules(cluster)
	}
	if !absent(failover.fields["application"]) {
		b.Application = d.applicationFailover(failover.section("application"))
	}
}

func (d *decoding) applicationFailover(application section) *karmada.ApplicationFailover {
	read := &karmada.ApplicationFailover{TolerationSeconds: karmada.DefaultApplicationToleration}
	application.section("decisionConditions").read("tolerationSeconds", &read.TolerationSeconds)
	application.read("purgeMode", &read.PurgeMode)
	application.read("gracePeriodSeconds", &read.GraceSeconds)
	read.StateRules = d.stateRules(application)
	return read
}

// stateRules reads statePreservation.rules and bounds them: a failover freezes those of every binding.
func (d *decoding) stateRules(failover section) []karmada.StateRule {
	var rules []karmada.StateRule
	path := failover.path + ".statePreservation.rules"
	failover.section("statePreservation").read("rules", &rules)
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

// conditionScheduled is the scheduler's condition on a binding.
const conditionScheduled = "Scheduled"

func (d *decoding) bindingStatus(raw section, of karmada.Resource) (status karmada.BindingStatus) {
	raw.read("schedulerObservedGeneration", &status.ObservedGeneration)
	raw.read("schedulerObservingAffinityName", &status.ObservedAffinity)
	status.LastScheduled = raw.time("lastScheduledTime")
	for _, condition := range d.conditions(raw.fields["conditions"]) {
		if condition.Type == conditionScheduled {
			status.Scheduled = &condition
		}
	}
	for _, item := range raw.items("aggregatedStatus") {
		status.Aggregated = append(status.Aggregated, aggregatedItem(item, of))
	}
	return status
}

// aggregatedItem reads the status of one copy. A malformed one makes the item malformed, not
// the binding: statuses differ by kind. Outside Kubernetes' apps group a count that is no whole number
// counts as absent: a custom kind may mean something else by the name. The observedGeneration of an Argo Rollout is a string.
func aggregatedItem(raw json.RawMessage, of karmada.Resource) karmada.AggregatedItem {
	var d decoding
	fields := d.section("", raw)
	item := karmada.AggregatedItem{Status: fields.fields["status"]}
	fields.read("clusterName", &item.Cluster)
	if item.Cluster == "" {
		d.problem("clusterName", "missing")
	}
	fields.read("applied", &item.Applied)
	fields.read("appliedMessage", &item.AppliedMessage)
	fields.read("health", &item.Health)
	item.Health = cmp.Or(item.Health, karmada.HealthUnknown)
	status := fields.section("status")
	if of.Group() != "apps" {
		maps.DeleteFunc(status.fields, func(_ string, value json.RawMessage) bool { return json.Unmarshal(value, new(int64)) != nil })
	}
	status.read("generation", &item.Generation)
	status.read("observedGeneration", &item.ObservedGeneration)
	status.read("replicas", &item.Replicas)
	status.read("readyReplicas", &item.ReadyReplicas)
	if of.Group() == "apps" && of.Kind == "DaemonSet" {
		status.read("desiredNumberScheduled", &item.DesiredPods)
	}
	item.Malformed = d.malformed()
	return item
}
