package watch

import (
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
)

// BindingChanged takes in a binding as it is now, old being nil when it is new. It
// signals the owners of its hold tasks, and the failovers of the clusters that it is
// or was on.
func (d *Router) BindingChanged(old, current *karmada.Binding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := sightOf(current)
	if len(now.worked()) > 0 {
		d.held[current.Key] = now
	} else {
		d.letGo(current.Key)
	}
	var before sight
	if old != nil {
		before = sightOf(old)
	}
	for _, h := range now.worked() {
		if old == nil || before.isNews(h) {
			fact := now.fact
			fact.Verdict = proof.JudgeHold(current, h.cluster, d.cluster)
			d.tellOwner(h, fact)
		}
	}
	if old == nil || before.print != now.print {
		d.tellQueues(before, now)
	}
}

// BindingDeleted forgets a binding and signals every workflow that it concerned.
func (d *Router) BindingDeleted(last *karmada.Binding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.letGo(last.Key)
	gone := sightOf(last)
	gone.fact.Deleted = true
	for _, h := range gone.worked() {
		d.tellOwner(h, gone.fact)
	}
	d.tellQueues(gone, gone)
}

func (d *Router) cluster(name string) (karmada.Cluster, bool) {
	c, known := d.clusters[name]
	return c, known
}

// tellOwnersOn has the owners of all hold tasks look whose bindings are on a cluster: what its
// copies report has become evidence, or is none any more.
func (d *Router) tellOwnersOn(cluster string) {
	var on []sight
	for _, s := range d.held {
		if slices.Contains(s.targets, cluster) {
			on = append(on, s)
		}
	}
	sortSights(on)
	for _, s := range on {
		fact := s.fact
		fact.ResourceVersion = "" // the binding is the same
		for _, h := range s.worked() {
			d.tellOwner(h, fact)
		}
	}
}

func (d *Router) letGo(key karmada.BindingKey) {
	delete(d.held, key)
	delete(d.missing, key)
}

func (d *Router) tellOwner(h hold, fact proof.BindingFact) {
	if h.owner != "" && !h.parent { // a resync finds the others
		d.post.Owner(h.owner, fact)
	}
}

// tellQueues signals the failovers of the clusters that the binding is or was on,
// but not one that has just taken it off itself: its migration gets the signal. It also signals
// those beside which Karmada's own taint manager evicts it.
func (d *Router) tellQueues(before, now sight) {
	clusters := slices.Concat(before.targets, now.targets, now.evicted)
	slices.Sort(clusters)
	for _, cluster := range slices.Compact(clusters) {
		fact := now.fact
		fact.SecondEvictor = slices.Contains(now.evicted, cluster)
		if d.open[cluster] && (!now.workedFor(cluster) || fact.Deleted || fact.SecondEvictor) {
			d.post.Changed(cluster, fact)
		}
	}
}

// OwnerMissing notes that the owner of a hold task did not run when it was
// sent a signal. Often its task is just gone; the next resync looks again.
func (d *Router) OwnerMissing(key karmada.BindingKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.held[key]; known {
		d.missing[key] = true
	}
}

// toLookAfter are held bindings whose owners are to be asked about: first those
// missed already, then the next ones after where the last attempt ended.
func (d *Router) toLookAfter(limit int) []sight {
	d.mu.Lock()
	defer d.mu.Unlock()
	var missed, rest []sight
	for key, s := range d.held {
		if d.missing[key] {
			missed = append(missed, s)
		} else {
			rest = append(rest, s)
		}
	}
	clear(d.missing)
	sortSights(missed)
	sortSights(rest)
	at, _ := slices.BinarySearchFunc(rest, d.checked, func(s sight, key string) int {
		if s.fact.Key.String() > key {
			return 1
		}
		return -1
	})
	attempt := slices.Concat(missed, rest[at:], rest[:at])
	attempt = attempt[:min(limit, len(attempt))]
	if len(attempt) > len(missed) {
		d.checked = attempt[len(attempt)-1].fact.Key.String()
	}
	return attempt
}

func sortSights(sights []sight) {
	slices.SortFunc(sights, func(a, b sight) int { return strings.Compare(a.fact.Key.String(), b.fact.Key.String()) })
}

// orphaned requests adoption if the task still stands as it was seen.
func (d *Router) orphaned(seen sight, h hold) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, known := d.held[seen.fact.Key]
	if known && slices.Contains(now.holds, h) {
		d.post.Adopt(h.cluster, now.fact)
	}
}
