package world

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// byStaticWeight: static weights divide from scratch, and no spread constraint binds them.
func byStaticWeight(b *karmada.Binding) bool {
	if !b.Placement.Divided() || !b.Workload || b.Placement.ReplicaScheduling.DivisionPreference != karmada.DivisionWeighted {
		return false
	}
	preference := b.Placement.ReplicaScheduling.WeightPreference
	return preference == nil || (preference.DynamicWeight == "" && len(preference.StaticWeightList) > 0)
}

// seats gives out replicas one by one, each to the cluster with the largest
// weight/(2·replicas+1) (Webster's method). Ties go to the one with fewer replicas,
// then by name, backwards where the hash of the resource's uid is odd.
func (w *World) seats(b *karmada.Binding, names []string) []karmada.TargetCluster {
	weights := w.weights(b, names)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(b.Resource.UID)) // never fails
	backwards := b.Resource.UID != "" && hash.Sum32()%2 == 1
	given := map[string]int32{}
	before := func(x, y string) bool {
		qx, qy := float64(weights[x])/float64(2*given[x]+1), float64(weights[y])/float64(2*given[y]+1)
		switch {
		case qx != qy:
			return qx > qy
		case given[x] != given[y]:
			return given[x] < given[y]
		default:
			return (x < y) != backwards
		}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return weights[n] <= 0 })
	for range b.Replicas {
		next := names[0]
		for _, n := range names[1:] {
			if before(n, next) {
				next = n
			}
		}
		given[next]++
	}
	var out []karmada.TargetCluster
	for n, replicas := range given {
		out = append(out, karmada.TargetCluster{Name: n, Replicas: replicas})
	}
	slices.SortFunc(out, func(x, y karmada.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// weights are the highest that a cluster's rules give it; where no rule matches any
// cluster, all weigh the same.
func (w *World) weights(b *karmada.Binding, names []string) map[string]int64 {
	out, sum := map[string]int64{}, int64(0)
	if preference := b.Placement.ReplicaScheduling.WeightPreference; preference != nil {
		for _, rule := range preference.StaticWeightList {
			for _, n := range names {
				if ok, err := rule.TargetCluster.Selects(*w.clusters[n]); err == nil && ok {
					out[n] = max(out[n], rule.Weight)
				}
			}
		}
	}
	for _, weight := range out {
		sum += weight
	}
	for _, n := range names {
		if sum == 0 {
			out[n] = 1
		}
	}
	return out
}
