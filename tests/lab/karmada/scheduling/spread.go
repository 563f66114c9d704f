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
	score   int64 // 100 for one that serves already
	room    int64 // available replicas, those it has included
}

// weighChoices orders clusters as Karmada's scores do: those that serve already, then by room, then by name.
func weighChoices(b *api.Binding, clusters []*api.Cluster) []choice {
	var choices []choice
	for _, cluster := range clusters {
		c := choice{cluster: cluster, room: availableReplicas(b, cluster)}
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
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.room, x.room), strings.Compare(x.cluster.Name, y.cluster.Name))
	})
}

func clustersOf(choices []choice) []*api.Cluster {
	var clusters []*api.Cluster
	for _, c := range choices {
		clusters = append(clusters, c.cluster)
	}
	return clusters
}

// selectBySpread applies the spread constraints. Static weights ignore them, and beside region and cluster
// no constraint changes the selection, as in Karmada.
func selectBySpread(b *api.Binding, choices []choice) ([]*api.Cluster, error) {
	constraints := b.Spec.Placement.SpreadConstraints
	if len(constraints) == 0 || (!duplicated(b) && staticallyWeighted(b)) {
		return clustersOf(choices), nil
	}
	byField := map[string]api.SpreadConstraint{}
	for _, constraint := range constraints {
		field := constraint.SpreadByField
		if field == "" && constraint.SpreadByLabel == "" {
			field = "cluster"
		}
		byField[field] = constraint
	}
	if err := scoresOfGroups(b, byField, choices); err != nil {
		return nil, err
	}
	if _, found := byField["region"]; found {
		return selectByRegion(b, byField, choices)
	}
	if constraint, found := byField["cluster"]; found {
		return selectByCluster(b, constraint, choices)
	}
	return nil, errors.New("just support cluster and region spread constraint")
}

func selectByCluster(b *api.Binding, constraint api.SpreadConstraint, choices []choice) ([]*api.Cluster, error) {
	if len(choices) < constraint.MinGroups {
		return nil, errors.New("the number of feasible clusters is less than spreadConstraint.MinGroups")
	}
	taken, rest := choices[:min(len(choices), constraint.MaxGroups)], choices[min(len(choices), constraint.MaxGroups):]
	if duplicated(b) {
		return clustersOf(taken), nil
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
	return clustersOf(taken), nil
}

func roomOf(choices []choice) int64 {
	var room int64
	for _, c := range choices {
		room += c.room
	}
	return room
}
