package proof

import (
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// HeldForParents refuses two moves of a dependent: Directly while parents run there or hold it, which
// would take its Work from under their running pods, and one whose own migration would
// not fit beside theirs. While a parent runs there Karmada keeps the Work, and as long as that
// stands beside a task that says Directly it updates no Work of the binding.
func HeldForParents(b *karmada.Binding, cluster string, mode karmada.PurgeMode) (reason.Reason, string) {
	task, _ := b.TaskFor(cluster)
	switch {
	case mode == karmada.PurgeDirectly && b.RequiredOn(cluster):
		return reason.HeldForParents, "parents of it run on " + cluster + ": Karmada keeps its copy there for them"
	case task == nil || !task.IsLifeboat() || len(task.Others()) == 0:
	case mode == karmada.PurgeDirectly:
		return reason.HeldForParents, fmt.Sprintf("%d migrations of its parents hold it on %s", len(task.Others()), cluster)
	case task.ForDependent() && len(task.Message)+1+karmada.MaxOwner > karmada.MaxMessage:
		return reason.TooManyHolders, fmt.Sprintf("%d migrations of its parents hold it on %s; its own would not fit beside them", len(task.Others()), cluster)
	}
	return reason.None, ""
}

// Follows reports whether a binding may serve workloads: a Service or a ConfigMap, which runs no pods, of a known
// policy, or the Service of a MultiClusterService.
func Follows(b *karmada.Binding) bool {
	return !b.RunsPods() && (b.PolicyID() != "" || b.OfMultiClusterService())
}

// Serves reports whether a binding that follows belongs to a workload: both are of one namespace, and of one policy
// where it is not the Service of a MultiClusterService, which is of none.
func Serves(b, workload *karmada.Binding) bool {
	return Follows(b) && workload.RunsPods() && b.Key.Namespace == workload.Key.Namespace &&
		(b.PolicyID() == workload.PolicyID() || b.OfMultiClusterService())
}

// ServesHeld reports whether it belongs to one whose old copy is held on a cluster.
func ServesHeld(b, workload *karmada.Binding, cluster string) bool {
	task := workload.HeldCopy(cluster) // a dependent's may be held by b itself
	return task != nil && !task.LeftForGood() && Serves(b, workload)
}

// HoldPlan is what one write does to the holders of a dependent's task.
type HoldPlan struct {
	// Done: nothing to write. Holders are those after the write; none drops the task.
	Done    bool
	Holders []string
	// Keep: no migration holds it any more, and the rule of its kind keeps its copy. The task
	// stays, marked as kept.
	Keep    bool
	Reason  reason.Reason
	Message string
}

// Drops reports whether the write would drop the task.
func (p HoldPlan) Drops() bool { return !p.Done && p.Reason == reason.None && len(p.Holders) == 0 }

// PlanHold enters a parent's migration as a holder of a dependent's task for the
// cluster. One that another hand holds, or that is left to an operator, holds already, and one that a placement of its
// own has put there stays without: a task would have the scheduler take it away. A drain's ban becomes the parent's hold.
func PlanHold(b *karmada.Binding, cluster, holder string) HoldPlan {
	if b.Malformed != "" {
		return HoldPlan{Reason: reason.Malformed, Message: "dependent " + b.Key.String() + ": " + b.Malformed}
	}
	task, _ := b.TaskFor(cluster)
	switch {
	case task == nil && !b.OnlyRequiredOn(cluster):
		return HoldPlan{Done: true} // it is not there, and there is no Work to keep; or it stays by itself
	case task == nil:
		return HoldPlan{Holders: []string{holder}}
	case !task.IsLifeboat():
		return HoldPlan{Reason: reason.ForeignTask, Message: fmt.Sprintf("a task of producer %q for %s stands on dependent %s", task.Producer, cluster, b.Key)}
	case task.Bans() && b.ServesOn(cluster):
		// A parent came after the release. Beside a task that says Directly Karmada would update no copy of the dependent.
		return HoldPlan{Holders: []string{holder}}
	case task.KeepsNothing(b):
		return HoldPlan{Reason: reason.ForeignTask, Message: fmt.Sprintf(
			"the task (%s) of dependent %s says Directly: its Work on %s would go first", task.Reason, b.Key, cluster)}
	case !task.Active(), slices.Contains(task.Holders(), holder):
		return HoldPlan{Done: true}
	}
	next := append(task.Holders(), holder)
	if _, fits := karmada.HoldersMessage(next); !fits {
		return HoldPlan{
			Reason:  reason.TooManyHolders,
			Message: fmt.Sprintf("%d migrations hold dependent %s already; no more fit into its task's message", len(next)-1, b.Key),
		}
	}
	return HoldPlan{Holders: next}
}

// PlanLeave takes a holder out. Only the removal of the last one drops the task; and
// where the parent is back on the cluster, not before the dependent is wanted there
// again: its Work would be deleted and made again under the running pods.
func PlanLeave(b *karmada.Binding, cluster, holder string, back bool) HoldPlan {
	task, _ := b.TaskFor(cluster)
	if task == nil || !task.Active() || !slices.Contains(task.Holders(), holder) {
		return HoldPlan{Done: true} // or left to an operator, who ends it
	}
	next := slices.DeleteFunc(task.Holders(), func(h string) bool { return h == holder })
	if len(next) == 0 && back && !b.ServesOn(cluster) {
		return HoldPlan{
			Holders: next, Reason: reason.DependentsNotBack,
			Message: fmt.Sprintf("dependent %s is not wanted on %s again yet", b.Key, cluster),
		}
	}
	return HoldPlan{Holders: next}
}

// KeptBy is the plan where the rule of the dependent's kind is known: a copy that its kind
// keeps does not end with its last holder, but is left to an operator.
func (p HoldPlan) KeptBy(rule rules.KindRule, b *karmada.Binding, cluster string) HoldPlan {
	p.Keep = rule == rules.KindKeep && p.Drops() && !b.ServesOn(cluster)
	return p
}

// HeldFor reports whether a dependent's Work on the cluster stays whatever becomes of
// its parent there: nothing of it is there, it is there by itself, or a task keeps it in the holder's name.
func HeldFor(b *karmada.Binding, cluster, holder string) bool {
	task, _ := b.TaskFor(cluster)
	if task == nil {
		return !b.OnlyRequiredOn(cluster)
	}
	if !task.IsLifeboat() || task.KeepsNothing(b) {
		return false
	}
	return !task.Active() && (!task.Bans() || !b.ServesOn(cluster)) || slices.Contains(task.Holders(), holder)
}
