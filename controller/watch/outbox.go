package watch

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// ErrNotRunning is returned for a signal to a workflow that does not run.
var ErrNotRunning = errors.New("workflow does not run")

// ErrFull is returned for a signal to a run that has had as many signals as Temporal allows. The workflow
// takes signals again once it has continued as new, which needs a worker.
var ErrFull = errors.New("run takes no more signals")

// Sender delivers signals, one attempt each.
type Sender interface {
	// Signal signals a running workflow. It returns ErrNotRunning or ErrFull.
	Signal(ctx context.Context, workflowID, signal string, arg any) error
	// SignalWithStart signals a workflow, and starts it when it does not run. It returns ErrFull.
	SignalWithStart(ctx context.Context, start Start, signal string, arg any) error
}

// Counter counts deliveries by signal and result.
type Counter interface {
	Signal(kind, result string)
}

// Results gets the results of deliveries.
type Results interface {
	Opened(cluster string)
	Closed(cluster string)
	OwnerMissing(key karmada.BindingKey)
}

const (
	// deliveries is how many signals are sent at once.
	deliveries = 8
	// deliveryTimeout bounds one.
	deliveryTimeout = 10 * time.Second
	// firstPause follows a failure; it doubles up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// factsPerDestination bounds how many bindings of one cluster wait for delivery.
	factsPerDestination = 50
	// bindingsPerSignal keeps a signal well below 200 KB, at up to 450 bytes each.
	bindingsPerSignal = 400
)

// destination is a workflow and a signal, with the facts that wait for them.
type destination struct {
	to     Start
	signal string
	queue  factQueue
	// wrap makes the signal's argument.
	wrap func(items []item) any
	// missing is called when the workflow does not run.
	missing func(items []item)
	spacing time.Duration

	notBefore time.Time
	failures  int
	busy      bool
}

// Outbox implements Signals: it keeps undelivered facts, sends the newest of each kind, and spaces out the
// signals to one workflow. It is safe for concurrent use.
type Outbox struct {
	Instance string
	Sender   Sender
	Counter  Counter
	Log      *slog.Logger
	// Coalesce is the least time between two signals about bindings to one workflow.
	Coalesce time.Duration

	mu           sync.Mutex
	results      Results
	startCheck   *startCheck // nil starts every failover
	destinations map[string]*destination
	order        []string // of destinations, by first use
	wake         chan struct{}
}

// Open empties the Outbox; results gets the results of deliveries. A controller that leads again opens it
// again: its resync sends again what was not delivered.
func (o *Outbox) Open(results Results) {
	o.results = results
	o.destinations, o.order = map[string]*destination{}, nil
	o.wake = make(chan struct{}, 1)
}

// Cluster implements Signals.
func (o *Outbox) Cluster(fact rules.ClusterFact, start bool) {
	b := o.failover(fact.Cluster, workflows.SignalClusterObserved)
	// Every fact, in order: a short mismatch between two restarts a window.
	b.queue, b.spacing = factQueue{most: factsPerDestination}, 0
	b.wrap = func(items []item) any { return workflows.ClusterObserved{Fact: items[0].cluster} }
	o.put(b, item{cluster: fact, start: start})
}

// Changed implements Signals.
func (o *Outbox) Changed(cluster string, fact proof.BindingFact) {
	b := o.failover(cluster, workflows.SignalBindingsChanged)
	b.wrap = func(items []item) any { return workflows.BindingsChanged{Bindings: bindingsOf(items)} }
	o.put(b, item{key: fact.Key.String(), binding: fact})
}

// Adopt implements Signals.
func (o *Outbox) Adopt(cluster string, fact proof.BindingFact) {
	b := o.failover(cluster, workflows.SignalAdopt)
	b.wrap = func(items []item) any { return workflows.Adopt{Cluster: cluster, Bindings: bindingsOf(items)} }
	o.put(b, item{key: fact.Key.String(), binding: fact, start: true})
}

// failover is the destination of batches of bindings for a cluster's failover.
func (o *Outbox) failover(cluster, signal string) *destination {
	return &destination{
		to: StartFailover(o.Instance, cluster), signal: signal,
		queue: factQueue{newest: true, batch: bindingsPerSignal}, spacing: o.Coalesce,
		missing: func([]item) { o.results.Closed(cluster) },
	}
}

// Owner implements Signals.
func (o *Outbox) Owner(owner string, fact proof.BindingFact) {
	o.put(&destination{
		to: Start{ID: owner}, signal: workflows.SignalBindingObserved,
		queue: factQueue{newest: true}, spacing: o.Coalesce,
		wrap:    func(items []item) any { return items[0].binding },
		missing: func(items []item) { o.results.OwnerMissing(items[0].binding.Key) },
	}, item{key: fact.Key.String(), binding: fact})
}

// Application implements Signals.
func (o *Outbox) Application(fact proof.BindingFact, start bool) {
	o.put(&destination{
		to: startApplication(o.Instance, fact.Key), signal: workflows.SignalBindingObserved,
		queue: factQueue{newest: true}, spacing: o.Coalesce,
		wrap:    func(items []item) any { return items[0].binding },
		missing: func([]item) {}, // it ended, or was never started
	}, item{key: fact.Key.String(), binding: fact, start: start})
}

// Fleet implements Signals.
func (o *Outbox) Fleet(probed rules.Probed) {
	o.put(&destination{
		to: startPacer(o.Instance), signal: workflows.SignalFleetObserved, queue: factQueue{newest: true}, spacing: o.Coalesce,
		wrap: func(items []item) any { return workflows.FleetObserved{Probed: items[0].probed} },
	}, item{probed: probed, start: true})
}

