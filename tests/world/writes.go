package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// write runs one write on a binding under its resourceVersion, and logs it.
func (w *World) write(op, cluster string, read *karmada.Binding, edit func(*karmada.Binding)) (karmada.Binding, error) {
	defer w.lock()()
	w.advance()
	key := read.Key.String()
	if w.Fail != nil {
		if err := w.Fail(op, key); err != nil {
			return karmada.Binding{}, err
		}
	}
	b, ok := w.bindings[read.Key]
	switch {
	case !ok:
		return karmada.Binding{}, karmada.ErrGone
	case b.ResourceVersion != read.ResourceVersion:
		return karmada.Binding{}, karmada.ErrConflict
	}
	before := clone(b)
	edit(b)
	b.Generation++
	wrote := Write{At: w.now(), Op: op, Cluster: cluster, Binding: key}
	w.Writes = append(w.Writes, wrote)
	if w.OnWrite != nil {
		w.OnWrite(wrote, before, clone(b))
	}
	w.follow(&before, b)
	w.changed(b)
	w.sweepWorks(b)
	w.schedule(b.Key)
	if w.Lost != nil && w.Lost(op, key) {
		return karmada.Binding{}, karmada.ErrUnreachable
	}
	return seen(b), nil
}

// Evict takes the cluster out and holds the old copy.
func (w *World) Evict(_ context.Context, r activities.EvictWrite) (karmada.Binding, error) {
	if task := r.Binding.ForeignTask(r.Cluster); task != nil {
		return karmada.Binding{}, fmt.Errorf("%w: a task of producer %q for %s stands", karmada.ErrInvalid, task.Producer, r.Cluster)
	}
	return w.write("evict", r.Cluster, r.Binding, func(b *karmada.Binding) {
		var before []string
		for _, t := range b.Clusters {
			before = append(before, t.Name)
		}
		if r.Back != nil {
			dropTask(b, r.Back.Name)
			b.Clusters = append(b.Clusters, *r.Back)
		}
		task, _ := b.TaskFor(r.Cluster)
		var replicas int32
		if target, at := b.Target(r.Cluster); at >= 0 {
			replicas = target.Replicas
			b.Clusters = slices.Delete(b.Clusters, at, at+1)
		} else if task != nil && task.Replicas != nil {
			replicas = *task.Replicas
		}
		reschedule(b, r.Reschedule, r.Now)
		if work, stands := w.StandingWork(b.Key, r.Cluster); stands && task == nil {
			w.heldWorks[r.Owner] = work
		}
		hold(b, task, activities.HoldWrite{
			Cluster: r.Cluster, Replicas: replicas, Purge: r.Purge, Owner: r.Owner, Before: before, State: r.State, Now: r.Now,
		})
	})
}

// reschedule triggers a schedule from scratch, later than the last decision; where the scheduler looks each time, than
// a decision that it has begun, too.
func reschedule(b *karmada.Binding, wanted bool, at time.Time) {
	if !wanted {
		return
	}
	at = at.Add(time.Second)
	if last := b.Status.LastScheduled; last != nil && (b.Divides() || !at.After(*last)) {
		at = last.Add(time.Second)
	}
	b.RescheduleTriggeredAt = &at
}

// hold puts a task of Lifeboat, or has the one that stands say what a new one would.
func hold(b *karmada.Binding, task *karmada.Task, r activities.HoldWrite) {
	if task != nil {
		task.Replicas = &r.Replicas
		takeOver(task, r.Purge, r.Now, r.Before)
		own(task, r.Owner, karmada.TaskReason)
		carry(b, r.Cluster, r.State)
		return
	}
	held := true
	b.Tasks = append(b.Tasks, karmada.Task{
		FromCluster: r.Cluster, PurgeMode: purgeMode(r.Purge), Replicas: &r.Replicas, Reason: karmada.TaskReason, Message: r.Owner,
		Producer: karmada.Producer, SuppressDeletion: &held, CreationTimestamp: &r.Now,
		ClustersBeforeFailover: r.Before, State: r.State,
	})
}

// purgeMode is what a task says where nothing was asked for.
func purgeMode(mode karmada.PurgeMode) karmada.PurgeMode {
	return cmp.Or(mode, karmada.PurgeGracefully)
}

// Restore puts the cluster back and drops the task.
func (w *World) Restore(_ context.Context, r activities.RestoreWrite) (karmada.Binding, error) {
	return w.write("restore", r.Cluster, r.Binding, func(b *karmada.Binding) {
		reschedule(b, r.Reschedule, r.Now)
		b.Clusters = slices.DeleteFunc(b.Clusters, func(t karmada.TargetCluster) bool { return slices.Contains(r.Away, t.Name) })
		for _, s := range r.Shrunk {
			if t, _ := b.Target(s.Name); t != nil {
				t.Replicas = s.Replicas
			}
		}
		if _, at := b.Target(r.Cluster); at < 0 {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: r.Cluster, Replicas: r.Replicas})
		}
		b.Clusters = append(b.Clusters, r.Others...)
		letGo(b, r.Cluster)
	})
}

