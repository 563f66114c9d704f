package failover

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// seenByScheduler are the clusters that pass the scheduler's filters in a group
// once the failing one is out, sorted by name. The scheduler does not look at Ready.
func (in PreCheckInput) seenByScheduler(g group) []Cluster {
	var out []Cluster
	for _, c := range in.Fleet {
		selected, err := g.affinity.selectsIn(in.Karmada, c)
		if err == nil && selected && in.filtered(c) == "" {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Cluster) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// filtered says why the scheduler would not take a cluster that the placement
// selects, empty when it would. A cluster that already serves the binding passes
// whatever its taints.
func (in PreCheckInput) filtered(c Cluster) string {
	_, held := in.Binding.TaskFor(c.Name)
	switch {
	case c.Name == in.Failing:
		return "failing"
	case c.Deleting:
		return "being deleted"
	case held >= 0:
		return "under eviction for it"
	}
	if property := in.Binding.Placement.lacksProperty(c); property != "" {
		return "without a " + property
	}
	_, served := in.Binding.Target(c.Name)
	if !in.Binding.apiServed(c, served >= 0) {
		return "without API " + in.Binding.Resource.api()
	}
	if taint := in.Binding.untolerated(c.Taints); taint != nil && served < 0 {
		return "tainted " + taint.ToString()
	}
	return ""
}

// untolerated finds a taint that the scheduler minds: NoSchedule or NoExecute
// without a toleration, however long that toleration still runs.
func (b *Binding) untolerated(taints []corev1.Taint) *corev1.Taint {
	for i, taint := range taints {
		minded := taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
		if minded && !b.tolerates(taint) {
			return &taints[i]
		}
	}
	return nil
}

func (b *Binding) tolerates(taint corev1.Taint) bool {
	return slices.ContainsFunc(b.Placement.ClusterTolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) })
}

// apiServed tells whether the scheduler takes the resource's API as served: a cluster
// that serves the binding already always passes, any other only where Karmada lists the
// API. Where Karmada lists none, it is not known to be served.
func (b *Binding) apiServed(c Cluster, serves bool) bool {
	if serves {
		return true
	}
	// The core group may be written with its empty name.
	api := b.Resource.api()
	return slices.Contains(c.APIEnablements, api) || slices.Contains(c.APIEnablements, "/"+api)
}

// api is "group/version/Kind".
func (r Resource) api() string { return r.APIVersion + "/" + r.Kind }

// trusted are those that we would move to.
func (in PreCheckInput) trusted(seen []Cluster) []Cluster {
	return slices.DeleteFunc(slices.Clone(seen), func(c Cluster) bool { return in.distrusted(c) != "" })
}

// distrusted says why we would not move to a cluster that the scheduler would take,
// empty when we would.
func (in PreCheckInput) distrusted(c Cluster) string {
	hard, soft := Triggering(c.Taints)
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
	if taint := in.Binding.untolerated(hard); taint != nil {
		return "tainted " + taint.ToString()
	}
	return ""
}

// Ready tells whether the member is reachable and ready by Karmada's word.
func (c Cluster) Ready() bool {
	return slices.ContainsFunc(c.Conditions, func(cond Condition) bool {
		return cond.Type == ConditionReady && cond.Status == corev1.ConditionTrue
	})
}

// maxRefusals bounds how many clusters one message names.
const maxRefusals = 6

// refusals says of every other cluster of a group what stands against it.
func (in PreCheckInput) refusals(g group) string {
	var why []string
	for _, c := range in.Fleet {
		if selected, err := g.affinity.selectsIn(in.Karmada, c); err != nil || !selected || c.Name == in.Failing {
			continue
		}
		reason := in.filtered(c)
		if reason == "" {
			reason = in.distrusted(c)
		}
		if reason != "" {
			why = append(why, fmt.Sprintf("%s is %s", c.Name, reason))
		}
	}
	if len(why) == 0 {
		return "the placement" + in.Binding.ofPolicy() + " allows no cluster but " + in.Failing
	}
	slices.Sort(why)
	if more := len(why) - maxRefusals; more > 0 {
		why = append(why[:maxRefusals], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(why, ", ")
}
