package placement

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// region is a group of clusters that the scheduler weighs as one.
type region struct {
	name    string
	members []candidate // by rank
	score   int64
}

// selectByRegion takes the best set of regions that together have enough clusters, the
// first cluster of each, and then the best of their others while the spread by cluster
// allows more.
func (in scheduler) selectByRegion(spread, clusters karmada.SpreadConstraint, all []candidate) (selected []candidate, why string) {
	regions := in.regions(spread, clusters, all)
	if len(regions) < spread.MinGroups {
		return nil, karmada.Wants(spread, len(regions))
	}
	chosen, ok := bestRegions(regions, spread, clusters.MinGroups)
	if !ok {
		return nil, "it has more regions than the pre-check can weigh"
	}
	if len(chosen) == 0 {
		return nil, fmt.Sprintf("no %d regions have %d clusters", spread.MaxGroups, clusters.MinGroups)
	}
	var others []candidate
	for _, r := range chosen {
		selected = append(selected, r.members[0])
		others = append(others, r.members[1:]...)
	}
	slices.SortFunc(others, byRank)
	if more := min(len(selected)+len(others), clusters.MaxGroups) - len(selected); more > 0 {
		selected = append(selected, others[:more]...)
	}
	return selected, ""
}

func (in scheduler) regions(spread, clusters karmada.SpreadConstraint, all []candidate) []region {
	var out []region
	for _, c := range all {
		at := slices.IndexFunc(out, func(r region) bool { return r.name == c.Region })
		if at < 0 {
			at = len(out)
			out = append(out, region{name: c.Region})
		}
		out[at].members = append(out[at].members, c)
	}
	for i := range out {
		if in.Binding.Placement.Divided() {
			out[i].score = in.scoreDivided(out[i].members, spread.MinGroups, clusters.MinGroups)
		} else {
			out[i].score = in.scoreDuplicated(out[i].members)
		}
	}
	return out
}

// room counts a thousand times as much as a cluster's own score.
const roomWeight = 1000

// scoreDuplicated counts the members with room for a whole copy.
func (in scheduler) scoreDuplicated(members []candidate) int64 {
	var fit, scores int64
	for _, c := range members {
		if c.credit >= int64(in.Binding.Replicas) {
			fit++
			scores += c.score
		}
	}
	if fit == 0 {
		return 0
	}
	return fit*roomWeight + scores/fit
}

// scoreDivided counts the room of the first members, up to the region's part of the replicas.
func (in scheduler) scoreDivided(members []candidate, minRegions, minClusters int) int64 {
	part := int64(math.Ceil(float64(in.Binding.Replicas) / float64(minRegions)))
	least := int64(max(minRegions, minClusters))
	var room, scores, taken int64
	for _, c := range members {
		room, scores, taken = room+c.credit, scores+c.score, taken+1
		if taken >= least && room >= part {
			break
		}
	}
	if room < part {
		return room*roomWeight + scores/int64(len(members))
	}
	return part*roomWeight + scores/taken
}

// path is a set of regions, the heaviest first.
type path struct {
	regions []region
	score   int64
	size    int // clusters
}

// maxRegionSteps bounds the search: the scheduler's own is exponential.
const maxRegionSteps = 1 << 16

// bestRegions looks for the best set of regions with enough clusters together, in as
// many regions as the spread allows; none where there is no such set. Not ok where the
// search would take too long.
func bestRegions(regions []region, spread karmada.SpreadConstraint, minClusters int) (chosen []region, ok bool) {
	slices.SortFunc(regions, func(a, b region) int {
		return cmp.Or(cmp.Compare(len(a.members), len(b.members)), cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	var paths []path
	var steps int
	var extend func(taken []region, size, from int)
	extend = func(taken []region, size, from int) {
		if steps++; steps > maxRegionSteps {
			return
		}
		if size >= minClusters && len(taken) >= spread.MinGroups && len(taken) <= spread.MaxGroups {
			paths = append(paths, pathOf(taken))
			return
		}
		if len(taken) >= spread.MaxGroups {
			return
		}
		for i := from; i < len(regions); i++ {
			extend(append(slices.Clone(taken), regions[i]), size+len(regions[i].members), i+1)
		}
	}
	extend(nil, 0, 0)
	if len(paths) == 0 || steps > maxRegionSteps {
		return nil, steps <= maxRegionSteps
	}
	slices.SortStableFunc(paths, func(a, b path) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.size, a.size))
	})
	best := paths[0]
	for _, p := range paths[1:] {
		if p.begins(best) {
			best = p
		}
	}
	return best.regions, true
}

func pathOf(taken []region) path {
	p := path{regions: slices.SortedFunc(slices.Values(taken), func(a, b region) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})}
	for _, r := range taken {
		p.score, p.size = p.score+r.score, p.size+len(r.members)
	}
	return p
}

// begins reports whether a longer path begins with this one, which is then enough.
func (p path) begins(longer path) bool {
	if len(p.regions) >= len(longer.regions) {
		return false
	}
	for i, r := range p.regions {
		if longer.regions[i].name != r.name {
			return false
		}
	}
	return true
}

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
