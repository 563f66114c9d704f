package record

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/types"
)

// Result is what a migration hands in when it ends, and what the report keeps.
type Result struct {
	Key      karmada.BindingKey `json:"key"`
	UID      types.UID          `json:"uid,omitempty"`
	Resource string             `json:"resource,omitempty"` // "Deployment shop/cart"
	Outcome  phase.Outcome      `json:"outcome"`
	Reason   reason.Reason      `json:"reason,omitempty"`
	// Cause says what ended it when that was not its own course: recovery, who cancelled.
	Cause        string        `json:"cause,omitempty"`
	Message      string        `json:"message,omitempty"`
	To           []string      `json:"to,omitempty"` // the clusters that serve it now
	At           time.Time     `json:"at,omitzero"`
	PendingPurge *PendingPurge `json:"pendingPurge,omitempty"`
	Fence        *proof.Fence  `json:"fence,omitempty"` // what a Directly move went on by
	// Banned tells that a Lifeboat task keeps the scheduler from putting it back, until undrain.
	Banned bool `json:"banned,omitempty"`
	// Wrote tells whether a Lifeboat eviction was written.
	Wrote bool `json:"wrote,omitempty"`
}

// PendingPurge is an old Work that stays on an absent cluster until it is back.
type PendingPurge struct {
	Key       karmada.BindingKey `json:"key"`
	Namespace string             `json:"namespace"`
	Work      string             `json:"work"`
	UID       types.UID          `json:"uid"`
}

// CauseRecovery is the cause of an end that the cluster's recovery brought.
const CauseRecovery = "recovery"

// SaidCause is the cause as it is shown: outcome and reason tell a recovery by themselves.
func SaidCause(cause string) string {
	if cause == CauseRecovery {
		return ""
	}
	return cause
}
