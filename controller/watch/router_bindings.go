package watch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// BindingChanged routes a new or changed binding; old is nil for a new one. It signals the owners of its
// hold tasks, and the failovers of the clusters that it is or was on.
func (d *Router) BindingChanged(old, current *karmada.Binding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := observe(current)
	if len(now.owned()) > 0 {
		d.held[current.Key] = now
	} else {
		d.forget(current.Key)
	}
	var before observed
	if old != nil {
		before = observe(old)
	}
	for _, h := range now.owned() {
		if old == nil || before.changesOwnerState(h) {
			fact := now.fact
			fact.Verdict = proof.JudgeHold(current, h.cluster, func(name string) (karmada.Cluster, bool) {
				c, known := d.clusters[name]
				return c, known
			})
			d.signalOwner(h, fact)
		}
	}
	if old == nil || before.fingerprint != now.fingerprint {
		d.signalFailovers(before, now)
	}
	d.applicationChanged(current, now)
}

// BindingDeleted removes a binding and signals every workflow that it concerned.
func (d *Router) BindingDeleted(last *karmada.Binding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(last.Key)
	gone := observe(last)
	gone.fact.Deleted = true
	d.applicationGone(gone.fact)
	for _, h := range gone.owned() {
		d.signalOwner(h, gone.fact)
	}
	d.signalFailovers(gone, gone)
}

// signalOwnersOn signals the owners of the hold tasks of all bindings on a cluster: the status that its
// copies report became evidence, or is none any more.
func (d *Router) signalOwnersOn(cluster string) {
	for _, s := range sortedByKey(slices.Collect(maps.Values(d.held))) {
		if !slices.Contains(s.targets, cluster) {
			continue
		}
		fact := s.fact
		fact.ResourceVersion = "" // the binding is the same
		for _, h := range s.owned() {
			d.signalOwner(h, fact)
		}
	}
}

func (d *Router) forget(key karmada.BindingKey) {
	delete(d.held, key)
	delete(d.missing, key)
}

func (d *Router) signalOwner(h hold, fact proof.BindingFact) {
	if h.owner != "" && !h.parent { // a resync checks the others
		d.signals.Owner(h.owner, fact)
	}
}

// signalFailovers signals the failovers of the clusters that the binding is or was on, except one whose
// migration holds it: that migration gets the signal. It also signals the failovers of clusters from which
// Karmada's own taint manager evicts it.
func (d *Router) signalFailovers(before, now observed) {
	clusters := slices.Concat(before.targets, now.targets, now.evicted)
	slices.Sort(clusters)
	for _, cluster := range slices.Compact(clusters) {
		fact := now.fact
		fact.SecondEvictor = slices.Contains(now.evicted, cluster)
		if d.open[cluster] && (!now.isMigratedOff(cluster) || fact.Deleted || fact.SecondEvictor) {
			d.signals.Changed(cluster, fact)
		}
	}
}

// OwnerMissing records that the owner of a hold task did not run when a signal was sent to it. Often its
// task was just dropped; the next resync checks it.
func (d *Router) OwnerMissing(key karmada.BindingKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.held[key]; known {
		d.missing[key] = true
	}
}

// ownersToCheck are the held bindings whose owners this resync checks: first the missing ones, then those
// after the last one of the previous resync.
func (d *Router) ownersToCheck(limit int) []observed {
	d.mu.Lock()
	defer d.mu.Unlock()
	var missed, rest []observed
	for key, s := range d.held {
		if d.missing[key] {
			missed = append(missed, s)
		} else {
			rest = append(rest, s)
		}
	}
	clear(d.missing)
	check := slices.Concat(sortedByKey(missed), after(d.checked, rest))
	check = check[:min(limit, len(check))]
	if len(check) > len(missed) {
		d.checked = check[len(check)-1].fact.Key.String()
	}
	return check
}

// after sorts bindings by their keys, from the first one after the last on.
func after(last string, bindings []observed) []observed {
	bindings = sortedByKey(bindings)
	at := max(0, slices.IndexFunc(bindings, func(s observed) bool { return s.fact.Key.String() > last }))
	return slices.Concat(bindings[at:], bindings[:at])
}

