package failover

import (
	"fmt"
	"slices"
)

// PreCheck tells whether there is somewhere to go, before anything is taken away.
// Its yes means that Karmada's scheduler must place the binding; its no means that
// the scheduler would fail, or that a cautious reason stands against it (a cluster
// not Ready, a soft taint, no proven room). It leaves the purge mode to
// [Unsupported], which also knows the policy's.
//
// The failing cluster never counts. Clusters are judged twice: as the scheduler
// will see them, to know which affinity group it takes, and as we trust them, to
// know whether that group holds anything worth moving to.
func PreCheck(in PreCheckInput) Verdict {
	if v := in.standing(); v.Reason != ReasonNone {
		return v
	}
	if reason, message := unsupportedShape(in.Binding); reason != ReasonNone {
		return Verdict{Reason: reason, Message: message}
	}
	if v := in.unsettled(); v.Reason != ReasonNone {
		return v
	}
	if !in.emptied() {
		if !in.looksAgain() {
			return in.staying()
		}
		return in.search(in.groups(), false)
	}
	// Only an eviction that leaves nothing may trigger a reschedule, which begins
	// again at the first group: with survivors it would divide from scratch.
	if in.looksAgain() {
		if v := in.search(in.groups(), false); v.OK || in.observed() == 0 {
			return v
		}
	}
	v := in.search(in.allGroups(), true)
	v.Reschedule = v.OK
	return v
}

// fits tells whether the binding has a place in one affinity group, at which the scheduler
// stands or, in a fresh pass, begins.
func (in PreCheckInput) fits(group int, fresh bool) bool {
	if !fresh && !in.looksAgain() {
		return in.staying().OK
	}
	return in.search(in.allGroups()[group:group+1], fresh).OK
}

// standing looks at what the binding already carries; no reason means go on.
func (in PreCheckInput) standing() Verdict {
	if _, at := in.Binding.Target(in.Failing); at < 0 {
		return Verdict{Reason: ReasonNotTargeting, Message: "it does not use " + in.Failing}
	}
	for _, t := range in.Binding.Tasks {
		if t.FromCluster == in.Failing && !t.active() {
			return Verdict{Reason: ReasonForeignTask, Message: fmt.Sprintf(
				"a task of %s for %s stands (%s)", t.Producer, t.FromCluster, t.Reason)}
		}
	}
	return Verdict{}
}

// active tells a task that a running migration of ours may own; what was kept or
// left to a human is off limits.
func (t Task) active() bool {
	return t.Ours() && t.Reason != TaskReasonKept && t.Reason != TaskReasonLeftToHuman && t.Reason != TaskReasonBanned
}

// emptied tells whether the eviction leaves spec.clusters empty.
func (in PreCheckInput) emptied() bool { return len(in.survivors()) == 0 }

func (in PreCheckInput) survivors() []TargetCluster {
	return slices.DeleteFunc(slices.Clone(in.Binding.Clusters), func(t TargetCluster) bool { return t.Name == in.Failing })
}

// looksAgain tells whether the scheduler places the binding by itself once the
// cluster is out: always unless replicas are divided, and then when some are missing
// or a target is being deleted.
func (in PreCheckInput) looksAgain() bool {
	if !in.Binding.Workload || !in.Binding.Placement.Divided() {
		return true
	}
	return sumOf(in.survivors()) != in.Binding.Replicas || slices.ContainsFunc(in.surviving(), func(c Cluster) bool { return c.Deleting })
}

// surviving are the clusters of the survivors, as far as the fleet has them.
func (in PreCheckInput) surviving() []Cluster {
	return slices.DeleteFunc(slices.Clone(in.Fleet), func(c Cluster) bool {
		_, at := in.Binding.Target(c.Name)
		return at < 0 || c.Name == in.Failing
	})
}

