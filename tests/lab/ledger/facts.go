package ledger

import "time"

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
