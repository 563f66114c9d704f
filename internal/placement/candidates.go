package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// SeenByScheduler are the clusters that pass the scheduler's filters in a group
// once the failing one is out, sorted by name. The scheduler does not look at Ready.
func (in PreCheckInput) SeenByScheduler(g karmada.Group) []karmada.Cluster {
	var out []karmada.Cluster
	for _, c := range in.Fleet {
		selected, err := g.Affinity.SelectsIn(in.Karmada, c)
		if err == nil && selected && in.filtered(c) == "" {
			out = append(out, c)
		}
	}
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
	return slices.DeleteFunc(slices.Clone(seen), func(c karmada.Cluster) bool { return in.Distrusted(c) != "" })
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

// tooFull says no for want of room.
func (in PreCheckInput) tooFull(g karmada.Group, seen []karmada.Cluster, what string) reason.Verdict {
	names := karmada.ClusterNames(seen)
	return reason.Verdict{Reason: reason.NoCapacity, Candidates: names, Message: fmt.Sprintf("%s%s: %s",
		reason.Count(len(names), "candidate"), g.In(names), what)}
}