// unsettled refuses what the eviction alone does not decide: the scheduler has yet to
// act on the binding as it stands, or would not act on it at all.
func (in PreCheckInput) unsettled() Verdict {
	b := in.Binding
	switch {
	case b.Replicas == 0 && b.HasRequirements && len(b.Components) == 0:
		return Verdict{Reason: ReasonNoReplicas, Message: "it has no replicas: the scheduler would leave it without any cluster"}
	case b.PlacementPending:
		return Verdict{Reason: ReasonSchedulingPending, Message: "the scheduler has yet to apply its placement"}
	case b.rescheduleRequired():
		return Verdict{Reason: ReasonSchedulingPending, Message: "the scheduler has yet to answer rescheduleTriggeredAt"}
	case !in.emptied() && !in.looksAgain() && !scheduledTrue(b):
		return Verdict{Reason: ReasonSchedulingPending, Message: "the scheduler has not accepted its targets, and the eviction does not make it look again"}
	}
	return Verdict{}
}

// rescheduleRequired tells whether the scheduler divides from scratch when it next looks.
func (b *Binding) rescheduleRequired() bool {
	at, last := b.RescheduleTriggeredAt, b.Status.LastScheduled
	return at != nil && last != nil && at.After(*last)
}

// staying judges an eviction that the scheduler does not answer: the cluster held no
// replicas, and what survives is all there will be. A survivor without replicas is none.
func (in PreCheckInput) staying() Verdict {
	holding := slices.DeleteFunc(in.trusted(in.surviving()), func(c Cluster) bool {
		return in.Binding.divides() && in.had(c.Name) == 0
	})
	names := clusterNames(holding)
	if len(names) == 0 {
		return in.noTarget(group{affinity: &ClusterAffinity{ClusterNames: targetNames(in.survivors())}})
	}
	return Verdict{OK: true, Candidates: names, Message: "the other targets hold every replica already (" + List(names) + ")"}
}

// group is one affinity that the scheduler tries; a placement without groups has a
// single nameless one.
type group struct {
	name     string
	affinity *ClusterAffinity
}

// in says where: " (m2, m3)", or " (m2, m3) in group "backup"".
func (g group) in(names []string) string {
	if g.name == "" {
		return " (" + List(names) + ")"
	}
	return fmt.Sprintf(" (%s) in group %q", List(names), g.name)
}

func (p *Placement) groups() []group {
	if len(p.ClusterAffinities) == 0 {
		return []group{{affinity: p.ClusterAffinity}}
	}
	out := make([]group, 0, len(p.ClusterAffinities))
	for i := range p.ClusterAffinities {
		term := &p.ClusterAffinities[i]
		out = append(out, group{name: term.AffinityName, affinity: &term.ClusterAffinity})
	}
	return out
}

func (in PreCheckInput) allGroups() []group { return in.Binding.Placement.groups() }

// groups are those that the scheduler still tries: it only moves forward.
func (in PreCheckInput) groups() []group { return in.allGroups()[in.observed():] }

func (in PreCheckInput) observed() int { return in.Binding.observedGroup() }

// observedGroup is the index of the affinity group that the scheduler stands at. A
// name that it does not find means the first, to the scheduler too.
func (b *Binding) observedGroup() int {
	return max(0, slices.IndexFunc(b.Placement.ClusterAffinities, func(t ClusterAffinityTerm) bool {
		return t.AffinityName == b.Status.ObservedAffinity
	}))
}

// search walks the groups as the scheduler does and judges the first that it would
// take. When it would take none, the last group's no is the answer.
func (in PreCheckInput) search(groups []group, fresh bool) Verdict {
	left := in.afterEviction()
	a := left.walk(groups, fresh)
	if a.reason == ReasonNone {
		a = left.rest(a)
	}
	if a.reason != ReasonNone {
		return in.refused(a)
	}
	v := in.judge(a)
	if v.OK && in.Margin > 0 && in.dividesByRoom() {
		less := left
		less.lessRoom = in.Margin
		if b := less.walk(groups, fresh); b.reason != ReasonNone {
			return in.tooFull(b.group, b.seen, fmt.Sprintf("%s, with a margin of %d %%", b.why, in.Margin))
		}
	}
	return v
}

