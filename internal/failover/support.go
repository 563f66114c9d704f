package failover

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Karmada's division preferences.
const (
	DivisionAggregated = "Aggregated"
	DivisionWeighted   = "Weighted"
)

// dependencyKinds carry references that Karmada's default interpreter follows.
var dependencyKinds = sets.New("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet",
	"Job", "CronJob", "Pod", "Ingress", "ServiceImport")

// OptedOut tells whether an object's annotations keep Lifeboat's hands off it.
func OptedOut(annotations map[string]string) bool {
	return annotations[AnnotationEnabled] == "false"
}

// Unsupported says why a binding cannot be moved safely by this version, ReasonNone
// when it can. What is not understood is parked, never treated as something simpler.
func Unsupported(b *Binding, purge PurgeMode) (Reason, string) {
	if reason, message := malformed(b); reason != ReasonNone {
		return reason, message
	}
	if reason, message := unknownPurgeMode(purge); reason != ReasonNone {
		return reason, message
	}
	if reason, message := preservedDirectly(b, purge); reason != ReasonNone {
		return reason, message
	}
	return unsupportedShape(b)
}

// unsupportedShape is Unsupported without the purge mode, which takes the policy to know.
func unsupportedShape(b *Binding) (Reason, string) {
	checks := []func(*Binding) (Reason, string){
		malformed,
		foreignScheduler,
		suspendedScheduling,
		components,
		dependents,
		placementFields, // before all that follow: they read the placement
		spreadFields,
		affinityFields,
		divisionFields,
	}
	for _, check := range checks {
		if reason, message := check(b); reason != ReasonNone {
			return reason, message
		}
	}
	return ReasonNone, ""
}

func malformed(b *Binding) (Reason, string) {
	if b.Malformed != "" {
		return ReasonMalformed, b.Malformed
	}
	return ReasonNone, ""
}

func foreignScheduler(b *Binding) (Reason, string) {
	if b.SchedulerName != "" && b.SchedulerName != DefaultSchedulerName {
		return ReasonForeignScheduler, fmt.Sprintf("scheduler %q places it, whose rules are not known", b.SchedulerName)
	}
	return ReasonNone, ""
}

func suspendedScheduling(b *Binding) (Reason, string) {
	if b.SchedulingSuspended {
		return ReasonSchedulingSuspended, "its scheduling is suspended: nothing would place it elsewhere"
	}
	return ReasonNone, ""
}

// components parks a workload of several pod templates whose need is not known, for
// its spec.replicas say nothing; and one whose components Karmada has shared out,
// for a restore could not put that back.
func components(b *Binding) (Reason, string) {
	if b.PlacedComponents {
		return ReasonNotSupportedComps, "its components are shared out over clusters, which this version could not put back"
	}
	if len(b.Components) > 0 && (b.Replicas > 0 || b.HasRequirements) {
		return ReasonNotSupportedComps, "it has components beside spec.replicas: which of them the scheduler places depends on Karmada's feature gates"
	}
	for _, c := range b.Components {
		if c.Replicas < 0 || (c.Replicas > 0 && len(asked(c.Request)) == 0) {
			return ReasonComponentsUnsized, fmt.Sprintf("its component %s does not say what a replica needs", c.Name)
		}
	}
	return ReasonNone, ""
}

// dependents parks a parent whose dependents cannot be told: what is not known to be
// held would leave the old cluster before the old copy does.
func dependents(b *Binding) (Reason, string) {
	if !b.PropagateDeps {
		return ReasonNone, ""
	}
	listed := DependenciesOf(b)
	switch {
	case listed.Malformed != "":
		return ReasonMalformed, listed.Malformed
	case !listed.Known && (b.Workload || dependencyKinds.Has(b.Resource.Kind)):
		return ReasonDependentsUnknown, "propagateDeps is set and Karmada has not listed its dependents yet: it is not known to have none"
	}
	return ReasonNone, ""
}

func placementFields(b *Binding) (Reason, string) {
	switch {
	case b.Placement == nil:
		return ReasonNotSupportedPlacement, "it has no placement: no scheduler would place it elsewhere"
	case len(b.UnknownFields) > 0:
		return ReasonNotSupportedPlacement, "this version does not read " + strings.Join(b.UnknownFields, ", ")
	}
	return ReasonNone, ""
}

