package placement

import (
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// PreCheck reports whether there is somewhere to go, before anything is taken away.
// Its yes means that Karmada's scheduler must place the binding; its no means that
// the scheduler would fail, or that a cautious reason stands against it (a cluster
// not Ready, a soft taint, no proven room). It leaves the purge mode to
// [rules.Unsupported], which also knows the policy's.
//
// The failing cluster never counts. Clusters are judged twice: as the scheduler
// will see them, to know which affinity group it takes, and as Lifeboat trusts them, to
// know whether that group holds anything worth moving to.
func PreCheck(in PreCheckInput) reason.Verdict {
	if v := in.obstacle(); v.Reason != reason.None {
		return v
	}
	if why, message := rules.UnsupportedShape(in.Binding); why != reason.None {
		return reason.Verdict{Reason: why, Message: message}
	}
	if in.Binding.Resource.GroupKind() == karmada.KindJob && in.Binding.Divides() && !in.emptied() {
		// Karmada divides spec.completions again over the clusters that remain, and no API server takes that for a Job that exists.
		return reason.Verdict{Reason: reason.NotSupportedPlacement, Message: "it is a Job divided over several clusters: " +
			"the other copies would get a new number of completions, which cannot change"}
	}
	if v := in.unsettled(); v.Reason != reason.None {
		return v
	}
	if !in.emptied() {
		if !in.looksAgain() {
			return in.staying()
		}
		return in.search(in.groups(), false)
	}
	return in.leaving()
}

// leaving judges an eviction that leaves nothing. Only such a one may trigger a reschedule, which begins
// again at the first group: with survivors it would divide from scratch.
func (in PreCheckInput) leaving() reason.Verdict {
	if in.looksAgain() {
		if v := in.search(in.groups(), false); v.OK || in.Binding.ObservedGroup() == 0 {
			return v
		}
	}
	return in.rescheduled()
}

// NeedsReschedule reports whether only a reschedule places a binding from which the cluster is or will be taken,
// whatever the scheduler has yet to write. What it would not place at all, or not by rules that are known, needs none.
func (in PreCheckInput) NeedsReschedule() bool {
	unsupported, _ := rules.UnsupportedShape(in.Binding)
	return unsupported == reason.None && !in.noReplicas() && in.emptied() && in.leaving().Reschedule
}

// noReplicas reports a workload of 0 replicas: the scheduler leaves it without any cluster.
func (in PreCheckInput) noReplicas() bool {
	return in.Binding.Replicas == 0 && in.Binding.HasRequirements && len(in.Binding.Components) == 0
}

// rescheduled judges an eviction with a reschedule.
func (in PreCheckInput) rescheduled() reason.Verdict {
	v := in.search(in.AllGroups(), true)
	if v.OK && in.Binding.Status.LastScheduled == nil {
		return reason.Verdict{Reason: reason.SchedulingPending, Message: "it needs a reschedule, and a scheduler that has never set " +
			"status.lastScheduledTime ignores rescheduleTriggeredAt: " + v.Message}
	}
	v.Reschedule = v.OK
	return v
}

// Fits reports whether the binding has a place in one affinity group, at which the scheduler
// stands or, in a fresh pass, begins.
func (in PreCheckInput) Fits(group int, fresh bool) bool {
	if !fresh && !in.looksAgain() {
		return in.staying().OK
	}
	return in.search(in.AllGroups()[group:group+1], fresh).OK
}

// Stays reports whether a reschedule, which divides from scratch, leaves each target with at least the
// replicas that it has.
func (in PreCheckInput) Stays() bool {
	a := scheduler{PreCheckInput: in}.settle(in.AllGroups(), true)
	return a.reason == reason.None && !slices.ContainsFunc(in.survivors(), func(had karmada.TargetCluster) bool {
		return !slices.ContainsFunc(a.targets, func(t karmada.TargetCluster) bool { return t.Name == had.Name && t.Replicas >= had.Replicas })
	})
}

// obstacle looks at what the binding already carries; no reason means go on.
func (in PreCheckInput) obstacle() reason.Verdict {
	if _, at := in.Binding.Target(in.Failing); at < 0 {
		return reason.Verdict{Reason: reason.NotTargeting, Message: "it does not use " + in.Failing}
	}
	for _, t := range in.Binding.Tasks {
		if t.FromCluster == in.Failing && !t.Active() {
			return reason.Verdict{Reason: reason.ForeignTask, Message: fmt.Sprintf(
				"a task of %s for %s stands (%s)", t.Producer, t.FromCluster, t.Reason)}
		}
	}
	return reason.Verdict{}
}

// unsettled refuses what the eviction alone does not decide: the scheduler has yet to
// act on the binding as it stands, or would not act on it at all.
func (in PreCheckInput) unsettled() reason.Verdict {
	b := in.Binding
	switch {
	case in.noReplicas():
		return reason.Verdict{Reason: reason.NoReplicas, Message: "it has no replicas: the scheduler would leave it without any cluster"}
	case b.PlacementPending:
		return reason.Verdict{Reason: reason.SchedulingPending, Message: "the scheduler has yet to apply its placement"}
	case b.RescheduleRequired():
		return reason.Verdict{Reason: reason.SchedulingPending, Message: "the scheduler has yet to answer rescheduleTriggeredAt"}
	case !in.emptied() && !in.looksAgain() && !karmada.ScheduledTrue(b):
		return reason.Verdict{Reason: reason.SchedulingPending, Message: "the scheduler has not accepted its targets, and the eviction does not make it look again"}
	}
	return reason.Verdict{}
}

// staying judges an eviction that the scheduler does not answer: the cluster held no
// replicas, and what survives is all there will be. A survivor without replicas is none.
func (in PreCheckInput) staying() reason.Verdict {
	holding := those(in.trusted(in.surviving()), func(c *karmada.Cluster) bool {
		return !in.Binding.Divides() || in.had(c.Name) != 0
	})
	names := karmada.ClusterNames(holding)
	if len(names) == 0 {
		return in.noTarget(karmada.Group{Affinity: &karmada.ClusterAffinity{ClusterNames: karmada.TargetNames(in.survivors())}})
	}
	return reason.Verdict{OK: true, Candidates: names, Message: "the other targets hold every replica already (" + reason.List(names) + ")"}
}

// search walks the groups as the scheduler does and judges the first that it would
// take. When it would take none, the last group's no is the answer.
func (in PreCheckInput) search(groups []karmada.Group, fresh bool) reason.Verdict {
	left := scheduler{PreCheckInput: in}
	left.Binding = in.Binding.Without([]string{in.Failing})
	a := left.settle(groups, fresh)
	if a.reason != reason.None {
		return in.failed(a)
	}
	v := in.trustedPass(a)
	if v.OK && in.Margin > 0 && in.Binding.Divides() && in.Binding.Placement.ByRoom() {
		less := left
		less.lessRoom = in.Margin
		if b := less.walk(groups, fresh); b.reason != reason.None {
			return refused(reason.NoCapacity, b.group, b.seen, fmt.Sprintf(": %s, with a margin of %d %%", b.why, in.Margin))
		}
	}
	return v
}

// failed is the no of a pass that fails.
func (in PreCheckInput) failed(a pass) reason.Verdict {
	switch {
	case len(a.seen) == 0:
		return in.noTarget(a.group)
	case a.reason == reason.SpreadUnsatisfied:
		return refused(a.reason, a.group, a.seen, ", "+a.why)
	case a.reason == reason.NoCapacity:
		return refused(a.reason, a.group, a.seen, ": "+a.why)
	}
	return reason.Verdict{Reason: a.reason, Message: a.why}
}

// trustedPass looks at what the scheduler makes of it through Lifeboat's eyes.
func (in PreCheckInput) trustedPass(a pass) reason.Verdict {
	candidates := in.trusted(a.seen)
	used := those(candidates, func(c *karmada.Cluster) bool {
		return slices.ContainsFunc(a.targets, func(t karmada.TargetCluster) bool { return t.Name == c.Name })
	})
	if len(used) == 0 {
		return in.noTarget(a.group)
	}
	if why := in.Binding.Placement.Unspread(candidates); why != "" {
		return refused(reason.SpreadUnsatisfied, a.group, candidates, ", "+why)
	}
	v := in.judgeRoom(a, used)
	if v.OK && NeedsRoom(in.Binding) {
		v = in.pooled(v, candidates)
	}
	return v
}

func (in PreCheckInput) judgeRoom(a pass, used []karmada.Cluster) reason.Verdict {
	switch {
	case len(in.Binding.Components) > 0:
		return in.judgeComponents(a.group, used)
	case in.Binding.Divides():
		return in.judgeDivided(a.group, used, a.targets)
	}
	// Duplicated, and whatever has no replicas to divide: either a candidate is new,
	// or a copy survives on one; the spread holds in both cases.
	names := karmada.ClusterNames(used)
	return reason.Verdict{OK: true, Candidates: names, Message: reason.Count(len(names), "candidate") + a.group.In(names)}
}

// NeedsRoom reports whether room decides about a binding. A duplicated workload goes
// where its spread says, and the scheduler never checks for room.
func NeedsRoom(b *karmada.Binding) bool { return b.Divides() || len(b.Components) > 0 }
