package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ activities.Reader        = (*World)(nil)
	_ activities.Writer        = (*World)(nil)
	_ activities.Owners        = (*World)(nil)
	_ activities.Migrations    = (*World)(nil)
	_ activities.EventRecorder = (*World)(nil)
)

func clone(b *karmada.Binding) karmada.Binding {
	out := *b
	out.Clusters, out.Tasks = slices.Clone(b.Clusters), slices.Clone(b.Tasks)
	out.Status.Aggregated = slices.Clone(b.Status.Aggregated)
	if b.Status.Scheduled != nil {
		s := *b.Status.Scheduled
		out.Status.Scheduled = &s
	}
	return out
}

// seen is a binding as it is read: the labels of its workload stand in its Works alone.
func seen(b *karmada.Binding) karmada.Binding {
	out := clone(b)
	out.WorkloadLabels = nil
	return out
}

func cloneCluster(c *karmada.Cluster) karmada.Cluster {
	out := *c
	out.Taints, out.Conditions, out.Added = slices.Clone(c.Taints), slices.Clone(c.Conditions), slices.Clone(c.Added)
	out.Ordered = slices.Clone(c.Ordered)
	out.Annotations = maps.Clone(c.Annotations)
	return out
}

// Cluster reads one cluster.
func (w *World) Cluster(_ context.Context, name string) (karmada.Cluster, error) {
	defer w.lock()()
	w.advance()
	c, ok := w.clusters[name]
	if !ok {
		return karmada.Cluster{}, fmt.Errorf("cluster %s: %w", name, karmada.ErrGone)
	}
	return cloneCluster(c), nil
}

// Clusters reads the fleet.
func (w *World) Clusters(context.Context) ([]karmada.Cluster, error) {
	defer w.lock()()
	w.advance()
	var out []karmada.Cluster
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		out = append(out, cloneCluster(w.clusters[name]))
	}
	return out, nil
}

// Rules reads the rules.
func (w *World) Rules(context.Context) ([]rules.Rule, error) {
	defer w.lock()()
	return slices.Clone(w.rules), nil
}

// Binding reads one binding.
func (w *World) Binding(_ context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	defer w.lock()()
	w.advance()
	b, ok := w.bindings[key]
	if !ok {
		return karmada.Binding{}, fmt.Errorf("binding %s: %w", key, karmada.ErrGone)
	}
	return seen(b), nil
}

// Bindings reads all bindings, in one page.
func (w *World) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	defer w.lock()()
	w.advance()
	var out activities.BindingPage
	for _, b := range w.bindings {
		out.Bindings = append(out.Bindings, seen(b))
	}
	slices.SortFunc(out.Bindings, func(x, y karmada.Binding) int {
		if x.Key.String() < y.Key.String() {
			return -1
		}
		return 1
	})
	return out, nil
}

// WorkOf finds a binding's Work on a cluster.
func (w *World) WorkOf(ctx context.Context, b *karmada.Binding, cluster string) (karmada.Work, error) {
	w.mu.Lock()
	hidden := w.Relabelled[b.Key]
	w.mu.Unlock()
	if hidden {
		return karmada.Work{}, karmada.ErrGone
	}
	return w.Work(ctx, "karmada-es-"+cluster, b.Key.Namespace+"-"+b.Key.Name)
}

// Revision is what SetRevision said of a binding, wherever it has a Work.
func (w *World) Revision(_ context.Context, b *karmada.Binding, cluster string) (string, error) {
	defer w.lock()()
	namespace, name := workName(b.Key, cluster)
	if w.works[namespace+"/"+name] == nil {
		return "", karmada.ErrGone
	}
	return w.StandingRevision(b.Key), nil
}

// SetRevision gives the workload of a binding another pod template.
func (w *World) SetRevision(key karmada.BindingKey, revision string) {
	defer w.lock()()
	w.revisions[key] = revision
}

// WorkloadLabels reads the labels in the Works of bindings on a cluster.
func (w *World) WorkloadLabels(_ context.Context, bindings []*karmada.Binding, cluster string) (map[karmada.BindingKey]map[string]string, error) {
	defer w.lock()()
	out := map[karmada.BindingKey]map[string]string{}
	for _, read := range bindings {
		namespace, name := workName(read.Key, cluster)
		if b, ok := w.bindings[read.Key]; ok && w.works[namespace+"/"+name] != nil && !w.Relabelled[read.Key] {
			out[read.Key] = map[string]string{}
			maps.Copy(out[read.Key], b.WorkloadLabels)
		}
	}
	return out, nil
}

// Work reads one Work.
func (w *World) Work(_ context.Context, namespace, name string) (karmada.Work, error) {
	defer w.lock()()
	work, ok := w.works[namespace+"/"+name]
	if !ok {
		return karmada.Work{}, karmada.ErrGone
	}
	return *work, nil
}

// OptedOut says that nothing around a binding opts it out.
func (w *World) OptedOut(context.Context, *karmada.Binding) (string, error) { return "", nil }

