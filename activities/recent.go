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
	recentFor = time.Second   // how old an answer of Recent may be
	renewedAt = recentFor / 2 // from when on the next caller reads again, and for how long the others wait for a read
)

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
	all     []T
	age     func() time.Duration
	renewal *renewal[T] // the newest read on its way, nil without
}

// renewal is a read on its way.
type renewal[T any] struct {
	age  func() time.Duration
	done chan struct{} // closed when all and err are set
	all  []T
	err  error
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
	last *answer[proof.ManagerLease]
}

// Manager shares the reads of a Lease; from nil is none.
func (r *Recent) Manager(from ManagerReader) ManagerReader {
	if from == nil {
		return nil
	}
	return recentManager{r, from, &answer[proof.ManagerLease]{}}
}

// ManagerLease is that of at most a second ago.
func (m recentManager) ManagerLease(ctx context.Context) (proof.ManagerLease, error) {
	all, err := share(ctx, m.r, m.last, func(ctx context.Context) ([]proof.ManagerLease, error) {
		lease, err := m.from.ManagerLease(ctx)
		return []proof.ManagerLease{lease}, err
	})
	if err != nil {
		return proof.ManagerLease{}, err
	}
	return all[0], nil
}

// known is the last answer, unless it is too old, or is to be renewed and no read is on its way. Without it
// comes the read on its way, if that has just begun, or a new one that the caller has to make.
func known[T any](r *Recent, last *answer[T]) (all []T, of *renewal[T], own bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case last.age != nil && last.age() <= recentFor && (last.age() <= renewedAt || last.renewal != nil):
		return slices.Clone(last.all), nil, false
	case last.renewal != nil && last.renewal.age() <= renewedAt:
		return nil, last.renewal, false
	}
	last.renewal = &renewal[T]{age: r.clock.Start(), done: make(chan struct{})}
	return nil, last.renewal, true
}

// share reads again where the last answer is too old. Those who ask at about the same time share the read;
// none waits for one that takes long, and none shares its failure.
func share[T any](ctx context.Context, r *Recent, last *answer[T], read func(context.Context) ([]T, error)) ([]T, error) {
	all, of, own := known(r, last)
	switch {
	case of == nil:
		return all, nil
	case own:
		renew(ctx, r, last, of, read)
		return slices.Clone(of.all), of.err
	}
	select {
	case <-of.done:
		if of.err == nil {
			return slices.Clone(of.all), nil
		}
	case <-time.After(renewedAt):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return read(ctx)
}

// renew makes a read, and keeps its answer.
func renew[T any](ctx context.Context, r *Recent, last *answer[T], of *renewal[T], read func(context.Context) ([]T, error)) {
	of.all, of.err = read(ctx)
	close(of.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	if last.renewal == of {
		last.renewal = nil
	}
	if of.err == nil && (last.age == nil || of.age() < last.age()) {
		last.all, last.age = of.all, of.age
	}
}

// recent is where lists come from that a write does not hang on alone.
func (k reader) recent() FleetReader {
	if k.shared == nil {
		return k.Reader
	}
	return k.shared
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
