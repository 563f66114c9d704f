package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Watch is told of every change. Old is nil for what is new, now for what is deleted.
// It is called under the world's lock: it may only take note.
type Watch struct {
	Cluster func(old, now *karmada.Cluster)
	Binding func(old, now *karmada.Binding)
}

// shown is what the watch was told last.
type shown struct {
	clusters map[string]*karmada.Cluster
	bindings map[karmada.BindingKey]*karmada.Binding
	uids     map[string]bool
}

func newShown() shown {
	return shown{
		clusters: map[string]*karmada.Cluster{}, bindings: map[karmada.BindingKey]*karmada.Binding{}, uids: map[string]bool{},
	}
}

// uid is "uid-<name>", and another one for what comes back under the same name.
func (w *World) uid(name string) types.UID {
	uid := "uid-" + name
	if w.shown.uids[uid] {
		uid += "-" + w.bump()
	}
	w.shown.uids[uid] = true
	return types.UID(uid)
}

func (w *World) watchCluster(name string) {
	show(w.Watch.Cluster, w.shown.clusters, name, w.clusters[name], cloneCluster)
}

func (w *World) watchBinding(key karmada.BindingKey) {
	show(w.Watch.Binding, w.shown.bindings, key, w.bindings[key], clone)
}

// show has a watch see an object as it stands now, nil where it is gone, beside what it saw last.
func show[K comparable, T any](watch func(old, now *T), shown map[K]*T, key K, object *T, clone func(*T) T) {
	if watch == nil {
		return
	}
	old := shown[key]
	delete(shown, key)
	if object != nil {
		now := clone(object)
		shown[key] = &now
	}
	watch(old, shown[key])
}

// notReadyKey is Karmada's own NoSchedule taint for a cluster that is not Ready.
const notReadyKey = "cluster.karmada.io/not-ready"

func (w *World) notReadyTaint(c *karmada.Cluster, stands bool) {
	if !w.Restless {
		return
	}
	had := len(c.Taints)
	c.Taints = slices.DeleteFunc(c.Taints, func(t corev1.Taint) bool { return t.Key == notReadyKey })
	if stands {
		c.Taints = append(c.Taints, corev1.Taint{Key: notReadyKey, Effect: corev1.TaintEffectNoSchedule})
	}
	if had != len(c.Taints) {
		w.requeue()
	}
}

// Die lets a member die or come back without its Ready condition saying so yet.
func (w *World) Die(cluster string, dead bool) {
	defer w.lock()()
	w.dead[cluster] = dead
}

// Sicken keeps new copies on a cluster from becoming healthy; curing lets those on it.
func (w *World) Sicken(cluster string, sick bool) {
	defer w.lock()()
	w.sick[cluster] = sick
	if !sick {
		w.healCopies(cluster)
	}
}

// healCopies lets every copy on a cluster that has come attempt become healthy, one that
// is held there too.
func (w *World) healCopies(cluster string) {
	if !w.Restless {
		return
	}
	for _, key := range w.keys() {
		b := w.bindings[key]
		t, at := b.Target(cluster)
		if _, held := b.TaskFor(cluster); at < 0 && held >= 0 {
			if item := b.Item(cluster); item != nil && item.Replicas != nil {
				t, at = &karmada.TargetCluster{Name: cluster, Replicas: int32(*item.Replicas)}, 0 //nolint:gosec // it was one
			}
		}
		healthy := slices.ContainsFunc(b.Status.Aggregated, func(x karmada.AggregatedItem) bool {
			return x.Cluster == cluster && x.Health == karmada.HealthHealthy
		})
		if at >= 0 && !healthy {
			w.becomeHealthy(b.Key, *t)
		}
	}
}

// DeleteBinding deletes a binding with its Works.
func (w *World) DeleteBinding(key karmada.BindingKey) {
	defer w.lock()()
	if b, ok := w.bindings[key]; ok {
		delete(w.bindings, key)
		b.Clusters, b.Tasks = nil, nil
		w.sweepWorks(b)
		w.orphan(key)
		w.watchBinding(key)
	}
}

// Edit edits a binding's spec as another hand would: the generation grows, and the
// scheduler looks. It tells whether the binding exists.
func (w *World) Edit(key karmada.BindingKey, edit func(*karmada.Binding)) bool {
	defer w.lock()()
	b, ok := w.bindings[key]
	if !ok {
		return false
	}
	edit(b)
	b.Generation++
	w.changed(b)
	w.sweepWorks(b)
	w.schedule(key)
	return true
}

// dropExecutionNamespace ends every Work of a cluster that is gone.
func (w *World) dropExecutionNamespace(cluster string) {
	for key := range w.works {
		if strings.HasPrefix(key, "karmada-es-"+cluster+"/") {
			delete(w.works, key)
		}
	}
}

// Relist tells the watch everything anew, as to one that has just begun.
func (w *World) Relist() {
	defer w.lock()()
	w.shown.clusters, w.shown.bindings = map[string]*karmada.Cluster{}, map[karmada.BindingKey]*karmada.Binding{}
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		w.watchCluster(name)
	}
	for _, key := range w.keys() {
		w.watchBinding(key)
	}
}

// Standing is a cluster as it stands, for hooks that run under the world's lock.
func (w *World) Standing(name string) (karmada.Cluster, bool) {
	c, ok := w.clusters[name]
	if !ok {
		return karmada.Cluster{}, false
	}
	return cloneCluster(c), true
}

// StandingBinding is a binding as it stands, for hooks that run under the lock.
func (w *World) StandingBinding(key karmada.BindingKey) (karmada.Binding, bool) {
	b, ok := w.bindings[key]
	if !ok {
		return karmada.Binding{}, false
	}
	return clone(b), true
}

// StandingWork is a binding's Work on a cluster, for hooks that run under the lock.
func (w *World) StandingWork(key karmada.BindingKey, cluster string) (karmada.Work, bool) {
	work, ok := w.works[workKey(key, cluster)]
	if !ok {
		return karmada.Work{}, false
	}
	return *work, true
}

// StandingBindings are all bindings as they stand, for hooks that run under the lock.
func (w *World) StandingBindings() []karmada.Binding {
	var out []karmada.Binding
	for _, key := range w.keys() {
		out = append(out, clone(w.bindings[key]))
	}
	return out
}

// keys are the bindings in a fixed order.
func (w *World) keys() []karmada.BindingKey {
	return slices.SortedFunc(maps.Keys(w.bindings), func(a, b karmada.BindingKey) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Everything are all bindings as they stand, in a fixed order.
func (w *World) Everything() []karmada.Binding {
	defer w.lock()()
	return w.StandingBindings()
}
