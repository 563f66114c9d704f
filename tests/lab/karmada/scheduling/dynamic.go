package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// shortError is Karmada's UnschedulableError: the result is left alone.
type shortError struct{ room int32 }

func (e *shortError) Error() string {
	return fmt.Sprintf("Clusters available replicas %d are not enough to schedule.", e.room)
}

// divideByRoom is Aggregated and dynamic weight. What runs stays and only what is missing is shared out, by
// room; what is too much is cut by what each has. A reschedule begins from nothing.
func divideByRoom(b *api.Binding, selected []choice) ([]api.TargetCluster, error) {
	kept := keptTargets(b, selected)
	missing := b.Spec.Replicas
	for _, target := range kept {
		missing -= target.Replicas
	}
	switch {
	case rescheduleRequested(b):
		free := freeRoom(selected)
		for _, target := range kept {
			at := slices.IndexFunc(free, func(t api.TargetCluster) bool { return t.Name == target.Name })
			free[at].Replicas += target.Replicas
		}
		return handOut(b, b.Spec.Replicas, free, nil)
	case missing < 0:
		return handOut(b, b.Spec.Replicas, kept, nil)
	case missing > 0:
		return handOut(b, missing, freeRoom(selected), kept)
	}
	return kept, nil
}

// keptTargets are the entries of the last result whose clusters are selected again.
func keptTargets(b *api.Binding, selected []choice) []api.TargetCluster {
	return slices.DeleteFunc(slices.Clone(b.Spec.Clusters), func(t api.TargetCluster) bool {
		return !slices.ContainsFunc(selected, func(c choice) bool { return c.cluster.Name == t.Name })
	})
}

func freeRoom(selected []choice) []api.TargetCluster {
	var free []api.TargetCluster
	for _, c := range selected {
		free = append(free, api.TargetCluster{Name: c.cluster.Name, Replicas: c.free})
	}
	return free
}

// handOut gives replicas to the clusters by room, on top of what they keep. Aggregated narrows them down to
// the first that together have enough: those that keep replicas, then the largest. Sums are of 32 bits, as
// Karmada's.
func handOut(b *api.Binding, replicas int32, room, kept []api.TargetCluster) ([]api.TargetCluster, error) {
	room = slices.Clone(room)
	slices.SortStableFunc(room, func(x, y api.TargetCluster) int { return cmp.Compare(y.Replicas, x.Replicas) })
	var sum int32
	for _, target := range room {
		sum += target.Replicas
	}
	if sum < replicas {
		return nil, &shortError{room: sum}
	}
	if strategyOf(b) == aggregate {
		room = fewest(room, kept, replicas)
	}
	var seats []seat
	var weights int64
	for _, target := range room {
		seats = append(seats, seat{name: target.Name, weight: int64(target.Replicas)})
		weights += int64(target.Replicas)
	}
	if weights == 0 {
		return kept, nil
	}
	return merge(divideByWeight(replicas, seats, b.Spec.Resource.UID), kept), nil
}

func fewest(room, kept []api.TargetCluster, replicas int32) []api.TargetCluster {
	serves := func(name string) int {
		if slices.ContainsFunc(kept, func(t api.TargetCluster) bool { return t.Name == name && t.Replicas > 0 }) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(room, func(x, y api.TargetCluster) int { return cmp.Compare(serves(y.Name), serves(x.Name)) })
	var sum int32
	for i, target := range room {
		if sum += target.Replicas; sum >= replicas {
			return room[:i+1]
		}
	}
	return room
}

func merge(more, kept []api.TargetCluster) []api.TargetCluster {
	for _, target := range kept {
		if at := slices.IndexFunc(more, func(t api.TargetCluster) bool { return t.Name == target.Name }); at >= 0 {
			more[at].Replicas += target.Replicas
			continue
		}
		more = append(more, target)
	}
	slices.SortFunc(more, func(x, y api.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return more
}
