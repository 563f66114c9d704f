package workflows

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Order is who orders something, and why. Both are required of an operator.
type Order struct {
	Who    string `json:"who"`
	Reason string `json:"reason"`
	// ID distinguishes a put-back or a release from a later one; the failover gives it.
	ID string `json:"id,omitempty"`
}

// Malformed says what is wrong with an order from an operator, empty when fine.
func (o Order) Malformed() string {
	switch {
	case len(o.Who) > MaxWho:
		return fmt.Sprintf(`field "who": %d bytes, at most %d`, len(o.Who), MaxWho)
	case len(o.Reason) > MaxReason:
		return fmt.Sprintf(`field "reason": %d bytes, at most %d; put the story into a ticket and name that`, len(o.Reason), MaxReason)
	case o.Who == "":
		return `field "who": missing; say who asks, e.g. "who": "jane@example.org"`
	case o.Reason == "":
		return `field "reason": missing; say why, e.g. "reason": "planned network work"`
	default:
		return ""
	}
}

// Line is who ordered and why, in one line; empty without an order.
func (o *Order) Line() string {
	if o == nil {
		return ""
	}
	return o.Who + ": " + o.Reason
}

// DrainOrder orders a drain of a cluster.
type DrainOrder struct {
	Order
	// Selector, Rate and HonourTolerations are those of [karmada.Drain].
	Selector          string  `json:"selector,omitempty"`
	Rate              float64 `json:"rate,omitempty"`
	HonourTolerations bool    `json:"honourTolerations,omitempty"`
}

// TaintOrder orders a taint of a cluster, or the end of it.
type TaintOrder struct {
	Order
	// Taint is "<key>[=<value>]:<effect>", as [karmada.ParseTaint] reads it; empty in an
	// untaint stands for all that were ordered.
	Taint string `json:"taint,omitempty"`
}

// ScopedOrder is an order about one binding, the bindings of a namespace, or all of a
// failover's. In a pause or its end no scope at all stands for the whole failover.
type ScopedOrder struct {
	Order
	queue.Scope
}

// Of is its scope.
func (o ScopedOrder) Of() queue.Scope { return o.Scope }

// SnoozeOrder keeps bindings where they are for a while.
type SnoozeOrder struct {
	ScopedOrder
	// For is how long from now, as in "30m"; at most [queue.MaxSnooze].
	For string `json:"for"`
}

// PriorityOrder gives bindings another priority than their own for the rest of a failover.
type PriorityOrder struct {
	ScopedOrder
	// Priority is as in spec.schedulePriority: higher goes first. It must be said, 0 too.
	Priority *int32 `json:"priority"`
}

// Resume goes on after a pause, or re-opens a stopped failover.
type Resume struct {
	ScopedOrder
	// Enforce turns a failover that observes into one that enforces, as a new attempt.
	Enforce bool `json:"enforce,omitempty"`
}

// ClusterObserved wakes a ClusterFailover, or starts it.
type ClusterObserved struct {
	Fact rules.ClusterFact `json:"fact"`
}

// BindingsChanged says that bindings that target the cluster, or carry a hold
// task for it, came, changed or went.
type BindingsChanged struct {
	Bindings []proof.BindingFact `json:"bindings"`
}

// Adopt has a ClusterFailover take over what it finds of Lifeboat's: tasks, taints
// and annotations whose owner is not running.
type Adopt struct {
	Cluster  string              `json:"cluster"`
	Bindings []proof.BindingFact `json:"bindings,omitempty"`
	// By is the operator who ran adopt, empty where the controller found it.
	By Order `json:"by,omitzero"`
}

// Grant are permits for the evictions of one cluster.
type Grant struct {
	pace.Permits
	FailoverID string `json:"failoverID"`
}

// PaceChanged gives every failover the tier and rate, and whether clocks are frozen.
type PaceChanged struct {
	Pace pace.Pace `json:"pace"`
	// Suspected holds the move of an application, nil where nothing does; only for ApplicationFailovers.
	Suspected *pace.Suspicion `json:"suspected,omitempty"`
}

// Malformed reports whether no pacer sends this: it has no tier, or is too large to be carried.
func (p PaceChanged) Malformed() bool { return p.Pace.Tier == "" || Oversized(p) }

// MigrationReports are what migrations report to their failover, those of a moment in one message.
type MigrationReports struct {
	Reports []activities.MigrationReport `json:"reports"`
}

// MalformedReport reports whether no migration sends such a report: it names no binding, its end is none or
// that of another binding, or it is too large to be carried.
func MalformedReport(r activities.MigrationReport) bool {
	nobodys := r.Key.Name == "" || r.FailoverID == "" || r.Attempt <= 0
	return nobodys || r.Result != nil && (r.Result.Key != r.Key || r.Result.Outcome == "") || Oversized(r)
}

