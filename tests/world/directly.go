package world

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// begin starts the copies that a placement asks for. While the old copy of a task
// that says Directly stands, Karmada creates nothing at all for the binding.
func (w *World) begin(b *karmada.Binding, next []karmada.TargetCluster) {
	if w.blocks(b) {
		return
	}
	for _, t := range next {
		if old, _ := b.Target(t.Name); (old == nil || old.Replicas != t.Replicas) && !w.runsOn(b, t) {
			w.becomeHealthy(b.Key, t)
		}
		w.noteBeside(b, t.Name)
		w.ensureWork(b, t.Name)
	}
}

// blocks tells whether Karmada creates nothing now, and notes that it goes on later.
func (w *World) blocks(b *karmada.Binding) bool {
	if !w.directlyBlocks(b) {
		return false
	}
	if w.blocked == nil {
		w.blocked = map[karmada.BindingKey]bool{}
	}
	w.blocked[b.Key] = true
	return true
}

// noteBeside logs that a copy begins while another's Work stands.
func (w *World) noteBeside(b *karmada.Binding, cluster string) {
	for other := range w.clusters {
		namespace, name := workName(b.Key, other)
		if _, stands := w.works[namespace+"/"+name]; stands && other != cluster {
			w.Beside = append(w.Beside, Write{At: w.now(), Op: "begins", Cluster: cluster, Binding: b.Key.String(), Detail: other})
		}
	}
}

// directlyBlocks: a Work stands on a cluster that a task says Directly for.
func (w *World) directlyBlocks(b *karmada.Binding) bool {
	for _, task := range b.Tasks {
		namespace, name := workName(b.Key, task.FromCluster)
		if _, stands := w.works[namespace+"/"+name]; stands && task.PurgeMode == karmada.PurgeDirectly {
			return true
		}
	}
	return false
}

// finalize ends a deleting Work on a cluster that answers, after DeleteAfter.
func (w *World) finalize(c *karmada.Cluster, name string) {
	if w.DeleteAfter == 0 {
		if c.Ready() {
			delete(w.works, name)
		}
		return
	}
	w.later(w.DeleteAfter, func() {
		if work, ok := w.works[name]; ok && work.Deleting && c.Ready() {
			delete(w.works, name)
			for _, b := range w.bindings {
				w.goOn(b)
			}
		}
	})
}

// Requeue has the scheduler look at a binding again, as a change of the fleet would.
func (w *World) Requeue(key karmada.BindingKey) {
	defer w.lock()()
	w.schedule(key)
}

// goOn starts what was blocked, once the Work is gone or the task dropped.
func (w *World) goOn(b *karmada.Binding) {
	defer w.inject(b)
	if !w.blocked[b.Key] || w.directlyBlocks(b) {
		return
	}
	delete(w.blocked, b.Key)
	for _, t := range b.Clusters {
		w.becomeHealthy(b.Key, t)
		w.noteBeside(b, t.Name)
		w.ensureWork(b, t.Name)
	}
}

// Copies are the clusters on which a Work of the binding stands: where a copy of it
// may run, as far as Karmada knows.
func (w *World) Copies(key karmada.BindingKey) map[string]karmada.Work {
	defer w.lock()()
	w.advance()
	out := map[string]karmada.Work{}
	for cluster := range w.clusters {
		namespace, name := workName(key, cluster)
		if work, ok := w.works[namespace+"/"+name]; ok {
			out[cluster] = *work
		}
	}
	return out
}
