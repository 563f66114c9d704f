package scheduling

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// region is a group of choices with the score that Karmada gives it.
type region struct {
	name    string
	score   int64
	members []choice
}

func propertyOf(cluster *api.Cluster, field string) []string {
	switch field {
	case "region":
		return slices.DeleteFunc([]string{cluster.Spec.Region}, func(v string) bool { return v == "" })
	case "provider":
		return slices.DeleteFunc([]string{cluster.Spec.Provider}, func(v string) bool { return v == "" })
	case "zone":
		return cluster.Spec.Zones
	}
	return nil
}

func groupBy(field string, choices []choice) map[string][]choice {
	groups := map[string][]choice{}
	for _, c := range choices {
		for _, name := range propertyOf(c.cluster, field) {
			groups[name] = append(groups[name], c)
		}
	}
	return groups
}

func selectByRegion(b *api.Binding, byField map[string]api.SpreadConstraint, choices []choice) ([]choice, error) {
	groups, want, among := groupBy("region", choices), byField["region"], byField["cluster"]
	if len(groups) < want.MinGroups {
		return nil, errors.New("the number of feasible region is less than spreadConstraint.MinGroups")
	}
	var regions []region
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		regions = append(regions, region{name: name, score: scoreOf(b, byField, groups[name]), members: groups[name]})
	}
	best := bestRegions(regions, want, among.MinGroups)
	if best == nil {
		return nil, errors.New("the number of clusters is less than the cluster spreadConstraint.MinGroups")
	}
	var first, others []choice
	for _, r := range best {
		first = append(first, r.members[0])
		others = append(others, r.members[1:]...)
	}
	sortChoices(others)
	more := min(len(first)+len(others), among.MaxGroups) - len(first)
	return append(first, others[:max(0, more)]...), nil
}

// scoreOf puts what a region can take before the mean of its clusters' own scores. Where nothing has room for a
// whole copy, the region of a workload that is not divided has the score 0.
func scoreOf(b *api.Binding, byField map[string]api.SpreadConstraint, members []choice) int64 {
	if duplicated(b) {
		return scoreOfCopies(b, members)
	}
	least := byField["region"].MinGroups
	// Karmada divides by the number of groups without a look at it: a 0 makes the share the smallest integer.
	share := int64(math.MinInt64)
	if least > 0 {
		share = int64(math.Ceil(float64(b.Spec.Replicas) / float64(least)))
	}
	var taking, room, score int64
	for _, c := range members {
		room += c.room
		score += c.score
		taking++
		if taking >= int64(max(least, byField["cluster"].MinGroups)) && room >= share {
			break
		}
	}
	if room < share {
		return room*1000 + score/int64(len(members))
	}
	return share*1000 + score/taking
}

func scoreOfCopies(b *api.Binding, members []choice) int64 {
	var taking, score int64
	for _, c := range members {
		if c.room >= int64(b.Spec.Replicas) {
			taking++
			score += c.score
		}
	}
	if taking == 0 {
		return 0
	}
	return taking*1000 + score/taking
}

// path is a set of regions that satisfies both constraints.
type path struct {
	regions      []region
	score, value int64
}

// bestRegions tries every set of regions, within bounds, that together has enough clusters, and takes the one
// with the highest score; a set that the best begins with wins over it.
func bestRegions(regions []region, want api.SpreadConstraint, clusters int) []region {
	slices.SortFunc(regions, func(x, y region) int {
		return cmp.Or(cmp.Compare(len(x.members), len(y.members)), cmp.Compare(y.score, x.score), strings.Compare(x.name, y.name))
	})
	var found []path
	var walk func(from, sum int, taken []region)
	walk = func(from, sum int, taken []region) {
		if sum >= clusters && len(taken) >= want.MinGroups && len(taken) <= want.MaxGroups {
			found = append(found, pathOf(taken))
			return
		}
		for i := from; i < len(regions) && len(taken) < want.MaxGroups; i++ {
			walk(i+1, sum+len(regions[i].members), append(slices.Clone(taken), regions[i]))
		}
	}
	walk(0, 0, nil)
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(x, y path) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.value, x.value))
	})
	best := found[0]
	for _, other := range found[1:] {
		if begins(best.regions, other.regions) {
			best = other
		}
	}
	return best.regions
}

func pathOf(taken []region) path {
	p := path{regions: slices.Clone(taken)}
	for _, r := range taken {
		p.score += r.score
		p.value += int64(len(r.members))
	}
	slices.SortFunc(p.regions, func(x, y region) int {
		return cmp.Or(cmp.Compare(y.score, x.score), strings.Compare(x.name, y.name))
	})
	return p
}

func begins(long, short []region) bool {
	return len(short) < len(long) && slices.EqualFunc(long[:len(short)], short, func(x, y region) bool { return x.name == y.name })
}
