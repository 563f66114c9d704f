package placement_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// in places a cluster: "region/zone/provider", each of which may be empty.
func in(region, zone, provider string) func(*karmada.Cluster) {
	return func(c *karmada.Cluster) {
		c.Region, c.Provider = region, provider
		if zone != "" {
			c.Zones = append(c.Zones, zone)
		}
	}
}

func by(field string, least, most int) karmada.SpreadConstraint {
	return karmada.SpreadConstraint{SpreadByField: field, MinGroups: least, MaxGroups: most}
}

func following(release karmada.Release) func(*placement.PreCheckInput) {
	return func(in *placement.PreCheckInput) { in.Karmada = release }
}

func byLabel(key string, least, most int) karmada.SpreadConstraint {
	return karmada.SpreadConstraint{SpreadByLabel: key, MinGroups: least, MaxGroups: most}
}

func spreadOver(constraints ...karmada.SpreadConstraint) func(*karmada.Binding) {
	return func(b *karmada.Binding) { b.Placement.SpreadConstraints = constraints }
}

// Every constraint's minGroups must hold among the candidates; region and cluster
// must also hold as the scheduler selects.
//
// Rules: R4.6-10, R4.6-11.
func TestPreCheckOfSpreadByRegionZoneProviderAndLabel(t *testing.T) {
	cluster1, east, west := by("cluster", 1, 4), in("east", "e1", "aws"), in("west", "w1", "gcp")
	preCheckCases{
		"two regions remain": {binding: with(duplicated("m1"), twoRegions), fleet: fleet(m2(east), m3(west)), candidates: "m2 m3"},
		"one region remains": {
			binding: with(duplicated("m1"), twoRegions), fleet: fleet(m2(east), m3(east)),
			reason: reason.SpreadUnsatisfied, message: "spread wants 2 by region and has 1",
		},
		"the second region is not Ready, and nothing serves there": {
			binding: with(duplicated("m1"), twoRegions), fleet: fleet(m2(east), m3(east), m4(west, notReady)),
			reason: reason.SpreadUnsatisfied, message: "by region and has 1",
		},
		"no two regions have three clusters": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 2), by("cluster", 3, 3))),
			fleet:   fleet(m2(east), m3(west), m4(in("north", "", ""))),
			reason:  reason.SpreadUnsatisfied, message: "no 2 regions have 3 clusters",
		},
		"a cluster without a region is none": {
			binding: with(duplicated("m1"), oneRegion), fleet: fleet(m2()),
			reason: reason.NoTarget, message: "m2 is without a region",
		},
		"without maxGroups no region is selected": {
			binding: with(duplicated("m1"), spreadOver(by("region", 1, 0), by("cluster", 1, 1))), fleet: fleet(m2(east)),
			reason: reason.SpreadUnsatisfied, message: "no 0 regions",
		},
		"a region without room for every replica makes the scheduler fail": {
			binding: with(duplicated("m1"), oneRegion), fleet: fleet(m2(east), m3(west, room(1))),
			change: following(16), reason: reason.NoCapacity, message: "nothing in region west has room",
		},
		"but not since 1.17": {
			binding: with(duplicated("m1"), oneRegion), fleet: fleet(m2(east), m3(west, room(1))),
			change: following(17), candidates: "m2",
		},
		"what is no workload needs no room there": {
			binding: with(nonWorkload("m1"), oneRegion), fleet: fleet(m2(east, room(0))), candidates: "m2",
		},
		"a cluster over two zones counts for both": {
			binding: with(duplicated("m1"), spreadOver(by("zone", 2, 2), cluster1)), fleet: fleet(m2(east, in("east", "e2", ""))), candidates: "m2",
		},
		"two zones are wanted and one is there": {
			binding: with(duplicated("m1"), spreadOver(by("zone", 2, 2), cluster1)), fleet: fleet(m2(east), m3(east)),
			reason: reason.SpreadUnsatisfied, message: "spread wants 2 by zone and has 1",
		},
		"two providers": {
			binding: with(duplicated("m1"), spreadOver(by("provider", 2, 2), cluster1)), fleet: fleet(m2(east), m3(west)), candidates: "m2 m3",
		},
		"one provider of two": {
			binding: with(duplicated("m1"), spreadOver(by("provider", 2, 2), cluster1)), fleet: fleet(m2(east), m3(east)),
			reason: reason.SpreadUnsatisfied, message: "by provider and has 1",
		},
		"two racks by label": {
			binding: with(duplicated("m1"), spreadOver(byLabel("rack", 2, 2), cluster1)),
			fleet:   fleet(m2(labelled("rack", "a")), m3(labelled("rack", "b"))), candidates: "m2 m3",
		},
		"the same rack twice": {
			binding: with(duplicated("m1"), spreadOver(byLabel("rack", 2, 2), cluster1)),
			fleet:   fleet(m2(labelled("rack", "a")), m3(labelled("rack", "a"))),
			reason:  reason.SpreadUnsatisfied, message: "by label rack and has 1",
		},
		"several constraints together, all met": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 3), by("provider", 2, 2), by("zone", 2, 4))),
			fleet:   fleet(m2(east), m3(west)), candidates: "m2 m3",
		},
		"several together, one not": {
			binding: with(duplicated("m1"), spreadOver(by("region", 2, 2), by("cluster", 2, 3), by("provider", 3, 3))),
			fleet:   fleet(m2(east), m3(west)), reason: reason.SpreadUnsatisfied, message: "by provider and has 2",
		},
		"the scheduler cannot spread by zone alone": {
			binding: with(duplicated("m1"), spreadOver(by("zone", 1, 1))), fleet: fleet(m2(east)),
			reason: reason.SpreadUnsatisfied, message: "by cluster and by region only",
		},
		"the next group may have the regions": {
			binding: with(duplicated("m1"), groups("a", "a: m1 m2", "b: m3 m4"), twoRegions),
			fleet:   fleet(m2(east), m3(east), m4(west)), candidates: "m3 m4",
		},
	}.run(t)
}

