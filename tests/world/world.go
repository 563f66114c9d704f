package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// World is one simulated control plane. Its methods are safe for concurrent use.
type World struct {
	mu       sync.Mutex
	now      func() time.Time
	version  int
	clusters map[string]*karmada.Cluster
	rules    []rules.Rule
	bindings map[karmada.BindingKey]*karmada.Binding
	works    map[string]*karmada.Work // "<namespace>/<name>"
	policies map[string]string        // annotations of policies: "<binding> <name>"
	// worn are the labels of preserved state that a Work carries now, everWorn the last ones.
	worn, everWorn map[string]map[string]string
	pending        []pending
	blocked        map[karmada.BindingKey]bool // by a task that says Directly
	queued         map[karmada.BindingKey]bool // for a pass of the scheduler
	heldWorks      map[string]karmada.Work     // by the workflow that evicted
	scheduling     map[karmada.BindingKey]bool // a pass over it is under way
	revisions      map[karmada.BindingKey]string
	spoiled        map[karmada.BindingKey]bool // no copy of it is ever healthy
	dead           map[string]bool             // members that do not answer, whatever Ready says
	sick           map[string]bool             // members where no new copy becomes healthy
	shown          shown

	// runningMu is a lock of its own: the environment says who runs while it holds
	// locks that changes of the world wait for.
	runningMu sync.Mutex
	running   map[string]bool

	// DrainDeleting reads a cluster that is being deleted as drained.
	DrainDeleting bool

	// ManagerDead stops Karmada's controller manager renewing its Lease, ManagerSince is when it
	// acquired that (long ago if zero), ManagerErr what reading the Lease fails with.
	ManagerDead  bool
	ManagerSince time.Time
	ManagerErr   error
	renewals     int

	// ScheduleAfter and HealthyAfter are how long the scheduler and new copies take.
	ScheduleAfter, HealthyAfter time.Duration
	// DeleteAfter is how long a member takes to delete a copy.
	DeleteAfter time.Duration
	// BacksOff has Karmada leave the deleted Works of a cluster that is back until it is made
	// to try again: it backs off.
	BacksOff bool
	// ScheduleTakes is how long a decision of the scheduler is on its way: its patch
	// carries no resourceVersion, and overwrites what was written meanwhile.
	ScheduleTakes time.Duration
	// Restless plays what the stories' environment cannot bear the signals of: the
	// scheduler's second pass, its look at everything when a cluster changes, Karmada's
	// own not-ready taint, and copies that come attempt with their cluster.
	Restless bool
	// Relabelled are bindings whose label another hand changed: no Work carries its id.
	Relabelled map[karmada.BindingKey]bool
	// Overridden are the replicas that an OverridePolicy gives every copy of a binding.
	Overridden map[karmada.BindingKey]int64
	// DistributeAfter is how long dependents take to follow their parent.
	DistributeAfter time.Duration
	// Writes is the log of every write, in order.
	Writes []Write
	// Beside is the log of copies that began while the Work of another stood.
	Beside []Write
	// OnCluster and OnBinding are told of every change, as a watch would be.
	OnCluster func(rules.ClusterFact)
	OnBinding func(proof.BindingFact, karmada.Binding)
	// Watch, when set, is told of every change with what stood before, as an informer would be.
	Watch Watch
	// OnWrite and OnTaint, when set, see each write that stands, before and after.
	OnWrite func(write Write, before, after karmada.Binding)
	OnTaint func(write Write, before, after karmada.Cluster)
	// OnLater is told when the world will move by itself.
	OnLater func(time.Duration)
	// OnWait lets an activity wait; it returns when that much time has passed.
	OnWait func(time.Duration)
	// Fail, when set, is asked before each write: an error refuses it.
	Fail func(op string, key string) error
	// Lost, when set, is asked after each write: true loses the answer.
	Lost func(op string, key string) bool
}

// Write is one write that stands.
type Write struct {
	At      time.Time
	Op      string // taint, evict, restore, release, hold, mark
	Cluster string
	Binding string
	Detail  string
}

type pending struct {
	at time.Time
	do func()
}

// New makes an empty world on a clock.
func New(now func() time.Time) *World {
	return &World{
		now: now, clusters: map[string]*karmada.Cluster{}, bindings: map[karmada.BindingKey]*karmada.Binding{},
		worn: map[string]map[string]string{}, everWorn: map[string]map[string]string{},
		works: map[string]*karmada.Work{}, policies: map[string]string{}, revisions: map[karmada.BindingKey]string{}, spoiled: map[karmada.BindingKey]bool{}, running: map[string]bool{},
		queued: map[karmada.BindingKey]bool{}, scheduling: map[karmada.BindingKey]bool{}, heldWorks: map[string]karmada.Work{}, dead: map[string]bool{}, sick: map[string]bool{}, shown: newShown(),
		ScheduleAfter: time.Second, HealthyAfter: 3 * time.Second,
	}
}

func (w *World) bump() string {
	w.version++
	return strconv.Itoa(w.version)
}

