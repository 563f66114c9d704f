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

// Failover is the content of the page of one failover.
type Failover struct {
	Cluster string
	Phase   phase.Failover
	Mode    rules.Mode
	Attempt int
	Reason  reason.Reason
	// Why explains the reason: the condition, the taint, who cancelled.
	Why       string
	Now       time.Time
	Since     time.Time // when the failover (or this attempt) began
	Entered   time.Time // when this phase began
	Confirmed time.Time
	Counts    Counts
	Pace      pace.Pace
	// OwnRate is that of a drain, evictions per second; 0 is none.
	OwnRate float64
	// ETA is when the last eviction is expected; zero when it is not known.
	ETA time.Time
	// Halted is for how long the fleet was halted during this failover; ETA does not expect another halt.
	Halted    time.Duration
	PausedBy  string // who, and the reason
	StoppedBy string
	// Orders are the orders of operators about some or all bindings.
	Orders []OrderLine
	// DrainedBy is who ordered the drain, and the reason.
	DrainedBy string
	// Tainted are the taints that operators ordered, each with who and the reason.
	Tainted []string
	// TakenAway is a taint of a rule that another actor removed and Lifeboat put back at PutBack, else nil.
	TakenAway *karmada.AddedTaint
	PutBack   time.Time
	// Foreign are the taints of other actors that move bindings, "key:effect".
	Foreign []string
	// Next are queued, Blocked cannot move, Moving are being migrated: what needs attention comes first.
	Next, Blocked, Moving []Line
	// Finished are the last outcomes, the newest first.
	Finished     []record.Result
	Windows      []WindowLine
	PendingPurge []record.PendingPurge
	// Runbook is the URL of the runbook; empty makes no links.
	Runbook string
}

// drainOnly: a drain is the only reason of the failover; taintedOnly: ordered taints are.
func (v Failover) drainOnly() bool   { return v.Reason == reason.Drained }
func (v Failover) taintedOnly() bool { return v.Reason == reason.TaintOrdered }

// Counts are numbers of bindings.
type Counts struct {
	Affected   int // of this attempt
	Settled    int // have their outcome
	Moving     int // evicted or being evicted
	Unproven   int // not evicted: they wait for proof that the old copy is dead
	Waiting    int // due, waiting for the pace
	Tolerating int // not due yet
	Blocked    int
	BlockedBy  map[reason.Reason]int
	Flagged    int // of the moving: they need attention
	Attention  int // all that does: of the moving, the unproven, and of the failover itself
	Outcomes   map[phase.Outcome]int
}

// Line is one binding that is queued, blocked, or moving.
type Line struct {
	Binding string
	Phase   phase.Migration // of one that moves
	Reason  reason.Reason
	Message string
	// Attention is why an operator must look at it, reason.None when nothing needs attention.
	Attention reason.Reason
	To        []string
	Placed    bool // To is where it is placed; else where it could go
	// At is when it is due, when it is checked again, or when its phase began.
	At       time.Time
	Priority int32
}

// OrderLine is one standing order.
type OrderLine struct {
	// What was ordered: "paused", "snoozed", "priority 100". Whom is the object: "namespace shop".
	What, Whom string
	By         string // who, and the reason
	Until      time.Time
}

// WindowLine is one taint of a rule, and its window.
type WindowLine struct {
	Rule     string        `json:"rule"`
	Taint    string        `json:"taint"`
	State    rules.Match   `json:"state"`
	Reason   reason.Reason `json:"reason,omitempty"`
	Idle     bool          `json:"idle,omitempty"`
	Matching bool          `json:"matching"`
	Since    time.Time     `json:"since"`
	Deadline time.Time     `json:"deadline"`
	// Stands reports whether the taint is on the cluster; in observe, whether it would be.
	Stands bool `json:"stands,omitempty"`
	// Unwritable: the taint can neither be put nor removed, as the cluster's soft taints cannot be read.
	Unwritable bool `json:"unwritable,omitempty"`
	// Moves reports whether the taint moves bindings; the others only keep new ones away.
	Moves bool `json:"-"`
	// Remove is the removal window of the taint.
	Remove time.Duration `json:"-"`
}
