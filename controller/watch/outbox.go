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

// ErrFull is returned for a signal to a run that has had as many as Temporal allows one. Only
// the workflow itself can help, by continuing as new, which needs a worker.
var ErrFull = errors.New("run takes no more signals")

// Start says which workflow to start with a signal.
type Start struct {
	Type       string // workflows.TypeClusterFailover or TypeFleetPacer
	WorkflowID string
	Cluster    string // of a ClusterFailover
}

// Sender delivers signals, one attempt each.
type Sender interface {
	// Signal signals a running workflow. ErrNotRunning when it does not run, ErrFull when its
	// run has had too many.
	Signal(ctx context.Context, workflowID, signal string, arg any) error
	// SignalWithStart signals a workflow, which is started when it does not run. ErrFull as above.
	SignalWithStart(ctx context.Context, start Start, signal string, arg any) error
}

// Counter counts deliveries by signal and result.
type Counter interface {
	Signal(kind, result string)
}

// Reader gets the results of deliveries.
type Reader interface {
	Opened(cluster string)
	Closed(cluster string)
	OwnerMissing(key karmada.BindingKey)
}

const (
	// deliveries is how many signals are under way at once.
	deliveries = 8
	// deliveryTimeout bounds one.
	deliveryTimeout = 10 * time.Second
	// firstPause follows a failure; it doubles up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// factsPerBox bounds how many sights of one cluster wait for delivery.
	factsPerBox = 50
	// bindingsPerSignal keeps a signal well below 200 KB, at up to 450 bytes each.
	bindingsPerSignal = 400
)

// box is one address, a workflow and a signal, and what waits for it.
type box struct {
	to     Start // Type is empty where it is never started
	signal string
	mail   mail
	// wrap makes the signal's argument.
	wrap func(items []item) any
	// missing is called when the workflow does not run.
	missing func(items []item)
	spacing time.Duration

	notBefore time.Time
	failures  int
	busy      bool
}

// Outbox implements Post: it keeps what could not be delivered, sends the newest of
// each kind, and spaces out the signals to one workflow. It is safe for concurrent use.
type Outbox struct {
	Instance string
	Sender   Sender
	Counter  Counter
	Log      *slog.Logger
	// Coalesce is the least time between two signals about bindings to one workflow.
	Coalesce time.Duration

	mu     sync.Mutex
	reader Reader
	doubt  *doubt // before a failover is started; nil: none
	boxes  map[string]*box
	order  []string // of boxes, by first use
	wake   chan struct{}
}

// Open prepares an empty Outbox, whose reader gets the results of deliveries. A controller
// that leads again opens it again: its resync sends again what it had not delivered.
func (o *Outbox) Open(reader Reader) {
	o.reader = reader
	o.boxes, o.order = map[string]*box{}, nil
	o.wake = make(chan struct{}, 1)
}

// Cluster implements Post.
func (o *Outbox) Cluster(fact rules.ClusterFact, start bool) {
	b := o.failoverBox(fact.Cluster, workflows.SignalClusterObserved)
	// Every sight, in order: a short mismatch between two restarts a window.
	b.mail = mail{most: factsPerBox}
	b.wrap = func(items []item) any { return workflows.ClusterObserved{Fact: items[0].cluster} }
	o.put(b, item{cluster: fact, start: start})
}

// Changed implements Post.
func (o *Outbox) Changed(cluster string, fact proof.BindingFact) {
	b := o.failoverBox(cluster, workflows.SignalBindingsChanged)
	b.mail, b.spacing = mail{newest: true, batch: bindingsPerSignal}, o.Coalesce
	b.wrap = func(items []item) any { return workflows.BindingsChanged{Bindings: bindingsOf(items)} }
	o.put(b, item{key: fact.Key.String(), binding: fact})
}

// Adopt implements Post.
func (o *Outbox) Adopt(cluster string, fact proof.BindingFact) {
	b := o.failoverBox(cluster, workflows.SignalAdopt)
	b.mail, b.spacing = mail{newest: true, batch: bindingsPerSignal}, o.Coalesce
	b.wrap = func(items []item) any { return workflows.Adopt{Cluster: cluster, Bindings: bindingsOf(items)} }
	o.put(b, item{key: fact.Key.String(), binding: fact, start: true})
}

func (o *Outbox) failoverBox(cluster, signal string) *box {
	return &box{
		to: Start{
			Type: workflows.TypeClusterFailover, Cluster: cluster,
			WorkflowID: workflows.ClusterFailoverID(o.Instance, cluster),
		},
		signal:  signal,
		missing: func([]item) { o.reader.Closed(cluster) },
	}
}

// Owner implements Post.
func (o *Outbox) Owner(owner string, fact proof.BindingFact) {
	o.put(&box{
		to: Start{WorkflowID: owner}, signal: workflows.SignalBindingObserved,
		mail: mail{newest: true}, spacing: o.Coalesce,
		wrap: func(items []item) any { return items[0].binding },
		missing: func(items []item) {
			for _, i := range items {
				o.reader.OwnerMissing(i.binding.Key)
			}
		},
	}, item{key: fact.Key.String(), binding: fact})
}

