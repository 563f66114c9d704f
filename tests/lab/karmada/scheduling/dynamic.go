package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// shortError is Karmada's UnschedulableError: the result is left alone.
type shortError struct{ room int64 }

func (e *shortError) Error() string {
	return fmt.Sprintf("Clusters available replicas %d are not enough to schedule.", e.room)
}

// divideByRoom is Aggregated and dynamic weight. What runs stays and only what is missing is shared out, by
// room; what is too much is cut by what each has. A reschedule begins from nothing.
func divideByRoom(b *api.Binding, selected []*api.Cluster) ([]api.TargetCluster, error) {
	had := map[string]int32{}
	var assigned int32
	for _, cluster := range selected {
		if target := b.Target(cluster.Name); target != nil {
			had[cluster.Name] = target.Replicas
			assigned += target.Replicas
		}
	}
	fresh := rescheduleRequested(b)
	switch {
	case fresh:
		list := byRoom(b, selected)
		for i := range list {
			list[i].weight += int64(had[list[i].name])
		}
		return handOut(b, b.Spec.Replicas, list, nil)
	case assigned > b.Spec.Replicas:
		var list []weighted
		for _, target := range b.Spec.Clusters {
			list = append(list, weighted{name: target.Name, weight: int64(target.Replicas)})
		}
		return handOut(b, b.Spec.Replicas, list, nil)
	case assigned < b.Spec.Replicas:
		return handOut(b, b.Spec.Replicas-assigned, byRoom(b, selected), had)
	}
	return merge(nil, had), nil
}

func byRoom(b *api.Binding, selected []*api.Cluster) []weighted {
	var list []weighted
	for _, cluster := range selected {
		list = append(list, weighted{name: cluster.Name, weight: availableReplicas(b, cluster)})
	}
	return list
}

// handOut gives replicas to the clusters by weight, on top of what they keep. Aggregated narrows them down to
// the first that together have enough: those with replicas, then the largest.
func handOut(b *api.Binding, replicas int32, list []weighted, keep map[string]int32) ([]api.TargetCluster, error) {
	slices.SortStableFunc(list, func(x, y weighted) int { return cmp.Compare(y.weight, x.weight) })
	var room int64
	for _, entry := range list {
		room += entry.weight
	}
	if room < int64(replicas) {
		return nil, &shortError{room: room}
	}
	if b.Spec.Placement.ReplicaScheduling.DivisionPreference == "Aggregated" {
		slices.SortStableFunc(list, func(x, y weighted) int {
			return cmp.Compare(min(1, keep[y.name]), min(1, keep[x.name]))
		})
		enough := 0
		for room = 0; room < int64(replicas); enough++ {
			room += list[enough].weight
		}
		list = list[:enough]
	}
	for i := range list {
		list[i].last = keep[list[i].name]
	}
	return merge(takeByWeight(replicas, list), keep), nil
}

func merge(more []api.TargetCluster, keep map[string]int32) []api.TargetCluster {
	all := map[string]int32{}
	for name, replicas := range keep {
		all[name] = replicas
	}
	for _, target := range more {
		all[target.Name] += target.Replicas
	}
	var targets []api.TargetCluster
	for name, replicas := range all {
		if replicas > 0 {
			targets = append(targets, api.TargetCluster{Name: name, Replicas: replicas})
		}
	}
	slices.SortFunc(targets, func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return targets
}