// Rules: R4.6-9.
func TestPreCheckOfAPIsThatAreKnown(t *testing.T) {
	complete := func(status corev1.ConditionStatus, apis ...string) func(*karmada.Cluster) {
		return func(c *karmada.Cluster) {
			c.APIEnablements = apis
			c.Conditions = append(c.Conditions, karmada.Condition{Type: "CompleteAPIEnablements", Status: status})
		}
	}
	preCheckCases{
		"Karmada found no API at all": {
			fleet: fleet(m2(complete(corev1.ConditionFalse))), reason: reason.NoTarget, message: "without API apps/v1/Deployment",
		},
		"an incomplete list without it": {
			fleet: fleet(m2(complete(corev1.ConditionFalse, "v1/Pod"))), reason: reason.NoTarget, message: "without API",
		},
		"an incomplete list is not held against a target": {
			binding: duplicated("m1", "m2"), fleet: fleet(m2(complete(corev1.ConditionFalse, "v1/Pod"))), candidates: "m2",
		},
		"nor is a complete one": {binding: duplicated("m1", "m2"), fleet: fleet(m2(complete(corev1.ConditionTrue, "v1/Pod"))), candidates: "m2"},
		"nothing known is a no": {
			fleet: fleet(m2(func(c *karmada.Cluster) { c.APIEnablements = nil })), reason: reason.NoTarget, message: "without API",
		},
	}.run(t)
}

func aggregatedOver(targets ...karmada.TargetCluster) *karmada.Binding {
	b := fixtures.Divided(targets)
	b.Placement.ReplicaScheduling.DivisionPreference = karmada.DivisionAggregated
	return b
}

func byAvailable(targets ...karmada.TargetCluster) *karmada.Binding {
	b := fixtures.Divided(targets)
	b.Placement.ReplicaScheduling.WeightPreference = &karmada.WeightPreference{DynamicWeight: karmada.DynamicByAvailableReplicas}
	return b
}

