package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// ScheduledNoClusterFit is the Scheduled condition's reason for "nothing fits"; the
// scheduler then empties spec.clusters.
const ScheduledNoClusterFit = "NoClusterFit"

// Placed reports whether the scheduler has placed a binding elsewhere: spec.clusters
// is not empty and without the failed cluster, the scheduler has observed this very
// generation, and Scheduled is True (or divided replicas add up). Empty clusters
// are placed only for 0 replicas; what Karmada would not apply on a target is not placed.
func Placed(b *karmada.Binding, failed string) reason.Verdict {
	names := karmada.TargetNames(b.Clusters)
	switch _, at := b.Target(failed); {
	case at >= 0:
		return Refuse(reason.PutBack, "%s is among the targets %s", failed, reason.List(names))
	case noReplicas(b):
		return nowhere(b)
	case noFit(b):
		return Refuse(reason.NoClusterFit, "the scheduler found no cluster: %s", b.Status.Scheduled.Message)
	case len(b.Clusters) == 0:
		return Refuse(reason.NotPlaced, "it has no target cluster%s", refusal(b))
	case b.Generation != b.Status.ObservedGeneration:
		return Refuse(reason.NotPlaced, "the scheduler has seen generation %d of %d%s",
			b.Status.ObservedGeneration, b.Generation, refusal(b))
	case !karmada.ScheduledTrue(b) && !addsUp(b):
		return Refuse(reason.NotPlaced, "the scheduler has not accepted its targets %s%s", reason.List(names), refusal(b))
	}
	if name := notDispatched(b, failed); name != "" {
		return Refuse(reason.DispatchingSuspended, "its dispatching to %s is suspended (spec.suspension)", name)
	}
	return reason.Verdict{OK: true, Reason: reason.Placed, Message: "on " + reason.List(names), Candidates: names}
}

// noReplicas reports whether a workload of 0 replicas has no cluster: the scheduler drops every cluster that gets
// none, Duplicated too (removeZeroReplicasCluster).
func noReplicas(b *karmada.Binding) bool {
	return len(b.Clusters) == 0 && b.Replicas == 0 && b.Assigned()
}

// nowhere judges a workload of 0 replicas without a cluster. It is placed once the scheduler has seen the 0. With
// Scheduled=False no cluster fits; of a scheduler that ignores the binding, or whose rules are not known, nothing
// is known.
func nowhere(b *karmada.Binding) reason.Verdict {
	why, said := rules.UnsupportedShape(b)
	switch {
	case why != reason.None:
		return Refuse(reason.NoReplicas, "its spec.replicas is 0, and %s", said)
	case !karmada.ScheduledTrue(b) || b.Generation != b.Status.ObservedGeneration:
		return Refuse(reason.NoReplicas, "its spec.replicas is 0; the scheduler has seen generation %d of %d%s",
			b.Status.ObservedGeneration, b.Generation, refusal(b))
	}
	return reason.Verdict{OK: true, Reason: reason.NoReplicas, Message: "its spec.replicas is 0: the scheduler places it on no cluster"}
}

// notDispatched is a new target to which Karmada dispatches nothing, empty without one. On a target that was one
// before the eviction a copy runs already.
func notDispatched(b *karmada.Binding, failed string) string {
	task, _ := b.TaskFor(failed)
	for _, t := range b.Clusters {
		if was := task != nil && slices.Contains(task.ClustersBeforeFailover, t.Name); !was && b.NotDispatchedTo(t.Name) {
			return t.Name
		}
	}
	return ""
}

// refusal is what the scheduler says against a binding that it did not place, empty without.
func refusal(b *karmada.Binding) string {
	if !karmada.ScheduledFalse(b) {
		return ""
	}
	said := "; Scheduled=False, " + b.Status.Scheduled.Reason
	if b.Status.Scheduled.Message != "" {
		said += ": " + b.Status.Scheduled.Message
	}
	return said
}

func noFit(b *karmada.Binding) bool {
	return len(b.Clusters) == 0 && karmada.ScheduledFalse(b) && b.Status.Scheduled.Reason == ScheduledNoClusterFit
}

func addsUp(b *karmada.Binding) bool {
	if !b.Placement.Divided() || b.Replicas <= 0 {
		return false
	}
	return karmada.SumOf(b.Clusters) == b.Replicas
}

// Answered reports whether the scheduler has answered Lifeboat's eviction: it has observed
// the generation that Lifeboat's write made, or a later one, or it said Scheduled=False
// after Lifeboat's hold task began and the eviction was last written again. A Scheduled=False that is older may be an
// answer too, but only time shows that: the caller waits for restoreWait.
func Answered(b *karmada.Binding, sinceGeneration int64, again time.Time) reason.Verdict {
	if b.Unclaimed {
		return reason.Verdict{OK: true, Message: "no policy claims it any more: the scheduler does not look at it"}
	}
	if b.Status.ObservedGeneration >= sinceGeneration {
		return reason.Verdict{OK: true, Message: fmt.Sprintf("the scheduler has seen generation %d", b.Status.ObservedGeneration)}
	}
	if began, ok := holdBegan(b); ok && karmada.ScheduledFalse(b) &&
		!b.Status.Scheduled.LastTransition.Before(began) && !b.Status.Scheduled.LastTransition.Before(again) {
		v := reason.Verdict{OK: true, Reason: reason.NotPlaced, Message: "the scheduler said " + b.Status.Scheduled.Reason}
		if b.Status.Scheduled.Reason == ScheduledNoClusterFit {
			v.Reason = reason.NoClusterFit
		}
		return v
	}
	return Refuse(reason.RestoreUnanswered, "the scheduler has seen generation %d, Lifeboat's eviction made %d",
		b.Status.ObservedGeneration, sinceGeneration)
}

// Ignored says why the scheduler does not look at a binding now, empty where it does.
func Ignored(b *karmada.Binding) string {
	why, said := rules.UnsupportedShape(b)
	if why == reason.SchedulingSuspended || why == reason.ForeignScheduler {
		return said
	}
	return ""
}

// holdBegan is when the newest of Lifeboat's hold tasks was written, in the whole seconds
// that the API stores.
func holdBegan(b *karmada.Binding) (time.Time, bool) {
	var newest time.Time
	for _, t := range b.Tasks {
		if t.IsLifeboat() && t.CreationTimestamp != nil && t.CreationTimestamp.After(newest) {
			newest = *t.CreationTimestamp
		}
	}
	return newest.Truncate(time.Second), !newest.IsZero()
}