// PolicyAnnotation is what SetPolicyAnnotation said.
func (w *World) PolicyAnnotation(_ context.Context, b *karmada.Binding, name string) (string, error) {
	defer w.lock()()
	return w.policies[b.Key.String()+" "+name], nil
}

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
	return w.write("evict", r.Cluster, r.Binding, func(b *karmada.Binding) {
		var before []string
		for _, t := range b.Clusters {
			before = append(before, t.Name)
		}
		if r.Back != nil {
			dropTask(b, r.Back.Name)
			b.Clusters = append(b.Clusters, *r.Back)
		}
		target, at := b.Target(r.Cluster)
		replicas := int32(0)
		if at >= 0 {
			replicas = target.Replicas
			b.Clusters = slices.Delete(b.Clusters, at, at+1)
		}
		if now := r.Now; r.Reschedule {
			b.RescheduleTriggeredAt = &now
		}
		if task, _ := b.TaskFor(r.Cluster); task != nil {
			task.Replicas = &replicas
			takeOver(task, r.Purge, r.Now, before)
			own(task, r.Owner, r.Reason)
			carry(b, r.Cluster, r.State)
			return
		}
		if work, stands := w.StandingWork(b.Key, r.Cluster); stands {
			w.heldWorks[r.Owner] = work
		}
		hold, created := true, r.Now
		b.Tasks = append(b.Tasks, karmada.Task{
			FromCluster: r.Cluster, PurgeMode: purgeMode(r.Purge), Replicas: &replicas, Reason: r.Reason, Message: r.Owner,
			Producer: karmada.Producer, SuppressDeletion: &hold, CreationTimestamp: &created, ClustersBeforeFailover: before,
			State: r.State,
		})
	})
}

// purgeMode is what a task says where nothing was asked for.
func purgeMode(mode karmada.PurgeMode) karmada.PurgeMode {
	return cmp.Or(mode, karmada.PurgeGracefully)
}

// Restore puts the cluster back and drops the task.
func (w *World) Restore(_ context.Context, r activities.RestoreWrite) (karmada.Binding, error) {
	return w.write("restore", r.Cluster, r.Binding, func(b *karmada.Binding) {
		if now := r.Now; r.Reschedule {
			b.RescheduleTriggeredAt = &now
		}
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
	b.Tasks = slices.DeleteFunc(b.Tasks, func(t karmada.Task) bool { return t.FromCluster == cluster && t.Ours() })
}

// Hold puts Lifeboat's task back.
func (w *World) Hold(_ context.Context, r activities.HoldWrite) (karmada.Binding, error) {
	return w.write("hold", r.Cluster, r.Binding, func(b *karmada.Binding) {
		hold, replicas, created := true, r.Replicas, r.Now
		if task, _ := b.TaskFor(r.Cluster); task != nil && task.Ours() {
			task.Replicas = &replicas
			takeOver(task, r.Purge, r.Now, r.Before)
			own(task, r.Owner, r.Reason)
			carry(b, r.Cluster, r.State)
			return
		}
		b.Tasks = append(b.Tasks, karmada.Task{
			FromCluster: r.Cluster, PurgeMode: purgeMode(r.Purge), Replicas: &replicas, Reason: r.Reason, Message: r.Owner,
			Producer: karmada.Producer, SuppressDeletion: &hold, CreationTimestamp: &created,
			ClustersBeforeFailover: r.Before, State: r.State,
		})
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
	return cloneCluster(c), nil
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
	if slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect }) {
		return
	}
	taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
	if karmada.Triggers(t.Effect) {
		at := metav1.NewTime(w.now())
		taint.TimeAdded = &at
	}
	c.Taints = append(c.Taints, taint)
	c.Added = append(c.Added, karmada.AddedTaint{Key: t.Key, Effect: t.Effect, Rule: rule, FailoverID: failoverID})
}

// ManagerLease is the leader Lease of Karmada's controller manager, renewed at every read
// unless the manager is dead.
func (w *World) ManagerLease(context.Context) (proof.ManagerLease, error) {
	defer w.lock()()
	lease := proof.ManagerLease{Holder: "manager", Acquired: w.ManagerSince, Duration: 15 * time.Second}
	if lease.Acquired.IsZero() {
		lease.Acquired = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	lease.Renewed = lease.Acquired.Add(time.Hour) // for ever, where it is dead
	if !w.ManagerDead {
		w.renewals++
		lease.Renewed = w.now().Add(time.Duration(w.renewals))
	}
	return lease, w.ManagerErr
}

// Controller is the leader Lease of the controller, renewed at every read. Since tells since when it
// is held, if it is.
type Controller struct {
	W     *World
	Since func() (time.Time, bool)
}

// ManagerLease implements activities.ManagerReader.
func (c Controller) ManagerLease(context.Context) (proof.ManagerLease, error) {
	since, held := c.Since()
	if !held {
		return proof.ManagerLease{}, nil
	}
	c.W.mu.Lock()
	defer c.W.mu.Unlock()
	c.W.renewals++
	return proof.ManagerLease{
		Holder: "controller", Acquired: since, Renewed: c.W.now().Add(time.Duration(c.W.renewals)), Duration: 15 * time.Second,
	}, nil
}

// Clock is the world's clock as the activities see it.
type Clock struct{ W *World }

// Now is the world's time.
func (c Clock) Now() time.Time { return c.W.now() }

// ServerNow is the world's time.
func (c Clock) ServerNow(context.Context) (time.Time, time.Duration) { return c.W.now(), 0 }

// Start measures in the world's time.
func (c Clock) Start() func() time.Duration {
	began := c.W.now()
	return func() time.Duration { return c.W.now().Sub(began) }
}

// Wait lets the world's time pass, where the test says how.
func (c Clock) Wait(ctx context.Context, d time.Duration) error {
	if d > 0 && c.W.OnWait != nil {
		c.W.OnWait(d)
	}
	return ctx.Err()
}

// Meter counts nothing.
type Meter struct{}

// Evicted implements activities.Meter.
func (Meter) Evicted(string, string) {}

// LeftQueue implements activities.Meter.
func (Meter) LeftQueue(string, time.Duration, time.Duration) {}

// Conflict implements activities.Meter.
func (Meter) Conflict(string) {}

// Malformed implements activities.Meter.
func (Meter) Malformed(string) {}

// Blocked implements activities.Meter.
func (Meter) Blocked(reason.Reason) {}
