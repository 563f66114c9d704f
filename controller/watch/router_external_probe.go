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

// externalProbeRefresh is how often an unchanged result is sent again to a failover that waits for it:
// a failover ignores results older than three times this.
const externalProbeRefresh = time.Minute

// ProbeResults are the results of an external probe; an [ExternalProbe], nil included, has them.
type ProbeResults interface {
	Result(cluster string) rules.ExternalProbe
	// Known has the results for the next leader, nil without any.
	Known() rules.Probed
}

// UseProbe adds the results of an external probe to every fact from now on. To await it keeps back all facts of
// clusters until the first probes: a fact without a probe result would replace the one that an earlier leader sent.
func (d *Router) UseProbe(results ProbeResults, await bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.externalProbe, d.awaitProbe = results, await
}

// known has the results of the external probe.
func (d *Router) known() rules.Probed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.externalProbe.Known()
}

// SendProbed sends the results of the external probe to the failovers. An unchanged result is sent
// only when it is to be repeated.
func (d *Router) SendProbed(repeat bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.awaitProbe = false
	for _, name := range d.names() {
		if repeat && d.open[name] && d.needsProbe(name) {
			delete(d.sent, name)
		}
		d.signal(name)
	}
}

// needsProbe reports whether a failover waits for results of the external probe: the probe contradicts
// Karmada, or a rule that targets the cluster requires it.
func (d *Router) needsProbe(name string) bool {
	return d.contradicted(name) || slices.ContainsFunc(d.rules, func(r rules.Rule) bool {
		selected, err := r.TargetClusters.Selects(d.clusters[name])
		return r.RequireExternalProbe && err == nil && selected
	})
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
	return rules.FactOf(c).Testified(d.externalProbe.Result(c.Name))
}

// fleet are all clusters as last seen.
func (d *Router) fleet() []karmada.Cluster {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.clusters))
}

// probe probes the fleet until ctx ends, and keeps the results where the next leader finds them.
func (w *Watcher) probe(ctx context.Context, router *Router) {
	var repeated time.Time
	var kept rules.Probed
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		w.recall(ctx)
		w.ExternalProbe.Probe(ctx, router.fleet())
		repeat := time.Since(repeated) >= externalProbeRefresh
		if repeat {
			repeated = time.Now()
		}
		router.SendProbed(repeat)
		if known := w.ExternalProbe.Known(); known != nil && !maps.Equal(known, kept) {
			router.signals.Fleet(known)
			kept = known
		}
		broken := slices.DeleteFunc(router.Contradicted(), func(c karmada.Cluster) bool { return w.ExternalProbe.justBack(c.Name) })
		w.Reports.MemberAnswers(broken, w.ExternalProbe.cfg.FailureThreshold)
	}, w.ExternalProbe.cfg.Interval)
}

// recall reads the results of earlier leaders, once in a term. After an error the probe begins without them,
// and the next attempt reads again.
func (w *Watcher) recall(ctx context.Context) {
	if w.ExternalProbe.Known() != nil {
		return
	}
	known, err := w.Recall(ctx)
	if err != nil {
		w.Log.WarnContext(ctx, "cannot read the results of earlier probes, trying again", telemetry.KeyError, err)
		return
	}
	w.ExternalProbe.Recall(known)
}
