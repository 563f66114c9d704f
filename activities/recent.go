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

// FleetReader reads every cluster and every rule.
type FleetReader interface {
	Clusters(ctx context.Context) ([]karmada.Cluster, error)
	Rules(ctx context.Context) ([]rules.Rule, error)
}

// Karmada itself takes seconds to see that a cluster has failed.
const (
	recentFor = time.Second   // how old an answer of Recent may be
	renewedAt = recentFor / 2 // from when on the first who asks reads anew, and the others do not wait for it
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
	renewed bool // somebody reads it anew
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

// known is the last answer, unless it is too old, or is to be renewed and nobody is at it.
func known[T any](r *Recent, last *answer[T]) ([]T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last.age == nil || last.age() > recentFor || last.age() > renewedAt && !last.renewed {
		last.renewed = true
		return nil, false
	}
	return slices.Clone(last.all), true
}

// share reads anew where the last answer is too old. Nobody waits for another one's read.
func share[T any](ctx context.Context, r *Recent, last *answer[T], read func(context.Context) ([]T, error)) ([]T, error) {
	if all, ok := known(r, last); ok {
		return all, nil
	}
	age := r.clock.Start()
	all, err := read(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	last.renewed = false
	if err != nil {
		return nil, err
	}
	if last.age == nil || age() < last.age() {
		last.all, last.age = all, age
	}
	return slices.Clone(all), nil
}

// recent is where lists come from that a write does not hang on alone.
func (a *Activities) recent() FleetReader {
	if a.Recent == nil {
		return a.Reader
	}
	return a.Recent
}

// fleetWith is the recent fleet, in which the named clusters were read just now.
func (a *Activities) fleetWith(ctx context.Context, names ...string) ([]karmada.Cluster, error) {
	fleet, err := a.recent().Clusters(ctx)
	if err != nil || a.Recent == nil {
		return fleet, err
	}
	for _, name := range names {
		c, err := a.Reader.Cluster(ctx, name)
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