// Fleet implements Post.
func (o *Outbox) Fleet(probed rules.Probed) {
	o.put(&box{
		to:     Start{Type: workflows.TypeFleetPacer, WorkflowID: workflows.FleetPacerID(o.Instance)},
		signal: workflows.SignalFleetObserved, mail: mail{newest: true}, spacing: o.Coalesce,
		wrap: func(items []item) any { return workflows.FleetObserved{Probed: items[0].probed} },
	}, item{probed: probed, start: true})
}

// put adds to the box at the same address, or sets up the one given.
func (o *Outbox) put(b *box, i item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	address := b.to.WorkflowID + "\x00" + b.signal
	if standing, ok := o.boxes[address]; ok {
		b = standing
	} else {
		o.boxes[address] = b
		o.order = append(o.order, address)
	}
	known := !b.mail.empty() // its turn is foreseen already
	b.mail.add(i)
	if !known {
		o.nudge()
	}
}

func (o *Outbox) nudge() {
	select {
	case o.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run delivers until ctx ends, and returns when nothing is under way any more.
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

// rest waits for something to do; wait 0 means that nothing is foreseen.
func (o *Outbox) rest(ctx context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-o.wake:
	case <-due:
	}
}

// next takes the items of the first box that may send, or returns how long until one may.
func (o *Outbox) next(now time.Time) (b *box, items []item, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order = slices.DeleteFunc(o.order, func(address string) bool {
		b := o.boxes[address]
		done := !b.busy && b.mail.empty() && !now.Before(b.notBefore)
		if done {
			delete(o.boxes, address)
		}
		return done
	})
	for _, address := range o.order {
		b := o.boxes[address]
		until := b.notBefore.Sub(now)
		switch {
		case b.busy || b.mail.empty():
		case until <= 0:
			b.busy = true
			return b, b.mail.take(), 0
		case wait == 0 || until < wait:
			wait = until
		}
	}
	return nil, nil, wait
}

func (o *Outbox) deliver(ctx context.Context, b *box, items []item) {
	calling, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	started, err := o.send(calling, b, items)
	o.settle(ctx, b, items, err)
	switch {
	case errors.Is(err, ErrNotRunning):
		b.missing(items)
	case err == nil && started && b.to.Cluster != "":
		o.reader.Opened(b.to.Cluster)
	}
}

// errNeedless: nothing speaks for a failover that was to be started.
var errNeedless = errors.New("nothing speaks for a failover any more")

// send delivers once, and reports whether the workflow runs now because it was to be started
// where it did not. A failover that does not run is started only where Karmada itself says
// so now; where that cannot be asked it is, and decides for itself.
func (o *Outbox) send(ctx context.Context, b *box, items []item) (started bool, err error) {
	if b.to.Type == "" || !starts(items) {
		return false, o.Sender.Signal(ctx, b.to.WorkflowID, b.signal, b.wrap(items))
	}
	if b.to.Cluster != "" && o.doubt != nil {
		err := o.Sender.Signal(ctx, b.to.WorkflowID, b.signal, b.wrap(items))
		if !errors.Is(err, ErrNotRunning) {
			return err == nil, err
		}
		if needed, err := o.doubt.needed(ctx, b.to.Cluster, items); !needed && err == nil {
			return false, errNeedless
		}
	}
	return true, o.Sender.SignalWithStart(ctx, b.to, b.signal, b.wrap(items))
}

// settle notes how a delivery ended and when the box may send again.
func (o *Outbox) settle(ctx context.Context, b *box, items []item, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b.busy = false
	log := o.Log.With(telemetry.KeyWorkflow, b.to.WorkflowID, telemetry.KeySignal, b.signal)
	switch {
	case err == nil:
		if b.failures > 0 {
			log.InfoContext(ctx, "delivered after failures", telemetry.KeyCount, b.failures)
		}
		b.failures = 0
		b.notBefore = time.Now().Add(b.spacing)
		o.Counter.Signal(b.signal, telemetry.ResultSent)
	case errors.Is(err, ErrNotRunning):
		b.failures = 0
		o.Counter.Signal(b.signal, telemetry.ResultNotFound)
	case errors.Is(err, errNeedless):
		b.failures = 0
		o.Counter.Signal(b.signal, telemetry.ResultNeedless)
		log.InfoContext(ctx, "not started", telemetry.KeyReason, err.Error())
	default:
		b.mail.putBack(items)
		b.notBefore = time.Now().Add(pause(b.failures))
		b.failures++
		o.failed(ctx, log, b, err)
	}
	o.nudge()
}

// failed counts a delivery that is tried again, and says so once. A run that takes no more
// signals is said apart: waiting for Temporal does not mend it.
func (o *Outbox) failed(ctx context.Context, log *slog.Logger, b *box, err error) {
	first := b.failures == 1 && ctx.Err() == nil
	full := errors.Is(err, ErrFull)
	if full {
		o.Counter.Signal(b.signal, telemetry.ResultFull)
	} else {
		o.Counter.Signal(b.signal, telemetry.ResultFailed)
	}
	switch {
	case !first:
	case full:
		log.WarnContext(ctx, "the run takes no more signals, trying again: does a worker run?", telemetry.KeyError, err)
	default:
		log.WarnContext(ctx, "could not deliver, trying again", telemetry.KeyError, err)
	}
}

// pause grows with the failures so far, and differs from box to box.
func pause(failures int) time.Duration {
	d := longestPause
	if failures < 5 {
		d = min(longestPause, firstPause<<failures)
	}
	return d + rand.N(d/4)
}
