package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
)

// ApplicationFailoverParams start an ApplicationFailover. State is nil but for a run that continues another.
type ApplicationFailoverParams struct {
	Instance string             `json:"instance,omitempty"`
	Binding  karmada.BindingKey `json:"binding"`
	State    *ApplicationState  `json:"state,omitempty"`
}

// ApplicationState is the whole state of an ApplicationFailover.
type ApplicationState struct {
	Key        karmada.BindingKey `json:"binding"`
	FailoverID string             `json:"failoverID"`
	Phase      phase.Application  `json:"phase"`
	Reason     reason.Reason      `json:"reason,omitempty"`
	Message    string             `json:"message,omitempty"`
	Began      time.Time          `json:"began"`
	Entered    time.Time          `json:"entered"`
	// Next is when the failover does something by itself, zero when it only waits.
	Next time.Time `json:"next,omitzero"`
	// Attempt counts migrations that were begun.
	Attempt int `json:"attempt,omitempty"`
	// Mode is that of the first look that knows it, or the one an operator ordered. Look.Terms has that of the workers now.
	Mode rules.Mode `json:"mode,omitempty"`
	// Look is how the application stood last; Clocks follow from all looks.
	Look   activities.Application `json:"look"`
	Clocks rules.UnhealthyClocks  `json:"clocks,omitempty"`
	// Arrivals are the revisions that were moved, and where they arrived.
	Arrivals rules.Arrivals `json:"arrivals,omitempty"`
	// Move is the migration that runs, nil without; Cluster is what it leaves. Before were the targets of the last one,
	// until it is known where that arrived.
	Move    *Migration `json:"move,omitempty"`
	Cluster string     `json:"cluster,omitempty"`
	Before  []string   `json:"before,omitempty"`
	// Revision is that of the copy which the last migration moved. Left is a move that was taken over, until it is known
	// where that arrived.
	Revision string           `json:"revision,omitempty"`
	Left     *rules.Departure `json:"left,omitempty"`
	// Last is the result of the last migration.
	Last *record.Result `json:"last,omitempty"`
	// Checked is the cluster that was checked last, empty before; Check is the answer where it may be left.
	Checked string            `json:"checked,omitempty"`
	Check   *activities.Check `json:"check,omitempty"`
	// RetryAt is when what is blocked is checked again; Tried are the clusters whose copies are blocked until then, and Blocked
	// says why the last of them is.
	RetryAt time.Time      `json:"retryAt,omitzero"`
	Tried   []string       `json:"tried,omitempty"`
	Blocked reason.Verdict `json:"blocked,omitzero"`
	Tries   int            `json:"tries,omitempty"`
	// AskedAt is when the pacer was last asked for a permit; Permit is what it granted.
	AskedAt   time.Time       `json:"askedAt,omitzero"`
	Newest    int64           `json:"newest,omitempty"`
	Permit    pace.Permit     `json:"permit,omitzero"`
	Suspected *pace.Suspicion `json:"suspected,omitempty"`
	TakenBy   string          `json:"takenBy,omitempty"`
	// Orders.
	Paused   *Order               `json:"paused,omitempty"`
	Snoozed  *Snooze              `json:"snoozed,omitempty"`
	Stopped  *Order               `json:"stopped,omitempty"`
	Approval *queue.Approval      `json:"approval,omitempty"`
	Standing []queue.ApprovalRule `json:"standing,omitempty"`
	// ApprovalAskedAt is since when a rule requests approval. Expired is a request that no operator answered in time: nothing
	// is checked until one approves.
	ApprovalAskedAt time.Time      `json:"approvalAskedAt,omitzero"`
	Expired         reason.Verdict `json:"expired,omitzero"`
	// Attention is why it needs an operator's eyes.
	Attention reason.Reason `json:"attention,omitempty"`
	Audit     *Trail        `json:"audit,omitempty"`
}

// ApplicationStatus answers the status query.
type ApplicationStatus struct {
	Now time.Time `json:"now"`
	ApplicationState
}

// ApplicationReport is what an ApplicationFailover closes with.
type ApplicationReport struct {
	Binding    karmada.BindingKey `json:"binding"`
	FailoverID string             `json:"failoverID"`
	Ended      phase.Application  `json:"ended"`
	Began      time.Time          `json:"began"`
	Until      time.Time          `json:"until"`
	// Last is the result of the last migration, Attempt its number; Cluster is what it left.
	Last    *record.Result `json:"last,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Cluster string         `json:"cluster,omitempty"`
	// Arrivals are for the next failover of the application: a revision that moved is not moved again.
	Arrivals rules.Arrivals `json:"arrivals,omitempty"`
	// Left is the move that the failover of its cluster took over: where that arrives only the next one sees.
	Left *rules.Departure `json:"left,omitempty"`
}

// Failover is the report in the form of a ClusterFailover's, with the last attempt alone.
func (r ApplicationReport) Failover() FailoverReport {
	out := FailoverReport{Cluster: r.Cluster, FailoverID: r.FailoverID, Ended: phase.Failover(r.Ended), Began: r.Began, Until: r.Until, Attempts: []AttemptReport{}}
	if r.Last != nil {
		out.Attempts = append(out.Attempts, AttemptReport{
			Attempt: r.Attempt, Since: r.Began, Until: r.Until, Counts: map[string]int{string(r.Last.Outcome): 1}, Results: []record.Result{*r.Last}, Ended: out.Ended,
		})
	}
	return out
}

// View is what the page and the CLI show.
func (s *ApplicationState) View(now time.Time) view.Application {
	v := view.Application{
		Binding: s.Key.String(), Resource: s.Look.Resource, Mode: s.Mode, Phase: s.Phase, Reason: s.Reason, Message: s.Message, Attention: s.Attention,
		Now: now, Began: s.Began, Since: s.Entered, Next: s.Next, Tolerated: s.Look.Tolerated, Copies: s.Look.Copies, Clocks: s.Clocks,
		Arrivals: s.Arrivals, Runbook: s.Look.Terms.Runbook,
	}
	if s.Move != nil {
		v.Migration, v.Placed = BindingMigrationID("", s.Cluster, s.Key), s.Move.Placed
	}
	if s.Paused != nil {
		v.Ordered = append(v.Ordered, "paused by "+s.Paused.Line())
	}
	if s.Stopped != nil {
		v.Ordered = append(v.Ordered, "cancelled by "+s.Stopped.Line())
	}
	if s.Snoozed != nil {
		v.Ordered = append(v.Ordered, "snoozed by "+s.Snoozed.Line())
	}
	return v
}
