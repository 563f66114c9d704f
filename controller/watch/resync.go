package watch

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Owners reports which workflows run, from the server and not from a list.
type Owners interface {
	Running(ctx context.Context, workflowID string) (bool, error)
}

const (
	// everyone is in how many resyncs clusters that nothing speaks against are asked
	// about too: an operator may have started a failover by hand.
	everyone = 10
	// ownersPerResync bounds how many owners of hold tasks one resync checks;
	// the next goes on where it stopped.
	ownersPerResync = 300
)

// Resync makes sure that every needed workflow runs and has the newest facts. Its
// first error means that Temporal could not be asked; the next resync tries again.
func (d *Router) Resync(ctx context.Context, owners Owners, instance string) error {
	running, err := owners.Running(ctx, workflows.FleetPacerID(instance))
	if err != nil {
		return fmt.Errorf("resync: %w", err)
	}
	if !running {
		d.post.Fleet(d.known())
	}
	for _, cluster := range d.toAskAbout() {
		running, err := owners.Running(ctx, workflows.ClusterFailoverID(instance, cluster))
		if err != nil {
			return fmt.Errorf("resync: %w", err)
		}
		d.refresh(cluster, running)
	}
	return d.resyncOwners(ctx, owners)
}

// toAskAbout are the clusters that look failed or have a failover, and now and
// then all of them.
func (d *Router) toAskAbout() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.resyncs%everyone == 0
	d.resyncs++
	var names []string
	for name, c := range d.clusters {
		if all || d.open[name] || d.suspected(c) {
			names = append(names, name)
		}
	}
	for name := range d.open {
		if _, known := d.clusters[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (d *Router) refresh(cluster string, running bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if running {
		d.open[cluster] = true
	} else {
		d.closed(cluster)
	}
	d.tell(cluster)
}

// resyncOwners looks whether those at work on held bindings still run.
func (d *Router) resyncOwners(ctx context.Context, owners Owners) error {
	for _, s := range d.toLookAfter(ownersPerResync) {
		for _, h := range s.worked() {
			running, err := owners.Running(ctx, h.owner)
			if err != nil {
				return fmt.Errorf("resync: %w", err)
			}
			if !running {
				d.orphaned(s, h)
			}
		}
	}
	return nil
}
