package proof

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/util/sets"
)

// readyReporters are the apps/v1 kinds that report readyReplicas; their API leaves the
// field out at 0, so an absent count is a zero.
var readyReporters = sets.New("Deployment", "StatefulSet", "ReplicaSet")

// observedReporters are the apps/v1 kinds of which Karmada always reflects observedGeneration
// beside generation. It never does for a StatefulSet: there Healthy alone says that the
// member's controller has observed the generation, for Karmada's interpreter compares the
// two on the member's own object.
var observedReporters = sets.New("Deployment", "ReplicaSet", "DaemonSet")

// healthKinds are the built-in kinds whose health Karmada interprets.
var healthKinds = sets.New("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Service",
	"Ingress", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget")

// builtInGroups are the API groups of Kubernetes itself; a kind of theirs that is
// no health kind has no health to wait for.
var builtInGroups = sets.New("", "apps", "batch", "policy", "networking.k8s.io", "autoscaling", "storage.k8s.io",
	"rbac.authorization.k8s.io", "scheduling.k8s.io", "apiextensions.k8s.io", "admissionregistration.k8s.io",
	"coordination.k8s.io", "discovery.k8s.io", "node.k8s.io", "certificates.k8s.io")

// ReleasableUnproven reports whether the hold may go without proof of health, which takes
// a setting that says so: the binding is placed, and one of its targets is on a cluster
// that answers and is not failing itself, so that the held copy is never the last one.
func ReleasableUnproven(b *karmada.Binding, failed string, suspect map[string]bool) reason.Verdict {
	if v := Placed(b, failed); !v.OK || len(b.Clusters) == 0 {
		return v
	}
	for _, t := range b.Clusters {
		if t.Name != failed && !suspect[t.Name] {
			return reason.Verdict{OK: true, Reason: reason.Unproven}
		}
	}
	return Refuse(reason.TargetNotReady, "no target of it is on a cluster that is Ready and not failing: the held copy may be the last one")
}

// Joined reports whether a cluster is a target now that was none before: what was proven of
// the others says nothing of the copy there.
func Joined(before, now []karmada.TargetCluster) bool {
	return slices.ContainsFunc(now, func(t karmada.TargetCluster) bool {
		return !slices.ContainsFunc(before, func(was karmada.TargetCluster) bool { return was.Name == t.Name })
	})
}

// Healthy reports whether the new copies are proven, which is what allows the old one
// to go. Every cluster added or grown since the baseline must prove itself; the
// other targets must be no worse than they were; and where nothing was added or
// grown, every surviving target must prove itself, so that no proof is vacuous.
func Healthy(in HealthInput) reason.Verdict {
	b := in.Binding
	switch _, at := b.Target(in.Failed); {
	case at >= 0:
		return Refuse(reason.PutBack, "%s is among the targets again", in.Failed)
	case len(b.Clusters) == 0:
		return Placed(b, in.Failed) // with 0 replicas there is no copy to prove
	case b.Workload && b.Placement.Divided() && b.Replicas > 0 && !addsUp(b):
		return Refuse(reason.NotHealthy, "%d of %d replicas have a target", karmada.SumOf(b.Clusters), b.Replicas)
	}
	fresh := slices.DeleteFunc(slices.Clone(b.Clusters), func(t karmada.TargetCluster) bool { return !in.Baseline.exceeded(t) })
	kept := slices.DeleteFunc(slices.Clone(b.Clusters), in.Baseline.exceeded)
	if len(fresh) == 0 {
		fresh, kept = kept, nil
	}
	for _, t := range fresh {
		if v := in.prove(t); !v.OK {
			return v
		}
	}
	for _, t := range kept {
		if v := in.noWorse(t); !v.OK {
			return v
		}
	}
	names := karmada.TargetNames(fresh)
	return reason.Verdict{OK: true, Reason: reason.Healthy, Message: "proven healthy on " + reason.List(names), Candidates: names}
}

func (in HealthInput) prove(t karmada.TargetCluster) reason.Verdict {
	item := in.Binding.Item(t.Name)
	switch {
	case in.Suspect[t.Name]:
		return Refuse(reason.TargetNotReady, "cluster %s is itself not Ready or failing: its status proves nothing", t.Name)
	case item == nil:
		return Refuse(reason.NotHealthy, "%s reports no status of it yet", t.Name)
	case item.Malformed != "":
		return Refuse(reason.NotHealthy, "its status on %s cannot be understood: %s", t.Name, item.Malformed)
	case stale(in.Binding, item):
		return Refuse(reason.NotHealthy, "%s reports on an older generation of it than %d", t.Name, *item.Generation)
	case !in.Baseline.had(t.Name) && desiredPods(item) == 0 && desiredPods(in.Binding.Item(in.Failed)) > 0: // Karmada calls it healthy
		return Refuse(reason.NotHealthy, "no node of %s takes a pod of it, as those of %s did", t.Name, in.Failed)
	}
	// The count says more than Karmada's word: a Deployment with one of two ready is Unhealthy.
	want := in.wanted(t, item)
	if ready := readyCount(in.Binding, item); item.Applied && ready >= 0 && ready < want {
		return Refuse(reason.NotHealthy, "%d of %d replicas ready on %s", ready, want, t.Name)
	}
	if !saysHealthy(in.Binding, item) {
		return Refuse(reason.NotHealthy, "its copy on %s is %s", t.Name, describe(item))
	}
	return reason.Verdict{OK: true, Reason: reason.Healthy}
}

// desiredPods is on how many nodes a pod of a DaemonSet is to run, -1 where that is not known.
func desiredPods(item *karmada.AggregatedItem) int64 {
	if item == nil || item.DesiredPods == nil {
		return -1
	}
	return *item.DesiredPods
}

func (in HealthInput) noWorse(t karmada.TargetCluster) reason.Verdict {
	was := in.Baseline.Health[t.Name]
	if !was.Healthy {
		return reason.Verdict{OK: true}
	}
	item := in.Binding.Item(t.Name)
	switch {
	case in.Suspect[t.Name]:
		return Refuse(reason.TargetWorse, "its copy on %s was healthy, and that cluster is itself not Ready or failing now", t.Name)
	case item == nil || item.Malformed != "":
		return Refuse(reason.TargetWorse, "its copy on %s was healthy and has no usable status now", t.Name)
	case !saysHealthy(in.Binding, item):
		return Refuse(reason.TargetWorse, "its copy on %s was healthy and is %s now", t.Name, describe(item))
	}
	// A copy that was scaled down may have fewer ready than it had.
	want := min(was.Ready, in.wanted(t, item))
	if ready := readyCount(in.Binding, item); ready >= 0 && ready < want {
		return Refuse(reason.TargetWorse, "on %s %d replicas were ready and %d are now", t.Name, was.Ready, ready)
	}
	return reason.Verdict{OK: true}
}

// Refuse is a verdict that proves nothing, and why.
func Refuse(why reason.Reason, format string, args ...any) reason.Verdict {
	return reason.Verdict{Reason: why, Message: fmt.Sprintf(format, args...)}
}

// saysHealthy is Karmada's own word; for kinds without health applied is healthy.
func saysHealthy(b *karmada.Binding, item *karmada.AggregatedItem) bool {
	if !item.Applied || item.Malformed != "" {
		return false
	}
	unknown := item.Health == karmada.HealthUnknown || item.Health == ""
	return item.Health == karmada.HealthHealthy || unknown && withoutHealth(b)
}

func withoutHealth(b *karmada.Binding) bool {
	return !b.Workload && builtInGroups.Has(b.Resource.Group()) && !healthKinds.Has(b.Resource.Kind)
}

// stale reports whether the member's controller has not caught up with its own object:
// its counts speak of an older one.
func stale(b *karmada.Binding, item *karmada.AggregatedItem) bool {
	switch {
	case item.Generation == nil:
		return false
	case item.ObservedGeneration == nil:
		return b.Resource.IsAppsKind(observedReporters)
	default:
		return *item.ObservedGeneration < *item.Generation
	}
}

// readyCount is how many replicas are ready, -1 for kinds that do not report it. A custom
// kind reports readyReplicas when any copy of the binding does; then an absent count is a
// zero. Otherwise its replicas are the only count that can prove it.
func readyCount(b *karmada.Binding, item *karmada.AggregatedItem) int64 {
	switch {
	case item.ReadyReplicas != nil:
		return *item.ReadyReplicas
	case b.Resource.IsAppsKind(readyReporters):
		return 0
	case item.Replicas == nil:
		return -1
	case slices.ContainsFunc(b.Status.Aggregated, func(i karmada.AggregatedItem) bool { return i.ReadyReplicas != nil }):
		return 0
	default:
		return *item.Replicas
	}
}

// mostAppliedMessage bounds what is shown of why a copy is not applied, in bytes.
const mostAppliedMessage = 200

func describe(item *karmada.AggregatedItem) string {
	switch {
	case !item.Applied && item.AppliedMessage != "":
		return "not applied: " + reason.Shortened(item.AppliedMessage, mostAppliedMessage)
	case !item.Applied:
		return "not applied"
	}
	return string(cmp.Or(item.Health, karmada.HealthUnknown))
}

// HealthInput is all that decides whether the new copies are proven.
type HealthInput struct {
	Binding  *karmada.Binding
	Failed   string
	Baseline Baseline
	// Suspect are the clusters whose items count as Unknown: not Ready, missing,
	// or with a failover of their own past Suspected.
	Suspect map[string]bool
	// RetainsReplicas: the members decide how many replicas run, see [karmada.LabelRetainReplicas].
	RetainsReplicas bool
	// Overridden are the replicas that an OverridePolicy gives the copy on a cluster, as its Work says.
	Overridden map[string]int64
}

// Fewer are the targets that came since the eviction and of which nothing is missing but replicas: Karmada calls the copy
// Healthy, and all that run are ready. One that was a target before may just have to grow: its Work can be of before.
func (in HealthInput) Fewer() (names []string) {
	for _, t := range in.Binding.Clusters {
		item := in.Binding.Item(t.Name)
		if item == nil || item.Replicas == nil || in.Baseline.had(t.Name) || in.prove(t).OK {
			continue
		}
		in.Overridden = map[string]int64{t.Name: *item.Replicas}
		if in.prove(t).OK {
			names = append(names, t.Name)
		}
	}
	return names
}

// wanted is how many replicas a copy must have ready: those that the scheduler gave it, fewer where an OverridePolicy says
// so, or, where the member decides, those that the copy itself reports; at least one.
func (in HealthInput) wanted(t karmada.TargetCluster, item *karmada.AggregatedItem) int64 {
	if own, is := in.Overridden[t.Name]; is && !in.RetainsReplicas {
		return min(max(1, own), int64(t.Replicas))
	}
	if !in.RetainsReplicas || t.Replicas == 0 {
		return int64(t.Replicas)
	}
	if item.Replicas == nil {
		return 1
	}
	return max(1, *item.Replicas)
}

// Baseline is what the evict activity recorded of a binding before it wrote: the
// measure of "added or grown" and "no worse".
type Baseline struct {
	Clusters   []karmada.TargetCluster `json:"clusters"`
	Health     map[string]CopyHealth   `json:"health,omitempty"`
	Replicas   int32                   `json:"replicas"` // spec.replicas
	Generation int64                   `json:"generation"`
	Affinity   string                  `json:"affinity,omitempty"` // schedulerObservingAffinityName
	// Derived reports that it was read off the hold task, because the answer of the
	// eviction was lost: the clusters are known, what the others held and how they
	// stood is not. Then every target must prove its health.
	Derived bool `json:"derived,omitempty"`
}

// CopyHealth is how one copy stood.
type CopyHealth struct {
	Healthy bool  `json:"healthy"`
	Ready   int64 `json:"ready"` // -1 when the kind does not report it
}

// BaselineOf records a binding as it stands before the eviction.
func BaselineOf(b *karmada.Binding) Baseline {
	base := Baseline{
		Clusters:   slices.Clone(b.Clusters),
		Replicas:   b.Replicas,
		Generation: b.Generation,
		Affinity:   b.Status.ObservedAffinity,
		Health:     make(map[string]CopyHealth, len(b.Clusters)),
	}
	for _, t := range b.Clusters {
		item := b.Item(t.Name)
		if item == nil {
			base.Health[t.Name] = CopyHealth{Ready: -1}
			continue
		}
		base.Health[t.Name] = CopyHealth{Healthy: saysHealthy(b, item), Ready: readyCount(b, item)}
	}
	return base
}

// BaselineFrom reads off Lifeboat's hold task, or that of Karmada's taint manager, what an eviction
// whose answer was lost would have reported: which clusters there were, and what was taken out.
// Empty without a task.
func BaselineFrom(b *karmada.Binding, failed string) Baseline {
	task, _ := b.TaskFor(failed)
	if task == nil || !task.IsLifeboat() && task.Producer != karmada.TaintManager {
		return Baseline{}
	}
	base := Baseline{Replicas: b.Replicas, Affinity: b.Status.ObservedAffinity, Derived: true}
	names := slices.Clone(task.ClustersBeforeFailover)
	if !slices.Contains(names, failed) {
		names = append(names, failed)
	}
	for _, name := range names {
		t := karmada.TargetCluster{Name: name}
		if name == failed && task.Replicas != nil {
			t.Replicas = *task.Replicas
		}
		base.Clusters = append(base.Clusters, t)
	}
	return base
}

// had reports whether a cluster was a target.
func (base Baseline) had(cluster string) bool {
	return slices.ContainsFunc(base.Clusters, func(t karmada.TargetCluster) bool { return t.Name == cluster })
}

// Doubting returns the baseline with suspect clusters recorded as not healthy:
// Karmada keeps the copies of dead clusters Healthy for ever, and a copy that was
// dead before the eviction cannot be worse after it.
func (base Baseline) Doubting(suspect map[string]bool) Baseline {
	base.Health = maps.Clone(base.Health)
	for name, h := range base.Health {
		base.Health[name] = CopyHealth{Healthy: h.Healthy && !suspect[name], Ready: h.Ready}
	}
	return base
}

// exceeded reports whether a target is new, or has more replicas than it had.
func (base Baseline) exceeded(t karmada.TargetCluster) bool {
	if base.Derived {
		return true // how many it had is not known
	}
	i := slices.IndexFunc(base.Clusters, func(was karmada.TargetCluster) bool { return was.Name == t.Name })
	return i < 0 || t.Replicas > base.Clusters[i].Replicas
}
