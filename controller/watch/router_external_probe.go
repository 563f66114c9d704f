package watch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"k8s.io/apimachinery/pkg/util/wait"
)

// externalProbeRefresh is how often an unchanged result is sent again where a rule
// waits for it: a failover believes no older one than three times this.
const externalProbeRefresh = time.Minute

// Testifier says what it thinks of a member; a [ExternalProbe], nil included, is one.
type Testifier interface {
	Says(cluster string) rules.ExternalProbe
	// Known has the results for the next leader, nil without any.
	Known() rules.Probed
}

// Hear lets an external probe testify: from now on its word goes with every fact.
func (d *Router) Hear(w Testifier) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.externalProbe = w
}

// AwaitProbe has the router wait for the first probes: a fact that says nothing of the probe would
// take back what an earlier leader said.
func (d *Router) AwaitProbe() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unprobed = true
}

// known has the results of the external probe.
func (d *Router) known() rules.Probed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.externalProbe.Known()
}

// Testified sends the failovers the results of the external probe. Where nothing changed
// no signal is sent, unless it is time to repeat it.
func (d *Router) Testified(again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unprobed = false
	for _, name := range d.names() {
		if again && d.open[name] && d.awaited(name) {
			delete(d.told, name)
		}
		d.tell(name)
	}
}

// awaited reports whether a failover waits for the word of the external probe: it contradicts
// Karmada, or a rule that aims at the cluster requires it.
func (d *Router) awaited(name string) bool {
	if d.contradicted(name) {
		return true
	}
	for _, r := range d.rules {
		if selected, err := r.TargetClusters.Selects(d.clusters[name]); r.RequireExternalProbe && err == nil && selected {
			return true
		}
	}
	return false
}

// Contradicted are the clusters of which the external probe contradicts Karmada.
func (d *Router) Contradicted() []karmada.Cluster {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []karmada.Cluster
	for _, name := range d.names() {
		if d.contradicted(name) {
			out = append(out, d.clusters[name])
		}
	}
	return out
}

// contradicted reports whether a member answers the external probe, Karmada cannot reach it, and a
// rule would move its bindings for that.
func (d *Router) contradicted(name string) bool {
	c := d.clusters[name]
	return !rules.OptedOut(c.Annotations) && slices.ContainsFunc(rules.Observe(d.rules, c, d.fact(c)), func(o rules.RuleObservation) bool {
		return o.Reason == reason.MemberAnswers
	})
}

// fact is what is sent of a cluster, with the external probe's result.
func (d *Router) fact(c karmada.Cluster) rules.ClusterFact {
	return rules.FactOf(c).Testified(d.externalProbe.Says(c.Name))
}

// fleet are all clusters as last seen.
func (d *Router) fleet() []karmada.Cluster {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]karmada.Cluster, 0, len(d.clusters))
	for _, name := range d.names() {
		all = append(all, d.clusters[name])
	}
	return all
}

// testify probes the fleet until ctx ends, and keeps the results where the next leader
// finds it.
func (w *Watcher) testify(ctx context.Context, router *Router) {
	var told time.Time
	var kept rules.Probed
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		w.recall(ctx)
		w.ExternalProbe.Probe(ctx, router.fleet())
		again := time.Since(told) >= externalProbeRefresh
		if again {
			told = time.Now()
		}
		router.Testified(again)
		if known := router.known(); known != nil && !maps.Equal(known, kept) {
			router.post.Fleet(known)
			kept = known
		}
		broken := slices.DeleteFunc(router.Contradicted(), func(c karmada.Cluster) bool { return w.ExternalProbe.justBack(c.Name) })
		w.Reports.MemberAnswers(broken, w.ExternalProbe.cfg.FailureThreshold)
	}, w.ExternalProbe.cfg.Interval)
}

// recall reads the results of earlier leaders, once in a term. Where it cannot be read the probe begins
// with nothing, and the next attempt tries again.
func (w *Watcher) recall(ctx context.Context) {
	if w.ExternalProbe.hasRecalled() {
		return
	}
	known, err := w.Recall(ctx)
	if err != nil {
		w.Log.WarnContext(ctx, "cannot read what the external probe knew, trying again", telemetry.KeyError, err)
		return
	}
	w.ExternalProbe.Recall(known)
}
