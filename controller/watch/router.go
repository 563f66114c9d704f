package watch

import (
	"maps"
	"slices"
	"sync"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Post carries messages to workflows. It never blocks; what it cannot deliver now
// it delivers later, the newest of each kind.
type Post interface {
	// Cluster sends a cluster's failover a fact; start starts it when it does not run.
	Cluster(fact rules.ClusterFact, start bool)
	// Changed signals to a cluster's failover that a binding came, changed or went.
	Changed(cluster string, fact proof.BindingFact)
	// Owner signals the workflow that a hold task names.
	Owner(owner string, fact proof.BindingFact)
	// Adopt signals a cluster's failover, starting it if need be, to take over a task.
	Adopt(cluster string, fact proof.BindingFact)
	// Fleet signals to the pacer, starting it if need be, that the fleet changed, with the
	// results of the external probe.
	Fleet(probed rules.Probed)
}

// Router routes each changed fact to the workflows that it concerns. Its methods are
// safe for concurrent use.
type Router struct {
	mu       sync.Mutex
	post     Post
	rules    []rules.Rule
	clusters map[string]karmada.Cluster
	// held are the bindings with a task that a workflow should work on.
	held map[karmada.BindingKey]sight
	// missing are those of them whose owner did not run at its last signal.
	missing map[karmada.BindingKey]bool
	// open are clusters whose failover runs, as far as is known.
	open map[string]bool
	// told is the fact that each cluster's failover got last, as a print.
	told map[string]string
	// resyncs counts, so that some look further than others.
	resyncs int
	// external probe testifies to what facts say.
	externalProbe Testifier
	// unprobed: no failover gets a fact of its cluster until the external probe has run once.
	unprobed bool
	// checked is the last binding whose owner was asked about.
	checked string
}

// NewRouter starts with nothing known.
func NewRouter(post Post) *Router {
	return &Router{
		post:          post,
		clusters:      map[string]karmada.Cluster{},
		held:          map[karmada.BindingKey]sight{},
		missing:       map[karmada.BindingKey]bool{},
		open:          map[string]bool{},
		told:          map[string]string{},
		externalProbe: (*ExternalProbe)(nil),
	}
}

// RulesChanged replaces all rules: any cluster may match now.
func (d *Router) RulesChanged(rules []rules.Rule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.rules
	d.rules = rules
	if slices.ContainsFunc(d.names(), func(name string) bool { return faulty(was, d.clusters[name]) != faulty(rules, d.clusters[name]) }) {
		d.post.Fleet(d.externalProbe.Known())
	}
	for _, name := range d.names() {
		d.tell(name)
	}
}

// faulty reports whether the pacer counts a cluster as failed.
func faulty(list []rules.Rule, c karmada.Cluster) bool {
	faulty, _ := rules.Faulty(list, c)
	return faulty
}

// ClusterChanged takes in a cluster as it is now; old is nil when it is new.
func (d *Router) ClusterChanged(old, current *karmada.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clusters[current.Name] = *current
	if old == nil || faulty(d.rules, *old) != faulty(d.rules, *current) {
		d.post.Fleet(d.externalProbe.Known())
	}
	if old != nil && old.ProvesNothing() != current.ProvesNothing() {
		d.tellOwnersOn(current.Name)
	}
	d.tell(current.Name)
}

// ClusterDeleted forgets a cluster and signals its failover, if it has one.
func (d *Router) ClusterDeleted(last *karmada.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.clusters, last.Name)
	delete(d.told, last.Name)
	d.post.Fleet(d.externalProbe.Known())
	d.tellOwnersOn(last.Name)
	if d.open[last.Name] {
		d.post.Cluster(rules.ClusterFact{
			Cluster: last.Name, UID: last.UID, ResourceVersion: last.ResourceVersion, Deleted: true,
		}, false)
	}
}

// Opened notes that a cluster's failover runs.
func (d *Router) Opened(cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[cluster] = true
}

// Closed notes that a cluster's failover does not run, and starts one where the
// cluster still looks failed.
func (d *Router) Closed(cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed(cluster)
	d.tell(cluster)
}

func (d *Router) closed(cluster string) {
	delete(d.open, cluster)
	delete(d.told, cluster)
}

func (d *Router) names() []string {
	return slices.Sorted(maps.Keys(d.clusters))
}

// tell sends the fact of a cluster to its failover, unless that has got the
// same before.
func (d *Router) tell(name string) {
	c, known := d.clusters[name]
	if !known || d.unprobed {
		return
	}
	start := d.suspected(c)
	if !start && !d.open[name] {
		return
	}
	fact := d.fact(c)
	now := clusterPrint(c) + string(fact.ExternalProbe)
	if d.told[name] == now {
		return
	}
	d.told[name] = now
	d.post.Cluster(fact, start)
}

// suspected reports whether a cluster needs a failover of its own. One that is opted
// out needs none unless something of Lifeboat's is left on it.
func (d *Router) suspected(c karmada.Cluster) bool { return d.suspectedBy(d.rules, c) }

// wouldSuspect is suspected for a cluster and rules that were read just now.
func (d *Router) wouldSuspect(rules []rules.Rule, c karmada.Cluster) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.suspectedBy(rules, c)
}

func (d *Router) suspectedBy(list []rules.Rule, c karmada.Cluster) bool {
	suspected, _ := rules.Suspected(list, c, d.externalProbe.Says(c.Name))
	if suspected && rules.OptedOut(c.Annotations) {
		return c.CarriesOurs()
	}
	return suspected
}

// Open are the clusters whose failover runs, as far as is known, sorted.
func (d *Router) Open() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.open))
}
