package placement_test

import (
	"math"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// A member that reports too much room blocks no migration.
func TestRoomThatIsSaidTooLargeMakesNoSumRunOver(t *testing.T) {
	huge := func(c *karmada.Cluster) { c.Capacity = fixtures.Pods(math.MaxInt64, 0) }
	b := fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 3)})
	b.Placement.ReplicaScheduling.WeightPreference = &karmada.WeightPreference{DynamicWeight: karmada.DynamicByAvailableReplicas}
	v := placement.PreCheck(placement.PreCheckInput{Binding: b, Failing: "m1", Fleet: []karmada.Cluster{fixtures.Cluster("m1"), fixtures.Cluster("m2", huge), fixtures.Cluster("m3", huge)}})
	require.True(t, v.OK, "%+v", v)
}

// What two replicas want may be more than 64 bits say: that is no less than nothing.
func TestAWishTooLargeToBeToldIsNoWishForNothing(t *testing.T) {
	b := fixtures.Duplicated("m1")
	b.Replicas, b.Clusters[0].Replicas = 0, 0
	b.Components = []karmada.Component{{Name: "worker", Replicas: 2, Request: fixtures.Quantities("memory", "8Ei")}}
	roomy := func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{Allocatable: fixtures.Quantities("pods", "100", "memory", "1Gi"), Allocated: fixtures.Quantities("pods", "1")}
	}
	v := placement.PreCheck(placement.PreCheckInput{Binding: b, Failing: "m1", Fleet: []karmada.Cluster{fixtures.Cluster("m1"), fixtures.Cluster("m2", roomy)}})
	require.Equal(t, reason.NoCapacity, v.Reason, "%+v", v)
}

// The same of all that would have to move off a cluster, where a rule asks for the room.
func TestAllThatWouldMoveMayBeMoreThanCanBeTold(t *testing.T) {
	b := fixtures.Duplicated("m1")
	b.Clusters[0].Replicas, b.Request = 2, fixtures.Quantities("memory", "8Ei")
	tally := placement.NewTally()
	tally.Add(b)
	roomy := func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{Allocatable: fixtures.Quantities("pods", "100", "memory", "1Gi"), Allocated: fixtures.Quantities("pods", "1")}
	}
	x := placement.ExtentOf(placement.ExtentInput{Leaving: "m1", Failing: []string{"m1"}, Fleet: []karmada.Cluster{fixtures.Cluster("m1"), fixtures.Cluster("m2", roomy)}, Tally: tally})
	require.EqualValues(t, "memory", x.Short)
}
