package workflows

import (
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
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FailoverState is the whole state of a ClusterFailover: its query answer, its
// continue-as-new input and what its report is made of are the same thing. Its fields stand by the
// part of the workflow that writes them.
type FailoverState struct {
	// FailoverID is the first run id, kept across continue-as-new and attempts.
	FailoverID  string           `json:"failoverID"`
	Attempt     int              `json:"attempt"`
	Phase       phase.Failover   `json:"phase"`
	Reason      reason.Reason    `json:"reason,omitempty"`
	Terms       activities.Terms `json:"terms"`
	Since       time.Time        `json:"since"`                 // when this attempt began
	Entered     time.Time        `json:"entered"`               // when this phase began
	Began       time.Time        `json:"began"`                 // when the failover began
	Confirmed   time.Time        `json:"confirmed,omitzero"`    // when this attempt was confirmed
	WellSince   time.Time        `json:"wellSince,omitzero"`    // when conditions became well
	ClosedAt    time.Time        `json:"closedAt,omitzero"`     // when abandon and restore began in this attempt
	Untainted   time.Time        `json:"untainted,omitzero"`    // when Lifeboat's taints went
	Runs        int              `json:"runs"`                  // of this workflow, continue-as-new counted
	Stopped     *Order           `json:"stopped,omitempty"`     // an operator cancelled
	StopPutBack bool             `json:"stopPutBack,omitempty"` // and what is placed goes back, too

	// Judgement: the cluster, as last judged.
	UID     types.UID           `json:"uid,omitempty"`
	Seen    string              `json:"seen,omitempty"`    // newest resourceVersion judged
	Turns   rules.Turns         `json:"turns,omitempty"`   // of the conditions judged last
	Windows rules.Windows       `json:"windows,omitempty"` // by (rule, taint)
	Cluster ClusterView         `json:"clusterView"`
	Facts   []rules.ClusterFact `json:"facts,omitempty"` // received and not yet judged
	// ExternalProbe is what the controller's own probe said last.
	ExternalProbe Testimony `json:"externalProbe,omitzero"`
	// GoneAt is when the cluster was found deleted, or under another uid.
	GoneAt time.Time `json:"goneAt,omitzero"`

	// Taints: what Lifeboat writes on the cluster.
	Virtual []corev1.Taint `json:"virtual,omitempty"` // observe: the taints that would stand
	Refused bool           `json:"refused,omitempty"` // the last write was refused
	// TakenAway are the taints of rules that were taken away from the cluster while their rule matched: those of the last
	// minute, and the last one, which is the last here.
	TakenAway []TakenAway `json:"takenAway,omitempty"`

	// Queue are the bindings that may yet move, and Ledger what became of the others.
	queue.Queue
	record.Ledger
	Past       []AttemptReport      `json:"past,omitempty"`       // earlier attempts
	Listed     time.Time            `json:"listed,omitzero"`      // when the affected set was last listed
	Judged     string               `json:"judged,omitempty"`     // the taints that Dues were judged under, as one string
	Migrations map[string]Migration `json:"migrations,omitempty"` // running migrations by binding

	// Orders: StandingOrders are those about bindings that hold until the failover closes.
	StandingOrders
	Paused *Order `json:"paused,omitempty"` // an operator paused dispatch
	// Approvals are an operator's, for this attempt; Asking are approval rules that asked in
	// it and ask for the rest of it.
	Approvals []Approval           `json:"approvals,omitempty"`
	Asking    []queue.ApprovalRule `json:"asking,omitempty"`
	// Fenced is an operator's confirmation that the whole cluster is dead.
	Fenced *proof.Fence `json:"fenced,omitempty"`

	// Dispatch: the pace, the permits, and a drain's own rate.
	Pace      pace.Pace                `json:"pace"`               // as the pacer last said
	Asked     activities.PermitRequest `json:"asked"`              // the last request to the pacer
	AskedAt   time.Time                `json:"askedAt,omitzero"`   // and when
	Unheard   bool                     `json:"unheard,omitempty"`  // the last request did not reach the pacer
	Newest    int64                    `json:"newest,omitempty"`   // the newest permit that was received of
	Grants    []Grant                  `json:"grants,omitempty"`   // permits not yet given to a binding
	NextSim   time.Time                `json:"nextSim,omitzero"`   // observe: when the next eviction would come
	NextDrain time.Time                `json:"nextDrain,omitzero"` // when a drain's own rate lets the next move begin
	Bans      bool                     `json:"bans,omitempty"`     // Lifeboat tasks keep the drained cluster from the scheduler
	// Beside: Karmada's own taint manager was seen to evict from the cluster, and no operator has resumed since.
	Beside bool `json:"beside,omitempty"`
	Unheld bool `json:"unheld,omitempty"` // it evicts more last copies than may move at once

	// What is to be looked at. A run that goes on from another goes on with it.
	ListDirty  bool `json:"listDirty,omitempty"`  // the affected set needs a fresh list
	AdoptDirty bool `json:"adoptDirty,omitempty"` // a task, taint or annotation of Lifeboat may have no owner
	AdoptNow   bool `json:"adoptNow,omitempty"`   // and said so; a failover's own first look can wait while it only cordons
	Declined   bool `json:"declined,omitempty"`   // an application's migration is taken over once the failure is confirmed

	// Attention is why the failover itself needs an operator's eyes, the most urgent cause first. It
	// is made again from what stands in each turn.
	Attention []reason.Reason `json:"attention,omitempty"`
	// Audit is what the audit trail lacks so far, between two runs.
	Audit *Trail `json:"audit,omitempty"`
}

// TakenAway is a taint that was taken away although its rule matched.
type TakenAway struct {
	karmada.AddedTaint
	// At is when it was put back or, Twice, found gone again.
	At time.Time `json:"at"`
	// Twice: within a minute. The failover is paused, and puts no taint that moves bindings.
	Twice bool `json:"twice,omitempty"`
}

// Disputed reports whether this failover is paused because a taint was taken away twice.
func (s *FailoverState) Disputed() bool {
	return slices.ContainsFunc(s.TakenAway, func(t TakenAway) bool { return t.Twice })
}

// ClusterView is what of the cluster a failover shows and compares.
type ClusterView struct {
	activities.ClusterView
	ReadyReason string `json:"readyReason,omitempty"`
	Malformed   bool   `json:"malformed,omitempty"`  // it cannot be understood
	StopRecord  bool   `json:"stopRecord,omitempty"` // a record of a stop stands on it
}

// OwnRate is the rate of its drain, which holds while it does not fail itself; 0 is none.
func (c ClusterView) OwnRate() float64 {
	if c.Drain == nil || c.Ready != "True" {
		return 0
	}
	return c.Drain.Rate
}

// PhaseSince is when the phase that it is in began, as far as is known.
func (m Migration) PhaseSince() time.Time {
	if m.Entered.IsZero() {
		return m.Since
	}
	return m.Entered
}

// Targets are where it is, or could go; none once the scheduler said that nothing fits.
func (m Migration) Targets() []string {
	if m.Reason == reason.NoClusterFit {
		return nil
	}
	return m.To
}

// Migration is what a failover knows of one of its running migrations.
type Migration struct {
	Key       karmada.BindingKey `json:"key"`
	UID       types.UID          `json:"uid"`
	Resource  string             `json:"resource,omitempty"`
	Attempt   int                `json:"attempt"`
	Phase     phase.Migration    `json:"phase"`
	Reason    reason.Reason      `json:"reason,omitempty"`
	Message   string             `json:"message,omitempty"`
	Placed    bool               `json:"placed,omitempty"`
	Attention reason.Reason      `json:"attention,omitempty"` // why it needs an operator's eyes
	To        []string           `json:"to,omitempty"`
	Since     time.Time          `json:"since"`
	Entered   time.Time          `json:"entered,omitzero"` // when it said that this phase began
	Heard     time.Time          `json:"heard,omitzero"`
	// Excused from delaying the untaint: it answered the recovery, or its time for that is up.
	Excused bool `json:"excused,omitempty"`
	Policy  int  `json:"policy"`
	Tries   int  `json:"tries,omitempty"`
	// Queued is since when it has been in the queue.
	Queued time.Time `json:"queued,omitzero"`
	// Purge is how its old copy goes, as the first check froze it.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	Fence *proof.Fence      `json:"fence,omitempty"`
	// GoesOn: a recovery does not take it back, though it is not placed.
	GoesOn bool `json:"goesOn,omitempty"`
	// Holds: it has no permit so far, for its dependents are held first; WantsPermit: they are, or its permit has passed.
	Holds       bool `json:"holds,omitempty"`
	WantsPermit bool `json:"wantsPermit,omitempty"`
	// Named: an operator named it; its task was kept, or left to an operator, before.
	Named bool `json:"named,omitempty"`
	// Ordered is what an operator ordered of it last. One that ends with nothing written has
	// not seen the order, or had nothing to do for it; it is carried out then.
	Ordered *MigrationOrder `json:"ordered,omitempty"`
	// StartedHere: this failover started it, at the moment Since.
	StartedHere bool `json:"startedHere,omitempty"`
	// Again: affected again while this runs; looked at when it reports.
	Again bool `json:"again,omitempty"`
}

// Unwritten reports whether it has reported that it waits with nothing written.
func (m *Migration) Unwritten() bool {
	return m.WantsPermit || m.Phase == phase.MigrationAwaitingFence && !m.Placed
}

// Senseless says why an order about its binding comes too early or too late, empty when it does not. Whether
// it has written only the migration knows, which answers an order that it refuses.
func (m *Migration) Senseless(verb string) string {
	switch {
	case m.Phase == phase.MigrationPurging, m.Phase == phase.MigrationDone:
		return ReleasedAlready
	case verb == UpdateRelease && m.Unwritten():
		return "nothing of Lifeboat's stands yet; cancel it instead"
	case verb == UpdateSkip:
		return "its move has begun; cancel it instead"
	}
	return ""
}

// CalledOff is its report, where it ended with nothing written and has not seen the order that called it off.
func (m *Migration) CalledOff(r activities.MigrationReport) activities.MigrationReport {
	if r.Result != nil && r.Result.Outcome == phase.OutcomeBlocked && m.Ordered.CallsOff() {
		end := m.Ordered.End(*r.Result)
		r.Result = &end
	}
	return r
}

// EndsAnother reports whether a report is the end of an earlier migration of the binding, delivered once more.
func (m *Migration) EndsAnother(r activities.MigrationReport) bool {
	return m.StartedHere && r.Result != nil && !r.Asked.IsZero() && !r.Asked.Equal(m.Since)
}

// Progressed takes what a migration reports of itself.
func (m *Migration) Progressed(r activities.MigrationReport, now time.Time) {
	if m.Phase != r.Phase {
		m.Entered = now
	}
	m.Phase, m.Reason, m.Message, m.Placed, m.To, m.Heard = r.Phase, r.Reason, r.Message, r.Placed, r.To, now
	m.Attention, m.GoesOn, m.WantsPermit = r.Attention, r.GoesOn, r.WantsPermit
}

// FailoverStatus answers the status query.
type FailoverStatus struct {
	Instance string    `json:"instance,omitempty"`
	Name     string    `json:"cluster"`
	Now      time.Time `json:"now"`
	FailoverState
	// States counts all queued bindings by state; of many, Items shows only some.
	States map[queue.State]int `json:"queue,omitempty"`
	// BlockedBy counts those of the queue that are blocked, by reason; BlockedSince is when
	// the first of them was due.
	BlockedBy    map[reason.Reason]int `json:"blockedBy,omitempty"`
	BlockedSince time.Time             `json:"blockedSince,omitzero"`
	// WaitingBy counts those of the queue that are due and begin nothing, by what holds them.
	WaitingBy map[reason.Reason]int `json:"waitingBy,omitempty"`
	// ETA is when the last eviction is expected, zero when unknown.
	ETA time.Time `json:"eta,omitzero"`
	// Left are queued bindings that owe an outcome and that the list has yet to bring back.
	Left int `json:"left,omitempty"`
}

// Approval is an operator's yes for some bindings in the attempt that it was given in. It
// concerns those that waited when it was given, and no binding that comes later.
type Approval struct {
	ScopedOrder
	At time.Time `json:"at"`
	// Bindings are those, as a set of hashes; Count is how many.
	Bindings *queue.BindingSet `json:"bindings,omitempty"`
	Count    int               `json:"count"`
}

// Testimony is the newest result of the controller's own probe, and when it was received.
type Testimony struct {
	Says  rules.ExternalProbe `json:"says,omitempty"`
	Heard time.Time           `json:"heard,omitzero"`
}

// ClusterFailoverParams start a ClusterFailover. State is nil but for a run that
// continues another.
type ClusterFailoverParams struct {
	Instance string         `json:"instance,omitempty"`
	Cluster  string         `json:"cluster"`
	State    *FailoverState `json:"state,omitempty"`
	// Packed is State where that would be long: compressed.
	Packed []byte `json:"packed,omitempty"`
}

// FailoverReport is what a ClusterFailover closes with.
type FailoverReport struct {
	Cluster string `json:"cluster"`
	// UID is the cluster's: another cluster under its name does not have the old copies.
	UID           types.UID             `json:"uid,omitempty"`
	FailoverID    string                `json:"failoverID"`
	Ended         phase.Failover        `json:"ended"`
	Began         time.Time             `json:"began"`
	Until         time.Time             `json:"until"`
	Attempts      []AttemptReport       `json:"attempts"`
	PendingPurges []record.PendingPurge `json:"pendingPurges,omitempty"` // pending purge, handed over
	// PendingPurgesBeyond counts those for which PendingPurges had no room.
	PendingPurgesBeyond int `json:"pendingPurgesBeyond,omitempty"`
	// Unaudited counts audit records that its trail lacks, the sink having been away.
	Unaudited int `json:"unaudited,omitempty"`
}

// Paid has outcomes tell that their old copy is purged where it has gone since: the
// report hands over what is still owed.
func (r *FailoverReport) Paid() {
	if r.PendingPurgesBeyond > 0 {
		return // which of them is unknown
	}
	for n := range r.Attempts {
		for i := range r.Attempts[n].Results {
			x := &r.Attempts[n].Results[i]
			if x.Reason == reason.PendingPurge && x.PendingPurge != nil && !slices.Contains(r.PendingPurges, *x.PendingPurge) {
				x.Reason, x.PendingPurge = reason.Purged, nil
			}
		}
	}
}

// AttemptReport is what became of an earlier attempt.
type AttemptReport struct {
	Attempt int             `json:"attempt"`
	Since   time.Time       `json:"since"`
	Until   time.Time       `json:"until"`
	Counts  map[string]int  `json:"counts"`
	Results []record.Result `json:"results,omitempty"`
	// Folded is how many results are in Counts alone.
	Folded int            `json:"folded,omitempty"`
	Ended  phase.Failover `json:"ended,omitempty"`
}

// Amend keeps the one outcome of a binding in an attempt that is over.
func (a *AttemptReport) Amend(r record.Result) {
	ledger := record.Ledger{Results: a.Results, Counts: a.Counts}
	ledger.Amend(r)
	a.Results = ledger.Results
}

// fullAttempts is how many closed attempts keep the results of bindings, and pastDetails how many
// of them: a report must fit into 2 MB.
const (
	fullAttempts = 2
	pastDetails  = 500
)

// Report is the end of a failover, in attempts.
func (s *FailoverState) Report(cluster string, now time.Time) FailoverReport {
	return FailoverReport{
		Cluster: cluster, UID: s.UID, FailoverID: s.FailoverID, Ended: s.Phase, Began: s.Began, Until: now,
		Attempts: append(s.Past, s.attempt(now)), PendingPurges: s.PendingPurges, PendingPurgesBeyond: s.PendingPurgesBeyond,
	}
}

func (s *FailoverState) attempt(now time.Time) AttemptReport {
	return AttemptReport{
		Attempt: s.Attempt, Since: s.Since, Until: now, Counts: s.Counts, Results: s.Results, Folded: s.Ledger.InCounts(), Ended: s.Phase,
	}
}

// NextAttempt archives the attempt and begins the next; it returns the one that is over. Migrations
// of older attempts go on.
func (s *FailoverState) NextAttempt(now time.Time) AttemptReport {
	over := s.attempt(now)
	s.Past = append(s.Past, over)
	if last := &s.Past[len(s.Past)-1]; len(last.Results) > pastDetails {
		last.Folded += len(last.Results) - pastDetails
		last.Results = last.Results[len(last.Results)-pastDetails:]
	}
	for i := range len(s.Past) - fullAttempts {
		// Older attempts keep their counts: a flapping cluster must not outgrow its workflow.
		s.Past[i].Results = nil
	}
	s.Attempt++
	s.Since = now
	s.Queue.Reset()
	for _, key := range workflow.DeterministicKeys(s.Migrations) {
		m := s.Migrations[key]
		m.Policy = -1 // of the attempt that is over
		s.Migrations[key] = m
	}
	s.Ledger.Reset()
	s.Judged = ""
	s.Listed, s.Untainted, s.ClosedAt, s.Confirmed, s.WellSince = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	s.Virtual, s.Fenced = nil, nil
	s.Approvals, s.Asking = nil, nil // an approval holds for one attempt
	return over
}

// Trail are the audit records of a workflow that are not known to be written. They are
// carried from run to run.
type Trail struct {
	// Seq numbers the workflow's records.
	Seq     int64          `json:"seq"`
	Pending []record.Audit `json:"pending,omitempty"`
	// Lost counts records that the sink was away for too long to take, since the last that was said.
	Lost int `json:"lost,omitempty"`
	// Sent is when the last batch went out.
	Sent time.Time `json:"sent,omitzero"`
}