func spreadFields(b *Binding) (Reason, string) {
	for _, c := range b.Placement.SpreadConstraints {
		known := slices.Contains([]string{"", SpreadByCluster, SpreadByRegion, SpreadByZone, SpreadByProvider}, c.SpreadByField)
		switch {
		case !known:
			return ReasonNotSupportedPlacement, fmt.Sprintf("it spreads by %q", c.SpreadByField)
		case c.SpreadByField != "" && c.SpreadByLabel != "":
			return ReasonNotSupportedPlacement, "one spread constraint names a field and a label"
		case c.SpreadByField == "" && c.SpreadByLabel == "":
			return ReasonNotSupportedPlacement, "a spread constraint names neither a field nor a label: the scheduler fails on it"
		case c.MinGroups == 0 && c.SpreadByField != SpreadByCluster && c.SpreadByField != "":
			return ReasonNotSupportedPlacement, fmt.Sprintf("it spreads by %s without minGroups: the scheduler fails on it", c.SpreadByField)
		case c.MinGroups < 0 || c.MaxGroups < 0:
			return ReasonNotSupportedPlacement, "a spread constraint has a negative number of groups"
		}
	}
	return ReasonNone, ""
}

// affinityFields tries every selector once: one that cannot be understood selects
// nothing we may rely on.
func affinityFields(b *Binding) (Reason, string) {
	if b.Placement.ClusterAffinity != nil && len(b.Placement.ClusterAffinities) > 0 {
		return ReasonNotSupportedPlacement, "it has both clusterAffinity and clusterAffinities"
	}
	if b.Placement.ClusterAffinities != nil && len(b.Placement.ClusterAffinities) == 0 {
		return ReasonNotSupportedPlacement, "its clusterAffinities are an empty list: the scheduler selects nothing by it"
	}
	for _, a := range b.Placement.selectors() {
		if _, err := a.Selects(Cluster{}); err != nil {
			return ReasonNotSupportedPlacement, err.Error()
		}
	}
	return ReasonNone, ""
}

func (p *Placement) selectors() []*ClusterAffinity {
	out := []*ClusterAffinity{p.ClusterAffinity}
	for i := range p.ClusterAffinities {
		out = append(out, &p.ClusterAffinities[i].ClusterAffinity)
	}
	for _, w := range p.staticWeights() {
		out = append(out, &w.TargetCluster)
	}
	return out
}

func (p *Placement) staticWeights() []StaticWeight {
	if p.ReplicaScheduling == nil || p.ReplicaScheduling.WeightPreference == nil {
		return nil
	}
	return p.ReplicaScheduling.WeightPreference.StaticWeightList
}

func divisionFields(b *Binding) (Reason, string) {
	strategy := b.Placement.ReplicaScheduling
	if strategy == nil || strategy.Type == SchedulingDuplicated {
		return ReasonNone, ""
	}
	weights := strategy.WeightPreference
	switch {
	case strategy.Type != SchedulingDivided:
		return ReasonNotSupportedPlacement, fmt.Sprintf("replicaSchedulingType %q is neither Duplicated nor Divided", strategy.Type)
	case strategy.DivisionPreference == DivisionAggregated:
		return ReasonNone, ""
	case strategy.DivisionPreference != DivisionWeighted:
		return ReasonNotSupportedPlacement, fmt.Sprintf("its replicas are divided by %q, neither Aggregated nor Weighted", strategy.DivisionPreference)
	case weights == nil || weights.DynamicWeight == DynamicByAvailableReplicas:
		return ReasonNone, ""
	case weights.DynamicWeight != "":
		return ReasonNotSupportedPlacement, fmt.Sprintf("its replicas are divided by dynamic weight %s", weights.DynamicWeight)
	}
	return staticWeights(weights.StaticWeightList)
}

func staticWeights(list []StaticWeight) (Reason, string) {
	for _, w := range list {
		// Beyond this the scheduler's own arithmetic would overflow.
		if w.Weight < 0 || w.Weight > math.MaxInt32 {
			return ReasonNotSupportedPlacement, fmt.Sprintf("static weight %d is out of range", w.Weight)
		}
	}
	return ReasonNone, ""
}
