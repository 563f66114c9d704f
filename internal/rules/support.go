package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/util/sets"
)

// dependencyKinds carry references that Karmada's default interpreter follows: it lists their
// dependents for certain.
var dependencyKinds = sets.New("Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps",
	"Job.batch", "CronJob.batch", "Pod", "Ingress.networking.k8s.io", "ServiceImport.multicluster.x-k8s.io")

// OptedOut reports whether an object's annotations keep Lifeboat's hands off it.
func OptedOut(annotations map[string]string) bool {
	return annotations[karmada.AnnotationEnabled] == "false"
}

// Unsupported says why a binding cannot be moved safely by this version, reason.None
// when it can. What is not understood is blocked, never treated as something simpler.
func Unsupported(b *karmada.Binding, purge karmada.PurgeMode) (reason.Reason, string) {
	switch {
	case b.Malformed != "":
		return reason.Malformed, b.Malformed
	case !purge.Known():
		return reason.Malformed, fmt.Sprintf("purge mode %q is none of Gracefully, Directly, Never", purge)
	case b.PreservesCopies && purge == karmada.PurgeDirectly:
		// Karmada starts the new copy as soon as the old Work is gone, and the copy of that Work runs on.
		return reason.CopyPreserved, "spec.preserveResourcesOnDeletion is set on it or its old Work: under purge mode Directly the new copy would start while the old one runs on"
	}
	return UnsupportedShape(b)
}

// UnsupportedShape is Unsupported without the purge mode, which takes the policy to know.
func UnsupportedShape(b *karmada.Binding) (reason.Reason, string) {
	switch {
	case b.Malformed != "":
		return reason.Malformed, b.Malformed
	case b.SchedulerName != "" && b.SchedulerName != karmada.DefaultSchedulerName:
		return reason.ForeignScheduler, fmt.Sprintf("scheduler %q places it, whose rules are not known", b.SchedulerName)
	case b.SchedulingSuspended:
		return reason.SchedulingSuspended, "its scheduling is suspended: nothing would place it elsewhere"
	case b.DispatchingSuspended:
		return reason.DispatchingSuspended, "spec.suspension.dispatching is set: Karmada would start no new copy, and still delete the old one"
	}
	checks := []func(*karmada.Binding) (reason.Reason, string){
		components,
		dependents,
		placementFields, // before all that follow: they read the placement
		spreadFields,
		affinityFields,
		divisionFields,
	}
	for _, check := range checks {
		if why, message := check(b); why != reason.None {
			return why, message
		}
	}
	return reason.None, ""
}

// components blocks a workload of several pod templates whose need is not known, for
// its spec.replicas say nothing; and one whose components Karmada has shared out,
// for a restore could not put that back.
func components(b *karmada.Binding) (reason.Reason, string) {
	if b.PlacedComponents {
		return reason.NotSupportedComps, "its components are shared out over clusters, which this version could not put back"
	}
	if len(b.Components) > 0 && (b.Replicas > 0 || b.HasRequirements) {
		return reason.NotSupportedComps, "it has components beside spec.replicas: which of them the scheduler places depends on Karmada's feature gates"
	}
	for _, c := range b.Components {
		if c.Replicas < 0 || (c.Replicas > 0 && len(karmada.Asked(c.Request)) == 0) {
			return reason.ComponentsUnsized, fmt.Sprintf("its component %s does not say what a replica needs", c.Name)
		}
	}
	return reason.None, ""
}

// dependents blocks a parent whose dependents are not known: what is not known to be
// held would leave the old cluster before the old copy does. Where Karmada may never list them, those
// that stand are searched: see [karmada.DependenciesOf].
func dependents(b *karmada.Binding) (reason.Reason, string) {
	if !b.PropagateDeps {
		return reason.None, ""
	}
	listed := karmada.DependenciesOf(b)
	switch {
	case listed.Malformed != "":
		return reason.Malformed, listed.Malformed
	case !listed.Known && dependencyKinds.Has(b.Resource.GroupKind()):
		return reason.DependentsUnknown, "propagateDeps is set and Karmada has not listed its dependents yet: it is not known to have none"
	}
	return reason.None, ""
}

