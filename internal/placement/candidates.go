package placement

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// SeenByScheduler are the clusters that pass the scheduler's filters in a group
// once the failing one is out, sorted by name. The scheduler does not look at Ready.
func (in PreCheckInput) SeenByScheduler(g karmada.Group) []karmada.Cluster {
	out := those(in.Fleet, func(c *karmada.Cluster) bool {
		selected, err := g.Affinity.SelectsIn(in.Karmada, *c)
		return err == nil && selected && in.filtered(*c) == ""
	})
	slices.SortFunc(out, func(a, b karmada.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// filtered says why the scheduler would not take a cluster that the placement
// selects, empty when it would. A cluster that already serves the binding passes
// whatever its taints.
func (in PreCheckInput) filtered(c karmada.Cluster) string {
	_, held := in.Binding.TaskFor(c.Name)
	switch {
	case c.Name == in.Failing:
		return "failing"
	case c.Deleting:
		return "being deleted"
	case held >= 0:
		return "under eviction for it"
	}
	if property := in.Binding.Placement.LacksProperty(c); property != "" {
		return "without a " + property
	}
	_, served := in.Binding.Target(c.Name)
	if !in.Binding.ApiServed(c, served >= 0) {
		return "without API " + in.Binding.Resource.Api()
	}
	if taint := in.Binding.Untolerated(c.Taints); taint != nil && served < 0 {
		return "tainted " + taint.ToString()
	}
	return ""
}

// trusted are those that Lifeboat would move to.
func (in PreCheckInput) trusted(seen []karmada.Cluster) []karmada.Cluster {
	return those(seen, func(c *karmada.Cluster) bool { return in.Distrusted(*c) == "" })
}

// Distrusted says why Lifeboat would not move to a cluster that the scheduler would take,
// empty when it would.
func (in PreCheckInput) Distrusted(c karmada.Cluster) string {
	hard, soft := karmada.Triggering(c.Taints)
	switch {
	case c.Malformed != "":
		return "not understood: " + c.Malformed
	case in.Evacuating[c.Name]:
		return "being evacuated"
	case in.Binding.NotDispatchedTo(c.Name):
		return "named in spec.suspension.dispatchingOnClusters"
	case !c.Ready():
		return "not Ready"
	case len(soft) > 0:
		return "tainted " + soft[0].ToString()
	}
	if taint := in.Binding.Untolerated(hard); taint != nil {
		return "tainted " + taint.ToString()
	}
	return ""
}

// maxRefusals bounds how many clusters one message names.
const maxRefusals = 6

// refusals says of every other cluster of a group what stands against it.
func (in PreCheckInput) refusals(g karmada.Group) string {
	var why []string
	for _, c := range in.Fleet {
		if selected, err := g.Affinity.SelectsIn(in.Karmada, c); err != nil || !selected || c.Name == in.Failing {
			continue
		}
		reason := in.filtered(c)
		if reason == "" {
			reason = in.Distrusted(c)
		}
		if reason != "" {
			why = append(why, fmt.Sprintf("%s is %s", c.Name, reason))
		}
	}
	if len(why) == 0 {
		return "the placement" + in.Binding.OfPolicy() + " allows no cluster but " + in.Failing
	}
	slices.Sort(why)
	if more := len(why) - maxRefusals; more > 0 {
		why = append(why[:maxRefusals], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(why, ", ")
}

// refused is a no to the candidates of a group; its text follows their names.
func refused(why reason.Reason, g karmada.Group, candidates []karmada.Cluster, text string) reason.Verdict {
	names := karmada.ClusterNames(candidates)
	return reason.Verdict{Reason: why, Candidates: names, Message: reason.Count(len(names), "candidate") + g.In(names) + text}
}

// scheduler foresees what Karmada's scheduler does with the binding of an input.
type scheduler struct {
	PreCheckInput
	lessRoom int // percentage of every cluster's room that is taken away
}

// candidate is a cluster as the scheduler ranks it.
type candidate struct {
	*karmada.Cluster
	score  int64 // 100 where it serves the binding, else 0
	free   int64 // replicas that it has room for
	credit int64 // free, and the replicas that it has already
}

const maxScore = 100

func byRank(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.credit, a.credit), cmp.Compare(a.Name, b.Name))
}

// rank orders clusters as the scheduler does: those that serve the binding first, then
// by room, then by name.
func (in scheduler) rank(seen []karmada.Cluster) []candidate {
	out := make([]candidate, 0, len(seen))
	for n := range seen {
		c := &seen[n]
		r := candidate{Cluster: c, free: in.free(*c)}
		r.credit = r.free + int64(in.had(c.Name))
		if _, at := in.Binding.Target(c.Name); at >= 0 {
			r.score = maxScore
		}
		out = append(out, r)
	}
	slices.SortFunc(out, byRank)
	return out
}

// free is how many replicas the scheduler believes that a cluster has room for, less
// the margin. It counts only where there are replicas.
func (in scheduler) free(c karmada.Cluster) int64 {
	b := in.Binding
	if b.Replicas == 0 && len(b.Components) == 0 {
		return math.MaxInt32
	}
	free := credit(c.Capacity, b.Requirements(), nil)
	if free == math.MaxInt32 {
		free = int64(b.Replicas)
	}
	return free - free*int64(in.lessRoom)/100
}

func (in PreCheckInput) noTarget(g karmada.Group) reason.Verdict {
	message := "0 candidates: " + in.refusals(g)
	if g.Name != "" {
		message = fmt.Sprintf("group %q has ", g.Name) + message
	}
	if in.pinned() {
		return reason.Verdict{Reason: reason.Pinned, Message: message}
	}
	return reason.Verdict{Reason: reason.NoTarget, Message: message}
}

// pinned reports whether every affinity of the placement names the failing cluster and no
// other: it is to run there and nowhere else.
func (in PreCheckInput) pinned() bool {
	return !slices.ContainsFunc(in.AllGroups(), func(g karmada.Group) bool {
		return g.Affinity == nil || !slices.Equal(g.Affinity.ClusterNames, []string{in.Failing})
	})
}
