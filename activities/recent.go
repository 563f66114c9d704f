package activities

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// FleetReader reads every member cluster and every ClusterTaintRule. A rule that cannot be
// understood comes back with Malformed set, never as an error.
type FleetReader interface {
	Clusters(ctx context.Context) ([]karmada.Cluster, error)
	Rules(ctx context.Context) ([]rules.Rule, error)
}

// Karmada itself takes seconds to see that a cluster has failed.
const (
	recentFor = time.Second   // the age up to which an answer is used
	renewedAt = recentFor / 2 // from when on the next caller reads again, and from when on a read takes long
	mostReads = 2             // how many reads of one list are on their way at a time
)

// renewedWithin is how long before a release its leader may have renewed: leaders do so every two seconds.
const renewedWithin = 3 * time.Second

// Recent shares the lists of clusters and rules among the activities that ask for them at about
// the same time: an answer was read from Karmada at most a second ago.
type Recent struct {
	from  FleetReader
	clock Monotonic

	mu       sync.Mutex
	clusters answer[karmada.Cluster]
	rules    answer[rules.Rule]
}

// answer is a list and its age; no age: there is none.
type answer[T any] struct {
	all    []T
	age    func() time.Duration
	err    error // of the newest read that failed
	errAge func() time.Duration
	reads  int                  // that are on their way
	newest func() time.Duration // how long ago the newest of them began, nil without
	ended  chan struct{}        // closed when one of them ends
}

// NewRecent shares what from reads.
func NewRecent(from FleetReader, clock Monotonic) *Recent {
	return &Recent{from: from, clock: clock}
}

// Clusters are those of at most a second ago.
func (r *Recent) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	return share(ctx, r, &r.clusters, r.from.Clusters)
}

// Rules are those of at most a second ago.
func (r *Recent) Rules(ctx context.Context) ([]rules.Rule, error) {
	return share(ctx, r, &r.rules, r.from.Rules)
}

// recentManager shares the reads of a Lease.
type recentManager struct {
	r    *Recent
	from ManagerReader
	last answer[proof.ManagerLease]
	read []leaseRead // those of the last renewedWithin, about in their order
}

// leaseRead is what a Lease said, and how long ago the read of it began.
type leaseRead struct {
	lease proof.ManagerLease
	age   func() time.Duration
}

// Manager shares the reads of a Lease; from nil is none.
func (r *Recent) Manager(from ManagerReader) ManagerReader {
	if from == nil {
		return nil
	}
	return &recentManager{r: r, from: from}
}

// ManagerLease is that of at most a second ago.
func (m *recentManager) ManagerLease(ctx context.Context) (proof.ManagerLease, error) {
	all, err := share(ctx, m.r, &m.last, func(ctx context.Context) ([]proof.ManagerLease, error) {
		age := m.r.clock.Start()
		lease, err := m.from.ManagerLease(ctx)
		if err == nil {
			m.r.mu.Lock()
			defer m.r.mu.Unlock()
			m.read = append(m.read, leaseRead{lease, age})
		}
		return []proof.ManagerLease{lease}, err
	})
	if err != nil {
		return proof.ManagerLease{}, err
	}
	return all[0], nil
}

// earlier is what the Lease said in a read of the last renewedWithin, an old one, if there is one: where many
// are released one after the other, each need not wait for a renewal of its own.
func (m *recentManager) earlier() (lease proof.ManagerLease, ok bool) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.read = slices.DeleteFunc(m.read, func(read leaseRead) bool { return read.age() > renewedWithin })
	if len(m.read) == 0 {
		return lease, false
	}
	return m.read[0].lease, true
}

// turn is what somebody who asks does next: take the answer or the failure, read, or wait until a read has ended.
type turn[T any] struct {
	all  []T
	err  error
	own  func() time.Duration
	wait chan struct{}
}

// next is the turn of one who asked some time ago. An answer that was read at most a second before that will do, and
// so will the failure of a read that began since.
func (last *answer[T]) next(clock Monotonic, asked time.Duration) turn[T] {
	switch {
	case last.age != nil && last.age() <= asked+recentFor && (last.age() <= asked+renewedAt || last.reads > 0):
		return turn[T]{all: slices.Clone(last.all)}
	case last.err != nil && last.errAge() < asked:
		return turn[T]{err: last.err}
	case last.reads >= mostReads || last.newest != nil && last.newest() <= asked+renewedAt && asked < renewedAt:
		return turn[T]{wait: last.ended}
	}
	if last.reads++; last.ended == nil {
		last.ended = make(chan struct{})
	}
	last.newest = clock.Start()
	return turn[T]{own: last.newest}
}

// share reads again where the last answer is too old. Those who ask at about the same time share the read. While it
// takes long another one is made, and no third: where Karmada is slow, many reads make it slower.
func share[T any](ctx context.Context, r *Recent, last *answer[T], read func(context.Context) ([]T, error)) ([]T, error) {
	for asked := r.clock.Start(); ; {
		r.mu.Lock()
		t := last.next(r.clock, asked())
		r.mu.Unlock()
		switch {
		case t.own != nil:
			return renew(ctx, r, last, t.own, read)
		case t.wait == nil:
			return t.all, t.err
		}
		select {
		case <-t.wait:
		case <-time.After(renewedAt):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// renew makes a read, and keeps its answer. It keeps no failure that is its caller's own.
func renew[T any](ctx context.Context, r *Recent, last *answer[T], age func() time.Duration, read func(context.Context) ([]T, error)) ([]T, error) {
	all, err := read(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		last.take(all, age)
	case err != nil && ctx.Err() == nil:
		last.err, last.errAge = err, age
	}
	if last.reads--; last.reads == 0 {
		last.newest = nil
	}
	close(last.ended)
	last.ended = make(chan struct{})
	return slices.Clone(all), err
}

// take keeps an answer, unless a newer one is known.
func (last *answer[T]) take(all []T, age func() time.Duration) {
	if last.age == nil || age() < last.age() {
		last.all, last.age = all, age
	}
}

// recent is where lists come from that a write does not hang on alone.
func (k reader) recent() FleetReader {
	if k.shared == nil {
		return k.Reader
	}
	return k.shared
}

// rulesNow reads the rules from Karmada. Others that ask for recent rules get the same answer.
func (k reader) rulesNow(ctx context.Context) ([]rules.Rule, error) {
	shared, is := k.shared.(*Recent)
	if !is {
		return k.Reader.Rules(ctx)
	}
	age := shared.clock.Start()
	all, err := k.Reader.Rules(ctx)
	if err == nil {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.rules.take(slices.Clone(all), age)
	}
	return all, err
}

// fleetWith is the recent fleet, in which the named clusters were read just now.
func (k reader) fleetWith(ctx context.Context, names ...string) ([]karmada.Cluster, error) {
	fleet, err := k.recent().Clusters(ctx)
	if err != nil || k.shared == nil {
		return fleet, err
	}
	for _, name := range names {
		c, err := k.Reader.Cluster(ctx, name)
		if err != nil && !errors.Is(err, karmada.ErrGone) {
			return nil, err
		}
		at := slices.IndexFunc(fleet, func(known karmada.Cluster) bool { return known.Name == name })
		switch {
		case at >= 0 && err == nil:
			fleet[at] = c
		case at >= 0:
			fleet = slices.Delete(fleet, at, at+1)
		case err == nil:
			fleet = append(fleet, c)
		}
	}
	return fleet, nil
}