func placementFields(b *karmada.Binding) (reason.Reason, string) {
	switch {
	case b.Placement == nil:
		return reason.NotSupportedPlacement, "it has no placement: no scheduler would place it elsewhere"
	case b.Unclaimed:
		return reason.NotSupportedPlacement, "no policy claims it (no label …/permanent-id): the scheduler does not look at it"
	case len(b.UnknownFields) > 0:
		return reason.NotSupportedPlacement, "this version does not read " + strings.Join(b.UnknownFields, ", ")
	}
	return reason.None, ""
}

func spreadFields(b *karmada.Binding) (reason.Reason, string) {
	for _, c := range b.Placement.SpreadConstraints {
		known := slices.Contains([]string{"", karmada.SpreadByCluster, karmada.SpreadByRegion, karmada.SpreadByZone, karmada.SpreadByProvider}, c.SpreadByField)
		switch {
		case !known:
			return reason.NotSupportedPlacement, fmt.Sprintf("it spreads by %q", c.SpreadByField)
		case c.SpreadByField != "" && c.SpreadByLabel != "":
			return reason.NotSupportedPlacement, "one spread constraint names a field and a label"
		case c.SpreadByField == "" && c.SpreadByLabel == "":
			return reason.NotSupportedPlacement, "a spread constraint names neither a field nor a label: the scheduler fails on it"
		case c.MinGroups == 0 && c.SpreadByField != karmada.SpreadByCluster && c.SpreadByField != "":
			return reason.NotSupportedPlacement, fmt.Sprintf("it spreads by %s without minGroups: the scheduler fails on it", c.SpreadByField)
		case c.MinGroups < 0 || c.MaxGroups < 0:
			return reason.NotSupportedPlacement, "a spread constraint has a negative number of groups"
		}
	}
	return reason.None, ""
}

// affinityFields tries every selector once: one that cannot be understood selects
// nothing that Lifeboat may rely on.
func affinityFields(b *karmada.Binding) (reason.Reason, string) {
	if b.Placement.ClusterAffinity != nil && len(b.Placement.ClusterAffinities) > 0 {
		return reason.NotSupportedPlacement, "it has both clusterAffinity and clusterAffinities"
	}
	if b.Placement.ClusterAffinities != nil && len(b.Placement.ClusterAffinities) == 0 {
		return reason.NotSupportedPlacement, "its clusterAffinities are an empty list: the scheduler selects nothing by it"
	}
	for _, a := range b.Placement.Selectors() {
		if _, err := a.Selects(karmada.Cluster{}); err != nil {
			return reason.NotSupportedPlacement, err.Error()
		}
	}
	return reason.None, ""
}

func divisionFields(b *karmada.Binding) (reason.Reason, string) {
	strategy := b.Placement.ReplicaScheduling
	if strategy == nil || strategy.Type == karmada.SchedulingDuplicated {
		return reason.None, ""
	}
	weights := strategy.WeightPreference
	switch {
	case strategy.Type != karmada.SchedulingDivided:
		return reason.NotSupportedPlacement, fmt.Sprintf("replicaSchedulingType %q is neither Duplicated nor Divided", strategy.Type)
	case strategy.DivisionPreference == karmada.DivisionAggregated:
		return reason.None, ""
	case strategy.DivisionPreference != karmada.DivisionWeighted:
		return reason.NotSupportedPlacement, fmt.Sprintf("its replicas are divided by %q, neither Aggregated nor Weighted", strategy.DivisionPreference)
	case weights == nil || weights.DynamicWeight == karmada.DynamicByAvailableReplicas:
		return reason.None, ""
	case weights.DynamicWeight != "":
		return reason.NotSupportedPlacement, fmt.Sprintf("its replicas are divided by dynamic weight %s", weights.DynamicWeight)
	}
	for _, w := range weights.StaticWeightList {
		// Beyond this the scheduler's own arithmetic would overflow.
		if w.Weight < 0 || w.Weight > math.MaxInt32 {
			return reason.NotSupportedPlacement, fmt.Sprintf("static weight %d is out of range", w.Weight)
		}
	}
	return reason.None, ""
}
