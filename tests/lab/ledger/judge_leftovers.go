package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// leftovers: where a failover is over, nothing of it is left.
func (g *judgement) leftovers() Check {
	check := Check{Name: "nothing is left behind where a failover is over"}
	over := map[string]bool{}
	for _, r := range g.question.Reports {
		if closed, seen := over[r.Cluster]; g.covers(r.Cluster) && (closed || !seen) {
			over[r.Cluster] = r.closed()
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(over)) {
		if over[cluster] {
			check.Looked++
			check.Problems = append(check.Problems, g.leftOn(cluster)...)
		}
	}
	return check
}

func (g *judgement) leftOn(cluster string) []string {
	problems := g.leftOnCluster(cluster)
	for _, b := range g.bindings {
		reason, held := holdsOf(b.Binding)[cluster]
		if held && reason != reasonKept && reason != reasonNeedsOperator {
			problems = append(problems, fmt.Sprintf("%s: a hold task for %s is left", nameOf(b.Binding), cluster))
		}
	}
	for _, m := range g.moves {
		if m.Cluster == cluster && m.End == EndReleased && g.unpaid(m) {
			problems = append(problems, fmt.Sprintf("%s: its old Work on %s still stands and no pending purge is reported", m.Binding, cluster))
		}
	}
	slices.Sort(problems)
	return problems
}

func (g *judgement) leftOnCluster(cluster string) []string {
	c := g.clusters[cluster]
	if c == nil {
		return nil
	}
	var problems []string
	for _, t := range c.Spec.Taints {
		name := taintName(t)
		if strings.HasPrefix(t.Key, prefix) || g.ruled[cluster][name] || g.ruled[""][name] {
			problems = append(problems, fmt.Sprintf("%s: the taint %s is left", cluster, name))
		}
	}
	for name := range c.Annotations {
		if strings.HasPrefix(name, prefix) && name != annotationEnabled {
			problems = append(problems, fmt.Sprintf("%s: the annotation %s is left", cluster, name))
		}
	}
	return problems
}

// unpaid: the old Work stands although nobody wants it, and no report owes it.
func (g *judgement) unpaid(m *Move) bool {
	for key, w := range g.works {
		if string(w.UID) != m.OldWork || m.OldWork == "" {
			continue
		}
		if b := g.bindings[strings.TrimSuffix(key, "@"+m.Cluster)]; b != nil && b.Target(m.Cluster) != nil {
			return false
		}
		return !slices.ContainsFunc(g.question.Reports, func(r Report) bool {
			return slices.ContainsFunc(r.PendingPurges, func(d PendingPurge) bool { return d.UID == m.OldWork })
		})
	}
	return false
}