// afterEviction is the same question about the binding as the eviction leaves it.
func (in PreCheckInput) afterEviction() PreCheckInput {
	after := *in.Binding
	after.Clusters = in.survivors()
	in.Binding = &after
	return in
}

// refused is the no of an attempt that fails.
func (in PreCheckInput) refused(a attempt) Verdict {
	switch {
	case len(a.seen) == 0:
		return in.noTarget(a.group)
	case a.reason == ReasonSpreadUnsatisfied:
		return in.unsatisfied(a.group, a.seen, a.why)
	case a.reason == ReasonNoCapacity:
		return in.tooFull(a.group, a.seen, a.why)
	}
	return Verdict{Reason: a.reason, Message: a.why}
}

// judge looks at what the scheduler makes of it through our eyes.
func (in PreCheckInput) judge(a attempt) Verdict {
	used := slices.DeleteFunc(in.trusted(a.seen), func(c Cluster) bool {
		return !slices.ContainsFunc(a.targets, func(t TargetCluster) bool { return t.Name == c.Name })
	})
	candidates := in.trusted(a.seen)
	if len(used) == 0 {
		return in.noTarget(a.group)
	}
	if why := in.Binding.Placement.unspread(candidates); why != "" {
		return in.unsatisfied(a.group, candidates, why)
	}
	v := in.judgeRoom(a, used)
	if v.OK && NeedsRoom(in.Binding) {
		v = in.pooled(v, candidates)
	}
	return v
}

func (in PreCheckInput) judgeRoom(a attempt, used []Cluster) Verdict {
	switch {
	case len(in.Binding.Components) > 0:
		return in.judgeComponents(a.group, used)
	case in.Binding.divides():
		return in.judgeDivided(a.group, used, a.targets)
	}
	// Duplicated, and whatever has no replicas to divide: either a candidate is new,
	// or a copy survives on one; the spread holds in both cases.
	names := clusterNames(used)
	return Verdict{OK: true, Candidates: names, Message: Count(len(names), "candidate") + a.group.in(names)}
}

// divides tells whether there are replicas to divide.
func (b *Binding) divides() bool { return b.Workload && b.Placement.Divided() && b.Replicas > 0 }

func (in PreCheckInput) dividesByRoom() bool {
	return in.Binding.divides() && in.Binding.Placement.byRoom()
}

// NeedsRoom tells whether room decides about a binding. A duplicated workload goes
// where its spread says, and the scheduler never asks for room.
func NeedsRoom(b *Binding) bool { return b.divides() || len(b.Components) > 0 }

func (in PreCheckInput) noTarget(g group) Verdict {
	message := "0 candidates: " + in.refusals(g)
	if g.name != "" {
		message = fmt.Sprintf("group %q has ", g.name) + message
	}
	if in.pinned() {
		return Verdict{Reason: ReasonPinned, Message: message}
	}
	return Verdict{Reason: ReasonNoTarget, Message: message}
}

func (in PreCheckInput) unsatisfied(g group, clusters []Cluster, why string) Verdict {
	names := clusterNames(clusters)
	return Verdict{Reason: ReasonSpreadUnsatisfied, Candidates: names, Message: fmt.Sprintf("%s%s, %s",
		Count(len(names), "candidate"), g.in(names), why)}
}

func clusterNames(clusters []Cluster) []string {
	names := make([]string, 0, len(clusters))
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Count says how many of something there are: "1 binding", "2 bindings".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// pinned tells whether every affinity of the placement names the failing cluster and no
// other: somebody wants it there and nowhere else.
func (in PreCheckInput) pinned() bool {
	return !slices.ContainsFunc(in.allGroups(), func(g group) bool {
		return g.affinity == nil || !slices.Equal(g.affinity.ClusterNames, []string{in.Failing})
	})
}
