package proof

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// FenceByOperator is what By says of a fence that an operator confirmed.
const FenceByOperator = "operator"

// Fence is the proof that the copies on a cluster that does not answer are dead, or
// an operator's word for it. It is about one outage: see [Fence.Stands].
type Fence struct {
	By      string    `json:"by"`            // FenceByOperator, or the name of the plug-in
	Who     string    `json:"who,omitempty"` // the operator
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
	// Outage is the one that was seen when it was given, see [karmada.Cluster.Outage]. One without,
	// of an older state, counts for none.
	Outage string `json:"outage,omitempty"`
	// WithoutState: the operator has bindings go on whose state cannot come along.
	WithoutState bool `json:"withoutState,omitempty"`
}

// String is "operator jane: power is off", "operator jane, without state: power is off", or
// "plug-in bmc: powered down".
func (f Fence) String() string {
	who := f.Who
	if f.WithoutState {
		who += ", without state"
	}
	if f.By == FenceByOperator {
		return fmt.Sprintf("%s %s: %s", f.By, who, f.Message)
	}
	return fmt.Sprintf("plug-in %s: %s", f.By, f.Message)
}

// Stands reports whether a fence still counts for the cluster as it is now: while the very
// outage lasts that was seen when it was given. What came back meanwhile may run again,
// whatever was true before. No clock is asked, for the cluster's is not Lifeboat's.
func (f *Fence) Stands(c karmada.Cluster) bool {
	return f != nil && f.Outage != "" && f.Outage == c.Outage()
}

// WaivesState reports whether an operator has what cannot take its state along go on all the same.
func (f *Fence) WaivesState(source karmada.Cluster) bool {
	return f != nil && f.By == FenceByOperator && f.WithoutState && f.Stands(source)
}

// NeedsFence reports whether the old copy has to be proven dead before Directly may
// go on: Karmada cannot delete on a cluster that does not answer, and it cannot be seen
// whether the copy there still runs.
func NeedsFence(mode karmada.PurgeMode, source karmada.Cluster, f *Fence) bool {
	return mode == karmada.PurgeDirectly && !source.Ready() && !f.Stands(source)
}

// OldCopy is all that decides whether the hold of a Directly migration may go.
type OldCopy struct {
	Source karmada.Cluster
	// Gone: the source has no Work of the binding any more.
	Gone  bool
	Fence *Fence
	// Carries: the task carries state, see [karmada.Task.Carries].
	Carries bool
}

// Dead is the proof that Directly requires: Karmada has deleted the old copy, or it
// cannot, and a fence proves that it is dead. Where the source answers only the
// first will do, for the copy is still being deleted there.
func (o OldCopy) Dead() reason.Verdict {
	switch {
	case o.Gone:
		return reason.Verdict{OK: true, Reason: reason.Purged, Message: "Karmada has deleted the old copy"}
	case o.Source.Ready():
		return OldCopyGoing(o.Source.Name)
	case o.Carries && !o.Fence.WaivesState(o.Source):
		return NeedsSource(o.Source.Name)
	case o.Fence.Stands(o.Source):
		return reason.Verdict{OK: true, Reason: reason.Fenced, Message: o.Fence.String()}
	default:
		return AwaitingFence(o.Source.Name, o.Fence)
	}
}

// HealthToo reports that the new copy has begun under the hold, with its state, and has
// to be proven before it goes: without the task Karmada takes the labels off again.
func (o OldCopy) HealthToo() bool { return o.Gone && o.Carries }

// OldCopyGoing says why a Directly move waits although its source answers.
func OldCopyGoing(cluster string) reason.Verdict {
	return Refuse(reason.OldCopyGoing, "Karmada deletes the old copy on %s first; the new one begins when it is gone", cluster)
}

// AwaitingFence says why a binding waits for a fence.
func AwaitingFence(cluster string, void *Fence) reason.Verdict {
	line := cluster + " does not answer, and the old copy is not proven dead"
	switch {
	case void == nil:
	case void.Outage == "":
		line += "; the word of " + void.String() + " is void: it does not say about which outage"
	default:
		line += "; the word of " + void.String() + " is void: the cluster has changed since"
	}
	return reason.Verdict{Reason: reason.AwaitingFence, Message: line}
}

// NeedsSource says why a binding waits for its source although an operator may have
// proven the old copy dead: the labels reach the new copy only through a source that
// deletes the old one first.
func NeedsSource(cluster string) reason.Verdict {
	return Refuse(reason.StateNeedsSource, "%s does not answer, and Karmada hands the state on only once it has deleted the old copy there; "+
		"it waits for %[1]s, or for an operator who lets it go on without its state", cluster)
}
