package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// in places a cluster: "region/zone/provider", each of which may be empty.
func in(region, zone, provider string) func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		c.Region, c.Provider = region, provider
		if zone != "" {
			c.Zones = append(c.Zones, zone)
		}
	}
}

func by(field string, least, most int) failover.SpreadConstraint {
	return failover.SpreadConstraint{SpreadByField: field, MinGroups: least, MaxGroups: most}
}

func karmada(release failover.KarmadaRelease) func(*failover.PreCheckInput) {
	return func(in *failover.PreCheckInput) { in.Karmada = release }
}

func byLabel(key string, least, most int) failover.SpreadConstraint {
	return failover.SpreadConstraint{SpreadByLabel: key, MinGroups: least, MaxGroups: most}
}

func spreadOver(constraints ...failover.SpreadConstraint) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Placement.SpreadConstraints = constraints }
}

// Every constraint's minGroups must hold among the candidates; region and cluster
// must also hold as the scheduler selects.
//
// Rules: R4.6-10, R4.6-11.
func TestPreCheckOfSpreadByRegionZoneProviderAndLabel(t *testing.T) {
	cluster1, east, west := by("cluster", 1, 4), in("east", "e1", "aws"), in("west", "w1", "gcp")
	for name, tc := range map[string]preCheckCase{
		"two regions remain": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 2))), fleet: fleet(cluster("m2", east), cluster("m3", west)),
			candidates: []string{"m2", "m3"},
		},
		"one region remains": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 2))), fleet: fleet(cluster("m2", east), cluster("m3", east)),
			reason: failover.ReasonSpreadUnsatisfied, message: "spread wants 2 by region and has 1",
		},
		"the second region is not Ready, and nothing serves there": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 2))), fleet: fleet(cluster("m2", east), cluster("m3", east), cluster("m4", west, notReady)),
			reason: failover.ReasonSpreadUnsatisfied, message: "by region and has 1",
		},
		"no two regions have three clusters": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 2), by("cluster", 3, 3))),
			fleet:   fleet(cluster("m2", east), cluster("m3", west), cluster("m4", in("north", "", ""))),
			reason:  failover.ReasonSpreadUnsatisfied, message: "no 2 regions have 3 clusters",
		},
		"a cluster without a region is none": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 1), by("cluster", 1, 1))), fleet: fleet(cluster("m2")),
			reason: failover.ReasonNoTarget, message: "m2 is without a region",
		},
		"without maxGroups no region is selected": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 0), by("cluster", 1, 1))), fleet: fleet(cluster("m2", east)),
			reason: failover.ReasonSpreadUnsatisfied, message: "no 0 regions",
		},
		"a region without room for every replica makes the scheduler fail": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 1), by("cluster", 1, 1))), fleet: fleet(cluster("m2", east), cluster("m3", west, room(1))),
			change: karmada(16), reason: failover.ReasonNoCapacity, message: "nothing in region west has room",
		},
		"but not since 1.17": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 1), by("cluster", 1, 1))), fleet: fleet(cluster("m2", east), cluster("m3", west, room(1))),
			change: karmada(17), candidates: []string{"m2"},
		},
		"what is no workload needs no room there": {
			binding: with(nonWorkload("m1"), spreadOver(by("region", 1, 1), by("cluster", 1, 1))), fleet: fleet(cluster("m2", east, room(0))), candidates: []string{"m2"},
		},
		"a cluster over two zones counts for both": {
			binding: with(duplicated("m1"), spreadOver(by("zone", 2, 2), cluster1)), fleet: fleet(cluster("m2", east, in("east", "e2", ""))), candidates: []string{"m2"},
		},
		"two zones are wanted and one is there": {
			binding: with(duplicated("m1"), spreadOver(by("zone", 2, 2), cluster1)), fleet: fleet(cluster("m2", east), cluster("m3", east)),
			reason: failover.ReasonSpreadUnsatisfied, message: "spread wants 2 by zone and has 1",
		},
		"two providers": {
			binding: with(duplicated("m1"), spreadOver(by("provider", 2, 2), cluster1)), fleet: fleet(cluster("m2", east), cluster("m3", west)), candidates: []string{"m2", "m3"},
		},
		"one provider of two": {
			binding: with(duplicated("m1"), spreadOver(by("provider", 2, 2), cluster1)), fleet: fleet(cluster("m2", east), cluster("m3", east)),
			reason: failover.ReasonSpreadUnsatisfied, message: "by provider and has 1",
		},
		"two racks by label": {
			binding: with(duplicated("m1"), spreadOver(byLabel("rack", 2, 2), cluster1)),
			fleet:   fleet(cluster("m2", labelled("rack", "a")), cluster("m3", labelled("rack", "b"))), candidates: []string{"m2", "m3"},
		},
		"the same rack twice": {
			binding: with(duplicated("m1"), spreadOver(byLabel("rack", 2, 2), cluster1)),
			fleet:   fleet(cluster("m2", labelled("rack", "a")), cluster("m3", labelled("rack", "a"))),
			reason:  failover.ReasonSpreadUnsatisfied, message: "by label rack and has 1",
		},
		"several constraints together, all met": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 3), by("provider", 2, 2), by("zone", 2, 4))),
			fleet:   fleet(cluster("m2", east), cluster("m3", west)), candidates: []string{"m2", "m3"},
		},
		"several together, one not": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 3), by("provider", 3, 3))),
			fleet:   fleet(cluster("m2", east), cluster("m3", west)), reason: failover.ReasonSpreadUnsatisfied, message: "by provider and has 2",
		},
		"the scheduler cannot spread by zone alone": {
			binding: with(duplicated("m1"), spreadOver(by("zone", 1, 1))), fleet: fleet(cluster("m2", east)),
			reason: failover.ReasonSpreadUnsatisfied, message: "by cluster and by region only",
		},
		"the next group may have the regions": {
			binding: with(duplicated("m1"), groups("a", "a: m1 m2", "b: m3 m4"), spreadOver(by("region", 2, 2), by("cluster", 2, 2))),
			fleet:   fleet(cluster("m2", east), cluster("m3", east), cluster("m4", west)), candidates: []string{"m3", "m4"},
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-9.
func TestPreCheckOfAPIsThatAreKnown(t *testing.T) {
	complete := func(status corev1.ConditionStatus, apis ...string) func(*failover.Cluster) {
		return func(c *failover.Cluster) {
			c.APIEnablements = apis
			c.Conditions = append(c.Conditions, failover.Condition{Type: failover.ConditionCompleteAPIEnablements, Status: status})
		}
	}
	for name, tc := range map[string]preCheckCase{
		"Karmada found no API at all": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", complete(corev1.ConditionFalse))), reason: failover.ReasonNoTarget, message: "without API apps/v1/Deployment",
		},
		"an incomplete list without it": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", complete(corev1.ConditionFalse, "v1/Pod"))), reason: failover.ReasonNoTarget, message: "without API",
		},
		"an incomplete list is not held against a target": {
			binding: duplicated("m1", "m2"), fleet: fleet(cluster("m2", complete(corev1.ConditionFalse, "v1/Pod"))), candidates: []string{"m2"},
		},
		"nor is a complete one": {
			binding: duplicated("m1", "m2"), fleet: fleet(cluster("m2", complete(corev1.ConditionTrue, "v1/Pod"))), candidates: []string{"m2"},
		},
		"nothing known is a no": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.APIEnablements = nil })), reason: failover.ReasonNoTarget, message: "without API",
		},
	} {
		t.Run(name, tc.run)
	}
}

