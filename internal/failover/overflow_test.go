package failover_test

import (
	"math"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// A member says what room it has: one that says too much keeps nobody from moving.
func TestRoomThatIsSaidTooLargeMakesNoSumRunOver(t *testing.T) {
	huge := func(c *failover.Cluster) { c.Capacity = pods(math.MaxInt64, 0) }
	b := divided([]failover.TargetCluster{on("m1", 3)})
	b.Placement.ReplicaScheduling.WeightPreference = &failover.WeightPreference{DynamicWeight: failover.DynamicByAvailableReplicas}
	v := failover.PreCheck(failover.PreCheckInput{Binding: b, Failing: "m1", Fleet: []failover.Cluster{cluster("m1"), cluster("m2", huge), cluster("m3", huge)}})
	require.True(t, v.OK, "%+v", v)
}

// What two replicas want may be more than 64 bits say: that is no less than nothing.
func TestAWishTooLargeToBeToldIsNoWishForNothing(t *testing.T) {
	b := duplicated("m1")
	b.Replicas, b.Clusters[0].Replicas = 0, 0
	b.Components = []failover.Component{{Name: "worker", Replicas: 2, Request: quantities("memory", "8Ei")}}
	roomy := func(c *failover.Cluster) {
		c.Capacity = &failover.Capacity{Allocatable: quantities("pods", "100", "memory", "1Gi"), Allocated: quantities("pods", "1")}
	}
	v := failover.PreCheck(failover.PreCheckInput{Binding: b, Failing: "m1", Fleet: []failover.Cluster{cluster("m1"), cluster("m2", roomy)}})
	require.Equal(t, failover.ReasonNoCapacity, v.Reason, "%+v", v)
}

// The same of all that would have to move off a cluster, where a rule asks for the room.
func TestAllThatWouldMoveMayBeMoreThanCanBeTold(t *testing.T) {
	b := duplicated("m1")
	b.Clusters[0].Replicas, b.Request = 2, quantities("memory", "8Ei")
	tally := failover.NewTally()
	tally.Add(b)
	roomy := func(c *failover.Cluster) {
		c.Capacity = &failover.Capacity{Allocatable: quantities("pods", "100", "memory", "1Gi"), Allocated: quantities("pods", "1")}
	}
	x := failover.ExtentOf(failover.ExtentInput{Leaving: "m1", Failing: []string{"m1"}, Fleet: []failover.Cluster{cluster("m1"), cluster("m2", roomy)}, Tally: tally})
	require.EqualValues(t, "memory", x.Short)
}

func TestTheSlowestRateIsNoneToHurryAt(t *testing.T) {
	require.Equal(t, 2*time.Second, failover.Apart(0.5))
	require.Greater(t, failover.Apart(math.SmallestNonzeroFloat64), 365*24*time.Hour)
}
