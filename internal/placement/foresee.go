package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// pass is what the scheduler makes of one affinity group.
type pass struct {
	group   karmada.Group
	seen    []karmada.Cluster // they pass the filters
	targets []karmada.TargetCluster
	reason  reason.Reason // why it fails, reason.None where it does not
	why     string
}

func (a pass) failed(reason reason.Reason, why string) pass {
	a.targets, a.reason, a.why = nil, reason, why
	return a
}

// pass foresees one pass over one affinity group. A fresh pass follows a reschedule:
// it divides without regard to what clusters have.
func (in scheduler) pass(g karmada.Group, fresh bool) pass {
	a := pass{group: g, seen: in.SeenByScheduler(g)}
	if len(a.seen) == 0 {
		return a.failed(reason.NoTarget, "")
	}
	if what := in.crashes(a.seen); what != "" {
		return a.failed(reason.NoCapacity, "the scheduler fails where nothing in "+what+" has room for every replica")
	}
	selected, cause, why := in.selects(in.rank(a.seen))
	if cause != reason.None {
		return a.failed(cause, why)
	}
	if a.targets, why = in.assign(selected, fresh); why != "" {
		return a.failed(reason.NoCapacity, why)
	}
	return a
}

// walk tries groups one after another, as the scheduler does; the last one that fails
// is the answer where all do.
func (in scheduler) walk(groups []karmada.Group, fresh bool) pass {
	var a pass
	for _, g := range groups {
		if a = in.pass(g, fresh); a.reason == reason.None {
			return a
		}
	}
	return a
}

// settle walks groups, and follows the first that the scheduler takes until it rests.
func (in scheduler) settle(groups []karmada.Group, fresh bool) pass {
	a := in.walk(groups, fresh)
	if a.reason == reason.None {
		a = in.rest(a)
	}
	return a
}

// maxPasses bounds how often the scheduler may look again until it rests.
const maxPasses = 5

// rest follows a pass until the scheduler rests: its own patch makes it look again,
// and a cluster that it has just left must then pass every filter.
func (in scheduler) rest(a pass) pass {
	for range maxPasses {
		next, after := in, *in.Binding
		after.Clusters, after.Status.ObservedAffinity = a.targets, a.group.Name
		next.Binding = &after
		if !next.looksAgain() {
			return a
		}
		again := next.walk(next.groups(), false)
		if again.reason != reason.None {
			return a.failed(again.reason, "the scheduler's second pass fails: "+again.why)
		}
		if slices.Equal(sorted(again.targets), sorted(a.targets)) && again.group.Name == a.group.Name {
			return a
		}
		again.seen = a.seen
		a = again
	}
	return a.failed(reason.NoTarget, "the scheduler does not come to rest")
}

func sorted(targets []karmada.TargetCluster) []karmada.TargetCluster {
	return slices.SortedFunc(slices.Values(targets), func(a, b karmada.TargetCluster) int { return cmp.Compare(a.Name, b.Name) })
}

// selects foresees which clusters the scheduler selects. It knows spread by cluster and
// by region only; zones, providers and labels beside them do not change its choice.
func (in scheduler) selects(all []candidate) (selected []candidate, cause reason.Reason, why string) {
	p := in.Binding.Placement
	if p.IgnoresSpread() {
		return all, reason.None, ""
	}
	clusters, byCluster := p.SpreadBy(karmada.SpreadByCluster)
	if regions, byRegion := p.SpreadBy(karmada.SpreadByRegion); byRegion {
		selected, why = in.selectByRegion(regions, clusters, all)
	} else if byCluster {
		return in.selectByCluster(clusters, all)
	} else {
		why = "the scheduler spreads by cluster and by region only"
	}
	if why == "" && len(selected) == 0 {
		why = "without maxGroups the scheduler selects nothing"
	}
	if why != "" {
		return nil, reason.SpreadUnsatisfied, why
	}
	return selected, reason.None, ""
}

// selectByCluster takes the first clusters by rank. Where replicas are divided, those
// without enough room together give way, the last one first, to ones with more.
func (in scheduler) selectByCluster(spread karmada.SpreadConstraint, all []candidate) (selected []candidate, cause reason.Reason, why string) {
	if len(all) < spread.MinGroups {
		return nil, reason.SpreadUnsatisfied, karmada.Wants(spread, len(all))
	}
	want := min(len(all), spread.MaxGroups)
	if want <= 0 {
		return nil, reason.SpreadUnsatisfied, "without maxGroups the scheduler selects nothing"
	}
	selected, rest := slices.Clone(all[:want]), slices.Clone(all[want:])
	if !in.Binding.Placement.Divided() {
		return selected, reason.None, ""
	}
	for last := len(selected) - 1; last >= 0 && credits(selected) < int64(in.Binding.Replicas); last-- {
		if at := roomiest(rest, selected[last].credit); at >= 0 {
			selected[last], rest[at] = rest[at], selected[last]
		}
	}
	if credits(selected) < int64(in.Binding.Replicas) {
		return nil, reason.NoCapacity, fmt.Sprintf("no %d of them have room for %d replicas together", want, in.Binding.Replicas)
	}
	return selected, reason.None, ""
}

func credits(clusters []candidate) (sum int64) {
	for _, c := range clusters {
		sum += c.credit
	}
	return sum
}

// roomiest is the first cluster with the most room, of those with more than so much;
// -1 for none.
func roomiest(clusters []candidate, more int64) int {
	at := -1
	for i, c := range clusters {
		if c.credit > more {
			at, more = i, c.credit
		}
	}
	return at
}
