package scheduling

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// choice is a cluster that passed the filters, as the selection weighs it.
type choice struct {
	cluster *api.Cluster
	order   int   // overflowOrder
	score   int64 // 100 for one that serves already
	free    int32 // available replicas
	room    int64 // available replicas, those it has included
}

// weighChoices orders clusters as Karmada does: those of the group before its overflow, then those that serve already, then by room, then by name.
func weighChoices(b *api.Binding, group api.ClusterAffinityTerm, clusters []*api.Cluster) []choice {
	var choices []choice
	for _, cluster := range clusters {
		c := choice{cluster: cluster, order: overflowOrder(b, group, cluster), free: availableReplicas(b, cluster)}
		c.room = int64(c.free)
		if target := b.Target(cluster.Name); target != nil {
			c.score = 100
			c.room += int64(target.Replicas)
		}
		choices = append(choices, c)
	}
	sortChoices(choices)
	return choices
}

func sortChoices(choices []choice) {
	slices.SortFunc(choices, func(x, y choice) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(y.score, x.score),
			cmp.Compare(y.room, x.room), strings.Compare(x.cluster.Name, y.cluster.Name))
	})
}

// selectBySpread applies the spread constraints. Static weights ignore them, unless the preference is there
// and empty; beside region and cluster no constraint changes the selection, as in Karmada.
func selectBySpread(b *api.Binding, choices []choice) ([]choice, error) {
	constraints := b.Spec.Placement.SpreadConstraints
	if len(constraints) == 0 || ignoresSpread(b) {
		return choices, nil
	}
	byField := map[string]api.SpreadConstraint{}
	for _, constraint := range constraints {
		byField[constraint.SpreadByField] = constraint
	}
	if _, found := byField["region"]; found {
		return selectByRegion(b, byField, choices)
	}
	if constraint, found := byField["cluster"]; found {
		return selectByCluster(b, constraint, choices)
	}
	return nil, errors.New("just support cluster and region spread constraint")
}

func ignoresSpread(b *api.Binding) bool {
	if strategyOf(b) != staticWeight {
		return false
	}
	preference := b.Spec.Placement.ReplicaScheduling.WeightPreference
	return preference == nil || len(preference.StaticWeightList) > 0
}

func selectByCluster(b *api.Binding, constraint api.SpreadConstraint, choices []choice) ([]choice, error) {
	if len(choices) < constraint.MinGroups {
		return nil, errors.New("the number of feasible clusters is less than spreadConstraint.MinGroups")
	}
	taken, rest := choices[:min(len(choices), constraint.MaxGroups)], choices[min(len(choices), constraint.MaxGroups):]
	if duplicated(b) {
		return taken, nil
	}
	// The lowest scores give way to the largest clusters until there is room for all.
	for i := len(taken) - 1; i >= 0 && roomOf(taken) < int64(b.Spec.Replicas); i-- {
		largest := -1
		for j := range rest {
			if rest[j].room > taken[i].room && (largest < 0 || rest[j].room > rest[largest].room) {
				largest = j
			}
		}
		if largest >= 0 {
			taken[i], rest[largest] = rest[largest], taken[i]
		}
	}
	if roomOf(taken) < int64(b.Spec.Replicas) || len(taken) == 0 {
		return nil, fmt.Errorf("no enough resource when selecting %d clusters", len(taken))
	}
	return taken, nil
}

func roomOf(choices []choice) int64 {
	var room int64
	for _, c := range choices {
		room += c.room
	}
	return room
}

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
