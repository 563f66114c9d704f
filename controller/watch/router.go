package watch

import (
	"maps"
	"slices"
	"sync"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Signals sends signals to workflows. It never blocks; it delivers later what it cannot deliver now, the
// newest of each kind.
type Signals interface {
	// Cluster sends a cluster's failover a fact; start starts it when it does not run.
	Cluster(fact rules.ClusterFact, start bool)
	// Changed signals to a cluster's failover that a binding was added, changed or deleted.
	Changed(cluster string, fact proof.BindingFact)
	// Owner signals the workflow that a hold task names.
	Owner(owner string, fact proof.BindingFact)
	// Adopt signals a cluster's failover, starting it if need be, to take over a task.
	Adopt(cluster string, fact proof.BindingFact)
	// Application signals to the failover of an application; start starts it when it does not run.
	Application(fact proof.BindingFact, start bool)
	// Fleet signals to the pacer, starting it if need be, that the fleet changed, with the
	// results of the external probe.
	Fleet(probed rules.Probed)
}

// Router routes each changed fact to the workflows that it concerns. Its methods are
// safe for concurrent use.
type Router struct {
	mu       sync.Mutex
	signals  Signals
	rules    []rules.Rule
	clusters map[string]karmada.Cluster
	// held are the bindings with a task that a workflow should work on.
	held map[karmada.BindingKey]observed
	// missing are the bindings of held whose owner did not run at its last signal.
	missing map[karmada.BindingKey]bool
	// open are clusters whose failover is known to run.
	open map[string]bool
	// sent is the fingerprint of the fact that each cluster's failover got last.
	sent map[string]string
	// resyncs counts resyncs: some check more than others.
	resyncs       int
	externalProbe ProbeResults
	// awaitProbe: no failover gets a fact of its cluster until the external probe has run once.
	awaitProbe bool
	// checked is the last binding whose owner was checked.
	checked string
	// unhealthy are the Unhealthy applications; nil where application failovers are off.
	unhealthy map[karmada.BindingKey]unhealthyBinding
	// checkedApplication is the last application whose failover was checked by a resync.
	checkedApplication string
}

// NewRouter makes an empty router.
func NewRouter(signals Signals) *Router {
	return &Router{
		signals:       signals,
		clusters:      map[string]karmada.Cluster{},
		held:          map[karmada.BindingKey]observed{},
		missing:       map[karmada.BindingKey]bool{},
		open:          map[string]bool{},
		sent:          map[string]string{},
		externalProbe: (*ExternalProbe)(nil),
	}
}

// RulesChanged replaces all rules: any cluster may match now.
func (d *Router) RulesChanged(list []rules.Rule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.rules
	d.rules = list
	if slices.ContainsFunc(d.names(), func(name string) bool {
		return rules.Faulty(old, d.clusters[name]) != rules.Faulty(list, d.clusters[name])
	}) {
		d.signals.Fleet(d.externalProbe.Known())
	}
	for _, name := range d.names() {
		d.signal(name)
	}
}

// ClusterChanged routes a new or changed cluster; old is nil for a new one.
func (d *Router) ClusterChanged(old, current *karmada.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clusters[current.Name] = *current
	if old == nil || rules.Faulty(d.rules, *old) != rules.Faulty(d.rules, *current) {
		d.signals.Fleet(d.externalProbe.Known())
	}
	if old != nil && rules.FailsItself(*old) != rules.FailsItself(*current) {
		d.signalApplicationsOn(current.Name)
	}
	if old != nil && old.ProvesNothing() != current.ProvesNothing() {
		d.signalOwnersOn(current.Name)
	}
	d.signal(current.Name)
}

// ClusterDeleted removes a cluster and signals its failover, if it has one.
func (d *Router) ClusterDeleted(last *karmada.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.clusters, last.Name)
	delete(d.sent, last.Name)
	d.signals.Fleet(d.externalProbe.Known())
	d.signalApplicationsOn(last.Name)
	d.signalOwnersOn(last.Name)
	if d.open[last.Name] {
		d.signals.Cluster(rules.ClusterFact{
			Cluster: last.Name, UID: last.UID, ResourceVersion: last.ResourceVersion, Deleted: true,
		}, false)
	}
}

// Opened records that a cluster's failover runs.
func (d *Router) Opened(cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[cluster] = true
}

// Closed records that a cluster's failover does not run, and starts one if the cluster still looks failed.
func (d *Router) Closed(cluster string) { d.refresh(cluster, false) }

func (d *Router) names() []string {
	return slices.Sorted(maps.Keys(d.clusters))
}

// signal sends the fact of a cluster to its failover, unless it got the same fact before.
func (d *Router) signal(name string) {
	c, known := d.clusters[name]
	if !known || d.awaitProbe {
		return
	}
	start := d.suspected(d.rules, c)
	if !start && !d.open[name] {
		return
	}
	fact := d.fact(c)
	now := clusterFingerprint(c) + string(fact.ExternalProbe)
	if d.sent[name] == now {
		return
	}
	d.sent[name] = now
	d.signals.Cluster(fact, start)
}

// suspected reports whether a cluster needs a failover. An opted-out cluster needs one only while it
// carries taints or records of Lifeboat.
func (d *Router) suspected(list []rules.Rule, c karmada.Cluster) bool {
	suspected, _ := rules.NeedsFailover(list, c, d.externalProbe.Result(c.Name))
	if suspected && rules.OptedOut(c.Annotations) {
		return c.HasLifeboatMark()
	}
	return suspected
}

// Open are the clusters whose failover is known to run, sorted.
func (d *Router) Open() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.open))
}
