package placement_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.6-21.
func TestHowFarAFailureGoesIsReadOffTheFleet(t *testing.T) {
	request := fixtures.Quantities("cpu", "1")
	on := func(cluster string, replicas int32, edit ...func(*karmada.Binding)) *karmada.Binding {
		b := fixtures.Duplicated(cluster)
		b.Replicas, b.Clusters[0].Replicas, b.Request = replicas, replicas, request
		for _, e := range edit {
			e(b)
		}
		return b
	}
	left := func(from, reason string) func(*karmada.Binding) {
		return func(b *karmada.Binding) {
			n := b.Replicas
			b.Tasks = []karmada.Task{{FromCluster: from, Producer: karmada.Producer, Reason: reason, Replicas: &n}}
		}
	}
	tally, room := placement.NewTally(), placement.NewHeadroom()
	for _, b := range []*karmada.Binding{
		on("m1", 10),
		on("m2", 20),
		on("m3", 5, left("m1", karmada.TaskReason)),              // on its way: it left in this failure
		on("m3", 7, left("m1", karmada.TaskReasonNeedsOperator)), // a story of long ago
		on("m3", 8),
		on("m1", 100, func(b *karmada.Binding) { b.Malformed = "x" }),
		on("m1", 100, func(b *karmada.Binding) { b.Deleting = true }),
	} {
		tally.Add(b)
		room.Add(b)
	}
	fleet := func(free string) []karmada.Cluster {
		has := func(c *karmada.Cluster) {
			c.Capacity = &karmada.Capacity{Allocatable: fixtures.Quantities("cpu", free, "pods", 1000), Allocated: fixtures.Quantities("cpu", 0, "pods", 0)}
		}
		return []karmada.Cluster{
			fixtures.Cluster("m1", fixtures.NotReady), fixtures.Cluster("m2"), fixtures.Cluster("m3", has),
			fixtures.Cluster("m4", has, fixtures.NotReady), fixtures.Cluster("m5", has, fixtures.Tainted(corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoExecute})), fixtures.Cluster("m6", has, fixtures.DeletingCluster),
		}
	}
	of := func(free string, failing ...string) placement.Extent {
		return placement.ExtentOf(placement.ExtentInput{
			Leaving: "m1", Failing: failing, Fleet: fleet(free), Tally: tally, Reserved: room.For(karmada.BindingKey{}, fleet(free)),
		})
	}
	one := of("1000", "m1")
	require.EqualValues(t, 15, one.Moving)
	require.EqualValues(t, 50, one.All)
	require.Empty(t, one.Short)
	two := of("1000", "m1", "m2")
	require.EqualValues(t, 35, two.Moving)
	require.Equal(t, []string{"m1", "m2"}, two.Failing)
	drained := of("1000")
	require.EqualValues(t, 15, drained.Moving, "what leaves a drained cluster moves, too")
	require.Empty(t, drained.Failing)
	require.Equal(t, corev1.ResourceCPU, of("9", "m1", "m2").Short, "only m3 counts, and has not enough")
	require.Empty(t, placement.ExtentOf(placement.ExtentInput{Leaving: "m1", Failing: []string{"m1"}}).Moving, "nobody counted")
}
