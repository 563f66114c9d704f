package placement

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Extent is how far a failure goes, by one reading of the fleet.
type Extent struct {
	// Failing are the clusters that fail, as the pacer counts them.
	Failing []string
	// All are the replicas of the fleet. Moving are those on a cluster that is being evacuated, and
	// those that left one and are not settled yet.
	Moving, All int64
	// Short is a resource that the rest of the fleet has not enough of, empty for none.
	Short corev1.ResourceName
}

// Share of the fleet's replicas, in percent.
func (x Extent) Share() float64 {
	if x.All == 0 {
		return 0
	}
	return 100 * float64(x.Moving) / float64(x.All)
}

// Tally counts the replicas of the fleet by cluster, binding by binding.
type Tally struct {
	all  int64
	on   map[string]int64
	need map[string]corev1.ResourceList
}

// NewTally begins with nothing.
func NewTally() *Tally { return &Tally{on: map[string]int64{}, need: map[string]corev1.ResourceList{}} }

// Add counts one binding: what stands on each cluster, and what a Lifeboat move that is
// not settled took off one.
func (t *Tally) Add(b *karmada.Binding) {
	if b.Malformed != "" || b.Deleting {
		return
	}
	stands, left := int64(0), int64(0)
	for _, target := range b.Clusters {
		stands += int64(target.Replicas)
		t.on[target.Name] += int64(target.Replicas)
		t.wants(target.Name, b, int64(target.Replicas))
	}
	for _, task := range b.Tasks {
		if task.IsLifeboat() && task.Reason == karmada.TaskReason && task.Replicas != nil {
			left += int64(*task.Replicas)
			t.on[task.FromCluster] += int64(*task.Replicas)
		}
	}
	t.all += max(stands, left)
}

func (t *Tally) wants(cluster string, b *karmada.Binding, replicas int64) {
	if t.need[cluster] == nil {
		t.need[cluster] = corev1.ResourceList{}
	}
	if len(b.Components) > 0 {
		karmada.Plus(t.need[cluster], b.ComponentNeed())
	} else {
		karmada.Plus(t.need[cluster], karmada.PodsOf(b.Request, replicas))
	}
}

// ExtentInput is what an extent is read off.
type ExtentInput struct {
	// Leaving is the cluster that is being evacuated, Failing all that fail, sorted.
	Leaving string
	Failing []string
	Fleet   []karmada.Cluster
	// Tally and Reserved are nil and empty where no rule needs them.
	Tally    *Tally
	Reserved Reservations
	// RoomUnknownOK lets a cluster whose capacity is not known count as having room.
	RoomUnknownOK bool
}

// ExtentOf says how far a failure goes.
func ExtentOf(in ExtentInput) Extent {
	out := Extent{Failing: in.Failing}
	if in.Tally == nil {
		return out
	}
	away := sets.New(in.Failing...).Insert(in.Leaving)
	need := corev1.ResourceList{}
	for _, cluster := range sets.List(away) {
		out.Moving += in.Tally.on[cluster]
		karmada.Plus(need, in.Tally.need[cluster])
	}
	out.All = in.Tally.all
	for _, u := range in.Reserved.Unplaced {
		karmada.Plus(need, u.Need)
	}
	rest := sets.New[string]()
	for _, c := range in.Fleet {
		if hard, soft := karmada.Triggering(c.Taints); c.Ready() && !c.Deleting && !away.Has(c.Name) && len(hard)+len(soft) == 0 {
			rest.Insert(c.Name)
		}
	}
	out.Short = PreCheckInput{Fleet: in.Fleet, Reserved: in.Reserved, RoomUnknownOK: in.RoomUnknownOK}.short(rest, need)
	return out
}
