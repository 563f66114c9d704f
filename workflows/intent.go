package workflows

import "github.com/lifeboat-failover/lifeboat/internal/reason"

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

// HeldOrder is a human's order to restore the former clusters, or to drop the hold.
type HeldOrder struct {
	Kind IntentKind `json:"kind"`
	Order
}

// IntentKind is what somebody wants of a migration.
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

// PutsBack tells that a put-back counts.
func (i *Intent) PutsBack() bool { return i.Kind() == IntentPutBack }

// Releases tells that a release counts.
func (i *Intent) Releases() bool { return i.Kind() == IntentRelease }

// Stops tells that a recovery or a cancel stands: nothing is evicted any more.
func (i *Intent) Stops() bool { return i.Recover != nil || i.Cancelled != nil }

// Order takes an order about the held copy. It replaces an older one that is not carried out yet.
func (i *Intent) Order(kind IntentKind, o Order) {
	i.Held, i.Refusal = &HeldOrder{Kind: kind, Order: o}, ""
}

// Refuse drops the order that stands; whoever gave it is told why.
func (i *Intent) Refuse(why string) {
	if i.Held != nil {
		i.RefusedID = i.Held.ID
	}
	i.Held, i.Refusal = nil, why
}

// StopReason is why nothing is evicted any more.
func (i *Intent) StopReason() reason.Reason {
	if i.Cancelled != nil {
		return reason.Cancelled
	}
	return reason.ClusterRecovered
}
