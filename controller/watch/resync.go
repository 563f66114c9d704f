package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

const (
	// allEvery: one resync in this many checks healthy clusters, too: an operator may have started a
	// failover by hand.
	allEvery = 10
	// ownersPerResync bounds how many owners of hold tasks one resync checks;
	// the next continues where it stopped.
	ownersPerResync = 300
)

// Resync makes sure that every needed workflow runs and has the newest facts. It ends with the first
// error of Temporal; the next resync tries again.
func (d *Router) Resync(ctx context.Context, owners activities.Owners, instance string) error {
	running, err := owners.Running(ctx, workflows.FleetPacerID(instance))
	if err != nil {
		return fmt.Errorf("resync: %w", err)
	}
	if !running {
		d.signals.Fleet(d.known())
	}
	for _, cluster := range d.clustersToCheck() {
		running, err := owners.Running(ctx, workflows.ClusterFailoverID(instance, cluster))
		if err != nil {
			return fmt.Errorf("resync: %w", err)
		}
		d.refresh(cluster, running)
	}
	if err := d.checkApplications(ctx, owners, instance); err != nil {
		return err
	}
	return d.checkOwners(ctx, owners)
}

// clustersToCheck are the clusters that look failed or have a failover, in some resyncs all.
func (d *Router) clustersToCheck() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.resyncs%allEvery == 0
	d.resyncs++
	names := slices.Collect(maps.Keys(d.open))
	for name, c := range d.clusters {
		if all || d.suspected(d.rules, c) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refresh records whether a cluster's failover runs, and signals it what it did not get.
func (d *Router) refresh(cluster string, running bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if running {
		d.open[cluster] = true
	} else {
		delete(d.open, cluster)
		delete(d.sent, cluster)
	}
	d.signal(cluster)
}

// checkOwners requests the adoption of hold tasks whose owners do not run.
func (d *Router) checkOwners(ctx context.Context, owners activities.Owners) error {
	for _, s := range d.ownersToCheck(ownersPerResync) {
		for _, h := range s.owned() {
			running, err := owners.Running(ctx, h.owner)
			if err != nil {
				return fmt.Errorf("resync: %w", err)
			}
			if !running {
				d.adopt(s, h)
			}
		}
	}
	return nil
}

// Fresh reads Karmada's API server, not the cache of a watch. It returns ErrGone for an object that does not exist.
type Fresh interface {
	ClusterNow(ctx context.Context, name string) (karmada.Cluster, error)
	BindingNow(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error)
	// Rules reads the rules of all sources.
	Rules(ctx context.Context) ([]rules.Rule, error)
}

// startCheckTimeout bounds the reads before a start: the start waits for them.
const startCheckTimeout = 5 * time.Second

// startCheck reads Karmada before a failover is started: the watch may be stale, or this controller
// was frozen for a while and does not lead any more.
type startCheck struct {
	now    Fresh
	router *Router
}

// isNeeded reports whether the cluster, or a hold task of the items, still needs a failover.
func (d *startCheck) isNeeded(ctx context.Context, cluster string, items []item) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startCheckTimeout)
	defer cancel()
	suspected, err := d.suspected(ctx, cluster)
	if suspected || err != nil {
		return suspected, err
	}
	for _, i := range items {
		if i.key == "" {
			continue // about the cluster
		}
		b, err := d.now.BindingNow(ctx, i.binding.Key)
		switch {
		case errors.Is(err, karmada.ErrGone):
		case err != nil:
			return false, err
		case slices.ContainsFunc(observe(&b).owned(), func(h hold) bool { return h.cluster == cluster }):
			return true, nil
		}
	}
	return false, nil
}

func (d *startCheck) suspected(ctx context.Context, cluster string) (bool, error) {
	c, err := d.now.ClusterNow(ctx, cluster)
	if errors.Is(err, karmada.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rules, err := d.now.Rules(ctx)
	if err != nil {
		return false, err
	}
	d.router.mu.Lock()
	defer d.router.mu.Unlock()
	return d.router.suspected(rules, c), nil
}
