package ledger

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// SeeBinding takes a binding as it stands; gone says that it was deleted.
func (j *Journal) SeeBinding(at time.Time, b *api.Binding, gone bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ref := b.Ref()
	old := j.bindings[ref]
	if old != nil && (gone || old.UID != b.UID) {
		j.endBinding(at, old)
		delete(j.bindings, ref)
		old = nil
	}
	if gone {
		return
	}
	now := &bindingState{Binding: b}
	var before *api.Binding
	if old != nil {
		now.established, now.gap, before = old.established, old.gap, old.Binding
	}
	j.bindings[ref] = now
	j.compare(at, before, b)
	for _, f := range j.failures {
		if f.To.IsZero() {
			j.join(f, b)
		}
	}
	j.cover(at, ref)
}

func (j *Journal) endBinding(at time.Time, b *bindingState) {
	if b.gap != nil {
		b.gap.To = at
	}
	for _, m := range j.moves {
		if m.UID == string(b.UID) && m.End == Standing {
			m.End, m.EndAt = EndBindingGo, at
		}
	}
	for _, f := range j.failures {
		if a := f.Affected[string(b.UID)]; a != nil && f.To.IsZero() {
			a.Gone = true
		}
	}
}

// compare reads what happened between two states of a binding; before is nil for the first.
func (j *Journal) compare(at time.Time, before, b *api.Binding) {
	held, holds := holdsOf(before), holdsOf(b)
	for _, cluster := range slices.Sorted(maps.Keys(holds)) {
		if m := j.standing(b, cluster); m != nil {
			m.Reason = holds[cluster]
		}
		was, is := hasTarget(before, cluster), hasTarget(b, cluster)
		_, stood := held[cluster]
		switch {
		case !stood:
			j.begin(at, b, cluster, Move{Evicted: was && !is, Reason: holds[cluster]})
		case !was && is:
			j.note(Entry{At: at, Kind: PutBack, Cluster: cluster, Binding: nameOf(b), Text: "a target again although its hold task stands"})
		case was && !is:
			j.note(Entry{At: at, Kind: ReRemoved, Cluster: cluster, Binding: nameOf(b), Text: "taken out again"})
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(held)) {
		if _, stands := holds[cluster]; !stands {
			j.end(at, b, cluster)
		}
	}
	j.compareTargets(at, before, b)
}

func hasTarget(b *api.Binding, cluster string) bool { return b != nil && b.Target(cluster) != nil }

// standing is the move whose task stands, nil when there is none.
func (j *Journal) standing(b *api.Binding, cluster string) *Move {
	for _, m := range j.moves {
		if m.UID == string(b.UID) && m.Cluster == cluster && m.End == Standing {
			return m
		}
	}
	return nil
}

func (j *Journal) begin(at time.Time, b *api.Binding, cluster string, m Move) {
	m.Binding, m.UID, m.Cluster, m.At = nameOf(b), string(b.UID), cluster, at
	m.To = targets(b)
	if w := j.works[workKey(b.Ref(), cluster)]; w != nil {
		m.OldWork = string(w.UID)
	}
	j.moves = append(j.moves, &m)
	if m.Evicted {
		j.note(Entry{At: at, Kind: Evicted, Cluster: cluster, Binding: m.Binding, Text: "evicted, the old copy is held", Targets: m.To})
	}
}

// end closes the move of a task that went. Where that lets the old copy go, another must run.
func (j *Journal) end(at time.Time, b *api.Binding, cluster string) {
	m := j.standing(b, cluster)
	if m == nil {
		return
	}
	m.EndAt = at
	if w := j.works[workKey(b.Ref(), cluster)]; w != nil {
		m.NewWork = string(w.UID)
	}
	if hasTarget(b, cluster) {
		m.End = EndRestored
		j.note(Entry{At: at, Kind: Restored, Cluster: cluster, Binding: m.Binding, Text: "back on " + cluster, Targets: targets(b)})
		return
	}
	m.End = EndReleased
	j.note(Entry{At: at, Kind: Released, Cluster: cluster, Binding: m.Binding, Text: "released, serves on " + orNone(targets(b)), Targets: targets(b)})
	if why := j.lacking(at, b, cluster); why != "" && j.clusters[cluster] != nil {
		j.bare = append(j.bare, Bare{Binding: m.Binding, Cluster: cluster, At: at, Why: why})
	}
}

// compareTargets tells of placements, and of clusters that left by another hand.
func (j *Journal) compareTargets(at time.Time, before, b *api.Binding) {
	if before == nil {
		return
	}
	var added []string
	for _, cluster := range targets(b) {
		if !hasTarget(before, cluster) {
			added = append(added, cluster)
			j.cameBack(at, b, cluster)
		}
	}
	for _, m := range j.moves {
		if m.UID != string(b.UID) || m.End != Standing {
			continue
		}
		m.To = union(m.To, targets(b))
		if len(added) > 0 && !slices.Contains(added, m.Cluster) {
			j.note(Entry{At: at, Kind: Placed, Cluster: m.Cluster, Binding: m.Binding, Text: "placed on " + strings.Join(added, ", "), Targets: targets(b)})
		}
	}
	for _, cluster := range targets(before) {
		if _, held := holdsOf(b)[cluster]; !held && !hasTarget(b, cluster) {
			j.left(at, b, cluster)
		}
	}
}

// cameBack: a cluster that had been released is a target again.
func (j *Journal) cameBack(at time.Time, b *api.Binding, cluster string) {
	for _, m := range j.moves {
		if m.UID == string(b.UID) && m.Cluster == cluster && m.End == EndReleased && m.Back.IsZero() {
			m.Back = at
		}
	}
}

func (j *Journal) left(at time.Time, b *api.Binding, cluster string) {
	for _, f := range j.failures {
		if a := f.Affected[string(b.UID)]; a != nil && f.Cluster == cluster && f.To.IsZero() {
			a.Left = true
			j.note(Entry{At: at, Kind: MovedByOthers, Cluster: cluster, Binding: a.Binding, Text: "left by another hand"})
		}
	}
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
