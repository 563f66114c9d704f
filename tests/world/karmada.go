package world

import (
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (w *World) becomeHealthy(key karmada.BindingKey, t karmada.TargetCluster) {
	if b := w.bindings[key]; b != nil {
		w.report(b, t, false)
	}
	w.later(w.HealthyAfter, func() {
		b := w.bindings[key]
		if b == nil || w.spoiled[key] || !w.runs(t.Name) {
			return
		}
		if now, at := b.Target(t.Name); at >= 0 && now.Replicas != t.Replicas || at < 0 && !w.runsOn(b, t) {
			return
		}
		w.report(b, t, true)
		w.changed(b)
	})
}

// runsOn tells whether a copy stands with that many replicas: one that is held comes
// attempt, and is no new one where the scheduler puts the cluster back.
func (w *World) runsOn(b *karmada.Binding, t karmada.TargetCluster) bool {
	work, stands := w.StandingWork(b.Key, t.Name)
	item := b.Item(t.Name)
	return stands && !work.Deleting && item != nil && item.Replicas != nil && *item.Replicas == int64(t.Replicas)
}

// follow has the members follow a write that is not the scheduler's: a copy that is put
// back runs on as it was held, and takes its time where other replicas are asked of it,
// or where it was not well.
func (w *World) follow(before, b *karmada.Binding) {
	for _, t := range b.Clusters {
		old, _ := before.Target(t.Name)
		switch {
		case old != nil && old.Replicas == t.Replicas:
		case w.blocks(b):
			return
		default:
			w.ensureWork(b, t.Name)
			item := b.Item(t.Name)
			ill := w.Restless && item != nil && item.Health != karmada.HealthHealthy
			if item == nil || ill || item.Replicas != nil && *item.Replicas != int64(t.Replicas) {
				w.becomeHealthy(b.Key, t)
			}
		}
	}
}

func workName(key karmada.BindingKey, cluster string) (namespace, name string) {
	return "karmada-es-" + cluster, key.Namespace + "-" + key.Name
}

// workKey is under what a Work stands in the world.
func workKey(key karmada.BindingKey, cluster string) string {
	namespace, name := workName(key, cluster)
	return namespace + "/" + name
}

func (w *World) ensureWork(b *karmada.Binding, cluster string) {
	namespace, name := workName(b.Key, cluster)
	if w.works[namespace+"/"+name] != nil {
		return // also one that is being deleted: Karmada makes no other beside it
	}
	w.works[namespace+"/"+name] = &karmada.Work{
		Namespace: namespace, Name: name, Cluster: cluster, UID: types.UID("work-" + w.bump()),
	}
}

// sweepWorks deletes Works of clusters that are neither target nor held; those on
// a dead cluster stay with their finalizer.
func (w *World) sweepWorks(b *karmada.Binding) {
	for cluster, c := range w.clusters {
		task, _ := b.TaskFor(cluster)
		name := workKey(b.Key, cluster)
		work, ok := w.works[name]
		if !ok || b.ServesOn(cluster) || (task != nil && task.PurgeMode != karmada.PurgeDirectly) {
			continue
		}
		work.Deleting = true
		w.finalize(c, name)
	}
	w.goOn(b)
}

// purge ends the deleting Works of a cluster that is back.
func (w *World) purge(cluster string) {
	for _, key := range slices.Sorted(maps.Keys(w.works)) {
		if work := w.works[key]; work.Cluster == cluster && work.Deleting {
			w.end(key)
		}
	}
	for _, b := range w.bindings {
		w.goOn(b)
	}
}

// end takes away a Work whose copy is deleted. Where the binding serves on that cluster again by then, Karmada creates
// another one.
func (w *World) end(key string) {
	cluster := w.works[key].Cluster
	delete(w.works, key)
	for _, b := range w.bindings {
		switch t, at := b.Target(cluster); {
		case workKey(b.Key, cluster) != key || !b.ServesOn(cluster) || w.blocks(b):
		case at >= 0:
			w.start(b, *t)
		default: // a dependent that a parent brings along
			w.ensureWork(b, cluster)
		}
	}
}

// runs tells whether a member answers and does not only look so: its Ready condition
// lags its death.
func (w *World) runs(cluster string) bool {
	c, ok := w.clusters[cluster]
	return ok && !w.dead[cluster] && !w.sick[cluster] && c.Conditions[0].Status == corev1.ConditionTrue
}
