package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func fleet(c ...failover.Cluster) []failover.Cluster { return c }

// preCheckCase is one question: may the binding leave m1?
type preCheckCase struct {
	binding    *failover.Binding
	fleet      []failover.Cluster
	evacuating []string
	change     func(*failover.PreCheckInput)

	reason     failover.Reason // none means yes
	candidates []string
	message    string
	reschedule bool
}

// demandRoom has static weights look at room, too.
func demandRoom(in *failover.PreCheckInput) { in.RoomForStaticWeights = true }

func (tc preCheckCase) run(t *testing.T) {
	in := failover.PreCheckInput{
		Binding: tc.binding, Failing: "m1", Fleet: append(fleet(cluster("m1", notReady)), tc.fleet...),
		Evacuating: map[string]bool{},
	}
	for _, name := range tc.evacuating {
		in.Evacuating[name] = true
	}
	if tc.change != nil {
		tc.change(&in)
	}
	v := failover.PreCheck(in)
	require.Equal(t, tc.reason, v.Reason, v.Message)
	require.Equal(t, tc.reason == failover.ReasonNone, v.OK)
	if v.OK || tc.candidates != nil {
		require.Equal(t, tc.candidates, v.Candidates, v.Message)
	}
	require.Contains(t, v.Message, tc.message)
	require.Equal(t, tc.reschedule, v.Reschedule, "reschedule")
}

