package workflows

import (
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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FailoverState is all that a ClusterFailover knows: its query answer, its
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
	Named       time.Time        `json:"confirmed,omitzero"`    // when this attempt was confirmed
	Well        time.Time        `json:"wellSince,omitzero"`    // when conditions became well
	ClosedAt    time.Time        `json:"closedAt,omitzero"`     // when abandon and restore began in this attempt
	Settled     time.Time        `json:"untainted,omitzero"`    // when Lifeboat's taints went
	Runs        int              `json:"runs"`                  // of this workflow, continue-as-new counted
	Stopped     *Order           `json:"stopped,omitempty"`     // a human cancelled
	StopPutBack bool             `json:"stopPutBack,omitempty"` // and wants what is placed back, too

	// Judgement: the cluster, as last judged.
	UID     types.UID           `json:"uid,omitempty"`
	Seen    string              `json:"seen,omitempty"`    // newest resourceVersion judged
	Turns   rules.Turns         `json:"turns,omitempty"`   // of the conditions judged last
	Windows rules.Windows       `json:"windows,omitempty"` // by (rule, taint)
	Cluster ClusterView         `json:"clusterView"`
	Facts   []rules.ClusterFact `json:"facts,omitempty"` // heard and not yet judged
	// ExternalProbe is what the controller's own probe said last.
	ExternalProbe Testimony `json:"externalProbe,omitzero"`
	// GoneAt is when the cluster was found deleted, or under another uid.
	GoneAt time.Time `json:"goneAt,omitzero"`

	// Taints: what Lifeboat writes on the cluster.
	Virtual []corev1.Taint `json:"virtual,omitempty"` // observe: the taints that would stand
	Refused bool           `json:"refused,omitempty"` // the last write was refused
	// TakenAway is the taint of a rule that was last taken away from the cluster while the rule
	// matched, nil where none was.
	TakenAway *TakenAway `json:"takenAway,omitempty"`

	// Queue are the bindings that may yet move, and Ledger what became of the others.
	queue.Queue
	record.Ledger
	Past   []AttemptReport `json:"past,omitempty"`   // earlier attempts
	Listed time.Time       `json:"listed,omitzero"`  // when the affected set was last listed
	Judged string          `json:"judged,omitempty"` // the taints that Dues were judged under, as one string
	Moves  map[string]Move `json:"moves,omitempty"`  // running children by binding

	// Orders: StandingOrders are those about bindings that hold until the failover closes.
	StandingOrders
	Paused *Order `json:"paused,omitempty"` // a human paused dispatch
	// Approvals are a human's, for this attempt; Asking are approval rules that asked in
	// it and ask for the rest of it.
	Approvals []Approval           `json:"approvals,omitempty"`
	Asking    []queue.ApprovalRule `json:"asking,omitempty"`
	// Fenced is a human's word that the whole cluster is dead.
	Fenced *proof.Fence `json:"fenced,omitempty"`

	// Dispatch: the pace, the permits, and a drain's own rate.
	Pace      pace.Pace     `json:"pace"`               // as the pacer last said
	Asked     PermitRequest `json:"asked"`              // what the pacer was last told
	AskedAt   time.Time     `json:"askedAt,omitzero"`   // and when
	Unheard   bool          `json:"unheard,omitempty"`  // the pacer could not be asked
	Newest    int64         `json:"newest,omitempty"`   // the newest permit that was heard of
	Grants    []Grant       `json:"grants,omitempty"`   // permits not yet given to a binding
	NextSim   time.Time     `json:"nextSim,omitzero"`   // observe: when the next eviction would come
	NextDrain time.Time     `json:"nextDrain,omitzero"` // when a drain's own rate lets the next move begin
	Bans      bool          `json:"bans,omitempty"`     // Lifeboat tasks keep the drained cluster from the scheduler
	// Beside: Karmada's own taint manager was seen to evict from the cluster, and no human has resumed since.
	Beside bool `json:"beside,omitempty"`

	// Attention is why the failover itself needs a human's eyes, the most urgent cause first. It
	// is made anew from what stands in each turn.
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

// ClusterView is what of the cluster a failover shows and compares.
type ClusterView struct {
	Ready       string               `json:"ready,omitempty"`
	Malformed   bool                 `json:"malformed,omitempty"` // it cannot be understood
	ReadyReason string               `json:"readyReason,omitempty"`
	Hard        []corev1.Taint       `json:"hard,omitempty"`
	Soft        []corev1.Taint       `json:"soft,omitempty"`
	Foreign     []corev1.Taint       `json:"foreign,omitempty"` // of both kinds, not Lifeboat's
	Ours        []karmada.AddedTaint `json:"ours,omitempty"`
	Standing    []string             `json:"standing,omitempty"` // every taint as "key:effect"
	OptedOut    bool                 `json:"optedOut,omitempty"`
	// StopRecord tells that a record of a stop stands on the cluster.
	StopRecord bool `json:"stopRecord,omitempty"`
	// Drain is the order that stands on the cluster, nil when none does.
	Drain *karmada.Drain `json:"drain,omitempty"`
	// Ordered are the taints that humans ordered.
	Ordered []karmada.OrderedTaint `json:"ordered,omitempty"`
	// SoftUnreadable tells that soft taints cannot be written until somebody mends them.
	SoftUnreadable bool `json:"softUnreadable,omitempty"`
}

// PhaseSince is when the phase that it is in began, as far as is known.
func (m Move) PhaseSince() time.Time {
	if m.Entered.IsZero() {
		return m.Since
	}
	return m.Entered
}

// Needs says that it needs attention, and why where its reason does not say so.
func (m Move) Needs() string {
	if m.Attention == m.Reason {
		return "needs attention"
	}
	return "needs attention: " + string(m.Attention)
}

// Targets are where it is, or could go; none once the scheduler said that nothing fits.
func (m Move) Targets() []string {
	if m.Reason == reason.NoClusterFit {
		return nil
	}
	return m.To
}

// Move is a running child.
type Move struct {
	Key       karmada.BindingKey `json:"key"`
	UID       types.UID          `json:"uid"`
	Resource  string             `json:"resource,omitempty"`
	Attempt   int                `json:"attempt"`
	Phase     phase.Migration    `json:"phase"`
	Reason    reason.Reason      `json:"reason,omitempty"`
	Message   string             `json:"message,omitempty"`
	Placed    bool               `json:"placed,omitempty"`
	Attention reason.Reason      `json:"attention,omitempty"` // why it needs a human's eyes
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
	// Holds: it has no permit so far, for its dependents are held first; WantsPermit: they are.
	Holds       bool `json:"holds,omitempty"`
	WantsPermit bool `json:"wantsPermit,omitempty"`
	// Named: a human named it; its task was kept, or left to a human, before.
	Named bool `json:"named,omitempty"`
	// Ordered is what a human ordered of it last. One that ends with nothing written has
	// not seen the order, or had nothing to do for it; it is carried out then.
	Ordered *MigrationOrder `json:"ordered,omitempty"`
	// Again: affected anew while this runs; looked at when it reports.
	Again bool `json:"again,omitempty"`
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
	// ETA is when the last eviction is expected, zero when nobody can say.
	ETA time.Time `json:"eta,omitzero"`
	// Left are queued bindings that owe an outcome and that the list has yet to bring back.
	Left int `json:"left,omitempty"`
}

// Approval is a human's yes for some bindings in the attempt that it was given in. It
// concerns those that waited when it was given, and nobody who comes later.
type Approval struct {
	ScopedOrder
	At time.Time `json:"at"`
	// Bindings are those, as a set of hashes; Count is how many.
	Bindings *queue.BindingSet `json:"bindings,omitempty"`
	Count    int               `json:"count"`
}

// Testimony is the newest word of the controller's own probe, and when it was heard.
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
