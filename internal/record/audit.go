package record

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Version is the version of the schema of [Audit], as every line of an audit
// trail names it. Fields are only ever added within a version; docs/audit.md has them all.
const Version = "audit.lifeboat.dev/v1"

// Kind is what an [Audit] is about; docs/audit.md lists them all.
type Kind string

// What failovers and the pacer decide, and what operators order. They are written in the
// order of the workflow that decided.
const (
	AuditFailoverBegun     Kind = "FailoverBegun"     // a failover of a cluster was opened
	AuditPhaseEntered      Kind = "PhaseEntered"      // it went to another phase
	AuditFailureConfirmed  Kind = "FailureConfirmed"  // the failure is one: windows, taints and external probe are the evidence
	AuditRecoveryConfirmed Kind = "RecoveryConfirmed" // the cluster is well again: abandon, restore, untaint
	AuditAttemptClosed     Kind = "AttemptClosed"     // an attempt ended because the failure came back; with its totals
	AuditFailoverClosed    Kind = "FailoverClosed"    // the failover is over; with its totals
	AuditOrderGiven        Kind = "OrderGiven"        // an operator's order was taken
	AuditPaceChanged       Kind = "PaceChanged"       // tier or rate of the fleet's evictions
	AuditRecordsLost       Kind = "RecordsLost"       // the sink was away for too long
)

// What becomes of the taints of a cluster, and of bindings.
const (
	AuditTaintAdded          Kind = "TaintAdded"          // a Lifeboat taint stands
	AuditTaintRemoved        Kind = "TaintRemoved"        // and does not any more
	AuditBindingQueued       Kind = "BindingQueued"       // a taint makes it move; with when it is due
	AuditBindingBlocked      Kind = "BindingBlocked"      // it may not move for now: why, when that is another reason than before
	AuditBindingBegun        Kind = "BindingBegun"        // its migration began
	AuditBindingEvicted      Kind = "BindingEvicted"      // the eviction stands: the cluster is out of its targets, Lifeboat's hold task in
	AuditBindingEvictedAgain Kind = "BindingEvictedAgain" // evicted again: the scheduler had put the cluster back, or needs a reschedule
	AuditBindingHeld         Kind = "BindingHeld"         // its dependents are held, or it is again, after a restore that the scheduler undid
	AuditBindingPlaced       Kind = "BindingPlaced"       // the scheduler placed it elsewhere
	AuditBindingReleased     Kind = "BindingReleased"     // Lifeboat's hold was dropped: the old copy goes
	AuditBindingRestored     Kind = "BindingRestored"     // the cluster was put back among its targets
	AuditBindingSwapped      Kind = "BindingSwapped"      // a former, recovered cluster took over in the eviction's own write
	AuditBindingMarked       Kind = "BindingMarked"       // Lifeboat's task was kept, or left to an operator
	AuditBindingFenced       Kind = "BindingFenced"       // its old copy is proven dead, by a plug-in
	AuditBindingAttention    Kind = "BindingAttention"    // it needs an operator's eyes
	AuditBindingOutcome      Kind = "BindingOutcome"      // what became of it in this attempt
)

// Audit is one line of the audit trail: one decision or act, who took it, and on
// what evidence. The same record may be written twice, by an attempt that was repeated:
// its ID tells.
type Audit struct {
	APIVersion string     `json:"apiVersion,omitempty"`
	ID         string     `json:"id"`   // the same in every copy of a record, and of no other
	Time       time.Time  `json:"time"` // of the decision, as the workflow's history has it
	Kind       Kind       `json:"kind"`
	Instance   string     `json:"instance,omitempty"`
	Cluster    string     `json:"cluster,omitempty"`    // whose failover; empty for the fleet's pace
	FailoverID string     `json:"failoverID,omitempty"` // the first run id of the failover
	Attempt    int        `json:"attempt,omitempty"`
	Mode       rules.Mode `json:"mode,omitempty"`
	Workflow   string     `json:"workflow,omitempty"` // id of the workflow that decided
	Run        string     `json:"run,omitempty"`      // run id of the workflow that wrote this down
	// Bindings are its objects, as "<namespace>/<name>", "-" for no namespace; one
	// record is about up to 500 of which the same is to be said. None: of the whole failover.
	Bindings []string      `json:"bindings,omitempty"`
	Resource string        `json:"resource,omitempty"` // what the one binding carries: "Deployment shop/cart"
	Phase    string        `json:"phase,omitempty"`    // of the failover, after the decision
	Outcome  phase.Outcome `json:"outcome,omitempty"`
	Reason   reason.Reason `json:"reason,omitempty"`
	Message  string        `json:"message,omitempty"`
	Cause    string        `json:"cause,omitempty"` // of an outcome: recovery, or whose order
	To       []string      `json:"to,omitempty"`    // the clusters that serve it now, or could
	Order    string        `json:"order,omitempty"` // the verb of an order
	Who      string        `json:"who,omitempty"`   // the operator who ordered; empty where Lifeboat decided by itself
	Why      string        `json:"why,omitempty"`   // and the reason that was given
	// Evidence is what the decision rested on, by name.
	Evidence map[string]string `json:"evidence,omitempty"`
	// Counts are totals by outcome.
	Counts map[string]int `json:"counts,omitempty"`
}
