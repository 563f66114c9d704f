package failover

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ScheduledNoClusterFit is the Scheduled condition's reason for "nothing fits"; the
// scheduler then empties spec.clusters.
const ScheduledNoClusterFit = "NoClusterFit"

// Placed tells whether the scheduler has placed a binding elsewhere: spec.clusters
// is not empty and without the failed cluster, the scheduler has observed this very
// generation, and Scheduled is True (or divided replicas add up). Empty clusters
// are never placed, whatever the generation says.
func Placed(b *Binding, failed string) Verdict {
	names := targetNames(b.Clusters)
	if _, at := b.Target(failed); at >= 0 {
		return Verdict{Reason: ReasonPutBack, Message: fmt.Sprintf("%s is among the targets %s", failed, List(names))}
	}
	if noFit(b) {
		return Verdict{Reason: ReasonNoClusterFit, Message: "the scheduler found no cluster: " + b.Status.Scheduled.Message}
	}
	if len(b.Clusters) == 0 {
		return Verdict{Reason: ReasonNotPlaced, Message: "it has no target cluster" + refusal(b)}
	}
	if b.Generation != b.Status.ObservedGeneration {
		return Verdict{Reason: ReasonNotPlaced, Message: fmt.Sprintf("the scheduler has seen generation %d of %d",
			b.Status.ObservedGeneration, b.Generation) + refusal(b)}
	}
	if !scheduledTrue(b) && !addsUp(b) {
		return Verdict{Reason: ReasonNotPlaced, Message: "the scheduler has not accepted its targets " + List(names) + refusal(b)}
	}
	return Verdict{OK: true, Reason: ReasonPlaced, Message: "placed on " + List(names), Candidates: names}
}

// refusal is what the scheduler says against a binding that it did not place, empty without.
func refusal(b *Binding) string {
	if !scheduledFalse(b) {
		return ""
	}
	said := "; Scheduled=False, " + b.Status.Scheduled.Reason
	if b.Status.Scheduled.Message != "" {
		said += ": " + b.Status.Scheduled.Message
	}
	return said
}

func scheduledTrue(b *Binding) bool {
	return b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionTrue
}

func scheduledFalse(b *Binding) bool {
	return b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionFalse
}

func noFit(b *Binding) bool {
	return len(b.Clusters) == 0 && scheduledFalse(b) && b.Status.Scheduled.Reason == ScheduledNoClusterFit
}

func addsUp(b *Binding) bool {
	if !b.Placement.Divided() || b.Replicas <= 0 {
		return false
	}
	return sumOf(b.Clusters) == b.Replicas
}

func sumOf(targets []TargetCluster) int32 {
	var sum int32
	for _, t := range targets {
		sum += t.Replicas
	}
	return sum
}

// Answered tells whether the scheduler has answered our eviction: it has observed
// the generation that our write made, or a later one, or it said Scheduled=False
// after our hold task began. A Scheduled=False that is older may be an answer too,
// but only time can tell: the caller waits for restoreWait.
func Answered(b *Binding, sinceGeneration int64) Verdict {
	if b.Status.ObservedGeneration >= sinceGeneration {
		return Verdict{OK: true, Message: fmt.Sprintf("the scheduler has seen generation %d", b.Status.ObservedGeneration)}
	}
	if began, ok := oursBegan(b); ok && scheduledFalse(b) && !b.Status.Scheduled.LastTransition.Before(began) {
		return Verdict{OK: true, Reason: answerReason(b), Message: "the scheduler said " + b.Status.Scheduled.Reason}
	}
	return Verdict{Reason: ReasonRestoreUnanswered, Message: fmt.Sprintf("the scheduler has seen generation %d, our eviction made %d",
		b.Status.ObservedGeneration, sinceGeneration)}
}

func answerReason(b *Binding) Reason {
	if b.Status.Scheduled.Reason == ScheduledNoClusterFit {
		return ReasonNoClusterFit
	}
	return ReasonNotPlaced
}

// oursBegan is when the newest of our hold tasks was written, in the whole seconds
// that the API stores.
func oursBegan(b *Binding) (time.Time, bool) {
	var newest time.Time
	for _, t := range b.Tasks {
		if t.Ours() && t.CreationTimestamp != nil && t.CreationTimestamp.After(newest) {
			newest = *t.CreationTimestamp
		}
	}
	return newest.Truncate(time.Second), !newest.IsZero()
}
