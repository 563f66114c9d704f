package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Swap is the way back of a chained failure: the target fails, and a former cluster
// whose copy Lifeboat still holds has recovered. One write puts that one back, drops its
// task, and takes the target out under a hold of its own.
type Swap struct {
	Cluster  string `json:"cluster"` // the former cluster
	Replicas int32  `json:"replicas,omitempty"`
	// Reschedule sets rescheduleTriggeredAt, as for a restore.
	Reschedule bool `json:"reschedule,omitempty"`
	// Owner is the workflow that holds the former copy: it sees the swap through.
	Owner string `json:"owner,omitempty"`
}

// PlanSwap looks for a former cluster that can take over from the failing one, under
// the rules of a restore. OK names it; a reason means that one will when the
// scheduler has answered, which is worth waiting for; neither means that an ordinary
// eviction is all there is. Whether the old copy still stands is the caller's to look.
func PlanSwap(in placement.PreCheckInput) (Swap, reason.Verdict) {
	if in.Binding.Malformed != "" || in.Binding.Placement == nil {
		return Swap{}, reason.Verdict{}
	}
	if _, at := in.Binding.Target(in.Failing); at < 0 {
		return Swap{}, reason.Verdict{}
	}
	for _, t := range in.Binding.Tasks {
		s, ok := swapTo(in, t)
		if !ok {
			continue
		}
		// Its late patch could still undo the write.
		if v := Answered(in.Binding, in.Binding.Generation, time.Time{}); !v.OK {
			return Swap{}, reason.Verdict{Reason: reason.RestoreUnanswered, Message: "to go back to " + s.Cluster + ": " + v.Message}
		}
		return s, reason.Verdict{OK: true, Reason: reason.Swapped, Candidates: []string{s.Cluster}, Message: s.Cluster + " has recovered and takes over again"}
	}
	return Swap{}, reason.Verdict{}
}

// swapTo plans to go back to the cluster of one hold task.
func swapTo(in placement.PreCheckInput, t karmada.Task) (Swap, bool) {
	at := slices.IndexFunc(in.Fleet, func(c karmada.Cluster) bool { return c.Name == t.FromCluster })
	_, targeted := in.Binding.Target(t.FromCluster)
	if at < 0 || targeted >= 0 || t.FromCluster == in.Failing || !t.Alone() || t.PurgeMode == karmada.PurgeDirectly {
		return Swap{}, false
	}
	c := in.Fleet[at]
	if !recovered(in, c) || isUnhealthy(in.Binding, c.Name) {
		return Swap{}, false
	}
	left := in.Binding.Without([]string{in.Failing})
	left.Tasks = append(slices.Clone(left.Tasks), karmada.Task{FromCluster: in.Failing, Producer: karmada.Producer, Reason: karmada.TaskReason})
	plan := PlanRestore(RestoreInput{Binding: left, Failed: c.Name, Task: t, Cluster: c, Fleet: in.Fleet, Karmada: in.Karmada, StraightBack: true})
	if !plan.OK {
		return Swap{}, false
	}
	s := Swap{Cluster: c.Name, Replicas: plan.Replicas, Reschedule: plan.Reschedule, Owner: t.Owner()}
	if in.Binding.Placement.Divided() && in.Binding.Workload {
		// Others may have grown meanwhile: it takes no more than is missing without the failing one.
		s.Replicas = min(s.Replicas, in.Binding.Replicas-karmada.SumOf(left.Clusters))
		if s.Replicas <= 0 {
			return Swap{}, false
		}
	}
	return s, schedulerAgrees(in, s, c)
}

// isUnhealthy reports whether the copy on a former cluster is: it may have left for that.
func isUnhealthy(b *karmada.Binding, cluster string) bool {
	item := b.Item(cluster)
	return item != nil && item.Health == karmada.HealthUnhealthy
}

// recovered reports whether a former cluster may take over: Ready, and without any taint
// that moves bindings, whether this one tolerates it or not.
func recovered(in placement.PreCheckInput, c karmada.Cluster) bool {
	hard, soft := karmada.Triggering(c.Taints)
	return !c.Deleting && len(hard)+len(soft) == 0 && in.Distrusted(c) == ""
}

// schedulerAgrees runs the pre-check on the binding as the swap would leave it:
// the scheduler must find the former cluster fit beside whatever else it takes.
func schedulerAgrees(in placement.PreCheckInput, s Swap, c karmada.Cluster) bool {
	after := *in.Binding
	after.Clusters = append(slices.Clone(after.Clusters), karmada.TargetCluster{Name: s.Cluster, Replicas: s.Replicas})
	after.Tasks = slices.DeleteFunc(slices.Clone(after.Tasks), func(t karmada.Task) bool { return t.FromCluster == s.Cluster })
	check := in
	check.Binding = &after
	group := after.ObservedGroup()
	if s.Reschedule {
		group = (RestoreInput{Binding: &after, Cluster: c}).home()
	}
	return check.Fits(group, s.Reschedule)
}

// String is for messages: "m1 with 2 replicas".
func (s Swap) String() string {
	if s.Replicas == 0 {
		return s.Cluster
	}
	return fmt.Sprintf("%s with %s", s.Cluster, reason.Count(int(s.Replicas), "replica"))
}
