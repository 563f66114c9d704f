package scheduling

import (
	"cmp"
	"errors"
	"fmt"
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
