package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// unhealthyBinding is a binding with spec.failover.application that has an Unhealthy copy, or had one and is not
// Healthy yet, as it was signalled last: a failover that sees Unknown must also learn that the copy is Healthy.
type unhealthyBinding struct {
	observed
	health string // encoded, to compare
	// starts: a copy is Unhealthy, so its failover has to run. It moves: it has left every cluster that it had then, and
	// the migration that holds the old copy watches the new one.
	starts, moves bool
}

// FollowApplications has the router start the failovers of applications.
func (d *Router) FollowApplications() {
	d.unhealthy = map[karmada.BindingKey]unhealthyBinding{}
}

// applicationChanged signals to the failover of an application that the health of a copy, or its workload, has
// changed. It starts one for a copy that is Unhealthy. While a migration holds the old copy, and nothing
// is left of where it was, it signals nothing: a new copy is Unhealthy until it has started.
func (d *Router) applicationChanged(b *karmada.Binding, now observed) {
	if d.unhealthy == nil {
		return
	}
	before, was := d.unhealthy[b.Key]
	if hasLeft(b, before.targets) {
		if before.starts, before.moves = false, true; was {
			d.unhealthy[b.Key] = before
		}
		return
	}
	unhealthy := isUnhealthy(b)
	if !unhealthy && (!was || isHealthy(b)) {
		if before.moves && !slices.ContainsFunc(before.targets, func(cluster string) bool { return d.open[cluster] }) {
			delete(d.unhealthy, b.Key) // the migration is its own, and reports its end
		}
		d.applicationGone(now.fact)
		return
	}
	health := healthFingerprint(b)
	d.unhealthy[b.Key] = unhealthyBinding{observed: now, health: health, starts: unhealthy}
	if !was || before.health != health {
		d.signals.Application(now.fact, unhealthy)
	}
}

// hasLeft reports whether migrations hold old copies of a binding, and nothing of it is left where it was before them.
func hasLeft(b *karmada.Binding, targets []string) bool {
	held := false
	for _, task := range b.Tasks {
		if task.OnItsWay() {
			held, targets = true, slices.Concat(targets, task.ClustersBeforeFailover)
		}
	}
	return held && !slices.ContainsFunc(targets, b.ServesOn)
}

// applicationGone signals, once, to the failover of an application that every copy is Healthy, or that it has no
// binding any more.
func (d *Router) applicationGone(fact proof.BindingFact) {
	if _, was := d.unhealthy[fact.Key]; was {
		delete(d.unhealthy, fact.Key)
		d.signals.Application(fact, false)
	}
}

// signalApplicationsOn signals the failovers of the Unhealthy applications on a cluster that began to fail itself,
// or that does not any more.
func (d *Router) signalApplicationsOn(cluster string) {
	for _, key := range slices.SortedFunc(maps.Keys(d.unhealthy), karmada.BindingKey.Compare) {
		if b := d.unhealthy[key]; !b.moves && slices.Contains(b.targets, cluster) {
			d.signals.Application(b.fact, false)
		}
	}
}

// isUnhealthy reports whether a copy of a binding is Unhealthy and the binding says that it moves then.
func isUnhealthy(b *karmada.Binding) bool {
	return hasCopy(b, func(h karmada.Health) bool { return h == karmada.HealthUnhealthy })
}

// isHealthy reports whether every copy of a binding is Healthy, or the binding does not say that it moves otherwise.
func isHealthy(b *karmada.Binding) bool {
	return !hasCopy(b, func(h karmada.Health) bool { return h != karmada.HealthHealthy })
}

// hasCopy reports whether the health of a copy of an application is so.
func hasCopy(b *karmada.Binding, so func(karmada.Health) bool) bool {
	is := func(c rules.CopyHealth) bool { return so(c.Health) }
	return b.Application != nil && !b.Deleting && slices.ContainsFunc(rules.CopiesOf(b, func(string) bool { return false }), is)
}

// healthFingerprint encodes, to compare, what the failover of an application reacts to.
func healthFingerprint(b *karmada.Binding) string {
	copies := rules.CopiesOf(b, func(string) bool { return false })
	return encode(b.UID, b.Resource.UID, b.Generation, copies, b.Application)
}

// checkApplications starts the failovers of Unhealthy applications that do not run: of so many in each resync.
func (d *Router) checkApplications(ctx context.Context, owners activities.Owners, instance string) error {
	for _, fact := range d.applicationsToCheck(ownersPerResync) {
		running, err := owners.Running(ctx, workflows.ApplicationFailoverID(instance, fact.Key))
		if err != nil {
			return fmt.Errorf("resync: %w", err)
		}
		if !running {
			d.signals.Application(fact, true)
		}
	}
	return nil
}

// applicationsToCheck are the next Unhealthy applications, after the last one of the previous resync.
func (d *Router) applicationsToCheck(limit int) []proof.BindingFact {
	d.mu.Lock()
	defer d.mu.Unlock()
	var open []observed
	for _, b := range d.unhealthy {
		if b.starts {
			open = append(open, b.observed)
		}
	}
	open = after(d.checkedApplication, open)
	var facts []proof.BindingFact
	for _, b := range open[:min(limit, len(open))] {
		facts = append(facts, b.fact)
		d.checkedApplication = b.fact.Key.String()
	}
	return facts
}
