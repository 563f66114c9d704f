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
)

// BindingMigrationParams start a BindingMigration, or continue one.
type BindingMigrationParams struct {
	Instance string         `json:"instance,omitempty"`
	State    MigrationState `json:"state"`
}

// ID is the workflow id of the migration.
func (p *BindingMigrationParams) ID() string {
	return BindingMigrationID(p.Instance, p.State.Ref.Cluster, p.State.Ref.Key)
}

// MigrationState is the whole state of a BindingMigration.
type MigrationState struct {
	Ref        activities.MigrationRef `json:"ref"`
	Parent     string                  `json:"parent"` // id of its failover, of a cluster or an application
	FailoverID string                  `json:"failoverID"`
	Attempt    int                     `json:"attempt"`
	Terms      activities.Terms        `json:"terms"`
	Policy     rules.Policy            `json:"policy"`
	Resource   string                  `json:"resource,omitempty"`
	QueuedAt   time.Time               `json:"queuedAt,omitzero"`
	DueAt      time.Time               `json:"dueAt,omitzero"`
	// Approval is an operator's yes in this attempt; Standing are approval rules that asked
	// before in it.
	Approval *queue.Approval      `json:"approval,omitempty"`
	Standing []queue.ApprovalRule `json:"standing,omitempty"`
	Permit   pace.Permit          `json:"permit"`
	Why      rules.Due            `json:"why"` // what made it due
	// Unhealthy is the copy whose application is the reason to move, nil where its cluster is.
	Unhealthy *rules.Arrival  `json:"unhealthy,omitempty"`
	Phase     phase.Migration `json:"phase"`
	Reason    reason.Reason   `json:"reason,omitempty"`
	Message   string          `json:"message,omitempty"`
	To        []string        `json:"to,omitempty"`
	Placed    bool            `json:"placed,omitempty"`
	OldWork   *karmada.Work   `json:"oldWork,omitempty"`
	// Preserved: the old copy outlives its Work, by the spec of either.
	Preserved bool      `json:"preserved,omitempty"`
	Began     time.Time `json:"began,omitzero"`
	// Asked is when its failover asked for it.
	Asked   time.Time `json:"asked,omitzero"`
	Entered time.Time `json:"entered,omitzero"`
	Proof   Proof     `json:"proof,omitzero"`
	// StaleSince is since when releases are refused because Karmada is stale.
	StaleSince time.Time `json:"staleSince,omitzero"`
	// Attention is why it needs an operator's eyes; it changes no behaviour.
	Attention reason.Reason `json:"attention,omitempty"`
	Start     Start         `json:"start,omitempty"`
	Intent    Intent        `json:"intent,omitzero"`
	// Paused: an operator paused this binding or its namespace. What has begun goes on, but
	// the cluster is not taken out again where the scheduler puts it back.
	Paused *Order `json:"paused,omitempty"`
	// RefusedSince is since when the API server refuses the write that lets the old copy go.
	RefusedSince time.Time `json:"refusedSince,omitzero"`
	// Said is what the API server said of a write whose end was not known.
	Said string `json:"said,omitempty"`
	// RefusedAt is when a restore was last refused because the cluster looks failed again.
	RefusedAt time.Time `json:"refusedAt,omitzero"`
	// Home is whether a recovery takes it back in place of its new copies: it serves workloads that stayed.
	Home Home `json:"home,omitempty"`
	// SourceGone: at the last look the cluster object was gone. Nothing can be taken back then.
	SourceGone bool `json:"sourceGone,omitempty"`
	// Outage is the one that the cluster was in at the last look: what a fence is about.
	Outage string `json:"outage,omitempty"`
	// Evicted, Released and Restored are what is known of the three writes.
	Evicted  Write `json:"evicted,omitempty"`
	Released Write `json:"released,omitempty"`
	Restored Write `json:"restored,omitempty"`
	// RestoreTried: the answer of a restore was lost, and no try since was answered: it may stand.
	RestoreTried bool `json:"restoreTried,omitempty"`
	// TellWritten: its drain has a rate, which counts from the write.
	TellWritten bool       `json:"tellWritten,omitempty"`
	Dependents  Dependents `json:"dependents,omitzero"`
	// Returned: the scheduler put it back after a release of this drain. Banned: it is
	// kept from doing so again.
	Returned bool           `json:"returned,omitempty"`
	Banned   bool           `json:"banned,omitempty"`
	Result   *record.Result `json:"result,omitempty"`
	// Acts are audit records that no report has taken along yet; ActSeq numbers them.
	Acts   []record.Audit `json:"acts,omitempty"`
	ActSeq int64          `json:"actSeq,omitempty"`
}

