package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Fleet gives the controllers the members, as kubeconfigs give them to Karmada.
type Fleet interface {
	// Member is nil for a cluster that has none.
	Member(name string) *members.Member
	// Names lists the members.
	Names() []string
	// Forget closes a member whose Cluster is gone.
	Forget(name string)
}

// Config makes a Plane.
type Config struct {
	REST  *rest.Config
	Fleet Fleet
	Knobs func() Knobs
	Log   *slog.Logger
}

// Plane is the running control plane.
type Plane struct {
	*store
	fleet Fleet
	knobs func() Knobs
	log   *slog.Logger
	probe *http.Client

	scheduler, binding, bindingStatus, execution, workStatus, eviction, cluster, clusterStatus, taintManager, dependencies, lease *loop
	loops                                                                                                                         []*loop // all of them

	// leads is since when this plane holds the leader Lease.
	leads time.Time

	faults   *schedulerFaults
	turns    *rate.Limiter // of placements
	debounce *debouncer
	running  sync.WaitGroup
	stop     context.CancelFunc
}

// New prepares a control plane; Run starts it.
func New(config Config) (*Plane, error) {
	fast := rest.CopyConfig(config.REST)
	fast.QPS, fast.Burst = -1, -1 // the API server's own fairness is limit enough
	client, err := dynamic.NewForConfig(fast)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	store, err := newStore(client)
	if err != nil {
		return nil, err
	}
	p := &Plane{
		store: store, fleet: config.Fleet, knobs: config.Knobs, log: config.Log,
		faults: newSchedulerFaults(), turns: rate.NewLimiter(rate.Inf, 1), debounce: newDebouncer(),
		probe: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}},
	}
	p.scheduler = p.newLoop("scheduler", 12, p.schedule)
	p.binding = p.newLoop("binding", 4, p.syncWorks)
	p.bindingStatus = p.newLoop("bindingStatus", 4, p.aggregate)
	p.execution = p.newLoop("execution", 4, p.execute)
	p.workStatus = p.newLoop("workStatus", 4, p.collect)
	p.eviction = p.newLoop("gracefulEviction", 2, p.evictGracefully)
	p.cluster = p.newLoop("cluster", 2, p.syncCluster)
	p.clusterStatus = p.newLoop("clusterStatus", 4, p.probeCluster)
	p.taintManager = p.newLoop("taintManager", 1, p.evictUntolerated)
	p.dependencies = p.newLoop("dependencies", 1, p.distribute)
	p.lease = p.newLoop("lease", 1, p.lead)
	return p, nil
}

func (p *Plane) newLoop(name string, workers int, act reconcile) *loop {
	l := newLoop(name, workers, p.log, act)
	p.loops = append(p.loops, l)
	return l
}

// Run starts every controller and returns when their caches are filled.
func (p *Plane) Run(ctx context.Context) error {
	ctx, p.stop = context.WithCancel(ctx)
	err := p.wire()
	if err == nil {
		err = p.store.run(ctx)
	}
	if err != nil {
		p.stop()
		return err
	}
	for _, l := range p.loops {
		l.run(ctx, &p.running)
	}
	p.lease.add(leaseName)
	return nil
}

// Stop ends every controller and waits for them.
func (p *Plane) Stop() {
	if p.stop != nil {
		p.stop()
	}
	p.running.Wait()
	p.probe.CloseIdleConnections()
}

// MemberChanged is told the Work whose copy changed in a member.
func (p *Plane) MemberChanged(work string) { p.workStatus.add(work) }

// wire connects watches to queues.
func (p *Plane) wire() error {
	watchers := []struct {
		informers []cache.SharedIndexInformer
		handler   cache.ResourceEventHandler
	}{
		{p.bindingResources, p.schedulerBindingEvents()},
		{p.bindingResources, p.bindingEvents()},
		{p.bindingResources, p.dependencyEvents()},
		{[]cache.SharedIndexInformer{p.works}, p.workEvents()},
		{[]cache.SharedIndexInformer{p.clusters}, p.schedulerClusterEvents()},
		{[]cache.SharedIndexInformer{p.clusters}, p.clusterEvents()},
	}
	for _, w := range watchers {
		for _, informer := range w.informers {
			if _, err := informer.AddEventHandler(w.handler); err != nil {
				return fmt.Errorf("watch: %w", err)
			}
		}
	}
	return nil
}

