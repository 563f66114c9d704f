package failover

import "time"

// AuditVersion is the version of the schema of [AuditRecord], as every line of an audit
// trail names it. Fields are only ever added within a version; docs/audit.md has them all.
const AuditVersion = "audit.lifeboat.dev/v1"

// AuditKind says what an [AuditRecord] tells of.
type AuditKind string

// What failovers and the pacer decide, and what humans order. They are written in the
// order of the workflow that decided.
const (
	AuditEpisodeBegun      AuditKind = "EpisodeBegun"      // a failover of a cluster was opened
	AuditPhaseEntered      AuditKind = "PhaseEntered"      // it went to another phase
	AuditFailureConfirmed  AuditKind = "FailureConfirmed"  // the failure is one: windows, taints and witness are the evidence
	AuditRecoveryConfirmed AuditKind = "RecoveryConfirmed" // the cluster is well again: abandon, restore, untaint
	AuditRoundClosed       AuditKind = "RoundClosed"       // a round ended because the failure came back; with its totals
	AuditEpisodeClosed     AuditKind = "EpisodeClosed"     // the failover is over; with its totals
	AuditOrderGiven        AuditKind = "OrderGiven"        // a human's order was taken
	AuditPaceChanged       AuditKind = "PaceChanged"       // tier or rate of the fleet's evictions
	AuditRecordsLost       AuditKind = "RecordsLost"       // the sink was away for too long
)

// What becomes of the taints of a cluster, and of bindings.
const (
	AuditTaintAdded       AuditKind = "TaintAdded"       // a taint of ours stands
	AuditTaintRemoved     AuditKind = "TaintRemoved"     // and does not any more
	AuditBindingQueued    AuditKind = "BindingQueued"    // a taint makes it move; with when it is due
	AuditBindingBlocked   AuditKind = "BindingBlocked"   // it may not move for now: why, when that is another reason than before
	AuditBindingBegun     AuditKind = "BindingBegun"     // its migration began
	AuditBindingEvicted   AuditKind = "BindingEvicted"   // the eviction stands: the cluster is out of its targets, our hold task in
	AuditBindingRemoved   AuditKind = "BindingRemoved"   // the scheduler had put the cluster back, and it was taken out again
	AuditBindingHeld      AuditKind = "BindingHeld"      // its dependents are held, or it is again, after a restore that the scheduler undid
	AuditBindingPlaced    AuditKind = "BindingPlaced"    // the scheduler placed it elsewhere
	AuditBindingReleased  AuditKind = "BindingReleased"  // our hold was dropped: the old copy goes
	AuditBindingRestored  AuditKind = "BindingRestored"  // the cluster was put back among its targets
	AuditBindingSwapped   AuditKind = "BindingSwapped"   // a former, recovered cluster took over in the eviction's own write
	AuditBindingMarked    AuditKind = "BindingMarked"    // our task was kept, or left to a human
	AuditBindingFenced    AuditKind = "BindingFenced"    // its old copy is proven dead, by a plug-in
	AuditBindingAttention AuditKind = "BindingAttention" // it needs a human's eyes
	AuditBindingOutcome   AuditKind = "BindingOutcome"   // what became of it in this round
)

// AuditKinds are all of them, as docs/audit.md lists them.
func AuditKinds() []AuditKind {
	return []AuditKind{
		AuditEpisodeBegun, AuditPhaseEntered, AuditFailureConfirmed, AuditRecoveryConfirmed, AuditRoundClosed, AuditEpisodeClosed,
		AuditOrderGiven, AuditPaceChanged, AuditRecordsLost, AuditTaintAdded, AuditTaintRemoved,
		AuditBindingQueued, AuditBindingBlocked, AuditBindingBegun, AuditBindingEvicted, AuditBindingRemoved, AuditBindingHeld,
		AuditBindingPlaced, AuditBindingReleased, AuditBindingRestored, AuditBindingSwapped, AuditBindingMarked, AuditBindingFenced,
		AuditBindingAttention, AuditBindingOutcome,
	}
}

// AuditRecord is one line of the audit trail: one decision or act, who took it, and on
// what evidence. The same record may be written twice, by an attempt that was repeated:
// its ID tells.
type AuditRecord struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	ID         string    `json:"id"`   // the same in every copy of a record, and of no other
	Time       time.Time `json:"time"` // of the decision, as the workflow's history has it
	Kind       AuditKind `json:"kind"`
	Instance   string    `json:"instance,omitempty"`
	Cluster    string    `json:"cluster,omitempty"` // whose failover; empty for the fleet's pace
	Episode    string    `json:"episode,omitempty"` // the first run id of the failover
	Round      int       `json:"round,omitempty"`
	Mode       Mode      `json:"mode,omitempty"`
	Workflow   string    `json:"workflow,omitempty"` // id of the workflow that decided
	Run        string    `json:"run,omitempty"`      // run id of the workflow that wrote this down
	// Bindings are whom it is about, as "<namespace>/<name>", "-" for no namespace; one
	// record tells of up to 500 of which the same is to be said. None: of the whole failover.
	Bindings []string `json:"bindings,omitempty"`
	Resource string   `json:"resource,omitempty"` // what the one binding carries: "Deployment shop/cart"
	Phase    string   `json:"phase,omitempty"`    // of the failover, after the decision
	Outcome  Outcome  `json:"outcome,omitempty"`
	Reason   Reason   `json:"reason,omitempty"`
	Message  string   `json:"message,omitempty"`
	Cause    string   `json:"cause,omitempty"` // of an outcome: recovery, or whose order
	To       []string `json:"to,omitempty"`    // the clusters that serve it now, or could
	Order    string   `json:"order,omitempty"` // the verb of an order
	Who      string   `json:"who,omitempty"`   // the human who ordered; empty where Lifeboat decided by itself
	Why      string   `json:"why,omitempty"`   // and the reason that was given
	// Evidence is what the decision rested on, by name.
	Evidence map[string]string `json:"evidence,omitempty"`
	// Counts are totals by outcome.
	Counts map[string]int `json:"counts,omitempty"`
}