func asking(kv ...any) func(*karmada.Binding) {
	return func(b *karmada.Binding) { b.Request = quantities(kv...) }
}

func having(allocatable, allocated corev1.ResourceList) func(*karmada.Cluster) {
	return func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{Allocatable: allocatable, Allocated: allocated}
	}
}

// Rules: R4.6-14, R4.6-15, R4.6-16.
func TestPreCheckOfDivisionsByRoom(t *testing.T) {
	cpu := func(free int) func(*karmada.Cluster) {
		return having(quantities("pods", 100, "cpu", free), quantities("pods", 0))
	}
	preCheckCases{
		"another cluster has the room": {
			binding: aggregatedOver(on("m1", 3), on("m2", 1)), fleet: fleet(m2(room(0)), m3(room(3))), candidates: "m2 m3", message: "outside the present targets (m3)",
		},
		"together they have it": {binding: byAvailable(on("m1", 4)), fleet: fleet(m2(room(2)), m3(room(2))), candidates: "m2 m3"},
		"together they have it not": {
			binding: byAvailable(on("m1", 5)), fleet: fleet(m2(room(2)), m3(room(2))),
			reason: reason.NoCapacity, message: "together they have no room for 5 replicas",
		},
		"what is not known is no room for the scheduler, whatever the config says": {
			binding: byAvailable(on("m1", 1)), fleet: fleet(m2(func(c *karmada.Cluster) { c.Capacity = nil })),
			change: func(in *placement.PreCheckInput) { in.RoomUnknownOK = true }, reason: reason.NoCapacity, message: "no room",
		},
		"the survivor takes all it can": {
			binding: aggregatedOver(on("m1", 1), on("m2", 2)), fleet: fleet(m2(room(1))), candidates: "m2", message: "have room",
		},
		"CPU runs out first": {
			binding: with(byAvailable(on("m1", 3)), asking("cpu", "500m")), fleet: fleet(m2(cpu(1))), reason: reason.NoCapacity, message: "no room",
		},
		"and there is enough": {binding: with(byAvailable(on("m1", 2)), asking("cpu", "500m")), fleet: fleet(m2(cpu(1))), candidates: "m2"},
		"a resource that the summary does not have": {
			binding: with(byAvailable(on("m1", 1)), asking("nvidia.com/gpu", 1)), fleet: fleet(m2(cpu(8))), reason: reason.NoCapacity, message: "no room",
		},
		"node by node there is less than in sum": {
			binding: with(byAvailable(on("m1", 2)), asking("cpu", 3)), fleet: fleet(m2(cpu(8), func(c *karmada.Cluster) {
				c.Capacity.Models = []karmada.NodeModel{{Min: quantities("cpu", 0), Count: 9}, {Min: quantities("cpu", 4), Count: 1}}
			})), reason: reason.NoCapacity, message: "no room",
		},
		"models that nobody understands are no room": {
			binding: with(byAvailable(on("m1", 1)), asking("cpu", 1)), fleet: fleet(m2(cpu(8), func(c *karmada.Cluster) {
				c.Capacity.ModelsUnknown = true
			})), reason: reason.NoCapacity, message: "no room",
		},
		"the spread leaves the largest cluster": {
			binding: with(byAvailable(on("m1", 5)), spread(1, 1)), fleet: fleet(m2(room(2)), m3(room(5))), candidates: "m3", message: "outside",
		},
		"no single cluster has the room": {
			binding: with(byAvailable(on("m1", 5)), spread(1, 1)), fleet: fleet(m2(room(4)), m3(room(4))), reason: reason.NoCapacity, message: "have room for 5 replicas together",
		},
		"by region the choice is not made by room": {
			binding:    with(byAvailable(on("m1", 5)), oneRegion),
			fleet:      fleet(m2(in("e", "", ""), room(4)), m3(in("w", "", ""), room(5))),
			candidates: "m3",
		},
		"one cluster of each region is taken, whatever its room": {
			binding: with(byAvailable(on("m1", 5)), spreadOver(by("region", 2, 2), by("cluster", 1, 2))),
			fleet:   fleet(m2(in("e", "", ""), room(2)), m3(in("w", "", ""), room(2)), m4(in("w", "", ""), room(1))),
			reason:  reason.NoCapacity, message: "together they have no room for 5",
		},
		"the choice could fall on a dead target": {
			binding: with(byAvailable(on("m1", 2), on("m2", 1)), spread(1, 1)), fleet: fleet(m2(notReady), m3(), m4()),
			reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"a dead target comes first when replicas are aggregated": {
			binding: aggregatedOver(on("m1", 2), on("m2", 1)), fleet: fleet(m2(notReady), m3()),
			reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"by weight a live one beside it takes its share": {
			binding: byAvailable(on("m1", 2), on("m2", 1)), fleet: fleet(m2(notReady), m3()), candidates: "m3",
		},
		"scaled in meanwhile, the survivor keeps some": {
			binding: with(byAvailable(on("m1", 2), on("m2", 4)), func(b *karmada.Binding) { b.Replicas = 3 }), fleet: fleet(m2(room(0))),
			candidates: "m2", message: "keep what they need",
		},
		"the next group has the room": {
			binding: with(aggregatedOver(on("m1", 3)), groups("a", "a: m1 m2", "b: m3")), fleet: fleet(m2(room(2)), m3(room(3))),
			candidates: "m3", message: `in group "b"`,
		},
	}.run(t)
}

// Rules: R4.6-15, R4.6-16, R4.6-20.
func TestPreCheckOfComponents(t *testing.T) {
	parts := func(b *karmada.Binding) {
		b.Replicas, b.Clusters[0].Replicas = 0, 0
		b.Components = []karmada.Component{
			{Name: "job", Replicas: 1, Request: quantities("cpu", 1)}, {Name: "task", Replicas: 3, Request: quantities("cpu", "500m")},
		}
	}
	cpu := func(free string) func(*karmada.Cluster) {
		return having(quantities("pods", 10, "cpu", free), quantities("pods", 0))
	}
	intoPieces := func(b *karmada.Binding) {
		b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionAggregated}
	}
	preCheckCases{
		"room for all of them": {binding: with(duplicated("m1"), parts), fleet: fleet(m2(cpu("2500m"))), candidates: "m2", message: "room for its components"},
		"room for all but one": {binding: with(duplicated("m1"), parts), fleet: fleet(m2(cpu("2400m"))), reason: reason.NoCapacity, message: "no room for its components"},
		"one of two has the room, both are taken": {
			binding: with(duplicated("m1"), parts), fleet: fleet(m2(cpu("1")), m3(cpu("9"))), candidates: "m3",
		},
		"one of two has the room, one is taken": {
			binding: with(duplicated("m1"), parts, spread(1, 1)), fleet: fleet(m2(cpu("1")), m3(cpu("9"))), reason: reason.NoCapacity, message: "no room",
		},
		"unknown room": {binding: with(duplicated("m1"), parts), fleet: fleet(m2(func(c *karmada.Cluster) { c.Capacity = nil })), reason: reason.NoCapacity, message: "not known"},
		"divided, the scheduler must be told to look": {
			binding: with(duplicated("m1"), parts, intoPieces), fleet: fleet(m2(cpu("9"))), candidates: "m2", reschedule: true,
		},
	}.run(t)
}

// Rules: R4.6-17.
func TestHeadroomIsDerivedFromWhatIsOnItsWay(t *testing.T) {
	all := fleet(cluster("m1", notReady), m2(room(10)), m3(room(5)))
	h := placement.NewHeadroom()
	placed := with(divided(on("m2", 4)), fixtures.Task(fixtures.Held("m1", 4)), fixtures.Reports(fixtures.CopyOn("m2", karmada.HealthUnhealthy, 1, 4)))
	placed.Key.Name = "placed"
	waiting := with(fixtures.Divided(nil), func(b *karmada.Binding) { b.Replicas, b.Key.Name = 3, "waiting" }, fixtures.Task(fixtures.Held("m1", 3)))
	waiting2 := with(fixtures.Divided(nil), func(b *karmada.Binding) { b.Replicas, b.Key.Name = 2, "waiting2" }, fixtures.Task(fixtures.Held("m1", 3)))
	ready := with(divided(on("m3", 2)), fixtures.Task(fixtures.Held("m1", 2)), fixtures.Reports(fixtures.CopyOn("m3", karmada.HealthHealthy, 2, 2)))
	free := with(divided(on("m3", 2)))
	foreign := with(divided(on("m3", 2)), fixtures.Task(karmada.Task{FromCluster: "m1", Producer: "TaintManager"}))
	broken := with(divided(on("m3", 2)), fixtures.Task(fixtures.Held("m1", 2)), func(b *karmada.Binding) { b.Malformed = "x" })
	kept := with(divided(on("m2", 4)), fixtures.Task(fixtures.Held("m1", 4)), func(b *karmada.Binding) { b.Tasks[0].Reason = karmada.TaskReasonKept })
	kept.Key.Name = "kept"
	for _, b := range []*karmada.Binding{placed, waiting, waiting2, ready, free, foreign, broken, kept} {
		h.Add(b)
	}

	r := h.For(karmada.BindingKey{Namespace: "shop", Name: "another"}, all)
	require.Len(t, r.Placed, 1)
	require.Equal(t, int64(3), podsIn(r.Placed["m2"]), "scheduled 4, ready 1")
	require.Len(t, r.Unplaced, 1, "with the same candidates they are one")
	require.Equal(t, []string{"m2", "m3"}, r.Unplaced[0].Candidates)
	require.Equal(t, int64(5), podsIn(r.Unplaced[0].Need))

	require.Equal(t, int64(2), podsIn(h.For(waiting.Key, all).Unplaced[0].Need), "its own are none to itself")
	require.Empty(t, h.For(placed.Key, all).Placed)
}

// Rules: R4.6-17.
func TestPreCheckBesideWhatWasPromised(t *testing.T) {
	waiting := func(n int, candidates ...string) func(*placement.PreCheckInput) {
		return func(in *placement.PreCheckInput) {
			in.Reserved.Unplaced = append(in.Reserved.Unplaced, placement.Unplaced{Candidates: candidates, Need: quantities("pods", n)})
		}
	}
	preCheckCases{
		"a new cluster whose room was promised": {
			binding: divided(on("m1", 2)), fleet: fleet(m2(room(3))),
			change: func(in *placement.PreCheckInput) { in.Reserved = promised("m2", 2) }, reason: reason.NoCapacity, message: "beside 2 promised to others",
		},
		"and one that has enough for both": {
			binding: divided(on("m1", 2)), fleet: fleet(m2(room(4))),
			change: func(in *placement.PreCheckInput) { in.Reserved = promised("m2", 2) }, candidates: "m2",
		},
		"those that wait for a place count against all their candidates together": {
			binding: aggregatedOver(on("m1", 2)), fleet: fleet(m2(room(3)), m3(room(3))), change: waiting(5, "m2", "m3"),
			reason: reason.NoCapacity, message: "m2, m3 have not enough pods for it and for what waits",
		},
		"together there is room": {
			binding: byAvailable(on("m1", 2)), fleet: fleet(m2(room(3)), m3(room(3))), change: waiting(4, "m2", "m3"), candidates: "m2 m3",
		},
		"they may go where this one may not": {
			binding: with(aggregatedOver(on("m1", 2)), may(names("m1", "m2"))), fleet: fleet(m2(room(3)), m3(room(3))), change: waiting(4, "m2", "m3"),
			candidates: "m2",
		},
		"elsewhere they are no matter": {
			binding: with(aggregatedOver(on("m1", 2)), may(names("m1", "m2"))), fleet: fleet(m2(room(2)), m3(room(0))), change: waiting(4, "m3"),
			candidates: "m2",
		},
		"a duplicated workload asks for no room": {fleet: fleet(m2(room(0))), change: waiting(4, "m2"), candidates: "m2"},
	}.run(t)
}