func dropTask(b *karmada.Binding, cluster string) {
	b.Tasks = slices.DeleteFunc(b.Tasks, func(t karmada.Task) bool { return t.FromCluster == cluster && t.IsLifeboat() })
}

// Hold puts Lifeboat's task back.
func (w *World) Hold(_ context.Context, r activities.HoldWrite) (karmada.Binding, error) {
	return w.write("hold", r.Cluster, r.Binding, func(b *karmada.Binding) {
		task, _ := b.TaskFor(r.Cluster)
		if task != nil && !task.IsLifeboat() {
			task = nil
		}
		hold(b, task, r)
	})
}

// Release drops Lifeboat's task.
func (w *World) Release(_ context.Context, r activities.ReleaseWrite) (karmada.Binding, error) {
	return w.write("release", r.Cluster, r.Binding, func(b *karmada.Binding) { letGo(b, r.Cluster) })
}

// EndWork has Karmada end a Work that is being deleted, where its cluster answers.
func (w *World) EndWork(_ context.Context, old karmada.Work) error {
	defer w.lock()()
	work, ok := w.works[old.Namespace+"/"+old.Name]
	switch {
	case !ok:
		return karmada.ErrGone
	case work.UID != old.UID || !work.Deleting:
		return karmada.ErrConflict
	}
	if w.Fail != nil {
		if err := w.Fail("end", old.Name); err != nil {
			return err
		}
	}
	w.Writes = append(w.Writes, Write{At: w.now(), Op: "end", Cluster: work.Cluster, Detail: old.Name})
	if w.runs(work.Cluster) {
		delete(w.works, old.Namespace+"/"+old.Name)
	}
	return nil
}

// Mark changes the reason of Lifeboat's task.
func (w *World) Mark(_ context.Context, r activities.MarkWrite) (karmada.Binding, error) {
	return w.write("mark", r.Cluster, r.Binding, func(b *karmada.Binding) {
		if task, _ := b.TaskFor(r.Cluster); task != nil {
			if r.Owner != "" {
				own(task, r.Owner, r.Reason)
			}
			task.Reason = r.Reason
			task.PurgeMode = cmp.Or(r.Purge, task.PurgeMode)
		}
	})
}

// Taint adds and removes Lifeboat taints.
func (w *World) Taint(_ context.Context, r activities.TaintWrite) (karmada.Cluster, error) {
	defer w.lock()()
	w.advance()
	if w.Fail != nil {
		if err := w.Fail("taint", r.Cluster.Name); err != nil {
			return karmada.Cluster{}, err
		}
	}
	c, ok := w.clusters[r.Cluster.Name]
	switch {
	case !ok || c.UID != r.Cluster.UID:
		return karmada.Cluster{}, karmada.ErrGone
	case c.ResourceVersion != r.Cluster.ResourceVersion:
		return karmada.Cluster{}, karmada.ErrConflict
	}
	before := cloneCluster(c)
	w.editTaints(c, r)
	wrote := Write{At: w.now(), Op: "taint", Cluster: c.Name, Detail: fmt.Sprintf("+%d -%d", len(r.Add), len(r.Remove))}
	w.Writes = append(w.Writes, wrote)
	if w.OnTaint != nil {
		w.OnTaint(wrote, before, cloneCluster(c))
	}
	w.clusterChanged(c)
	if len(r.Add) > 0 || len(r.Remove) > 0 {
		w.requeue()
	}
	return w.read(c), nil
}

func (w *World) editTaints(c *karmada.Cluster, r activities.TaintWrite) {
	for i, t := range r.Add {
		w.addTaint(c, t, r.AddRules[i], r.FailoverID)
	}
	for _, gone := range r.Remove {
		is := func(key string, effect corev1.TaintEffect) bool { return key == gone.Key && effect == gone.Effect }
		c.Taints = slices.DeleteFunc(c.Taints, func(t corev1.Taint) bool { return is(t.Key, t.Effect) })
		c.Added = slices.DeleteFunc(c.Added, func(t karmada.AddedTaint) bool { return is(t.Key, t.Effect) })
	}
	if r.StoppedBy != nil {
		c.Stopped = r.StoppedBy
	}
	if r.ClearStopped {
		c.Stopped = nil
	}
	w.recordOrders(c, r)
}

func (w *World) addTaint(c *karmada.Cluster, t karmada.RuleTaint, rule, failoverID string) {
	record := karmada.AddedTaint{Key: t.Key, Effect: t.Effect, Rule: rule, FailoverID: failoverID}
	own := slices.IndexFunc(c.Added, func(x karmada.AddedTaint) bool { return x.Key == t.Key && x.Effect == t.Effect })
	if slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect }) {
		if own >= 0 {
			c.Added[own] = record
		}
		return
	}
	if own >= 0 { // of a taint that another actor took away
		c.Added = slices.Delete(c.Added, own, own+1)
	}
	taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
	if karmada.Triggers(t.Effect) {
		at := metav1.NewTime(w.now())
		taint.TimeAdded = &at
	}
	c.Taints = append(c.Taints, taint)
	c.Added = append(c.Added, record)
}