func aggregatedOver(targets ...failover.TargetCluster) *failover.Binding {
	b := divided(targets)
	b.Placement.ReplicaScheduling.DivisionPreference = failover.DivisionAggregated
	return b
}

func byAvailable(targets ...failover.TargetCluster) *failover.Binding {
	b := divided(targets)
	b.Placement.ReplicaScheduling.WeightPreference = &failover.WeightPreference{DynamicWeight: failover.DynamicByAvailableReplicas}
	return b
}

func asking(kv ...any) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Request = quantities(kv...) }
}

func having(allocatable, allocated corev1.ResourceList) func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		c.Capacity = &failover.Capacity{Allocatable: allocatable, Allocated: allocated}
	}
}

// Rules: R4.6-14, R4.6-15, R4.6-16.
func TestPreCheckOfDivisionsByRoom(t *testing.T) {
	cpu := func(free int) func(*failover.Cluster) {
		return having(quantities("pods", 100, "cpu", free), quantities("pods", 0))
	}
	for name, tc := range map[string]preCheckCase{
		"another cluster has the room": {
			binding: aggregatedOver(on("m1", 3), on("m2", 1)), fleet: fleet(cluster("m2", room(0)), cluster("m3", room(3))), candidates: []string{"m2", "m3"}, message: "outside the present targets (m3)",
		},
		"together they have it": {
			binding: byAvailable(on("m1", 4)), fleet: fleet(cluster("m2", room(2)), cluster("m3", room(2))), candidates: []string{"m2", "m3"},
		},
		"together they have it not": {
			binding: byAvailable(on("m1", 5)), fleet: fleet(cluster("m2", room(2)), cluster("m3", room(2))),
			reason: failover.ReasonNoCapacity, message: "together they have no room for 5 replicas",
		},
		"what is not known is no room for the scheduler, whatever the config says": {
			binding: byAvailable(on("m1", 1)), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Capacity = nil })),
			change: func(in *failover.PreCheckInput) { in.RoomUnknownOK = true }, reason: failover.ReasonNoCapacity, message: "no room",
		},
		"the survivor takes all it can": {
			binding: aggregatedOver(on("m1", 1), on("m2", 2)), fleet: fleet(cluster("m2", room(1))), candidates: []string{"m2"}, message: "have room",
		},
		"CPU runs out first": {
			binding: with(byAvailable(on("m1", 3)), asking("cpu", "500m")), fleet: fleet(cluster("m2", cpu(1))), reason: failover.ReasonNoCapacity, message: "no room",
		},
		"and there is enough": {
			binding: with(byAvailable(on("m1", 2)), asking("cpu", "500m")), fleet: fleet(cluster("m2", cpu(1))), candidates: []string{"m2"},
		},
		"a resource that the summary does not have": {
			binding: with(byAvailable(on("m1", 1)), asking("nvidia.com/gpu", 1)), fleet: fleet(cluster("m2", cpu(8))), reason: failover.ReasonNoCapacity, message: "no room",
		},
		"node by node there is less than in sum": {
			binding: with(byAvailable(on("m1", 2)), asking("cpu", 3)), fleet: fleet(cluster("m2", cpu(8), func(c *failover.Cluster) {
				c.Capacity.Models = []failover.NodeModel{{Min: quantities("cpu", 0), Count: 9}, {Min: quantities("cpu", 4), Count: 1}}
			})), reason: failover.ReasonNoCapacity, message: "no room",
		},
		"models that nobody understands are no room": {
			binding: with(byAvailable(on("m1", 1)), asking("cpu", 1)), fleet: fleet(cluster("m2", cpu(8), func(c *failover.Cluster) {
				c.Capacity.ModelsUnknown = true
			})), reason: failover.ReasonNoCapacity, message: "no room",
		},
		"the spread leaves the largest cluster": {
			binding: with(byAvailable(on("m1", 5)), spread(1, 1)), fleet: fleet(cluster("m2", room(2)), cluster("m3", room(5))), candidates: []string{"m3"}, message: "outside",
		},
		"no single cluster has the room": {
			binding: with(byAvailable(on("m1", 5)), spread(1, 1)), fleet: fleet(cluster("m2", room(4)), cluster("m3", room(4))), reason: failover.ReasonNoCapacity, message: "have room for 5 replicas together",
		},
		"by region the choice is not made by room": {
			binding:    with(byAvailable(on("m1", 5)), spreadOver(by("region", 1, 1), by("cluster", 1, 1))),
			fleet:      fleet(cluster("m2", in("e", "", ""), room(4)), cluster("m3", in("w", "", ""), room(5))),
			candidates: []string{"m3"},
		},
		"one cluster of each region is taken, whatever its room": {
			binding: with(byAvailable(on("m1", 5)), spreadOver(by("region", 2, 2), by("cluster", 1, 2))),
			fleet:   fleet(cluster("m2", in("e", "", ""), room(2)), cluster("m3", in("w", "", ""), room(2)), cluster("m4", in("w", "", ""), room(1))),
			reason:  failover.ReasonNoCapacity, message: "together they have no room for 5",
		},
		"the choice could fall on a dead target": {
			binding: with(byAvailable(on("m1", 2), on("m2", 1)), spread(1, 1)), fleet: fleet(cluster("m2", notReady), cluster("m3"), cluster("m4")),
			reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"a dead target comes first when replicas are aggregated": {
			binding: aggregatedOver(on("m1", 2), on("m2", 1)), fleet: fleet(cluster("m2", notReady), cluster("m3")),
			reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"by weight a live one beside it takes its share": {
			binding: byAvailable(on("m1", 2), on("m2", 1)), fleet: fleet(cluster("m2", notReady), cluster("m3")), candidates: []string{"m3"},
		},
		"scaled in meanwhile, the survivor keeps some": {
			binding: with(byAvailable(on("m1", 2), on("m2", 4)), func(b *failover.Binding) { b.Replicas = 3 }), fleet: fleet(cluster("m2", room(0))),
			candidates: []string{"m2"}, message: "keep what they need",
		},
		"the next group has the room": {
			binding: with(aggregatedOver(on("m1", 3)), groups("a", "a: m1 m2", "b: m3")), fleet: fleet(cluster("m2", room(2)), cluster("m3", room(3))),
			candidates: []string{"m3"}, message: `in group "b"`,
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-15, R4.6-16, R4.6-20.
func TestPreCheckOfComponents(t *testing.T) {
	parts := func(b *failover.Binding) {
		b.Replicas, b.Clusters[0].Replicas = 0, 0
		b.Components = []failover.Component{
			{Name: "job", Replicas: 1, Request: quantities("cpu", 1)}, {Name: "task", Replicas: 3, Request: quantities("cpu", "500m")},
		}
	}
	cpu := func(free string) func(*failover.Cluster) {
		return having(quantities("pods", 10, "cpu", free), quantities("pods", 0))
	}
	intoPieces := func(b *failover.Binding) {
		b.Placement.ReplicaScheduling = &failover.ReplicaScheduling{Type: failover.SchedulingDivided, DivisionPreference: failover.DivisionAggregated}
	}
	for name, tc := range map[string]preCheckCase{
		"room for all of them": {binding: with(duplicated("m1"), parts), fleet: fleet(cluster("m2", cpu("2500m"))), candidates: []string{"m2"}, message: "room for its components"},
		"room for all but one": {binding: with(duplicated("m1"), parts), fleet: fleet(cluster("m2", cpu("2400m"))), reason: failover.ReasonNoCapacity, message: "no room for its components"},
		"one of two has the room, both are taken": {
			binding: with(duplicated("m1"), parts), fleet: fleet(cluster("m2", cpu("1")), cluster("m3", cpu("9"))), candidates: []string{"m3"},
		},
		"one of two has the room, one is taken": {
			binding: with(duplicated("m1"), parts, spread(1, 1)), fleet: fleet(cluster("m2", cpu("1")), cluster("m3", cpu("9"))), reason: failover.ReasonNoCapacity, message: "no room",
		},
		"unknown room": {binding: with(duplicated("m1"), parts), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Capacity = nil })), reason: failover.ReasonNoCapacity, message: "not known"},
		"divided, the scheduler must be told to look": {
			binding: with(duplicated("m1"), parts, intoPieces), fleet: fleet(cluster("m2", cpu("9"))), candidates: []string{"m2"}, reschedule: true,
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-17.
func TestHeadroomIsDerivedFromWhatIsOnItsWay(t *testing.T) {
	all := fleet(cluster("m1", notReady), cluster("m2", room(10)), cluster("m3", room(5)))
	h := failover.NewHeadroom()
	placed := with(divided([]failover.TargetCluster{on("m2", 4)}), task(held("m1", 4)), reports(copyOn("m2", failover.HealthUnhealthy, 1, 4)))
	placed.Key.Name = "placed"
	waiting := with(divided(nil), func(b *failover.Binding) { b.Replicas, b.Key.Name = 3, "waiting" }, task(held("m1", 3)))
	waiting2 := with(divided(nil), func(b *failover.Binding) { b.Replicas, b.Key.Name = 2, "waiting2" }, task(held("m1", 3)))
	ready := with(divided([]failover.TargetCluster{on("m3", 2)}), task(held("m1", 2)), reports(copyOn("m3", failover.HealthHealthy, 2, 2)))
	free := with(divided([]failover.TargetCluster{on("m3", 2)}))
	foreign := with(divided([]failover.TargetCluster{on("m3", 2)}), task(failover.Task{FromCluster: "m1", Producer: "TaintManager"}))
	broken := with(divided([]failover.TargetCluster{on("m3", 2)}), task(held("m1", 2)), func(b *failover.Binding) { b.Malformed = "x" })
	for _, b := range []*failover.Binding{placed, waiting, waiting2, ready, free, foreign, broken} {
		h.Add(b)
	}

	r := h.For(failover.BindingKey{Namespace: "shop", Name: "another"}, all)
	require.Len(t, r.Placed, 1)
	require.Equal(t, int64(3), podsIn(r.Placed["m2"]), "scheduled 4, ready 1")
	require.Len(t, r.Unplaced, 1, "with the same candidates they are one")
	require.Equal(t, []string{"m2", "m3"}, r.Unplaced[0].Candidates)
	require.Equal(t, int64(5), podsIn(r.Unplaced[0].Need))

	own := h.For(waiting.Key, all)
	require.Equal(t, int64(2), podsIn(own.Unplaced[0].Need), "its own are none to itself")
	require.Empty(t, h.For(placed.Key, all).Placed)
}

// Rules: R4.6-17.
func TestPreCheckBesideWhatWasPromised(t *testing.T) {
	waiting := func(n int, candidates ...string) func(*failover.PreCheckInput) {
		return func(in *failover.PreCheckInput) {
			in.Reserved.Unplaced = append(in.Reserved.Unplaced, failover.Unplaced{Candidates: candidates, Need: quantities("pods", n)})
		}
	}
	for name, tc := range map[string]preCheckCase{
		"a new cluster whose room was promised": {
			binding: divided([]failover.TargetCluster{on("m1", 2)}), fleet: fleet(cluster("m2", room(3))),
			change: func(in *failover.PreCheckInput) { in.Reserved = promised("m2", 2) }, reason: failover.ReasonNoCapacity, message: "beside 2 promised to others",
		},
		"and one that has enough for both": {
			binding: divided([]failover.TargetCluster{on("m1", 2)}), fleet: fleet(cluster("m2", room(4))),
			change: func(in *failover.PreCheckInput) { in.Reserved = promised("m2", 2) }, candidates: []string{"m2"},
		},
		"those that wait for a place count against all their candidates together": {
			binding: aggregatedOver(on("m1", 2)), fleet: fleet(cluster("m2", room(3)), cluster("m3", room(3))), change: waiting(5, "m2", "m3"),
			reason: failover.ReasonNoCapacity, message: "m2, m3 have not enough pods for it and for what waits",
		},
		"together there is room": {
			binding: byAvailable(on("m1", 2)), fleet: fleet(cluster("m2", room(3)), cluster("m3", room(3))), change: waiting(4, "m2", "m3"), candidates: []string{"m2", "m3"},
		},
		"they may go where this one may not": {
			binding: with(aggregatedOver(on("m1", 2)), may(names("m1", "m2"))), fleet: fleet(cluster("m2", room(3)), cluster("m3", room(3))), change: waiting(4, "m2", "m3"),
			candidates: []string{"m2"},
		},
		"elsewhere they are no matter": {
			binding: with(aggregatedOver(on("m1", 2)), may(names("m1", "m2"))), fleet: fleet(cluster("m2", room(2)), cluster("m3", room(0))), change: waiting(4, "m3"),
			candidates: []string{"m2"},
		},
		"a duplicated workload asks for no room": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", room(0))), change: waiting(4, "m2"), candidates: []string{"m2"},
		},
	} {
		t.Run(name, tc.run)
	}
}
