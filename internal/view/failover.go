package view

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Failover is how the failover of one cluster stands, for every renderer.
type Failover struct {
	Cluster string
	Phase   phase.Failover
	Mode    rules.Mode
	Attempt int
	Reason  reason.Reason
	// Why says it in words: the condition, the taint, who cancelled.
	Why       string
	Now       time.Time
	Since     time.Time // when the failover (or this attempt) began
	Entered   time.Time // when this phase began
	Confirmed time.Time
	Counts    Counts
	Pace      pace.Pace
	// ETA is when the last eviction is expected; zero when it is not known.
	ETA time.Time
	// Halted is for how long the fleet was halted in this failure, as far as it is known:
	// what is foreseen trusts the rate of now.
	Halted    time.Duration
	PausedBy  string // who and why
	StoppedBy string
	// Orders are those of operators about some of the bindings, or about all.
	Orders []OrderLine
	// DrainedBy is who ordered the cluster emptied, and why.
	DrainedBy string
	// Tainted are the taints that operators ordered, each with who and why.
	Tainted []string
	// TakenAway is a taint of a rule that was taken away and put back, at PutBack; nil without.
	TakenAway *karmada.AddedTaint
	PutBack   time.Time
	// Foreign are the taints that move bindings and that others put, "key:effect".
	Foreign []string
	// Next come next, Blocked cannot move, Moving have begun to and have no outcome yet.
	Next, Blocked, Moving []Line
	// Finished have their outcome, the newest first.
	Finished     []record.Result
	Windows      []WindowLine
	PendingPurge []record.PendingPurge
	// Runbook is where the page of all reasons is published; empty makes no links.
	Runbook string
}

// drainOnly: nothing but a drain speaks against the cluster; taintedOnly: nothing but taints that operators ordered.
func (v Failover) drainOnly() bool   { return v.Reason == reason.Drained }
func (v Failover) taintedOnly() bool { return v.Reason == reason.TaintOrdered }

// Counts are how many bindings stand where.
type Counts struct {
	Affected   int // of this attempt
	Settled    int // have their outcome
	Moving     int // evicted or being evicted
	Unproven   int // nothing is written: an old copy has to be proven dead first
	Waiting    int // due, waiting for the pace
	Tolerating int // not due yet
	Blocked    int
	Asked      int // of the blocked: an operator has to approve
	Attention  int // of the moving, and of the failover itself
	Outcomes   map[phase.Outcome]int
}

// Line is one binding that waits, is blocked, or moves.
type Line struct {
	Binding string
	Phase   phase.Migration // of one that moves
	Reason  reason.Reason
	Message string
	// Attention is why it needs an operator's eyes, reason.None when it does not.
	Attention reason.Reason
	To        []string
	Placed    bool // To is where it is; else where it could go
	// At is when it is due, when it is looked at again, or since when it is in its phase.
	At       time.Time
	Priority int32
}

// OrderLine is one order that holds until the failover closes, or until a moment.
type OrderLine struct {
	// What is done: "paused", "snoozed", "priority 100". Its object: "namespace shop".
	What, Whom string
	By         string // who and why
	Until      time.Time
}

// WindowLine is one rule's taint and what its window waits for.
type WindowLine struct {
	Rule     string        `json:"rule"`
	Taint    string        `json:"taint"`
	State    rules.Match   `json:"state"`
	Reason   reason.Reason `json:"reason,omitempty"`
	Idle     bool          `json:"idle,omitempty"`
	Matching bool          `json:"matching"`
	Since    time.Time     `json:"since"`
	Deadline time.Time     `json:"deadline"`
	// Stands reports whether the taint is on the cluster.
	Stands bool `json:"stands,omitempty"`
	// Remove is for how long nothing may match before it goes.
	Remove time.Duration `json:"-"`
}
