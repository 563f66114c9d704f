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

// MigrationState is all that a BindingMigration knows.
type MigrationState struct {
	Ref        activities.MoveRef `json:"ref"`
	Parent     string             `json:"parent"` // id of its ClusterFailover
	FailoverID string             `json:"failoverID"`
	Attempt    int                `json:"attempt"`
	Terms      activities.Terms   `json:"terms"`
	Policy     rules.Policy       `json:"policy"`
	Resource   string             `json:"resource,omitempty"`
	QueuedAt   time.Time          `json:"queuedAt,omitzero"`
	DueAt      time.Time          `json:"dueAt,omitzero"`
	// Approval is a human's yes in this attempt; Standing are approval rules that asked
	// before in it.
	Approval *queue.Approval      `json:"approval,omitempty"`
	Standing []queue.ApprovalRule `json:"standing,omitempty"`
	Permit   pace.Permit          `json:"permit"`
	Why      rules.Due            `json:"why"` // what made it due
	Phase    phase.Migration      `json:"phase"`
	Reason   reason.Reason        `json:"reason,omitempty"`
	Message  string               `json:"message,omitempty"`
	To       []string             `json:"to,omitempty"`
	Placed   bool                 `json:"placed,omitempty"`
	OldWork  *karmada.Work        `json:"oldWork,omitempty"`
	// Preserved: the old copy outlives its Work, by the binding's own spec.
	Preserved bool      `json:"preserved,omitempty"`
	Began     time.Time `json:"began,omitzero"`
	Entered   time.Time `json:"entered,omitzero"`
	// HealthySince is since when every look has found it healthy; zero when the last did not.
	HealthySince time.Time `json:"healthySince,omitzero"`
	// On is where it was placed when the plug-ins last judged it: what they prove is of these copies.
	On []karmada.TargetCluster `json:"on,omitempty"`
	// Unprobed: a target did not answer its probe; health has to outlast detection.
	Unprobed bool `json:"unprobed,omitempty"`
	// Unseen: nobody can tell whether what Karmada reports is kept up to date. Health has to
	// outlast detection.
	Unseen bool `json:"unseen,omitempty"`
	// Followed: a verdict was followed since the last look, so that health counts time in which only
	// the controller watched.
	Followed bool `json:"followed,omitempty"`
	// StaleSince is since when releases are refused because Karmada is stale.
	StaleSince time.Time `json:"staleSince,omitzero"`
	// StaleRead: what stood was older than what had stood before. Health has to outlast
	// detection, for what the API server says may be over.
	StaleRead bool `json:"staleread,omitempty"`
	// Attention is why it needs a human's eyes; it changes no behaviour.
	Attention reason.Reason `json:"attention,omitempty"`
	// AwaitFence begins by waiting until the old copy is proven dead, without a permit.
	AwaitFence bool `json:"awaitFence,omitempty"`
	// Adopt takes over what stands instead of writing an eviction.
	Adopt     bool     `json:"adopt,omitempty"`
	Recover   *Recover `json:"recover,omitempty"`
	Cancelled *Order   `json:"cancelled,omitempty"`
	// Paused: a human paused this binding or its namespace. What has begun goes on, but
	// the cluster is not taken out again where the scheduler puts it back.
	Paused *Order `json:"paused,omitempty"`
	// PutBack and Drop are a human's orders to restore the former clusters, and to drop
	// the hold; Refusal is why the last put-back could not be.
	PutBack   *Order `json:"putBack,omitempty"`
	Drop      *Order `json:"drop,omitempty"`
	Refusal   string `json:"refusal,omitempty"`
	RefusedID string `json:"refusedID,omitempty"` // of that order
	// RefusedSince is since when the API server refuses the write that lets the old copy go.
	RefusedSince time.Time `json:"refusedSince,omitzero"`
	// Said is what the API server said of a write whose end was not known.
	Said string `json:"said,omitempty"`
	// Unproven: gracefulTimeout has passed, and the setting says that the hold goes all the same.
	Unproven bool `json:"unproven,omitempty"`
	// RefusedAt is when a restore was last refused because the cluster looks failed again.
	RefusedAt time.Time `json:"refusedAt,omitzero"`
	// SourceGone: at the last look the cluster object was gone. Nothing can be taken back then.
	SourceGone bool `json:"sourceGone,omitempty"`
	// Outage is the one that the cluster was in at the last look: what a fence is about.
	Outage string `json:"outage,omitempty"`
	// MaybeReleased: a release of Lifeboat's was sent, and whether it stands is not known.
	MaybeReleased bool `json:"maybeReleased,omitempty"`
	// Swapped tells that another hand put the cluster back and dropped Lifeboat's task.
	Swapped bool `json:"swapped,omitempty"`
	// RestoredAt is when Lifeboat's restore was known to stand.
	RestoredAt time.Time `json:"restoredAt,omitzero"`
	Wrote      bool      `json:"wrote,omitempty"`
	// TellWritten: its drain has a rate, which counts from the write.
	TellWritten bool `json:"tellWritten,omitempty"`
	// HasDependents: others go where it goes, and are held first. Dependents are those
	// that it entered itself on.
	HasDependents bool                 `json:"hasDependents,omitempty"`
	Dependents    []karmada.BindingKey `json:"dependents,omitempty"`
	// Returned: the scheduler put it back after a release of this drain. Banned: it is
	// kept from doing so again.
	Returned bool `json:"returned,omitempty"`
	Banned   bool `json:"banned,omitempty"`
	// Held: all of them are, so that a permit may be asked for.
	Held bool `json:"held,omitempty"`
	// Holding until it has let go of them; LetGo when an adopted one has looked. SearchDependents:
	// an answer was lost, so that the list may be short.
	Holding          bool           `json:"holding,omitempty"`
	LetGo            bool           `json:"letGo,omitempty"`
	SearchDependents bool           `json:"searchDependents,omitempty"`
	Result           *record.Result `json:"result,omitempty"`
	// Acts are audit records that no report has taken along yet; ActSeq numbers them.
	Acts   []record.Audit `json:"acts,omitempty"`
	ActSeq int64          `json:"actSeq,omitempty"`
}

// MigrationStatus answers the status query.
type MigrationStatus struct {
	Now time.Time `json:"now"`
	MigrationState
}
