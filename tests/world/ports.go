package world

import (
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

// read is a cluster as Lifeboat reads it.
func (w *World) read(c *karmada.Cluster) karmada.Cluster {
	out := cloneCluster(c)
	if w.DrainDeleting {
		out.Drain = karmada.DrainedByDeletion(out)
	}
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
	return w.read(c), nil
}

// Clusters reads the fleet.
func (w *World) Clusters(context.Context) ([]karmada.Cluster, error) {
	defer w.lock()()
	w.advance()
	var out []karmada.Cluster
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		out = append(out, w.read(w.clusters[name]))
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
	for _, key := range w.keys() {
		out.Bindings = append(out.Bindings, seen(w.bindings[key]))
	}
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
	work, err := w.Work(ctx, "karmada-es-"+cluster, b.Key.Namespace+"-"+b.Key.Name)
	if standing := w.Peek(b.Key); err == nil {
		if own, overridden := w.Overridden[b.Key]; overridden {
			work.OverriddenReplicas = &own
		}
		work.RetainsReplicas = standing.WorkloadLabels[karmada.LabelRetainReplicas] == "true"
	}
	return work, err
}

// Revision is what SetRevision said of a binding, wherever it has a Work.
func (w *World) Revision(_ context.Context, b *karmada.Binding, cluster string) (string, error) {
	defer w.lock()()
	if w.works[workKey(b.Key, cluster)] == nil {
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
		if b, ok := w.bindings[read.Key]; ok && w.works[workKey(read.Key, cluster)] != nil && !w.Relabelled[read.Key] {
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
