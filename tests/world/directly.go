package world

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
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
		if _, stands := w.works[workKey(b.Key, other)]; stands && other != cluster {
			w.Beside = append(w.Beside, Write{At: w.now(), Op: "begins", Cluster: cluster, Binding: b.Key.String(), Detail: other})
		}
	}
}

// directlyBlocks: a Work stands on a cluster that a task says Directly for.
func (w *World) directlyBlocks(b *karmada.Binding) bool {
	for _, task := range b.Tasks {
		if _, stands := w.works[workKey(b.Key, task.FromCluster)]; stands && task.PurgeMode == karmada.PurgeDirectly {
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
			w.end(name)
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
		w.start(b, t)
	}
}

// start has a new copy begin, whose Work there was none of.
func (w *World) start(b *karmada.Binding, t karmada.TargetCluster) {
	w.becomeHealthy(b.Key, t)
	w.noteBeside(b, t.Name)
	w.ensureWork(b, t.Name)
}

// Copies are the clusters on which a Work of the binding stands: where a copy of it
// may run, as far as Karmada knows.
func (w *World) Copies(key karmada.BindingKey) map[string]karmada.Work {
	defer w.lock()()
	w.advance()
	out := map[string]karmada.Work{}
	for cluster := range w.clusters {
		if work, ok := w.works[workKey(key, cluster)]; ok {
			out[cluster] = *work
		}
	}
	return out
}

// Holders sets who holds a dependent's task.
func (w *World) Holders(_ context.Context, r activities.HoldersWrite) (karmada.Binding, error) {
	return w.write("holders", r.Cluster, r.Binding, func(b *karmada.Binding) {
		message := strings.Join(r.Holders, " ")
		task, _ := b.TaskFor(r.Cluster)
		switch {
		case len(r.Holders) == 0:
			dropTask(b, r.Cluster)
		case task != nil && !task.Bans():
			task.Message = message
		default:
			dropTask(b, r.Cluster)
			hold, created := true, r.Now
			b.Tasks = append(b.Tasks, karmada.Task{
				FromCluster: r.Cluster, PurgeMode: karmada.PurgeGracefully, Reason: karmada.TaskReasonDependent, Message: message,
				Producer: karmada.Producer, SuppressDeletion: &hold, CreationTimestamp: &created,
			})
		}
	})
}

// letGo takes a binding's own migration out of Lifeboat's task; parents that hold it keep it.
func letGo(b *karmada.Binding, cluster string) {
	task, _ := b.TaskFor(cluster)
	switch {
	case task == nil || task.ForDependent():
	case len(task.Others()) == 0:
		dropTask(b, cluster)
	default:
		task.Message, task.Reason = strings.Join(task.Others(), " "), karmada.TaskReasonDependent
	}
}

// takeOver makes a task that stood for parents, or as a ban, say what a new one would.
func takeOver(task *karmada.Task, purge karmada.PurgeMode, now time.Time, before []string) {
	if !task.Owned() {
		task.PurgeMode, task.CreationTimestamp, task.ClustersBeforeFailover = purgeMode(purge), &now, before
	}
}

// own enters a binding's own migration as the first holder of Lifeboat's task.
func own(task *karmada.Task, owner, reason string) {
	task.Message = strings.Join(append([]string{owner}, task.Others()...), " ")
	task.Reason = reason
}

// AddDependent adds the binding of a dependent: no scheduler places it, it follows
// those that name it. One that stands has a placement of its own.
func (w *World) AddDependent(b karmada.Binding) {
	if _, stands := w.StandingBinding(b.Key); !stands {
		b.Placement = nil
		w.AddBinding(b)
	}
	defer w.lock()()
	for _, parent := range w.bindings {
		w.distribute(parent)
	}
}

// distribute plays the dependencies-distributor: dependents say where their parent
// runs, by its spec.clusters and nothing else.
func (w *World) distribute(parent *karmada.Binding) {
	if !parent.PropagateDeps || w.bindings[parent.Key] != parent {
		return
	}
	entry := karmada.RequiredBy{Namespace: parent.Key.Namespace, Name: parent.Key.Name}
	for _, t := range parent.Clusters {
		entry.Clusters = append(entry.Clusters, t.Name)
	}
	for _, key := range karmada.DependenciesOf(parent).Keys {
		b, known := w.bindings[key]
		if !known {
			continue
		}
		at := slices.IndexFunc(b.RequiredBy, func(r karmada.RequiredBy) bool { return r.Namespace == entry.Namespace && r.Name == entry.Name })
		switch {
		case at < 0:
			b.RequiredBy = append(b.RequiredBy, entry)
		case slices.Equal(b.RequiredBy[at].Clusters, entry.Clusters):
			continue
		default:
			b.RequiredBy = slices.Clone(b.RequiredBy)
			b.RequiredBy[at] = entry
		}
		b.Generation++
		for _, cluster := range entry.Clusters {
			w.ensureWork(b, cluster)
		}
		w.sweepWorks(b)
		w.changed(b)
	}
}

// orphan takes a deleted parent out of what its dependents say.
func (w *World) orphan(parent karmada.BindingKey) {
	for _, key := range w.keys() {
		b := w.bindings[key]
		if !b.RequiredIn(parent) {
			continue
		}
		b.RequiredBy = slices.DeleteFunc(slices.Clone(b.RequiredBy), func(r karmada.RequiredBy) bool {
			return r.Namespace == parent.Namespace && r.Name == parent.Name
		})
		b.Generation++
		w.sweepWorks(b)
		w.changed(b)
	}
}

// HasWork tells whether a binding's Work on a cluster stands and is not on its way out.
func (w *World) HasWork(key karmada.BindingKey, cluster string) bool {
	defer w.lock()()
	work, ok := w.works[workKey(key, cluster)]
	return ok && !work.Deleting
}
