package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

const (
	// skew is how far apart two watches may show what happened at once: a gap that is no longer than
	// this cannot be told from the order of arrival.
	skew = 300 * time.Millisecond
	// unseenDeath is how long a member may be dead before anybody without a look into the members can
	// know: Karmada's probe period and failure threshold in the laboratory, with some air.
	unseenDeath = 5 * time.Second
)

// cover judges whether a binding has a running or a held copy now. One that never ran owes nothing yet.
func (j *Journal) cover(at time.Time, ref string) {
	b := j.bindings[ref]
	if b == nil {
		return
	}
	running := j.anyRuns(ref)
	b.established = b.established || running
	covered := running || !b.established || j.held(b.Binding)
	switch {
	case !covered && b.gap == nil:
		b.gap = &Gap{Binding: nameOf(b.Binding), From: at, Why: j.describe(b.Binding)}
		j.gaps = append(j.gaps, b.gap)
		j.note(Entry{At: at, Kind: Uncovered, Binding: b.gap.Binding, Text: "neither a running nor a held copy: " + b.gap.Why})
	case covered && b.gap != nil:
		b.gap.To = at
		j.note(Entry{At: at, Kind: Covered, Binding: b.gap.Binding, Text: "has a copy again"})
		b.gap = nil
	}
}

func (j *Journal) anyRuns(ref string) bool {
	for cluster, member := range j.members {
		if member.alive && runs(member.copies[j.workUID(ref, cluster)]) {
			return true
		}
	}
	return false
}

func (j *Journal) workUID(ref, cluster string) string {
	if w := j.works[workKey(ref, cluster)]; w != nil {
		return string(w.UID)
	}
	return ""
}

// held: a cluster that is a target, or that a task other than Directly holds, has a Work whose copy
// has run and which nobody has deleted. On a dead member that copy counts: it runs on as far as
// anybody can know, or comes back with the member.
func (j *Journal) held(b *api.Binding) bool {
	clusters := targets(b)
	for _, task := range b.Spec.GracefulEvictionTasks {
		if task.PurgeMode != "Directly" {
			clusters = append(clusters, task.FromCluster)
		}
	}
	return slices.ContainsFunc(clusters, func(cluster string) bool {
		w := j.works[workKey(b.Ref(), cluster)]
		return w != nil && w.DeletionTimestamp == nil && j.ran[string(w.UID)]
	})
}

func (j *Journal) describe(b *api.Binding) string {
	text := "targets " + orNone(targets(b))
	for _, task := range b.Spec.GracefulEvictionTasks {
		text += ", task for " + task.FromCluster
	}
	for cluster := range j.clusters {
		if w := j.works[workKey(b.Ref(), cluster)]; w != nil && w.DeletionTimestamp != nil {
			text += ", Work on " + cluster + " deleted"
		}
	}
	return text
}

// lacking says what is missing when the hold on a cluster's copy is dropped; empty when the targets
// carry the load: all replicas where they are divided, one complete copy elsewhere.
func (j *Journal) lacking(at time.Time, b *api.Binding, source string) string {
	sourceDead := !j.members[source].alive
	var ready int32
	complete := false
	for _, cluster := range targets(b) {
		member := j.members[cluster]
		if !member.alive && (!sourceDead || at.Sub(member.since) > unseenDeath) {
			continue
		}
		c, there := member.copies[j.workUID(b.Ref(), cluster)]
		if there && c.Running {
			complete = true
		}
		ready += c.ReadyReplicas
	}
	if divided(b) && b.Spec.Replicas > 0 {
		if ready < b.Spec.Replicas {
			return fmt.Sprintf("%d of %d replicas ready on %s", ready, b.Spec.Replicas, orNone(targets(b)))
		}
		return ""
	}
	if !complete {
		return "no complete copy on " + orNone(targets(b))
	}
	return ""
}

func divided(b *api.Binding) bool {
	p := b.Spec.Placement
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.Type == "Divided"
}