func sortedByKey(bindings []observed) []observed {
	return slices.SortedFunc(slices.Values(bindings), func(a, b observed) int {
		return strings.Compare(a.fact.Key.String(), b.fact.Key.String())
	})
}

// adopt requests adoption if the hold task is unchanged since it was checked.
func (d *Router) adopt(seen observed, h hold) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, known := d.held[seen.fact.Key]
	if known && slices.Contains(now.holds, h) {
		d.signals.Adopt(h.cluster, now.fact)
	}
}

// clusterFingerprint encodes, to compare, the fields of a cluster that workflows react to. Heartbeats and
// capacity are not in it: they change all the time.
func clusterFingerprint(c karmada.Cluster) string {
	return encode(
		c.UID, c.Deleting, rules.FactOf(c).Conditions, c.Taints, c.Added, c.Stopped, c.Drain, c.Ordered,
		c.Annotations[karmada.AnnotationEnabled], c.Labels, c.Provider, c.Region, c.Zones, c.Malformed, c.SoftMalformed,
	)
}

// bindingFingerprint encodes, to compare, the fields of a binding that the failover of its cluster reacts to.
// Scheduling and health are not in it: they are for the owner of its hold task.
func bindingFingerprint(b *karmada.Binding) string {
	return encode(
		b.UID, b.Generation, b.Deleting, b.Annotations[karmada.AnnotationEnabled], b.Annotations[karmada.AnnotationPurgeMode],
	)
}

func encode(fields ...any) string {
	encoded, err := json.Marshal(fields)
	if err != nil {
		return "" // these types can always be encoded
	}
	return string(encoded)
}

// hold is a Lifeboat hold task.
type hold struct {
	cluster string
	owner   string
	// free tasks were kept or left to an operator: no workflow owns them.
	free bool
	// parent: the task holds a dependent, or bans its cluster; the owner does not react to changes.
	parent bool
	// ownerState encodes, to compare, what the owner reacts to.
	ownerState string
}

// observed is what the router reads of a binding.
type observed struct {
	fact        proof.BindingFact
	fingerprint string
	targets     []string
	holds       []hold
	// evicted are the clusters for which a task of Karmada's own taint manager stands.
	evicted []string
}

// owned are the holds that a workflow owns.
func (s observed) owned() []hold {
	return slices.DeleteFunc(slices.Clone(s.holds), func(h hold) bool { return h.free })
}

// isMigratedOff reports whether a migration off a cluster holds the binding.
func (s observed) isMigratedOff(cluster string) bool {
	return slices.ContainsFunc(s.holds, func(h hold) bool { return h.cluster == cluster && !h.free && !h.parent })
}

// changesOwnerState reports whether the owner of a hold reacts to the change from s. The first version
// with the hold was written by the owner itself.
func (s observed) changesOwnerState(h hold) bool {
	return slices.ContainsFunc(s.holds, func(old hold) bool {
		return old.owner == h.owner && old.cluster == h.cluster && old.ownerState != h.ownerState
	})
}

func observe(b *karmada.Binding) observed {
	s := observed{
		fact:        proof.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion},
		fingerprint: bindingFingerprint(b),
		targets:     karmada.TargetNames(b.Clusters),
	}
	for _, task := range b.Tasks {
		if task.Producer == karmada.TaintManager {
			s.evicted = append(s.evicted, task.FromCluster)
		}
		if task.IsLifeboat() {
			free := task.LeftForGood()
			if owner := task.Owner(); owner != "" || !task.ForDependent() {
				s.holds = append(s.holds, hold{
					cluster: task.FromCluster, owner: owner, free: free, parent: task.Bans(), ownerState: encode(proof.NewsOf(b, task.FromCluster)),
				})
			}
			for _, holder := range task.Others() {
				s.holds = append(s.holds, hold{cluster: task.FromCluster, owner: holder, free: free, parent: true})
			}
		}
	}
	return s
}
