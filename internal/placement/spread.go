package placement

import (
	"maps"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// crashes names a group that makes the scheduler fail for a workload that is not
// divided, before Karmada 1.17: it scores the groups of a spread by their clusters with
// room for every replica, and divides by their number.
func (in scheduler) crashes(seen []karmada.Cluster) string {
	b := in.Binding
	p := b.Placement
	if !in.Karmada.Before(karmada.SkipsFullGroups) || p.Divided() || b.Replicas == 0 || p.IgnoresSpread() {
		return ""
	}
	for _, s := range p.SpreadConstraints {
		if s.SpreadByLabel != "" || s.Field() == karmada.SpreadByCluster {
			continue
		}
		groups := s.Grouped(seen)
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			if !slices.ContainsFunc(groups[name], func(c karmada.Cluster) bool { return in.free(c)+int64(in.had(c.Name)) >= int64(b.Replicas) }) {
				return s.Field() + " " + name
			}
		}
	}
	return ""
}