// CancelOrder stops one migration.
type CancelOrder struct {
	Order
	// PutBack restores the former clusters of what is placed but not released.
	PutBack bool `json:"putBack,omitempty"`
}

// BindingOrder is an order to a ClusterFailover about one of its bindings; a cancel
// without a binding stops the whole failover.
type BindingOrder struct {
	CancelOrder
	Binding karmada.BindingKey `json:"binding,omitzero"`
}

// FenceOrder confirms that the copies on a silent cluster are dead: those of all its
// bindings, or of the one that is named.
type FenceOrder struct {
	Order
	Binding karmada.BindingKey `json:"binding,omitzero"`
	// WithoutState has those go on, too, whose state could only go along with the source back.
	WithoutState bool `json:"withoutState,omitempty"`
}

// Fence is the confirmation, for the outage that was seen last.
func (o FenceOrder) Fence(at time.Time, outage string) proof.Fence {
	return proof.Fence{By: proof.FenceByOperator, Who: o.Who, Message: o.Reason, At: at, Outage: outage, WithoutState: o.WithoutState}
}

// MigrationOrder carries an operator's order from a ClusterFailover to a migration. Verb is
// the update's name.
type MigrationOrder struct {
	CancelOrder
	Verb string `json:"verb"`
}

// CallsOff reports whether an order that finds nothing written means that nothing is to be.
func (o *MigrationOrder) CallsOff() bool {
	return o != nil && slices.Contains([]string{UpdateSkip, UpdateCancel, UpdatePutBack}, o.Verb)
}

// End is the end of a binding of which nothing was written and that an operator called off.
func (o *MigrationOrder) End(r record.Result) record.Result {
	why := " by " + o.Who + ": " + o.Reason
	r.Outcome = phase.OutcomeAbandoned
	switch o.Verb {
	case UpdateSkip:
		r.Outcome, r.Reason, r.Cause = phase.OutcomeSkipped, reason.SkipOrdered, "skipped"+why
	case UpdatePutBack:
		r.Reason, r.Cause = reason.PutBackOrdered, "put back"+why
	default:
		r.Reason, r.Cause = reason.Cancelled, "cancelled"+why
	}
	return r
}

// Recover reports to a migration that its cluster is healthy again, or that the failover was cancelled.
type Recover struct {
	Attempt   int    `json:"attempt"`
	Cancelled *Order `json:"cancelled,omitempty"`
	// PutBack: what is placed goes back, too, by the operator's cancel.
	PutBack bool `json:"putBack,omitempty"`
}

// Fenced reports to a migration that an operator confirms that the whole cluster is dead.
type Fenced struct {
	Fence proof.Fence `json:"fence"`
}

// MigrationAdopted reports to a running migration that another run or attempt owns it now.
type MigrationAdopted struct {
	FailoverID string `json:"failoverID"`
	Attempt    int    `json:"attempt"`
	// Parent is the id of its failover, of a cluster or an application.
	Parent string `json:"parent,omitempty"`
	// Suspected: the failure is not confirmed. The migration of an application stays with its own failover until it is.
	Suspected bool `json:"suspected,omitempty"`
}

// FleetObserved starts the pacer and reports to it that clusters came, went or changed.
type FleetObserved struct {
	// Probed are the results of the external probe so far, nil where it has nothing to add.
	Probed rules.Probed `json:"probed,omitempty"`
}

// PermitsUsed reports evictions that stand.
type PermitsUsed struct {
	Used []PermitUse `json:"used"`
}

// PermitUse is one eviction that stands, and the permit that it was sent under.
type PermitUse struct {
	Number  int64  `json:"number"`
	Binding string `json:"binding"`
}

// MaxUsed bounds the evictions that one message reports.
const MaxUsed = 1000

// MigratedTooOften queries which of some bindings were moved as often as may be within an hour. The
// answer is when each of those may move again.
type MigratedTooOften struct {
	Bindings []string `json:"bindings"`
	// At is the time of the asker: a run that waits answers with the time at which it began to wait.
	At time.Time `json:"at,omitzero"`
}

// SetRate orders another eviction rate, in evictions per second.
type SetRate struct {
	Order
	Rate float64 `json:"rate"`
	// Configured: the rate of the workers' configuration counts again. Rate is 0 then.
	Configured bool `json:"configured,omitempty"`
}

// Claim queries the pacer whether a cluster that came back into a binding may be removed again now.
type Claim struct {
	Cluster string `json:"cluster"`
	Binding string `json:"binding"`
	// Application: an ApplicationFailover moves the binding, and no failover of the cluster.
	Application bool `json:"application,omitempty"`
}