// put adds an item to the destination of the same workflow and signal, which is b when there is none yet.
func (o *Outbox) put(b *destination, i item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	address := b.to.ID + "\x00" + b.signal
	if standing, ok := o.destinations[address]; ok {
		b = standing
	} else {
		o.destinations[address] = b
		o.order = append(o.order, address)
	}
	wasEmpty := b.queue.empty()
	b.queue.add(i)
	if wasEmpty {
		o.wakeUp()
	}
}

func (o *Outbox) wakeUp() {
	select {
	case o.wake <- struct{}{}:
	default: // Run wakes up anyway
	}
}

// Run delivers until ctx ends, and returns after the last delivery.
func (o *Outbox) Run(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	slots := make(chan struct{}, deliveries)
	for ctx.Err() == nil {
		b, items, wait := o.next(time.Now())
		if b == nil {
			o.rest(ctx, wait)
			continue
		}
		slots <- struct{}{} // at most a delivery's timeout
		sending.Go(func() {
			defer func() { <-slots }()
			o.deliver(ctx, b, items)
		})
	}
}

// rest waits for a new item, or for so long; 0 waits for a new item alone.
func (o *Outbox) rest(ctx context.Context, wait time.Duration) {
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	select {
	case <-ctx.Done():
	case <-o.wake:
	}
}

// next takes the items of the first destination that may send, or returns how long until one may.
func (o *Outbox) next(now time.Time) (b *destination, items []item, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order = slices.DeleteFunc(o.order, func(address string) bool {
		b := o.destinations[address]
		done := !b.busy && b.queue.empty() && !now.Before(b.notBefore)
		if done {
			delete(o.destinations, address)
		}
		return done
	})
	for _, address := range o.order {
		b := o.destinations[address]
		until := b.notBefore.Sub(now)
		switch {
		case b.busy || b.queue.empty():
		case until <= 0:
			b.busy = true
			return b, b.queue.take(), 0
		case wait == 0 || until < wait:
			wait = until
		}
	}
	return nil, nil, wait
}

func (o *Outbox) deliver(ctx context.Context, b *destination, items []item) {
	calling, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	started, err := o.send(calling, b, items)
	o.settle(ctx, b, items, err)
	switch {
	case errors.Is(err, ErrNotRunning):
		b.missing(items)
	case err == nil && started && b.to.Cluster != "":
		o.results.Opened(b.to.Cluster)
	}
}

// errNeedless: a failover was not started, because neither its cluster nor a hold task needs one.
var errNeedless = errors.New("the cluster needs no failover any more")

// send delivers once, and reports whether it started the workflow if need be. A failover that does not run
// is started only while Karmada's objects need one. When they cannot be read it is started, and decides itself.
func (o *Outbox) send(ctx context.Context, b *destination, items []item) (started bool, err error) {
	if b.to.Type == "" || !starts(items) {
		return false, o.Sender.Signal(ctx, b.to.ID, b.signal, b.wrap(items))
	}
	if b.to.Cluster != "" && o.startCheck != nil {
		err := o.Sender.Signal(ctx, b.to.ID, b.signal, b.wrap(items))
		if !errors.Is(err, ErrNotRunning) {
			return err == nil, err
		}
		if needed, err := o.startCheck.isNeeded(ctx, b.to.Cluster, items); !needed && err == nil {
			return false, errNeedless
		}
	}
	return true, o.Sender.SignalWithStart(ctx, b.to, b.signal, b.wrap(items))
}

// settle records the result of a delivery, and when the destination may send again.
func (o *Outbox) settle(ctx context.Context, b *destination, items []item, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.wakeUp()
	b.busy = false
	log := o.Log.With(telemetry.KeyWorkflow, b.to.ID, telemetry.KeySignal, b.signal)
	result := resultOf(err)
	o.Counter.Signal(b.signal, result)
	switch result {
	case telemetry.ResultFull, telemetry.ResultFailed:
		b.queue.putBack(items)
		b.notBefore = time.Now().Add(pause(b.failures))
		b.failures++
		switch {
		case b.failures > 1 || ctx.Err() != nil:
		case result == telemetry.ResultFull: // only a worker helps
			log.WarnContext(ctx, "the run takes no more signals, trying again: does a worker run?", telemetry.KeyError, err)
		default:
			log.WarnContext(ctx, "could not deliver, trying again", telemetry.KeyError, err)
		}
		return
	case telemetry.ResultNeedless:
		log.InfoContext(ctx, "not started", telemetry.KeyReason, err.Error())
	case telemetry.ResultSent:
		if b.failures > 0 {
			log.InfoContext(ctx, "delivered after failures", telemetry.KeyCount, b.failures)
		}
		b.notBefore = time.Now().Add(b.spacing)
	}
	b.failures = 0
}

// resultOf is the result of a delivery, as it is counted.
func resultOf(err error) string {
	switch {
	case err == nil:
		return telemetry.ResultSent
	case errors.Is(err, ErrNotRunning):
		return telemetry.ResultNotFound
	case errors.Is(err, errNeedless):
		return telemetry.ResultNeedless
	case errors.Is(err, ErrFull):
		return telemetry.ResultFull
	}
	return telemetry.ResultFailed
}

// pause grows with the failures so far, with jitter.
func pause(failures int) time.Duration {
	d := min(longestPause, firstPause<<min(failures, 5))
	return d + rand.N(d/4)
}
