package placement

import (
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
)

// PreCheckInput is all that decides whether there is somewhere to go.
type PreCheckInput struct {
	Binding *karmada.Binding
	// Failing is the cluster that the binding is to leave.
	Failing string
	Fleet   []karmada.Cluster
	// Evacuating are the other clusters that workloads leave.
	Evacuating map[string]bool
	// RoomUnknownOK lets a cluster whose capacity is not known count as having room.
	RoomUnknownOK bool
	// RoomForStaticWeights demands room of clusters that grow by static weight, too: the
	// scheduler gives them replicas without looking, and those would be Pending.
	RoomForStaticWeights bool
	// Margin is the percentage of every cluster's room that a yes must do without where
	// replicas are divided by room.
	Margin int
	// Karmada is the release whose scheduler is followed.
	Karmada karmada.Release
	// Reserved is what others were promised and do not use yet (derived headroom).
	Reserved Reservations
}

func (in PreCheckInput) survivors() []karmada.TargetCluster {
	return slices.DeleteFunc(slices.Clone(in.Binding.Clusters), func(t karmada.TargetCluster) bool { return t.Name == in.Failing })
}

// surviving are the clusters of the survivors, as far as the fleet has them.
func (in PreCheckInput) surviving() []karmada.Cluster {
	return those(in.Fleet, func(c *karmada.Cluster) bool {
		_, at := in.Binding.Target(c.Name)
		return at >= 0 && c.Name != in.Failing
	})
}

// those are the clusters that fit. Copies are large, so there are as few as there must be.
func those(fleet []karmada.Cluster, fit func(*karmada.Cluster) bool) []karmada.Cluster {
	var at []int
	for n := range fleet {
		if fit(&fleet[n]) {
			at = append(at, n)
		}
	}
	out := make([]karmada.Cluster, len(at))
	for n, from := range at {
		out[n] = fleet[from]
	}
	return out
}

// emptied reports whether the eviction leaves spec.clusters empty.
func (in PreCheckInput) emptied() bool { return len(in.survivors()) == 0 }

// looksAgain reports whether the scheduler places the binding by itself once the
// cluster is out: always unless replicas are divided, and then when some are missing
// or a target is being deleted.
func (in PreCheckInput) looksAgain() bool {
	if !in.Binding.Workload || !in.Binding.Placement.Divided() {
		return true
	}
	return karmada.SumOf(in.survivors()) != in.Binding.Replicas || slices.ContainsFunc(in.surviving(), func(c karmada.Cluster) bool { return c.Deleting })
}

// AllGroups are all affinity groups of the binding.
func (in PreCheckInput) AllGroups() []karmada.Group { return in.Binding.Placement.Groups() }

// groups are those that the scheduler still tries: it only moves forward.
func (in PreCheckInput) groups() []karmada.Group { return in.AllGroups()[in.Binding.ObservedGroup():] }

// had is how many replicas a cluster keeps from before; the failing one keeps none.
func (in PreCheckInput) had(name string) int32 {
	if t, at := in.Binding.Target(name); at >= 0 && name != in.Failing {
		return t.Replicas
	}
	return 0
}

// Reservations are what Lifeboat moves have been promised and do not use yet. They are
// derived from what Karmada holds at the moment, and never stored.
type Reservations struct {
	// Placed is by cluster: replicas that were scheduled there and are not ready.
	Placed map[string]corev1.ResourceList
	// Unplaced are promised to some clusters together.
	Unplaced []Unplaced
}

// Unplaced is what bindings without a place need, of any of the clusters named.
type Unplaced struct {
	Candidates []string // sorted
	Need       corev1.ResourceList
}

// promised is what others were promised on a cluster, nil for nothing.
func (r Reservations) promised(cluster string) corev1.ResourceList { return r.Placed[cluster] }

// beside says in a message how much others were promised, empty for nothing.
func (r Reservations) beside(cluster string) string {
	pods := r.promised(cluster)[corev1.ResourcePods]
	if pods.IsZero() {
		return ""
	}
	return fmt.Sprintf(" beside %s promised to others", pods.String())
}
