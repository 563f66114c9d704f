package proof

import (
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// RestoreInput is all that decides how a binding is put back.
type RestoreInput struct {
	Binding *karmada.Binding // as it stands now
	Failed  string           // the cluster that it left
	Task    karmada.Task     // Lifeboat's hold task for that cluster
	// Baseline is the binding as the evict activity recorded it.
	Baseline Baseline
	// Cluster is the failed cluster as it stands now.
	Cluster karmada.Cluster
	// Fleet shows which former clusters still exist; empty means not known, and then
	// whatever depends on it is refused.
	Fleet []karmada.Cluster
	// Karmada is the release whose scheduler is followed.
	Karmada karmada.Release
	// StraightBack restores a binding although it is placed, see [TakesStraightBack].
	StraightBack bool
	// PutBack restores the former clusters although it is placed: what came since the
	// eviction goes. Whether the old copy still stands is the caller's to look.
	PutBack bool
	// TakeBack has a restore of what is not placed do the same: the scheduler might prefer what came since to
	// the copy that no hold protects any more. Whether that copy can take over is the caller's to look.
	TakeBack bool
}

// RestorePlan is what one write puts back, or why it must not. Not OK means: keep
// the hold task, nothing is lost, and an operator should look.
type RestorePlan struct {
	OK      bool          `json:"ok"`
	Reason  reason.Reason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	// Replicas are those of the failed cluster.
	Replicas int32 `json:"replicas,omitempty"`
	// Others are survivors that the scheduler's no-fit answer emptied.
	Others []karmada.TargetCluster `json:"others,omitempty"`
	// Away are targets that came since the eviction, Shrunk those that grew, with the
	// replicas that they had; only a put-back, and what is taken back, has them.
	Away   []string                `json:"away,omitempty"`
	Shrunk []karmada.TargetCluster `json:"shrunk,omitempty"`
	// Reschedule sets rescheduleTriggeredAt: without it a scheduler that stands at a
	// later affinity group would empty spec.clusters again, and the last copy with it.
	Reschedule bool `json:"reschedule,omitempty"`
}

// PlanRestore plans to put the failed cluster back and to drop its hold task in one
// write. Whether the scheduler has answered Lifeboat's eviction is the caller's to await.
//
// A put-back that no write can carry out now is refused as an order: it ends. Another
// restore stays owed, and is planned again.
func PlanRestore(in RestoreInput) RestorePlan {
	plan := in.plan()
	if in.PutBack && slices.Contains([]reason.Reason{reason.RestoreUndone, reason.NotSupportedPlacement, reason.Placed}, plan.Reason) {
		plan.Reason = reason.PutBackRefused
	}
	return plan
}

func (in RestoreInput) plan() RestorePlan {
	if plan := in.refuse(); plan.Reason != reason.None {
		return plan
	}
	plan := RestorePlan{OK: true, Replicas: min(in.replicas(), in.Binding.Replicas)}
	plan.Away, plan.Shrunk = in.undo()
	in.Binding = in.Binding.Without(plan.Away)
	plan.Others = in.others()
	home := in.home()
	switch here := in.Binding.ObservedGroup(); {
	case home < 0:
		return refuseRestore(reason.RestoreUndone, "its placement does not select %s any more: the scheduler would take it out again", in.Failed)
	case len(in.Binding.Placement.ClusterAffinities) == 0, in.selectedBy(in.Binding.Placement.Groups()[here]):
	case len(plan.Others) > 0 || len(in.survivors()) > 0:
		return refuseRestore(reason.RestoreUndone,
			"the scheduler stands at affinity group %q and other clusters serve it too: a reschedule would divide from scratch", in.groupName(here))
	case !in.returnsTo(home):
		return refuseRestore(reason.RestoreUndone,
			"a reschedule might take an affinity group before %q, where %s is not", in.groupName(home), in.Failed)
	case !in.stays(plan.Replicas):
		return refuseRestore(reason.RestoreUndone,
			"a reschedule would divide from scratch, and might not leave it on %s", in.Failed)
	case in.PutBack && in.Binding.Status.ObservedGeneration != in.Binding.Generation && Ignored(in.Binding) == "":
		return refuseRestore(reason.RestoreUnanswered, "the scheduler has yet to look at it: as late as that, the look would count as the reschedule")
	default:
		plan.Reschedule = true
	}
	plan.Message = in.describe(plan)
	return plan
}

func refuseRestore(reason reason.Reason, format string, args ...any) RestorePlan {
	return RestorePlan{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (in RestoreInput) refuse() RestorePlan {
	b := in.Binding
	switch {
	case b.Malformed != "":
		return refuseRestore(reason.Malformed, "%s", b.Malformed)
	case b.Placement == nil:
		return refuseRestore(reason.NotSupportedPlacement, "it has no placement")
	case in.Task.FromCluster != in.Failed || !in.Task.Active():
		return refuseRestore(reason.ForeignTask, "no Lifeboat hold task for %s stands", in.Failed)
	case in.Cluster.Name != in.Failed || in.Cluster.Deleting:
		return refuseRestore(reason.ClusterGone, "%s is gone or being deleted", in.Failed)
	case in.PutBack && !in.knowsBefore():
		return refuseRestore(reason.PutBackRefused, "which clusters it used before is not known")
	}
	return in.refusePlaced()
}

// knowsBefore reports whether the former clusters are known, all of them.
func (in RestoreInput) knowsBefore() bool {
	return in.Baseline.had(in.Failed) && (!in.Baseline.Derived || len(in.Task.ClustersBeforeFailover) > 0)
}

// refusePlaced keeps a restore from taking a placement back.
func (in RestoreInput) refusePlaced() RestorePlan {
	names := reason.List(karmada.TargetNames(in.Binding.Clusters))
	switch placed := Placed(in.Binding, in.Failed); {
	case placed.OK && len(in.Binding.Clusters) == 0: // the scheduler would take out again what is put back
		return refuseRestore(reason.Placed, "%s", placed.Message)
	case in.StraightBack || in.PutBack:
		return RestorePlan{}
	case placed.OK:
		return refuseRestore(reason.Placed, "it is placed on %s already", names)
	case placed.Reason != reason.DispatchingSuspended && in.beingPlaced():
		return refuseRestore(reason.RestoreUnanswered, "the scheduler is placing it on %s", names)
	}
	return RestorePlan{}
}

// beingPlaced reports whether the scheduler has yet to confirm the generation of a placement:
// it needs two passes. Its answer is a placement, and that is not taken back.
func (in RestoreInput) beingPlaced() bool {
	if _, at := in.Binding.Target(in.Failed); at >= 0 || karmada.ScheduledFalse(in.Binding) {
		return false
	}
	if in.Baseline.Derived {
		return slices.ContainsFunc(in.Binding.Clusters, func(t karmada.TargetCluster) bool { return !in.Baseline.had(t.Name) })
	}
	return slices.ContainsFunc(in.Binding.Clusters, in.Baseline.exceeded)
}

// undo is what a put-back takes away: clusters that came since the eviction, and
// what others grew by. Without that order all may stay as long as they add up to no more than spec.replicas.
func (in RestoreInput) undo() (away []string, shrunk []karmada.TargetCluster) {
	if !in.PutBack && (!in.TakeBack || !in.knowsBefore() || in.addsUp()) {
		return nil, nil
	}
	for _, t := range in.survivors() {
		at := slices.IndexFunc(in.Baseline.Clusters, func(was karmada.TargetCluster) bool { return was.Name == t.Name })
		switch {
		case at < 0:
			away = append(away, t.Name)
		case in.Binding.Placement.Divided() && !in.Baseline.Derived && t.Replicas > in.Baseline.Clusters[at].Replicas:
			shrunk = append(shrunk, in.Baseline.Clusters[at])
		}
	}
	return away, shrunk
}

// addsUp reports whether a divided binding has room for what comes back beside what stands.
func (in RestoreInput) addsUp() bool {
	return in.Binding.Placement.Divided() && karmada.SumOf(in.survivors())+in.replicas() <= in.Binding.Replicas
}

// replicas are those that were taken out. Where every copy has all of them, the
// present number counts: an old one would scale the copy down and up again. No more are put back
// than the binding has by now.
func (in RestoreInput) replicas() int32 {
	if !in.Binding.Placement.Divided() {
		return in.Binding.Replicas
	}
	if in.Task.Replicas != nil {
		return *in.Task.Replicas
	}
	for _, t := range in.Baseline.Clusters {
		if t.Name == in.Failed {
			return t.Replicas
		}
	}
	return 0
}

// survivors are the other targets that stand now.
func (in RestoreInput) survivors() []karmada.TargetCluster {
	return slices.DeleteFunc(slices.Clone(in.Binding.Clusters), func(t karmada.TargetCluster) bool { return t.Name == in.Failed })
}

// others come back only where no target stands: then the scheduler's no-fit answer
// took them. One with a task of its own is being evacuated, one that left the fleet
// has nothing to come back to.
func (in RestoreInput) others() []karmada.TargetCluster {
	if len(in.Binding.Clusters) > 0 {
		return nil
	}
	var out []karmada.TargetCluster
	for _, t := range in.Baseline.Clusters {
		_, task := in.Binding.TaskFor(t.Name)
		if t.Name == in.Failed || task >= 0 || !in.exists(t.Name) {
			continue
		}
		switch {
		case !in.Binding.Placement.Divided():
			t.Replicas = in.Binding.Replicas
		case in.Baseline.Derived:
			continue // how many it had is not known: the scheduler divides the rest
		}
		t.Replicas = min(t.Replicas, in.Binding.Replicas)
		out = append(out, t)
	}
	return out
}

func (in RestoreInput) exists(cluster string) bool {
	return len(in.Fleet) == 0 || slices.ContainsFunc(in.Fleet, func(c karmada.Cluster) bool { return c.Name == cluster && !c.Deleting })
}

// home is the first affinity group that selects the failed cluster, -1 when none does.
func (in RestoreInput) home() int {
	return slices.IndexFunc(in.Binding.Placement.Groups(), in.selectedBy)
}

func (in RestoreInput) selectedBy(g karmada.Group) bool {
	selected, err := g.Affinity.Selects(in.Cluster)
	return err == nil && selected
}

func (in RestoreInput) groupName(i int) string { return in.Binding.Placement.Groups()[i].Name }

// returnsTo reports whether a reschedule, which begins at the first group, comes to
// the cluster's own: no group before it may fit.
func (in RestoreInput) returnsTo(home int) bool {
	if home == 0 {
		return true
	}
	if len(in.Fleet) == 0 {
		return false
	}
	check := placement.PreCheckInput{Binding: in.Binding, Failing: in.Failed, Fleet: in.Fleet, Karmada: in.Karmada}
	return !slices.ContainsFunc(check.AllGroups()[:home], func(g karmada.Group) bool {
		return len(check.SeenByScheduler(g)) > 0
	})
}

// stays reports whether the cluster keeps what is put back in a reschedule, whose answer no hold protects.
func (in RestoreInput) stays(replicas int32) bool {
	after := *in.Binding
	after.Clusters = append(slices.Clone(after.Clusters), karmada.TargetCluster{Name: in.Failed, Replicas: replicas})
	after.Tasks = slices.DeleteFunc(slices.Clone(after.Tasks), func(t karmada.Task) bool { return t.FromCluster == in.Failed && t.IsLifeboat() })
	return placement.PreCheckInput{Binding: &after, Fleet: in.Fleet, Karmada: in.Karmada}.Stays()
}

func (in RestoreInput) describe(plan RestorePlan) string {
	message := in.Failed + " comes back"
	if in.Binding.Workload {
		message += " with " + reason.Count(int(plan.Replicas), "replica")
	}
	if len(plan.Others) > 0 {
		message += " beside " + reason.List(karmada.TargetNames(plan.Others))
	}
	if len(plan.Away) > 0 {
		message += ", " + reason.List(plan.Away) + " goes"
	}
	if plan.Reschedule {
		message += ", with a reschedule back to its affinity group"
	}
	return message
}

// TakesStraightBack reports whether the scheduler would give a placed binding back to
// the recovered cluster as soon as Lifeboat's task is gone: a binding that is not divided
// is always scheduled again. Its running copy would then be killed and created
// again, so it is restored instead of released. A recovery takes Lifeboat's own taints away,
// but a NoSchedule taint only where its own rule does not match.
func TakesStraightBack(b *karmada.Binding, cluster karmada.Cluster, matching map[rules.WindowKey]bool) bool {
	if b.Placement == nil || b.Workload && b.Placement.Divided() || cluster.Deleting || noReplicas(b) {
		return false
	}
	g := b.Placement.Groups()[b.ObservedGroup()]
	if selected, err := g.Affinity.Selects(cluster); err != nil || !selected {
		return false
	}
	// Clusters that serve already come first, so a full spread has no place left.
	if most := b.Placement.MaxClusters(); most > 0 && len(b.Clusters) >= most {
		return false
	}
	return b.Untolerated(staying(cluster, matching)) == nil && b.ApiServed(cluster, false)
}

// staying are the taints of a recovered cluster that do not go with the recovery.
func staying(cluster karmada.Cluster, matching map[rules.WindowKey]bool) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(cluster.Taints), func(t corev1.Taint) bool {
		return slices.ContainsFunc(cluster.Added, func(a karmada.AddedTaint) bool {
			return a.Key == t.Key && a.Effect == t.Effect && (rules.OfThisFailure(a) || !matching[rules.KeyOf(a)])
		})
	})
}

// ReturnsToDrained reports whether the scheduler would give a placed binding back to the
// cluster while it is drained: it tolerates every taint that keeps others away.
func ReturnsToDrained(b *karmada.Binding, c karmada.Cluster) bool {
	c.Added = nil // no taint goes with this release
	return TakesStraightBack(b, c, nil)
}

// Ban says how a release in a drain keeps the scheduler away.
type Ban struct {
	// Wanted: without it the scheduler puts the binding back.
	Wanted bool
	// Reason is why that cannot be done now, none when it can.
	Reason  reason.Reason
	Message string
}

// PlanBan decides whether a release must leave a ban: Lifeboat's task turned to Directly, so
// that the scheduler still keeps away and the old Work goes. Returned reports that the
// scheduler put the binding back after an earlier release of this drain. Where the
// source does not answer, the old Work could not go, and Karmada would update no copy
// of the binding until it had; the same holds while a parent runs there. What parents hold is
// not to go at all.
func PlanBan(b *karmada.Binding, source karmada.Cluster, returned, sourceReady bool) Ban {
	task, _ := b.TaskFor(source.Name)
	switch {
	case source.Drain == nil || !source.Drain.Selects(b) || task == nil || len(task.Others()) > 0:
		return Ban{}
	case !returned && !ReturnsToDrained(b, source):
		return Ban{}
	case b.RequiredOn(source.Name):
		return Ban{Wanted: true, Reason: reason.HeldForParents, Message: "the scheduler would put it back, and parents of it run on " + source.Name + ": its copy there is held for them"}
	case !sourceReady:
		return Ban{Wanted: true, Reason: reason.SchedulerReturnsIt, Message: "the scheduler would put it back, and " + source.Name + " does not answer: its old copy is held"}
	}
	return Ban{Wanted: true}
}