// lock takes the world's lock, and returns what gives it back.
func (w *World) lock() func() {
	w.mu.Lock()
	return w.mu.Unlock
}

// advance plays what has become due. Callers hold the lock.
func (w *World) advance() {
	for {
		now := w.now()
		i := slices.IndexFunc(w.pending, func(p pending) bool { return !p.at.After(now) })
		if i < 0 {
			return
		}
		p := w.pending[i]
		w.pending = slices.Delete(w.pending, i, i+1)
		p.do()
	}
}

func (w *World) later(d time.Duration, do func()) {
	w.pending = append(w.pending, pending{at: w.now().Add(d), do: do})
	slices.SortStableFunc(w.pending, func(a, b pending) int { return a.at.Compare(b.at) })
	if w.OnLater != nil {
		w.OnLater(d)
	}
}

// Advance plays what has become due.
func (w *World) Advance() {
	defer w.lock()()
	w.advance()
}

// served are the APIs that every cluster serves.
var served = []string{"apps/v1/Deployment", "apps/v1/StatefulSet", "v1/ConfigMap"}

func (w *World) report(b *karmada.Binding, t karmada.TargetCluster, healthy bool) {
	ready, replicas, gen := int64(0), int64(t.Replicas), int64(1)
	if b.WorkloadLabels[karmada.LabelRetainReplicas] == "true" {
		replicas = 1 // as an autoscaler on the member has it
	}
	if own, overridden := w.Overridden[b.Key]; overridden {
		replicas = own
	}
	health := karmada.HealthUnhealthy
	if healthy {
		ready, health = replicas, karmada.HealthHealthy
	}
	item := karmada.AggregatedItem{Cluster: t.Name, Applied: true, Health: health}
	if b.Workload {
		item.Generation, item.ObservedGeneration, item.Replicas, item.ReadyReplicas = &gen, &gen, &replicas, &ready
	}
	if b.Resource.Kind == "StatefulSet" {
		item.ObservedGeneration = nil // Karmada never reflects it
	}
	i := slices.IndexFunc(b.Status.Aggregated, func(x karmada.AggregatedItem) bool { return x.Cluster == t.Name })
	if i >= 0 {
		b.Status.Aggregated[i] = item
		return
	}
	b.Status.Aggregated = append(b.Status.Aggregated, item)
}

// Running tells whether a workflow runs, as far as the test said so.
func (w *World) Running(_ context.Context, id string) (bool, error) {
	w.runningMu.Lock()
	defer w.runningMu.Unlock()
	return w.running[id], nil
}

// OldWork is the Work that stood when a workflow evicted.
func (w *World) OldWork(_ context.Context, id string) (*karmada.Work, error) {
	defer w.lock()()
	work, known := w.heldWorks[id]
	if !known {
		return nil, nil //nolint:nilnil // it does not know
	}
	return &work, nil
}

// ForgetWork has a workflow not know which Work it holds.
func (w *World) ForgetWork(id string) {
	defer w.lock()()
	delete(w.heldWorks, id)
}

// SetRunning says whether a workflow runs.
func (w *World) SetRunning(id string, running bool) {
	w.runningMu.Lock()
	defer w.runningMu.Unlock()
	w.running[id] = running
}

// Record ignores Events: they change nothing.
func (w *World) Record(context.Context, activities.Event) {}

// Log counts the writes of an operation.
func (w *World) Log(op string) []Write {
	defer w.lock()()
	return slices.DeleteFunc(slices.Clone(w.Writes), func(x Write) bool { return op != "" && x.Op != op })
}

// Leftovers names everything of Lifeboat's that stands anywhere.
func (w *World) Leftovers() []string {
	defer w.lock()()
	var out []string
	for _, c := range w.clusters {
		for _, t := range c.Added {
			out = append(out, fmt.Sprintf("taint %s on %s", t.Key, c.Name))
		}
		if c.Stopped != nil {
			out = append(out, "stopped-by on "+c.Name)
		}
		if c.Drain != nil {
			out = append(out, "drained-by on "+c.Name)
		}
		for _, o := range c.Ordered {
			out = append(out, fmt.Sprintf("order of taint %s on %s", o, c.Name))
		}
	}
	for _, b := range w.bindings {
		for _, t := range b.Tasks {
			if t.IsLifeboat() && (t.Reason == karmada.TaskReason || t.ForDependent() || t.Bans()) {
				out = append(out, fmt.Sprintf("task for %s on %s", t.FromCluster, b.Key))
			}
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

// DropWork deletes a Work as another hand would.
func (w *World) DropWork(namespace, name string) {
	defer w.lock()()
	delete(w.works, namespace+"/"+name)
}

// PutWork adds a Work as it stands.
func (w *World) PutWork(x karmada.Work) {
	defer w.lock()()
	w.works[x.Namespace+"/"+x.Name] = &x
}

// PeekLocked is Peek for a hook of this world, which is called with its lock held.
func (w *World) PeekLocked(key karmada.BindingKey) karmada.Binding { return clone(w.bindings[key]) }