// Adopts reports whether it takes over what stands.
func (s *MigrationState) Adopts() bool { return s.Start == StartAdopt }

// RetainsReplicas reports whether the members decide how many replicas run. The controller reads no
// Works: its verdicts count by the scheduler's numbers, and the migration looks itself.
func (s *MigrationState) RetainsReplicas() bool { return s.OldWork != nil && s.OldWork.RetainsReplicas }

// Wrote reports whether Lifeboat's eviction is known to stand.
func (s *MigrationState) Wrote() bool { return s.Evicted == WriteStands }

// Cause says whose order ends the migration, empty where it takes its own course.
func (s *MigrationState) Cause() string {
	by := func(what string, o Order) string { return what + " by " + o.Who + ": " + o.Reason }
	switch kind := s.Intent.Kind(); {
	case kind == IntentPutBack:
		return by("put back", s.Intent.Held.Order)
	case kind == IntentRelease:
		return by("released", s.Intent.Held.Order)
	case kind == IntentCancel:
		return by("cancelled", *s.Intent.Cancelled)
	case s.Proof.Waived:
		return s.Waived()
	case kind == IntentRecover:
		return record.CauseRecovery
	case s.Unhealthy != nil:
		return record.CauseApplication
	default:
		return ""
	}
}

// Waived says why the hold goes without proof.
func (s *MigrationState) Waived() string {
	return "health.releaseUnproven, for it was not proven healthy within gracefulTimeout (" + s.Terms.GracefulTimeout.String() + ")"
}

// Start is how a migration begins.
type Start string

// The ways to begin.
const (
	StartEvict      Start = ""           // it has a permit
	StartHold       Start = "Hold"       // others go where it goes: they are held first, then it waits for its permit
	StartAdopt      Start = "Adopt"      // it takes over what stands instead of writing an eviction
	StartAwaitFence Start = "AwaitFence" // it waits until the old copy is proven dead, without a permit
)

// Write is what is known of a write of a migration.
type Write string

// What may be known.
const (
	WriteNotSent  Write = ""
	WriteSent     Write = "Sent"
	WriteUnknown  Write = "Unknown" // sent, and its answer is lost
	WriteStands   Write = "Stands"
	WriteByOthers Write = "ByOthers" // it stands, written by another migration or by another hand
)

// MayStand reports whether it stands, as far as is known.
func (w Write) MayStand() bool { return w != WriteNotSent }

// Proof is what is known of the new copy's health.
type Proof struct {
	// Since is since when every look has found it healthy; zero when the last did not.
	Since time.Time `json:"since,omitzero"`
	// On is where it was placed when the plug-ins last judged it: what they prove is of these copies.
	On []karmada.TargetCluster `json:"on,omitempty"`
	// Unprobed: a target did not answer its probe.
	Unprobed bool `json:"unprobed,omitempty"`
	// Doubt is why health has to outlast detection: KarmadaUnseen, because it is unknown whether what
	// Karmada reports is kept up to date, or StaleRead, for what the API server says may be over.
	Doubt reason.Reason `json:"doubt,omitempty"`
	// Followed: a verdict was followed since health began to hold, so that this counts time in which only
	// the controller watched. A look does not change that.
	Followed bool `json:"followed,omitempty"`
	// Waived: gracefulTimeout has passed, and the setting says that the hold goes all the same.
	Waived bool `json:"waived,omitempty"`
}

// MustHold is for how long health must hold before the release, as the source answers or not.
func (p Proof) MustHold(t activities.Terms, sourceReady bool) time.Duration {
	if p.Doubt != reason.None || sourceReady && (!t.Probe || p.Unprobed) {
		return max(t.MinHealthy, t.Detection)
	}
	return t.MinHealthy
}

// Breaks begins again.
func (p *Proof) Breaks() { p.Since, p.Unprobed = time.Time{}, false }

// Dependents are what goes where the binding goes, as far as this migration entered itself on it.
type Dependents struct {
	Keys []karmada.BindingKey `json:"keys,omitempty"`
	// Held until it has let go of them. One that adopts has no list, and looks.
	Held bool `json:"held,omitempty"`
	// Lost: the answer of holding them was, so that the list may be short.
	Lost bool `json:"lost,omitempty"`
}

// MigrationStatus answers the status query.
type MigrationStatus struct {
	Now time.Time `json:"now"`
	MigrationState
}

// Directly reports whether the new copy must not run beside the old.
func (s *MigrationState) Directly() bool { return s.Ref.Purge == karmada.PurgeDirectly }

