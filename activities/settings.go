package activities

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// Settings is the worker's own config as plain values. Activities read it; what
// a workflow needs of it arrives as [Terms] in an activity's result, so that
// history records it.
type Settings struct {
	// Instance prefixes every workflow id, empty for none.
	Instance string
	// InForce is the configuration that this worker decides and acts by, as it publishes it.
	InForce map[string]string
	// Terms are handed to failovers when they begin.
	Terms Terms
	// ModeExceptions are the clusters whose mode is not that of Terms.
	ModeExceptions rules.ModeExceptions
	// Pace bounds evictions fleet-wide.
	Pace pace.Config
	// Applications: bindings with spec.failover.application are moved when they are Unhealthy.
	Applications bool
	// DefaultTolerations stand in for bindings without any.
	DefaultTolerations []corev1.Toleration
	// ExcludeNamespaces opt whole namespaces out.
	ExcludeNamespaces []string
	// Approval says before which evictions an operator is asked.
	Approval queue.ApprovalRules
	// Kinds say which kinds of workload stay, and which wait for an approval.
	Kinds rules.KindRules
	// RoomUnknownOK lets a cluster of unknown capacity count as having room.
	RoomUnknownOK bool
	// RoomForStaticWeights demands room of clusters that grow by static weight.
	RoomForStaticWeights bool
	// RoomMargin is the percentage of every cluster's room that a yes must do without.
	RoomMargin int
	// Karmada is the release whose scheduler the pre-check follows.
	Karmada karmada.Release
	// StateMissingOK lets a binding go whose state cannot go along, without it.
	StateMissingOK bool
}

// Terms are what a failover freezes of the config when it begins.
type Terms struct {
	Mode rules.Mode `json:"mode"`
	// InFlight bounds migrations from Checking to Placing, Waiting those that wait for health.
	InFlight int `json:"inFlight"`
	Waiting  int `json:"waiting"`
	// Purge is the purge mode of bindings that name none.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// MinHealthy is how long health must hold; Detection how long it must hold where the
	// source cluster is Ready, for Ready lags death.
	MinHealthy time.Duration `json:"minHealthy"`
	Detection  time.Duration `json:"detection"`
	// Plugins prove new copies healthy; Fences are plug-ins that prove old ones dead.
	Plugins proof.Plugins  `json:"plugins,omitzero"`
	Fences  []proof.Plugin `json:"fences,omitempty"`
	// Probe lets a fresh probe of each target stand in for Detection.
	Probe bool `json:"probe,omitempty"`
	// GracefulTimeout raises needs-attention on a migration; alone it deletes nothing.
	GracefulTimeout time.Duration `json:"gracefulTimeout"`
	// ReleaseUnproven drops the hold after GracefulTimeout, proven healthy or not.
	ReleaseUnproven bool `json:"releaseUnproven,omitempty"`
	// RestoreWait is how long a restore may delay the untaint.
	RestoreWait time.Duration `json:"restoreWait"`
	// ClusterPoll and HealthPoll are the slow safety polls behind the signals.
	ClusterPoll time.Duration `json:"clusterPoll"`
	HealthPoll  time.Duration `json:"healthPoll"`
	// Watched: the controller's own Lease can be read, so that a release knows whether the
	// controller watched all the time.
	Watched bool `json:"watched,omitempty"`
	// AskAgain is how often a grant request is repeated until it is answered.
	AskAgain time.Duration `json:"askAgain"`
	// Recheck is the first back-off of a blocked binding; it doubles up to 8 times this.
	Recheck time.Duration `json:"recheck"`
	// Relist is how often the affected set is listed again.
	Relist time.Duration `json:"relist"`
	// PendingPurgeWait is how long an otherwise finished failover waits for pending purge before it
	// hands it over in its report.
	PendingPurgeWait time.Duration `json:"pendingPurgeWait"`
	// AskFor is how long a question to an operator stands open; 0 is for ever.
	AskFor time.Duration `json:"askFor,omitempty"`
	// FreezeWhenHalted stops toleration clocks while the pacer is halted.
	FreezeWhenHalted bool `json:"freezeWhenHalted"`
	// ObserveRate is the pace that observe simulates, in evictions per second; 0 is
	// unlimited. It is filled in from the pace section.
	ObserveRate float64 `json:"observeRate,omitempty"`
	// HistoryEvents is the history length that makes a workflow continue as new;
	// 0 leaves it to the server's suggestion.
	HistoryEvents int `json:"historyEvents,omitempty"`
	// Audit: decisions and acts are recorded in the audit trail.
	Audit bool `json:"audit,omitempty"`
	// Runbook is where the page of all reasons is published, for the links of live pages.
	Runbook string `json:"runbook,omitempty"`
}
