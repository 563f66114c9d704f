package view

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// PageView is what the page of one failover shows.
type PageView struct {
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
	Counts    PageCounts
	Pace      pace.Pace
	// ETA is when the last eviction is expected; zero when nobody can say.
	ETA time.Time
	// Halted is for how long the fleet was halted in this failure, as far as it is known:
	// what is foreseen trusts the rate of now.
	Halted    time.Duration
	PausedBy  string // who and why
	StoppedBy string
	// Orders are those of humans about some of the bindings, or about all.
	Orders []OrderLine
	// DrainedBy is who ordered the cluster emptied, and why; DrainOnly that nothing
	// else speaks against the cluster.
	DrainedBy string
	DrainOnly bool
	// Tainted are the taints that humans ordered, each with who and why; TaintedOnly that
	// nothing else speaks against the cluster.
	Tainted     []string
	TaintedOnly bool
	// Foreign are the taints that move bindings and that others put, "key:effect".
	Foreign      []string
	Next         []NextLine
	Blocked      []BlockedLine
	Moving       []MovingLine
	Windows      []WindowLine
	PendingPurge []record.PendingPurge
	// Actions are what one can do now; empty shows [FailoverActions].
	Actions []string
	// Runbook is where the page of all reasons is published; empty makes no links.
	Runbook string
}

// PageCounts are how many bindings stand where.
type PageCounts struct {
	Affected   int // of this attempt
	Settled    int // have their outcome
	Moving     int // evicted or being evicted
	Unproven   int // nothing is written: an old copy has to be proven dead first
	Waiting    int // due, waiting for the pace
	Tolerating int // not due yet
	Blocked    int
	Asked      int // of the blocked: a human has to approve
	Outcomes   map[phase.Outcome]int
}

// NextLine is one of those that come next.
type NextLine struct {
	Binding  string
	Due      time.Time
	Priority int32
	Reason   reason.Reason
	To       []string
}

// BlockedLine is one that cannot move, and why.
type BlockedLine struct {
	Binding string
	Reason  reason.Reason
	Message string
	RetryAt time.Time
}

// MovingLine is one that is moving: evicted, or about to be, and without an outcome yet.
type MovingLine struct {
	Binding        string
	Phase          phase.Migration
	To             []string
	Reason         reason.Reason
	Message        string
	NeedsAttention bool
	Placed         bool // To is where it is; else where it could go
	Since          time.Time
}

// OrderLine is one order that holds until the failover closes, or until a moment.
type OrderLine struct {
	// What is done: "paused", "snoozed", "priority 100". Whom it concerns: "namespace shop".
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
	// Stands tells whether the taint is on the cluster.
	Stands bool `json:"stands,omitempty"`
	// Remove is for how long nothing may match before it goes.
	Remove time.Duration `json:"-"`
}