// Carries reports whether Karmada hands state on by Lifeboat's task, to a new copy that begins once the
// old one is deleted, and that has to be proven before the task goes.
func (s *MigrationState) Carries() bool { return len(s.Ref.State) > 0 }

// Unwritten reports whether it waits with nothing written. One that adopts has found a task.
func (s *MigrationState) Unwritten() bool {
	waits := s.Phase == phase.MigrationChecking || s.Phase == phase.MigrationQueued || s.Phase == phase.MigrationAwaitingFence
	return waits && !s.Wrote() && !s.Adopts()
}

// Over reports whether Lifeboat's task is dropped.
func (s *MigrationState) Over() bool {
	return s.Phase == phase.MigrationPurging || s.Phase == phase.MigrationDone
}

// WantsPermit reports whether only a permit is missing for the eviction.
func (s *MigrationState) WantsPermit() bool {
	return s.Phase == phase.MigrationQueued && s.Permit.Number == 0
}

// UnderOrders reports whether an order stands.
func (s *MigrationState) UnderOrders() bool {
	return s.Intent.Kind() != IntentNone || s.Paused != nil
}

// Intent is what was ordered of a migration. The recovery and the cancel stay remembered beneath an
// order about the held copy, for that one may be refused: then they count again. Both are kept,
// for a cancel decides what becomes of the binding, and the recovery which taints a put-back minds.
type Intent struct {
	Recover   *Recover `json:"recover,omitempty"`
	Cancelled *Order   `json:"cancelled,omitempty"`
	// Held is the newest put-back or release that is not refused.
	Held *HeldOrder `json:"held,omitempty"`
	// Refusal is why the last one was, RefusedID which.
	Refusal   string `json:"refusal,omitempty"`
	RefusedID string `json:"refusedID,omitempty"`
}

// HeldOrder is an operator's order to restore the former clusters, or to drop the hold.
type HeldOrder struct {
	Kind IntentKind `json:"kind"`
	Order
}

// Home is what became of taking a placed binding back at a recovery.
type Home string

// It is refused where its cluster cannot take it back; then it goes on.
const (
	HomeAsked   Home = "Asked"
	HomeRefused Home = "Refused"
)

// IntentKind is what was ordered of a migration.
type IntentKind string

// The kinds. A put-back or a release counts before a cancel, and that before the recovery.
const (
	IntentNone    IntentKind = ""
	IntentRecover IntentKind = "Recover" // the cluster is well again
	IntentCancel  IntentKind = "Cancel"
	IntentPutBack IntentKind = "PutBack"
	IntentRelease IntentKind = "Release"
)

// Kind is what counts now.
func (i *Intent) Kind() IntentKind {
	switch {
	case i.Held != nil:
		return i.Held.Kind
	case i.Cancelled != nil:
		return IntentCancel
	case i.Recover != nil:
		return IntentRecover
	default:
		return IntentNone
	}
}

// PutsBack reports whether a put-back counts.
func (i *Intent) PutsBack() bool { return i.Kind() == IntentPutBack }

// Releases reports whether a release counts.
func (i *Intent) Releases() bool { return i.Kind() == IntentRelease }

// Stops reports whether a recovery or a cancel stands: nothing is evicted any more.
func (i *Intent) Stops() bool { return i.Recover != nil || i.Cancelled != nil }

// Order takes an order about the held copy. It replaces an older one that is not carried out yet.
func (i *Intent) Order(kind IntentKind, o Order) {
	i.Held, i.Refusal = &HeldOrder{Kind: kind, Order: o}, ""
}

// ReleasedAlready is why an order about an old copy comes too late.
const ReleasedAlready = "released already: what was released does not come back"

// RefuseLate refuses an order that is not taken.
func (i *Intent) RefuseLate(id, why string) { i.Refusal, i.RefusedID = why, id }

// Refuse drops the order that stands; the answer says why.
func (i *Intent) Refuse(why string) {
	if i.Held != nil {
		i.RefusedID = i.Held.ID
	}
	i.Held, i.Refusal = nil, why
}

// CallsOff reports whether what is not written is not to be written any more: a put-back of it is a cancel.
func (i *Intent) CallsOff() bool { return i.Stops() || i.PutsBack() }

// CallOffReason is why.
func (i *Intent) CallOffReason() reason.Reason {
	if i.PutsBack() {
		return reason.PutBackOrdered
	}
	return i.StopReason()
}

// StopReason is why nothing is evicted any more.
func (i *Intent) StopReason() reason.Reason {
	if i.Cancelled != nil {
		return reason.Cancelled
	}
	return reason.ClusterRecovered
}
