package scheduling

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

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
