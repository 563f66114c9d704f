package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"k8s.io/apimachinery/pkg/types"
)

// applications are the bindings with spec.failover.application that have an Unhealthy copy, or had one and are not
// Healthy yet: a failover that sees Unknown must also learn that the copy is Healthy.
type applications struct {
	unhealthy map[karmada.BindingKey]unhealthyBinding
	// checked is the last binding whose failover was checked by a resync.
	checked string
}

// unhealthyBinding is such a binding, as it was signalled last.
type unhealthyBinding struct {
	observed
	health string // encoded, to compare
	// starts: a copy is Unhealthy, so its failover has to run. It moves: it has left every cluster that it had then, and
	// the migration that holds the old copy watches the new one.
	starts, moves bool
}

// FollowApplications has the router start the failovers of applications.
func (d *Router) FollowApplications() {
	d.applications = &applications{unhealthy: map[karmada.BindingKey]unhealthyBinding{}}
}

// applicationChanged signals to the failover of an application that the health of a copy, or its workload, has
// changed. It starts one for a copy that is Unhealthy. While a migration holds the old copy, and nothing
// is left of where it was, it signals nothing: a new copy is Unhealthy until it has started.
func (d *Router) applicationChanged(b *karmada.Binding, now observed) {
	if d.applications == nil {
		return
	}
	before, was := d.applications.unhealthy[b.Key]
	if hasLeft(b, before.targets) {
		if before.starts, before.moves = false, true; was {
			d.applications.unhealthy[b.Key] = before
		}
		return
	}
	unhealthy := isUnhealthy(b)
	if !unhealthy && (!was || isHealthy(b)) {
		if before.moves && !slices.ContainsFunc(before.targets, func(cluster string) bool { return d.open[cluster] }) {
			delete(d.applications.unhealthy, b.Key) // the migration is its own, and reports its end
		}
		d.applicationGone(now.fact)
		return
	}
	health := healthFingerprint(b)
	d.applications.unhealthy[b.Key] = unhealthyBinding{observed: now, health: health, starts: unhealthy}
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
	if d.applications == nil {
		return
	}
	if _, was := d.applications.unhealthy[fact.Key]; was {
		delete(d.applications.unhealthy, fact.Key)
		d.signals.Application(fact, false)
	}
}

// signalApplicationsOn signals the failovers of the Unhealthy applications on a cluster that began to fail itself,
// or that does not any more.
func (d *Router) signalApplicationsOn(cluster string) {
	if d.applications == nil {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(d.applications.unhealthy), karmada.BindingKey.Compare) {
		if b := d.applications.unhealthy[key]; !b.moves && slices.Contains(b.targets, cluster) {
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
	return encode(struct {
		UID, Resource types.UID
		Generation    int64
		Copies        []rules.CopyHealth
		Application   *karmada.ApplicationFailover
	}{b.UID, b.Resource.UID, b.Generation, rules.CopiesOf(b, func(string) bool { return false }), b.Application})
}

// checkApplications starts the failovers of Unhealthy applications that do not run: of so many in each resync.
func (d *Router) checkApplications(ctx context.Context, owners Owners, instance string) error {
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
	if d.applications == nil {
		return nil
	}
	a := d.applications
	var open []observed
	for _, b := range a.unhealthy {
		if b.starts {
			open = append(open, b.observed)
		}
	}
	open = after(a.checked, open)
	var facts []proof.BindingFact
	for _, b := range open[:min(limit, len(open))] {
		facts = append(facts, b.fact)
		a.checked = b.fact.Key.String()
	}
	return facts
}