// Rules: R4.6-1, R4.6-4, R4.6-5, R4.6-6, R4.6-7, R4.6-9, R4.6-12, R4.6-13.
func TestPreCheckOfWhatIsNotDivided(t *testing.T) {
	for name, tc := range map[string]preCheckCase{
		"somewhere new to go": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2"), cluster("m3")), candidates: []string{"m2", "m3"}, message: "2 candidates (m2, m3)",
		},
		"a non-workload goes the same way": {binding: nonWorkload("m1"), fleet: fleet(cluster("m2")), candidates: []string{"m2"}},
		"a non-workload under a divided placement, too": {
			binding: with(nonWorkload("m1"), func(b *failover.Binding) {
				b.Placement.ReplicaScheduling = &failover.ReplicaScheduling{Type: failover.SchedulingDivided, DivisionPreference: failover.DivisionWeighted}
			}), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"the placement allows nothing else": {
			binding: with(duplicated("m1"), may(names("m1"))), fleet: fleet(cluster("m2")),
			reason: failover.ReasonPinned, message: "the placement allows no cluster but m1",
		},
		"a copy survives elsewhere": {
			binding: with(duplicated("m1", "m2"), may(names("m1", "m2"))), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"the surviving copy is dead, too": {
			binding: with(duplicated("m1", "m2"), may(names("m1", "m2"))), fleet: fleet(cluster("m2", notReady)),
			reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"a cluster that is not Ready is none": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", notReady)), reason: failover.ReasonNoTarget, message: "0 candidates: m2 is not Ready",
		},
		"one without a Ready condition is none": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Conditions = nil })), reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"one that is being deleted is none": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", deletingCluster)), reason: failover.ReasonNoTarget, message: "m2 is being deleted",
		},
		"one that is evacuated itself is none": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2")), evacuating: []string{"m2"}, reason: failover.ReasonNoTarget, message: "m2 is being evacuated",
		},
		"one that cannot be understood is none": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Malformed = "no spec" })), reason: failover.ReasonNoTarget, message: "not understood: no spec",
		},
		"a NoSchedule taint keeps it away": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", tainted(noSchedule("cordon")))), reason: failover.ReasonNoTarget, message: "m2 is tainted cordon:NoSchedule",
		},
		"unless it is tolerated": {
			binding: with(duplicated("m1"), tolerating(tolerate("cordon"))), fleet: fleet(cluster("m2", tainted(noSchedule("cordon")))), candidates: []string{"m2"},
		},
		"or the copy is there already": {
			binding: duplicated("m1", "m2"), fleet: fleet(cluster("m2", tainted(noSchedule("cordon")))), candidates: []string{"m2"},
		},
		"but a NoExecute taint drives that copy away": {
			binding: duplicated("m1", "m2"), fleet: fleet(cluster("m2", tainted(noExecute("x", t0)))), reason: failover.ReasonNoTarget, message: "m2 is tainted x:NoExecute",
		},
		"a toleration that still runs counts for the scheduler": {
			binding: with(duplicated("m1"), tolerating(tolerate("x", 10))), fleet: fleet(cluster("m2", tainted(noExecute("x", t0)))), candidates: []string{"m2"},
		},
		"a soft taint is a cautious no, tolerated or not": {
			binding: with(duplicated("m1"), tolerating(tolerate(""))), fleet: fleet(cluster("m2", tainted(softTaint("s", t0)))), reason: failover.ReasonNoTarget, message: "m2 is tainted s:PreferNoExecute",
		},
		"a cluster that does not serve the kind is none": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.APIEnablements = []string{"v1/Pod"} })), reason: failover.ReasonNoTarget, message: "m2 is without API apps/v1/Deployment",
		},
		"one that does is": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.APIEnablements = []string{"apps/v1/Deployment"} })), candidates: []string{"m2"},
		},
		"it must tolerate our companion taint to return": {
			binding: duplicated("m1"), fleet: fleet(cluster("m2", tainted(noSchedule(failover.EvacuatingTaintKey)))), reason: failover.ReasonNoTarget, message: failover.EvacuatingTaintKey,
		},
		"an unlabelled cluster is outside a label selector": {
			binding: with(duplicated("m1"), may(&failover.ClusterAffinity{LabelSelector: matchLabels(map[string]string{"tier": "gold"})})),
			fleet:   fleet(cluster("m2"), cluster("m3", labelled("tier", "gold"))), candidates: []string{"m3"},
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-10.
func TestPreCheckOfSpread(t *testing.T) {
	for name, tc := range map[string]preCheckCase{
		"enough clusters for the spread": {
			binding: with(duplicated("m1", "m2"), spread(2, 2)), fleet: fleet(cluster("m2"), cluster("m3")), candidates: []string{"m2", "m3"},
		},
		"too few": {
			binding: with(duplicated("m1", "m2", "m3"), spread(3, 3)), fleet: fleet(cluster("m2"), cluster("m3")),
			reason: failover.ReasonSpreadUnsatisfied, candidates: []string{"m2", "m3"}, message: "2 candidates (m2, m3), spread wants 3",
		},
		"enough for the scheduler, but one is dead": {
			binding: with(duplicated("m1", "m2"), spread(2, 2)), fleet: fleet(cluster("m2", notReady), cluster("m3")),
			reason: failover.ReasonSpreadUnsatisfied, candidates: []string{"m3"}, message: "1 candidate (m3), spread wants 2",
		},
		"a survivor alone satisfies a spread of one": {
			binding: with(duplicated("m1", "m2"), spread(1, 2), may(names("m1", "m2"))), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"dead clusters could take every place": {
			binding: with(duplicated("m1"), spread(1, 1)), fleet: fleet(cluster("m2", notReady), cluster("m3")),
			reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"but not where there is a place more": {
			binding: with(duplicated("m1"), spread(1, 2)), fleet: fleet(cluster("m2", notReady), cluster("m3")), candidates: []string{"m3"},
		},
		"without a bound the scheduler selects nothing": {
			binding: with(duplicated("m1"), spread(1, 0)), fleet: fleet(cluster("m2"), cluster("m3")),
			reason: failover.ReasonSpreadUnsatisfied, message: "without maxGroups",
		},
		"static weights ignore the spread, as in Karmada": {
			binding: with(divided([]failover.TargetCluster{on("m1", 3)}), spread(3, 3)), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-2, R4.6-3.
func TestPreCheckOfAffinityGroups(t *testing.T) {
	primary, backup := "primary: m1 m2", "backup: m3 m4"
	for name, tc := range map[string]preCheckCase{
		"within the observed group": {
			binding: with(duplicated("m1"), groups("primary", primary, backup)), fleet: fleet(cluster("m2"), cluster("m3")),
			candidates: []string{"m2"}, message: `1 candidate (m2) in group "primary"`,
		},
		"on to the next group": {
			binding: with(duplicated("m1"), groups("primary", primary, backup)), fleet: fleet(cluster("m2", tainted(noSchedule("x"))), cluster("m3")),
			candidates: []string{"m3"}, message: `in group "backup"`,
		},
		"no group has anything": {
			binding: with(duplicated("m1"), groups("primary", primary, backup)), fleet: fleet(cluster("m3", tainted(noSchedule("x")))),
			reason: failover.ReasonNoTarget, message: `group "backup" has 0 candidates: m3 is tainted x:NoSchedule`,
		},
		"the scheduler would stay with a dead survivor of this group": {
			// It exempts what serves already from taints, and never looks at Ready.
			binding: with(duplicated("m1", "m2"), groups("primary", primary, backup)), fleet: fleet(cluster("m2", notReady, tainted(noSchedule("x"))), cluster("m3")),
			reason: failover.ReasonNoTarget, message: `group "primary" has 0 candidates: m2 is not Ready`,
		},
		"an unmet spread moves on as well": {
			binding: with(duplicated("m1"), groups("primary", primary, backup), spread(2, 2)), fleet: fleet(cluster("m2"), cluster("m3"), cluster("m4")),
			candidates: []string{"m3", "m4"},
		},
		"an unknown name means the first group": {
			binding: with(duplicated("m1"), groups("", primary, backup)), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"an earlier group only where nothing survives": {
			binding: with(duplicated("m1"), groups("backup", "primary: m2", "backup: m1")), fleet: fleet(cluster("m2")),
			candidates: []string{"m2"}, reschedule: true,
		},
		"with a survivor there is no way back": {
			binding: with(duplicated("m1", "m4"), groups("backup", "primary: m2", "backup: m1 m4")), fleet: fleet(cluster("m2"), cluster("m4", notReady)),
			reason: failover.ReasonNoTarget, message: "m4 is not Ready",
		},
		"the present group is preferred to going back": {
			binding: with(duplicated("m1"), groups("backup", "primary: m2", "backup: m1 m3")), fleet: fleet(cluster("m2"), cluster("m3")), candidates: []string{"m3"},
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-14, R4.6-15, R4.6-16, R4.6-17, R4.6-42.
func TestPreCheckOfDivided(t *testing.T) {
	oneTwo := func() *failover.Binding {
		return with(divided([]failover.TargetCluster{on("m1", 1), on("m2", 2)}, weight(1, "m1"), weight(2, "m2")), may(names("m1", "m2")))
	}
	for name, tc := range map[string]preCheckCase{
		"a cluster outside takes some": {
			binding: divided([]failover.TargetCluster{on("m1", 2), on("m2", 2)}), fleet: fleet(cluster("m2", room(0)), cluster("m3", room(4))),
			candidates: []string{"m2", "m3"}, message: "1 candidate outside the present targets (m3)",
		},
		"the survivor has room": {binding: oneTwo(), fleet: fleet(cluster("m2", room(1))), candidates: []string{"m2"}, message: "the other targets have room (m2)"},
		"the survivor has none": {
			binding: oneTwo(), fleet: fleet(cluster("m2", room(0))), change: demandRoom, reason: failover.ReasonNoCapacity, message: "m2 would take 1 more and has room for 0",
		},
		"the survivor has none, and its weight counts all the same": {
			binding: oneTwo(), fleet: fleet(cluster("m2", room(0))), candidates: []string{"m2"}, message: "pods may stay Pending: m2 would take 1 more and has room for 0",
		},
		"a cluster outside has none": {
			binding: divided([]failover.TargetCluster{on("m1", 2)}), fleet: fleet(cluster("m2", room(0))), change: demandRoom,
			reason: failover.ReasonNoCapacity, message: "m2 would take 2 more and has room for 0",
		},
		"what is reserved is no room": {
			binding: oneTwo(), fleet: fleet(cluster("m2", room(3))), change: func(in *failover.PreCheckInput) { in.Reserved = promised("m2", 3) },
			reason: failover.ReasonNoCapacity, message: "room for 0",
		},
		"unknown room is not a yes": {
			binding: oneTwo(), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Capacity = nil })), change: demandRoom, reason: failover.ReasonNoCapacity, message: "not known",
		},
		"half known is not known": {
			binding: oneTwo(), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Capacity = &failover.Capacity{Allocatable: quantities("pods", 9)} })),
			change: demandRoom, reason: failover.ReasonNoCapacity, message: "not known",
		},
		"unless configured so": {
			binding: oneTwo(), fleet: fleet(cluster("m2", func(c *failover.Cluster) { c.Capacity = nil })),
			change: func(in *failover.PreCheckInput) { in.RoomUnknownOK, in.RoomForStaticWeights = true, true }, candidates: []string{"m2"}, message: "have room",
		},
		"a cluster outside without weight gets nothing": {
			binding: divided([]failover.TargetCluster{on("m1", 1), on("m2", 2)}, weight(1, "m1"), weight(2, "m2")), fleet: fleet(cluster("m2", room(0)), cluster("m3")),
			change: demandRoom, reason: failover.ReasonNoCapacity, message: "m2 would take 1 more",
		},
		"without any weight left all weigh the same": {
			binding: divided([]failover.TargetCluster{on("m1", 3)}, weight(1, "m1")), fleet: fleet(cluster("m2"), cluster("m3")), candidates: []string{"m2", "m3"},
		},
		"too light to get any of the few replicas": {
			binding: divided([]failover.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m1", "m2"), weight(1, "m3")), fleet: fleet(cluster("m2", room(0)), cluster("m3")),
			change: demandRoom, reason: failover.ReasonNoCapacity, message: "m2 would take 1 more",
		},
		"the highest weight that selects a cluster counts": {
			binding: divided([]failover.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m1", "m2"), weight(1, "m3"), weight(9, "m3")), fleet: fleet(cluster("m2", room(0)), cluster("m3")),
			candidates: []string{"m2", "m3"}, message: "outside the present targets (m3)",
		},
		"wherever it stands in the list": {
			binding: divided([]failover.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m3"), weight(9, "m1", "m2"), weight(1, "m3")), fleet: fleet(cluster("m2", room(0)), cluster("m3")),
			candidates: []string{"m2", "m3"}, message: "outside the present targets (m3)",
		},
		"scaled in meanwhile, nobody grows": {
			binding: with(divided([]failover.TargetCluster{on("m1", 2), on("m2", 5)}), func(b *failover.Binding) { b.Replicas = 3 }), fleet: fleet(cluster("m2", room(0))),
			candidates: []string{"m2"}, message: "keep what they need",
		},
		"what is missing would go to a dead cluster alone": {
			binding: divided([]failover.TargetCluster{on("m1", 2), on("m2", 2)}), fleet: fleet(cluster("m2"), cluster("m3", notReady)),
			reason: failover.ReasonNoTarget, message: "m3 is not Ready",
		},
		"the scheduler would give it all to a dead survivor": {
			binding: oneTwo(), fleet: fleet(cluster("m2", notReady)), reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"a live one beside the dead one takes its share": {
			binding: divided([]failover.TargetCluster{on("m1", 2), on("m2", 2)}), fleet: fleet(cluster("m2", notReady), cluster("m3")), candidates: []string{"m3"},
		},
		"all would go to the heavier dead one": {
			binding: divided([]failover.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m1", "m2"), weight(1, "m3")), fleet: fleet(cluster("m2", notReady), cluster("m3")),
			reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
		"it holds none of the replicas, so nothing grows": {
			binding: divided([]failover.TargetCluster{on("m1", 0), on("m2", 3)}), fleet: fleet(cluster("m2", room(0))), candidates: []string{"m2"}, message: "hold every replica already",
		},
		"scaled to zero, the scheduler must be told to look": {
			binding: divided([]failover.TargetCluster{on("m1", 0)}), fleet: fleet(cluster("m2")), candidates: []string{"m2"}, reschedule: true,
		},
		"scaled to zero with a survivor, it need not": {
			binding: divided([]failover.TargetCluster{on("m1", 0), on("m2", 0)}), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"told to look, it begins at the first group": {
			binding: with(divided([]failover.TargetCluster{on("m1", 0)}), groups("backup", "primary: m2", "backup: m1 m3")), fleet: fleet(cluster("m2"), cluster("m3")),
			candidates: []string{"m2"}, reschedule: true,
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-8, R4.7-14.
func TestPreCheckOfWhatStandsAlready(t *testing.T) {
	foreign := failover.Task{FromCluster: "m1", Producer: "TaintManager", Reason: "TaintUntolerated"}
	elsewhere := foreign
	elsewhere.FromCluster = "m2"
	kept := held("m1", 2)
	kept.Reason = failover.TaskReasonLeftToHuman
	for name, tc := range map[string]preCheckCase{
		"it does not use the cluster":                         {binding: duplicated("m2"), fleet: fleet(cluster("m2")), reason: failover.ReasonNotTargeting, message: "does not use m1"},
		"our own task is no obstacle":                         {binding: with(duplicated("m1"), task(held("m1", 2))), fleet: fleet(cluster("m2")), candidates: []string{"m2"}},
		"another evictor's task is":                           {binding: with(duplicated("m1"), task(foreign)), fleet: fleet(cluster("m2")), reason: failover.ReasonForeignTask, message: "TaintManager"},
		"so is one that was left to a human":                  {binding: with(duplicated("m1"), task(kept)), fleet: fleet(cluster("m2")), reason: failover.ReasonForeignTask, message: failover.TaskReasonLeftToHuman},
		"our task for another cluster only bans that cluster": {binding: with(duplicated("m1"), task(held("m2", 2))), fleet: fleet(cluster("m2"), cluster("m3")), candidates: []string{"m3"}},
		"what was kept elsewhere only bans that cluster": {
			binding: with(duplicated("m1"), task(failover.Task{FromCluster: "m2", Producer: failover.Producer, Reason: failover.TaskReasonKept})),
			fleet:   fleet(cluster("m2"), cluster("m3")), candidates: []string{"m3"},
		},
		"another's task only bans that cluster": {binding: with(duplicated("m1"), task(elsewhere)), fleet: fleet(cluster("m2"), cluster("m3")), candidates: []string{"m3"}},
		"and where there is no other":           {binding: with(duplicated("m1"), task(elsewhere)), fleet: fleet(cluster("m2")), reason: failover.ReasonNoTarget, message: "m2 is under eviction for it"},
		"what is not supported is not judged": {
			binding: with(duplicated("m1"), func(b *failover.Binding) { b.PlacedComponents = true }), fleet: fleet(cluster("m2")), reason: failover.ReasonNotSupportedComps, message: "components",
		},
		"nor what is behind an unsupported purge mode": {
			binding: with(duplicated("m1"), func(b *failover.Binding) { b.PurgeMode, b.Placement = failover.PurgeDirectly, nil }), fleet: fleet(cluster("m2")),
			reason: failover.ReasonNotSupportedPlacement, message: "no placement",
		},
		"the purge mode itself is asked elsewhere": {
			binding: with(duplicated("m1"), func(b *failover.Binding) { b.PurgeMode = failover.PurgeDirectly }), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestRefusalsNameAFewAndCountTheRest(t *testing.T) {
	var many []failover.Cluster
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		many = append(many, cluster(name, notReady))
	}
	v := failover.PreCheck(failover.PreCheckInput{Binding: duplicated("m1"), Failing: "m1", Fleet: many})
	require.Equal(t, "0 candidates: a is not Ready, b is not Ready, c is not Ready, d is not Ready, e is not Ready, f is not Ready, and 2 more", v.Message)
}

func TestReadyIsKarmadasWord(t *testing.T) {
	require.True(t, cluster("m1").Ready())
	require.False(t, cluster("m1", notReady).Ready())
	unknown := cluster("m1", func(c *failover.Cluster) { c.Conditions[0].Status = corev1.ConditionUnknown })
	require.False(t, unknown.Ready())
}

// A reschedule divides from scratch, so it is asked for only where the eviction leaves
// nothing, and there only where the scheduler would not look by itself, or where nothing
// but an earlier affinity group fits. With a survivor, which no task of ours holds, never.
//
// Rules: R4.7-20, R4.7-21.
func TestARescheduleIsAskedForOnlyWhereNothingSurvives(t *testing.T) {
	looks := func(survivors ...string) *failover.Binding {
		return duplicated(append([]string{"m1"}, survivors...)...)
	}
	idle := func(survivors ...string) *failover.Binding {
		targets := []failover.TargetCluster{on("m1", 0)}
		for _, name := range survivors {
			targets = append(targets, on(name, 0))
		}
		return divided(targets)
	}
	here := groups("backup", "primary: m2", "backup: m1 m3 m4")
	for name, tc := range map[string]struct {
		binding func(...string) *failover.Binding
		fleet   []failover.Cluster
		change  func(*failover.Binding)
		want    bool
	}{
		"the scheduler looks":                        {looks, fleet(cluster("m2"), cluster("m4")), nil, false},
		"the scheduler does not look":                {idle, fleet(cluster("m2"), cluster("m4")), nil, true},
		"its own group fits":                         {looks, fleet(cluster("m2"), cluster("m3"), cluster("m4")), here, false},
		"only an earlier group fits":                 {looks, fleet(cluster("m2"), cluster("m4", notReady)), here, true},
		"neither looks, nor anything but an earlier": {idle, fleet(cluster("m2"), cluster("m4", notReady)), here, true},
		"nothing fits":                               {looks, fleet(cluster("m4", notReady)), here, false},
	} {
		t.Run(name, func(t *testing.T) {
			for survives, survivors := range map[bool][]string{false: nil, true: {"m4"}} {
				b := tc.binding(survivors...)
				if tc.change != nil {
					tc.change(b)
				}
				v := failover.PreCheck(failover.PreCheckInput{Binding: b, Failing: "m1", Fleet: append(fleet(cluster("m1", notReady)), tc.fleet...)})
				require.Equal(t, tc.want && !survives, v.Reschedule, "survivors %v: %s", survivors, v.Message)
				require.False(t, v.Reschedule && !v.OK)
			}
		})
	}
}