// events builds a handler for typed objects. The old object is nil at an addition, the new one at a deletion.
func events[T any](handle func(old, current *T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { handle(nil, o.(*T)) },
		UpdateFunc: func(old, current any) { handle(old.(*T), current.(*T)) },
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			if typed, ok := o.(*T); ok {
				handle(typed, nil)
			}
		},
	}
}

// reconcile brings one object in order. A positive duration asks for another look after that time.
type reconcile func(ctx context.Context, key string) (time.Duration, error)

// loop works off a queue of keys. A key is never worked on by two workers at once.
type loop struct {
	name    string
	workers int
	act     reconcile
	queue   workqueue.TypedRateLimitingInterface[string]
	log     *slog.Logger
}

func newLoop(name string, workers int, log *slog.Logger, act reconcile) *loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 2*time.Second)
	return &loop{
		name: name, workers: workers, act: act, log: log.With("controller", name),
		queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

func (l *loop) add(key string) { l.queue.Add(key) }

func (l *loop) addAfter(key string, delay time.Duration) { l.queue.AddAfter(key, delay) }

// run works until the context ends.
func (l *loop) run(ctx context.Context, running *sync.WaitGroup) {
	for range l.workers {
		running.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	running.Go(func() {
		<-ctx.Done()
		l.queue.ShutDown()
	})
}

func (l *loop) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	again, err := l.act(ctx, key)
	switch {
	case err != nil && ctx.Err() == nil:
		l.complain(key, err)
		l.queue.AddRateLimited(key)
	case again > 0:
		l.queue.Forget(key)
		l.queue.AddAfter(key, again)
	default:
		l.queue.Forget(key)
	}
	return true
}

// complain logs an error; those that a second look settles are no news.
func (l *loop) complain(key string, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, "trying again", "key", key, "error", err)
}

// Knobs are the periods and switches of the simulated control plane. Each is read anew whenever it
// matters, so a change takes effect at once.
type Knobs struct {
	// StatusPeriod is the time between two probes of a member.
	StatusPeriod metav1.Duration `json:"statusPeriod"`
	// FailureThreshold and SuccessThreshold are how long a changed probe result must last before the
	// Ready condition follows it.
	FailureThreshold metav1.Duration `json:"failureThreshold"`
	SuccessThreshold metav1.Duration `json:"successThreshold"`
	// SchedulerLatency passes between an event and the scheduler's look at the binding.
	SchedulerLatency metav1.Duration `json:"schedulerLatency"`
	// SchedulerRate is how many placements the scheduler makes in a second at most; 0 is no limit. Karmada's own makes about 11.
	SchedulerRate float64 `json:"schedulerRate"`
	// SchedulerBackoff is the first delay after a SchedulerError; it doubles up to ten times itself.
	SchedulerBackoff metav1.Duration `json:"schedulerBackoff"`
	// BindingLatency passes between a binding's change and the binding controller's look at it.
	BindingLatency metav1.Duration `json:"bindingLatency"`
	// ApplyLatency passes between a Work's change and its arrival in the member.
	ApplyLatency metav1.Duration `json:"applyLatency"`
	// ReportLatency is what a member needs to act on a change.
	ReportLatency metav1.Duration `json:"reportLatency"`
	// WorkloadReadyAfter passes until the last replica of a new copy is ready.
	WorkloadReadyAfter metav1.Duration `json:"workloadReadyAfter"`
	// ExecutionRetry is the delay before a Work on a cluster that is away is tried again.
	ExecutionRetry metav1.Duration `json:"executionRetry"`
	// DirectlyRetry is the delay before a binding blocked by a Directly task is looked at again.
	DirectlyRetry metav1.Duration `json:"directlyRetry"`
	// GracefulEvictionTimeout is when a task without suppressDeletion is dropped whatever the health.
	GracefulEvictionTimeout metav1.Duration `json:"gracefulEvictionTimeout"`
	// GracefulEvictionEnabled turns Karmada's graceful eviction controller on.
	GracefulEvictionEnabled bool `json:"gracefulEvictionEnabled"`
	// TaintManager turns Karmada's own eviction by NoExecute taints on: its gate Failover and the flag
	// --enable-no-execute-taint-eviction.
	TaintManager bool `json:"taintManager"`
	// StatefulFailoverInjection turns Karmada's feature gate of that name on: preserved labels reach the new copy.
	StatefulFailoverInjection bool `json:"statefulFailoverInjection"`
}
