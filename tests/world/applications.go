package world

import (
	"cmp"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// Spoil makes every copy of a binding Unhealthy, wherever it runs, until another revision comes.
func (w *World) Spoil(key karmada.BindingKey) {
	defer w.lock()()
	b, ok := w.bindings[key]
	if !ok {
		return
	}
	w.spoiled[key] = true
	for _, t := range w.copies(b) {
		w.report(b, t, false)
	}
	w.changed(b)
}

// Revise gives the workload of a binding another pod template. All copies start again and become healthy.
func (w *World) Revise(key karmada.BindingKey, revision string) {
	defer w.lock()()
	b, ok := w.bindings[key]
	if !ok {
		return
	}
	delete(w.spoiled, key)
	w.revisions[key] = revision
	b.Generation++
	for _, t := range w.copies(b) {
		w.becomeHealthy(key, t)
	}
	w.changed(b)
	w.schedule(key)
}

// Mend ends what Spoil did, and heals every copy of a binding that is not healthy.
func (w *World) Mend(key karmada.BindingKey) {
	defer w.lock()()
	b, ok := w.bindings[key]
	if !ok {
		return
	}
	delete(w.spoiled, key)
	mended := false
	for _, t := range w.copies(b) {
		if b.Item(t.Name).Health != karmada.HealthHealthy {
			w.becomeHealthy(key, t)
			mended = true
		}
	}
	if mended {
		w.changed(b)
	}
}

// copies are the clusters for which a binding reports a copy that has a Work, with its replicas there.
func (w *World) copies(b *karmada.Binding) []karmada.TargetCluster {
	var out []karmada.TargetCluster
	for n := range b.Status.Aggregated {
		item := &b.Status.Aggregated[n]
		if _, stands := w.StandingWork(b.Key, item.Cluster); !stands {
			continue
		}
		t := karmada.TargetCluster{Name: item.Cluster}
		if target, at := b.Target(item.Cluster); at >= 0 {
			t = *target
		} else if item.Replicas != nil {
			t.Replicas = int32(*item.Replicas) //nolint:gosec // it was one
		}
		out = append(out, t)
	}
	return out
}

// StandingRevision is the revision of a binding's workload, for hooks that run under the lock.
func (w *World) StandingRevision(key karmada.BindingKey) string {
	return cmp.Or(w.revisions[key], firstRevision)
}

// firstRevision is that of a workload which was never revised.
const firstRevision = "first"
