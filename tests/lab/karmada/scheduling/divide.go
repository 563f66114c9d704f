package scheduling

import (
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// The ways to divide replicas.
type strategy string

const (
	duplicate     strategy = "Duplicated"
	aggregate     strategy = "Aggregated"
	staticWeight  strategy = "StaticWeight"
	dynamicWeight strategy = "DynamicWeight"
)

// strategyOf is empty for what Karmada does not support.
func strategyOf(b *api.Binding) strategy {
	scheduling := b.Spec.Placement.ReplicaScheduling
	switch {
	case duplicated(b):
		return duplicate
	case scheduling.Type != "Divided":
		return ""
	case scheduling.DivisionPreference == "Aggregated":
		return aggregate
	case scheduling.DivisionPreference != "Weighted":
		return ""
	case scheduling.WeightPreference != nil && scheduling.WeightPreference.DynamicWeight != "":
		return dynamicWeight
	default:
		return staticWeight
	}
}

// divide gives each selected cluster its replicas. Clusters that get none are dropped, but for what has no
// replicas at all and for workloads of several components, which are never divided.
func divide(b *api.Binding, group api.ClusterAffinityTerm, selected []choice) ([]api.TargetCluster, error) {
	if len(selected) == 0 {
		return nil, errors.New("no clusters available to schedule")
	}
	if (b.Spec.Replicas == 0 && b.Spec.ReplicaRequirements == nil) || len(b.Spec.Components) > 1 {
		return everywhere(selected, 0), nil
	}
	if group.Overflow != nil {
		return assignByTiers(b, selected)
	}
	return assign(b, selected)
}

// assignByTiers fills the group's own clusters first, then those of each overflow term, each to its room.
func assignByTiers(b *api.Binding, selected []choice) ([]api.TargetCluster, error) {
	tiers := map[int][]choice{}
	for _, c := range selected {
		tiers[c.order] = append(tiers[c.order], c)
	}
	var targets []api.TargetCluster
	missing, part := b.Spec.Replicas, *b
	for _, order := range slices.Sorted(maps.Keys(tiers)) {
		part.Spec.Replicas = int32(min(int64(missing), roomOf(tiers[order]))) //nolint:gosec // not above missing
		more, err := assign(&part, tiers[order])
		if err != nil {
			return nil, err
		}
		targets = append(targets, more...)
		if missing -= part.Spec.Replicas; missing <= 0 {
			return targets, nil
		}
	}
	return nil, &shortError{room: b.Spec.Replicas - missing}
}

func assign(b *api.Binding, selected []choice) (targets []api.TargetCluster, err error) {
	switch strategyOf(b) {
	case duplicate:
		targets = everywhere(selected, b.Spec.Replicas)
	case staticWeight:
		targets = divideByWeight(b.Spec.Replicas, weigh(b, selected), b.Spec.Resource.UID)
	case aggregate, dynamicWeight:
		targets, err = divideByRoom(b, selected)
	default:
		err = errors.New("unsupported replica scheduling strategy")
	}
	return slices.DeleteFunc(targets, func(t api.TargetCluster) bool { return t.Replicas <= 0 }), err
}

func everywhere(selected []choice, replicas int32) []api.TargetCluster {
	var targets []api.TargetCluster
	for _, c := range selected {
		targets = append(targets, api.TargetCluster{Name: c.cluster.Name, Replicas: replicas})
	}
	return targets
}

// weigh gives each cluster the highest weight whose rule it matches and leaves out those without; without any
// match all weigh the same.
func weigh(b *api.Binding, selected []choice) []seat {
	var seats, equal []seat
	for _, c := range selected {
		equal = append(equal, seat{name: c.cluster.Name, weight: 1})
		if weight := staticWeightOf(b, c.cluster); weight > 0 {
			seats = append(seats, seat{name: c.cluster.Name, weight: weight})
		}
	}
	if len(seats) == 0 {
		return equal
	}
	return seats
}

func staticWeightOf(b *api.Binding, cluster *api.Cluster) int64 {
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

// SameResult compares two schedule results; the order of clusters does not matter.
func SameResult(a, b []api.TargetCluster) bool {
	byName := func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName))
}

// DivideOver divides a Divided binding's replicas over named clusters, whatever the filters say; for
// any other binding each cluster gets all replicas. The simulation's faults use it.
func DivideOver(b *api.Binding, clusters []*api.Cluster) []api.TargetCluster {
	var group api.ClusterAffinityTerm
	targets, err := divide(b, group, weighChoices(b, group, clusters))
	if err != nil {
		return nil
	}
	return targets
}

// seat is a cluster that takes part in the division of replicas.
type seat struct {
	name     string
	weight   int64
	replicas int32
}

// quotient is Webster's: the cluster with the largest gets the next replica.
func (s seat) quotient() float64 { return float64(s.weight) / float64(2*s.replicas+1) }

// divideByWeight gives out replicas one by one (Webster, Sainte-Laguë). A tie goes to the cluster with
// fewer replicas, then by name: ascending, or descending where the hash of the resource's uid is odd.
func divideByWeight(replicas int32, seats []seat, uid string) []api.TargetCluster {
	sign := 1
	if descending(uid) {
		sign = -1
	}
	seats = slices.Clone(seats)
	for ; replicas > 0 && len(seats) > 0; replicas-- {
		next := 0
		for i := 1; i < len(seats); i++ {
			if precedes(seats[i], seats[next], sign) {
				next = i
			}
		}
		seats[next].replicas++
	}
	targets := make([]api.TargetCluster, 0, len(seats))
	for _, s := range seats {
		targets = append(targets, api.TargetCluster{Name: s.name, Replicas: s.replicas})
	}
	slices.SortFunc(targets, func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return targets
}

func precedes(x, y seat, sign int) bool {
	switch {
	case x.quotient() != y.quotient():
		return x.quotient() > y.quotient()
	case x.replicas != y.replicas:
		return x.replicas < y.replicas
	default:
		return sign*strings.Compare(x.name, y.name) < 0
	}
}

func descending(uid string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid)) // never fails
	return uid != "" && hash.Sum32()&1 == 1
}
