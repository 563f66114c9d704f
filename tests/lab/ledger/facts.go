package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// Names that Lifeboat writes into Karmada's objects.
const (
	producer              = "Lifeboat"
	reasonKept            = "LifeboatKept"
	reasonNeedsOperator   = "LifeboatNeedsOperator"
	prefix                = "failover.lifeboat.dev/"
	annotationEnabled     = prefix + "enabled"
	annotationAddedTaints = prefix + "added-taints"
)

// Entry is one line of the timeline.
type Entry struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Kind    EntryKind `json:"kind"`
	Cluster string    `json:"cluster,omitempty"`
	// Binding is "<namespace>/<name>", "-/<name>" for a ClusterResourceBinding.
	Binding string `json:"binding,omitempty"`
	Text    string `json:"text"`
	// Targets are the clusters that serve the binding at that moment.
	Targets []string `json:"targets,omitempty"`
}

// EntryKind says what happened.
type EntryKind string

// What the timeline tells.
const (
	MemberKilled    EntryKind = "member-killed"
	MemberRevived   EntryKind = "member-revived"
	ClusterReady    EntryKind = "cluster-ready"
	ClusterNotReady EntryKind = "cluster-not-ready"
	ClusterGone     EntryKind = "cluster-gone"
	TaintAdded      EntryKind = "taint-added"
	TaintRemoved    EntryKind = "taint-removed"
	Evicted         EntryKind = "evicted"    // the cluster left spec.clusters together with a new hold task
	PutBack         EntryKind = "put-back"   // a target again although its hold task stands
	ReRemoved       EntryKind = "re-removed" // taken out again under the task that stood
	Placed          EntryKind = "placed"     // the scheduler added clusters
	Running         EntryKind = "running"    // a copy runs that did not before
	Released        EntryKind = "released"   // the hold task went, the cluster is no target
	Restored        EntryKind = "restored"   // the hold task went, the cluster is a target again
	Purged          EntryKind = "purged"     // the old Work is gone
	MovedByOthers   EntryKind = "moved-by-others"
	Uncovered       EntryKind = "uncovered" // neither a running nor a held copy
	Covered         EntryKind = "covered"
)

// End is how a move ended, as the ledger saw it.
type End string

// The ends of a move.
const (
	Standing     End = ""             // the hold task stands
	EndReleased  End = "released"     // dropped, the cluster is no target
	EndRestored  End = "restored"     // dropped, the cluster is a target again
	EndBindingGo End = "binding gone" // the binding was deleted
)

// Move is one eviction, from the write of the hold task to its end.
type Move struct {
	Binding string    `json:"binding"`
	UID     string    `json:"uid"`
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"`
	// Evicted: the cluster was a target until this very write.
	Evicted bool      `json:"evicted"`
	OldWork string    `json:"oldWork,omitempty"` // uid
	NewWork string    `json:"newWork,omitempty"` // uid of the cluster's Work when the move ended
	End     End       `json:"end,omitempty"`
	EndAt   time.Time `json:"endAt,omitzero"`
	// Reason is that of the hold task.
	Reason string `json:"reason,omitempty"`
	// To are the clusters that were targets at any time between eviction and end.
	To []string `json:"to,omitempty"`
	// Back is when the cluster became a target again after a release.
	Back time.Time `json:"back,omitzero"`
}

// Failure is the time in which a cluster carried a NoExecute taint.
type Failure struct {
	Cluster string    `json:"cluster"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // zero while it lasts
	Taints  []string  `json:"taints"`
	// Affected are the bindings that had the cluster as a target meanwhile and do not tolerate its
	// taints for ever, by uid.
	Affected map[string]*Affected `json:"affected"`
}

// Affected is a binding that a failure makes move.
type Affected struct {
	Binding string `json:"binding"`
	UID     string `json:"uid"`
	Kind    string `json:"kind"` // of the workload
	// Gone: it was deleted while the failure lasted.
	Gone bool `json:"gone,omitempty"`
	// Left: the cluster went out of spec.clusters by another hand than Lifeboat's.
	Left bool `json:"left,omitempty"`
}

// Gap is a time in which a workload had neither a running nor a held copy.
type Gap struct {
	Binding string    `json:"binding"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // zero while it lasts
	Why     string    `json:"why"`
}

// Bare is a hold task that was dropped while no other copy ran.
type Bare struct {
	Binding string    `json:"binding"`
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
}

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
