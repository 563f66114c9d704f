package proof

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

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
// whose answer was lost would have told: which clusters there were, and what was taken out.
// Empty without a task.
func BaselineFrom(b *karmada.Binding, failed string) Baseline {
	task, _ := b.TaskFor(failed)
	if task == nil || !task.Ours() && task.Producer != karmada.TaintManager {
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
	health := make(map[string]CopyHealth, len(base.Health))
	for name, h := range base.Health {
		if suspect[name] {
			h.Healthy = false
		}
		health[name] = h
	}
	base.Health = health
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
