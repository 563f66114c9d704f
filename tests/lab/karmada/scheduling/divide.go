package scheduling

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

func staticallyWeighted(b *api.Binding) bool {
	strategy := b.Spec.Placement.ReplicaScheduling
	if strategy.DivisionPreference == "Aggregated" {
		return false
	}
	return strategy.WeightPreference == nil || strategy.WeightPreference.DynamicWeight == ""
}

// divide gives each selected cluster its replicas.
func divide(b *api.Binding, selected []*api.Cluster) ([]api.TargetCluster, error) {
	if len(selected) == 0 {
		return nil, errors.New("no clusters available to schedule")
	}
	if b.Spec.Replicas == 0 || duplicated(b) {
		var targets []api.TargetCluster
		for _, cluster := range selected {
			targets = append(targets, api.TargetCluster{Name: cluster.Name, Replicas: b.Spec.Replicas})
		}
		return targets, nil
	}
	if !staticallyWeighted(b) {
		return divideByRoom(b, selected)
	}
	return takeByWeight(b.Spec.Replicas, weigh(b, selected)), nil
}

type weighted struct {
	name   string
	weight int64
	last   int32
}

// weigh gives each cluster the highest weight whose rule it matches; without any match all weigh the same.
func weigh(b *api.Binding, selected []*api.Cluster) []weighted {
	var list, equal []weighted
	for _, cluster := range selected {
		entry := weighted{name: cluster.Name}
		if target := b.Target(cluster.Name); target != nil {
			entry.last = target.Replicas
		}
		entry.weight = 1
		equal = append(equal, entry)
		if entry.weight = staticWeight(b, cluster); entry.weight > 0 {
			list = append(list, entry)
		}
	}
	if len(list) == 0 {
		return equal
	}
	return list
}

func staticWeight(b *api.Binding, cluster *api.Cluster) int64 {
	preference := b.Spec.Placement.ReplicaScheduling.WeightPreference
	if preference == nil {
		return 0
	}
	var weight int64
	for i := range preference.StaticWeightList {
		rule := &preference.StaticWeightList[i]
		if Matches(cluster, &rule.TargetCluster) {
			weight = max(weight, rule.Weight)
		}
	}
	return weight
}

// takeByWeight rounds down by weight and hands the rest out, one each, to the heaviest, then to
// those that had most, then by name. Clusters left without replicas are dropped.
func takeByWeight(replicas int32, list []weighted) []api.TargetCluster {
	slices.SortFunc(list, func(x, y weighted) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(y.last, x.last), strings.Compare(x.name, y.name))
	})
	var sum int64
	for _, entry := range list {
		sum += entry.weight
	}
	rest := replicas
	targets := make([]api.TargetCluster, 0, len(list))
	for _, entry := range list {
		share := int32(entry.weight * int64(replicas) / sum)
		rest -= share
		targets = append(targets, api.TargetCluster{Name: entry.name, Replicas: share})
	}
	for i := range targets[:rest] {
		targets[i].Replicas++
	}
	targets = slices.DeleteFunc(targets, func(t api.TargetCluster) bool { return t.Replicas == 0 })
	slices.SortFunc(targets, func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return targets
}

// SameResult compares two schedule results; the order of clusters does not matter.
func SameResult(a, b []api.TargetCluster) bool {
	byName := func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName))
}

// DivideOver divides a Divided binding's replicas over named clusters, whatever the filters say; for
// any other binding each cluster gets all replicas. The simulation's faults use it.
func DivideOver(b *api.Binding, clusters []*api.Cluster) []api.TargetCluster {
	targets, err := divide(b, clusters)
	if err != nil {
		return nil
	}
	return targets
}
