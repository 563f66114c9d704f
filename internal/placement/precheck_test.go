package placement_test

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// preCheckCase is one question: may the binding leave m1?
type preCheckCase struct {
	binding    *karmada.Binding // a plain one on m1, where it is empty
	fleet      []karmada.Cluster
	evacuating []string
	change     func(*placement.PreCheckInput)

	reason     reason.Reason // none means yes
	candidates string        // with spaces between
	message    string
	reschedule bool
}

type preCheckCases map[string]preCheckCase

func (all preCheckCases) run(t *testing.T) {
	for name, tc := range all {
		t.Run(name, tc.run)
	}
}

// demandRoom has static weights look at room, too.
func demandRoom(in *placement.PreCheckInput) { in.RoomForStaticWeights = true }

// notDispatched suspends the dispatching of a binding to a cluster.
func notDispatched(cluster string) func(*karmada.Binding) {
	return func(b *karmada.Binding) { b.SuspendedOn = []string{cluster} }
}

func (tc preCheckCase) run(t *testing.T) {
	in := placement.PreCheckInput{
		Binding: cmp.Or(tc.binding, duplicated("m1")), Failing: "m1", Fleet: append(fleet(cluster("m1", notReady)), tc.fleet...),
		Evacuating: map[string]bool{},
	}
	for _, name := range tc.evacuating {
		in.Evacuating[name] = true
	}
	if tc.change != nil {
		tc.change(&in)
	}
	v := placement.PreCheck(in)
	require.Equal(t, tc.reason, v.Reason, v.Message)
	require.Equal(t, tc.reason == reason.None, v.OK)
	if v.OK || tc.candidates != "" {
		require.Equal(t, tc.candidates, strings.Join(v.Candidates, " "), v.Message)
	}
	require.Contains(t, v.Message, tc.message)
	require.Equal(t, tc.reschedule, v.Reschedule, "reschedule")
}

// Rules: R4.6-1, R4.6-4, R4.6-5, R4.6-6, R4.6-7, R4.6-9, R4.6-12, R4.6-13, R4.6-18.
func TestPreCheckOfWhatIsNotDivided(t *testing.T) {
	preCheckCases{
		"somewhere new to go":              {fleet: fleet(m2(), m3()), candidates: "m2 m3", message: "2 candidates (m2, m3)"},
		"a non-workload goes the same way": {binding: nonWorkload("m1"), fleet: fleet(m2()), candidates: "m2"},
		"a non-workload under a divided placement, too": {
			binding: with(nonWorkload("m1"), func(b *karmada.Binding) {
				b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionWeighted}
			}), fleet: fleet(m2()), candidates: "m2",
		},
		"the placement allows nothing else": {
			binding: with(duplicated("m1"), may(names("m1"))), fleet: fleet(m2()),
			reason: reason.Pinned, message: "the placement allows no cluster but m1",
		},
		"a copy survives elsewhere": {binding: with(duplicated("m1", "m2"), may(names("m1", "m2"))), fleet: fleet(m2()), candidates: "m2"},
		"the surviving copy is dead, too": {
			binding: with(duplicated("m1", "m2"), may(names("m1", "m2"))), fleet: fleet(m2(notReady)),
			reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"a cluster that is not Ready is none": {fleet: fleet(m2(notReady)), reason: reason.NoTarget, message: "0 candidates: m2 is not Ready"},
		"one without a Ready condition is none": {
			fleet: fleet(m2(func(c *karmada.Cluster) { c.Conditions = nil })), reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"one that is being deleted is none": {
			fleet: fleet(m2(fixtures.DeletingCluster)), reason: reason.NoTarget, message: "m2 is being deleted",
		},
		"one that is evacuated itself is none": {
			fleet: fleet(m2()), evacuating: []string{"m2"}, reason: reason.NoTarget, message: "m2 is being evacuated",
		},
		"one to which its dispatching is suspended is none": {
			binding: with(duplicated("m1"), notDispatched("m2")), fleet: fleet(m2()),
			reason: reason.NoTarget, message: "m2 is named in spec.suspension.dispatchingOnClusters",
		},
		"another one is": {binding: with(duplicated("m1"), notDispatched("m2")), fleet: fleet(m2(), m3()), candidates: "m3"},
		"one that cannot be understood is none": {
			fleet: fleet(m2(func(c *karmada.Cluster) { c.Malformed = "no spec" })), reason: reason.NoTarget, message: "not understood: no spec",
		},
		"a NoSchedule taint keeps it away": {
			fleet: fleet(m2(tainted(noSchedule("cordon")))), reason: reason.NoTarget, message: "m2 is tainted cordon:NoSchedule",
		},
		"unless it is tolerated": {
			binding: with(duplicated("m1"), fixtures.Tolerating(fixtures.Tolerate("cordon"))), fleet: fleet(m2(tainted(noSchedule("cordon")))), candidates: "m2",
		},
		"or the copy is there already": {binding: duplicated("m1", "m2"), fleet: fleet(m2(tainted(noSchedule("cordon")))), candidates: "m2"},
		"but a NoExecute taint drives that copy away": {
			binding: duplicated("m1", "m2"), fleet: fleet(m2(tainted(fixtures.NoExecute("x", fixtures.T0)))), reason: reason.NoTarget, message: "m2 is tainted x:NoExecute",
		},
		"a toleration that still runs counts for the scheduler": {
			binding: with(duplicated("m1"), fixtures.Tolerating(fixtures.Tolerate("x", 10))), fleet: fleet(m2(tainted(fixtures.NoExecute("x", fixtures.T0)))), candidates: "m2",
		},
		"a soft taint is a cautious no, tolerated or not": {
			binding: with(duplicated("m1"), fixtures.Tolerating(fixtures.Tolerate(""))), fleet: fleet(m2(tainted(fixtures.SoftTaint("s", fixtures.T0)))), reason: reason.NoTarget, message: "m2 is tainted s:PreferNoExecute",
		},
		"a cluster that does not serve the kind is none": {
			fleet: fleet(m2(func(c *karmada.Cluster) { c.APIEnablements = []string{"v1/Pod"} })), reason: reason.NoTarget, message: "m2 is without API apps/v1/Deployment",
		},
		"one that does is": {fleet: fleet(m2(func(c *karmada.Cluster) { c.APIEnablements = []string{"apps/v1/Deployment"} })), candidates: "m2"},
		"it must tolerate Lifeboat's evacuation taint to return": {
			fleet: fleet(m2(tainted(noSchedule(karmada.EvacuatingTaintKey)))), reason: reason.NoTarget, message: karmada.EvacuatingTaintKey,
		},
		"an unlabelled cluster is outside a label selector": {
			binding: with(duplicated("m1"), may(&karmada.ClusterAffinity{LabelSelector: fixtures.MatchLabels(map[string]string{"tier": "gold"})})),
			fleet:   fleet(m2(), m3(labelled("tier", "gold"))), candidates: "m3",
		},
	}.run(t)
}

// The completions of a Job are divided with its replicas, and are immutable: the copy that survives could not follow.
//
// Rules: R4.6-51.
func TestPreCheck_DividedJob_MovesOnlyWhole(t *testing.T) {
	job := func(b *karmada.Binding) { b.Resource.APIVersion, b.Resource.Kind = "batch/v1", "Job" }
	volcano := func(b *karmada.Binding) { b.Resource.APIVersion, b.Resource.Kind = "batch.volcano.sh/v1alpha1", "Job" }
	runs := func(c *karmada.Cluster) { c.APIEnablements = []string{"batch/v1/Job", "batch.volcano.sh/v1alpha1/Job"} }
	preCheckCases{
		"beside a survivor": {
			binding: with(divided(on("m1", 2), on("m2", 1)), job), fleet: fleet(m2(runs), m3(runs)),
			reason: reason.NotSupportedPlacement, message: "a Job divided over several clusters",
		},
		"all of it":                            {binding: with(divided(on("m1", 3)), job), fleet: fleet(m2(runs)), candidates: "m2"},
		"duplicated: every copy keeps its own": {binding: with(duplicated("m1", "m2"), job), fleet: fleet(m2(runs), m3(runs)), candidates: "m2 m3"},
		"another kind by that name":            {binding: with(divided(on("m1", 2), on("m2", 1)), volcano), fleet: fleet(m2(runs)), candidates: "m2"},
	}.run(t)
}

// Rules: R4.6-10.
func TestPreCheckOfSpread(t *testing.T) {
	preCheckCases{
		"enough clusters for the spread": {binding: with(duplicated("m1", "m2"), spread(2, 2)), fleet: fleet(m2(), m3()), candidates: "m2 m3"},
		"too few": {
			binding: with(duplicated("m1", "m2", "m3"), spread(3, 3)), fleet: fleet(m2(), m3()),
			reason: reason.SpreadUnsatisfied, candidates: "m2 m3", message: "2 candidates (m2, m3), spread wants 3",
		},
		"enough for the scheduler, but one is dead": {
			binding: with(duplicated("m1", "m2"), spread(2, 2)), fleet: fleet(m2(notReady), m3()),
			reason: reason.SpreadUnsatisfied, candidates: "m3", message: "1 candidate (m3), spread wants 2",
		},
		"a survivor alone satisfies a spread of one": {
			binding: with(duplicated("m1", "m2"), spread(1, 2), may(names("m1", "m2"))), fleet: fleet(m2()), candidates: "m2",
		},
		"dead clusters could take every place": {
			binding: with(duplicated("m1"), spread(1, 1)), fleet: fleet(m2(notReady), m3()),
			reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"but not where there is a place more": {
			binding: with(duplicated("m1"), spread(1, 2)), fleet: fleet(m2(notReady), m3()), candidates: "m3",
		},
		"without a bound the scheduler selects nothing": {
			binding: with(duplicated("m1"), spread(1, 0)), fleet: fleet(m2(), m3()),
			reason: reason.SpreadUnsatisfied, message: "without maxGroups",
		},
		"static weights ignore the spread, as in Karmada": {
			binding: with(divided(on("m1", 3)), spread(3, 3)), fleet: fleet(m2()), candidates: "m2",
		},
	}.run(t)
}

// Rules: R4.6-2, R4.6-3.
func TestPreCheckOfAffinityGroups(t *testing.T) {
	primary, backup := "primary: m1 m2", "backup: m3 m4"
	preCheckCases{
		"within the observed group": {
			binding: with(duplicated("m1"), groups("primary", primary, backup)), fleet: fleet(m2(), m3()),
			candidates: "m2", message: `1 candidate (m2) in group "primary"`,
		},
		"on to the next group": {
			binding: with(duplicated("m1"), groups("primary", primary, backup)), fleet: fleet(m2(tainted(noSchedule("x"))), m3()),
			candidates: "m3", message: `in group "backup"`,
		},
		"no group has anything": {
			binding: with(duplicated("m1"), groups("primary", primary, backup)), fleet: fleet(m3(tainted(noSchedule("x")))),
			reason: reason.NoTarget, message: `group "backup" has 0 candidates: m3 is tainted x:NoSchedule`,
		},
		"the scheduler would stay with a dead survivor of this group": {
			// It exempts what serves already from taints, and never looks at Ready.
			binding: with(duplicated("m1", "m2"), groups("primary", primary, backup)), fleet: fleet(m2(notReady, tainted(noSchedule("x"))), m3()),
			reason: reason.NoTarget, message: `group "primary" has 0 candidates: m2 is not Ready`,
		},
		"an unmet spread moves on as well": {
			binding: with(duplicated("m1"), groups("primary", primary, backup), spread(2, 2)), fleet: fleet(m2(), m3(), m4()),
			candidates: "m3 m4",
		},
		"an unknown name means the first group": {
			binding: with(duplicated("m1"), groups("", primary, backup)), fleet: fleet(m2()), candidates: "m2",
		},
		"an earlier group only where nothing survives": {
			binding: with(duplicated("m1"), groups("backup", "primary: m2", "backup: m1")), fleet: fleet(m2()),
			candidates: "m2", reschedule: true,
		},
		"with a survivor there is no way back": {
			binding: with(duplicated("m1", "m4"), groups("backup", "primary: m2", "backup: m1 m4")), fleet: fleet(m2(), m4(notReady)),
			reason: reason.NoTarget, message: "m4 is not Ready",
		},
		"the present group is preferred to going back": {
			binding: with(duplicated("m1"), groups("backup", "primary: m2", "backup: m1 m3")), fleet: fleet(m2(), m3()), candidates: "m3",
		},
	}.run(t)
}

// Rules: R4.6-14, R4.6-15, R4.6-16, R4.6-17, R4.6-42.
func TestPreCheckOfDivided(t *testing.T) {
	oneTwo := func() *karmada.Binding {
		return with(fixtures.Divided([]karmada.TargetCluster{on("m1", 1), on("m2", 2)}, weight(1, "m1"), weight(2, "m2")), may(names("m1", "m2")))
	}
	preCheckCases{
		"a cluster outside takes some": {
			binding: divided(on("m1", 2), on("m2", 2)), fleet: fleet(m2(room(0)), m3(room(4))),
			candidates: "m2 m3", message: "1 candidate outside the present targets (m3)",
		},
		"the survivor has room": {binding: oneTwo(), fleet: fleet(m2(room(1))), candidates: "m2", message: "the other targets have room (m2)"},
		"the survivor has none": {
			binding: oneTwo(), fleet: fleet(m2(room(0))), change: demandRoom, reason: reason.NoCapacity, message: "m2 would take 1 more and has room for 0",
		},
		"the survivor has none, and its weight counts all the same": {
			binding: oneTwo(), fleet: fleet(m2(room(0))), candidates: "m2", message: "pods may stay Pending: m2 would take 1 more and has room for 0",
		},
		"a cluster outside has none": {
			binding: divided(on("m1", 2)), fleet: fleet(m2(room(0))), change: demandRoom,
			reason: reason.NoCapacity, message: "m2 would take 2 more and has room for 0",
		},
		"what is reserved is no room": {
			binding: oneTwo(), fleet: fleet(m2(room(3))), change: func(in *placement.PreCheckInput) { in.Reserved = promised("m2", 3) },
			reason: reason.NoCapacity, message: "room for 0",
		},
		"unknown room is not a yes": {
			binding: oneTwo(), fleet: fleet(m2(func(c *karmada.Cluster) { c.Capacity = nil })), change: demandRoom, reason: reason.NoCapacity, message: "not known",
		},
		"half known is not known": {
			binding: oneTwo(), fleet: fleet(m2(func(c *karmada.Cluster) { c.Capacity = &karmada.Capacity{Allocatable: quantities("pods", 9)} })),
			change: demandRoom, reason: reason.NoCapacity, message: "not known",
		},
		"unless configured so": {
			binding: oneTwo(), fleet: fleet(m2(func(c *karmada.Cluster) { c.Capacity = nil })),
			change: func(in *placement.PreCheckInput) { in.RoomUnknownOK, in.RoomForStaticWeights = true, true }, candidates: "m2", message: "have room",
		},
		"a cluster outside without weight gets nothing": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 1), on("m2", 2)}, weight(1, "m1"), weight(2, "m2")), fleet: fleet(m2(room(0)), m3()),
			change: demandRoom, reason: reason.NoCapacity, message: "m2 would take 1 more",
		},
		"without any weight left all weigh the same": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 3)}, weight(1, "m1")), fleet: fleet(m2(), m3()), candidates: "m2 m3",
		},
		"too light to get any of the few replicas": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m1", "m2"), weight(1, "m3")), fleet: fleet(m2(room(0)), m3()),
			change: demandRoom, reason: reason.NoCapacity, message: "m2 would take 1 more",
		},
		"the highest weight that selects a cluster counts": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m1", "m2"), weight(1, "m3"), weight(9, "m3")), fleet: fleet(m2(room(0)), m3()),
			candidates: "m2 m3", message: "outside the present targets (m3)",
		},
		"wherever it stands in the list": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m3"), weight(9, "m1", "m2"), weight(1, "m3")), fleet: fleet(m2(room(0)), m3()),
			candidates: "m2 m3", message: "outside the present targets (m3)",
		},
		"scaled in meanwhile, nobody grows": {
			binding: with(divided(on("m1", 2), on("m2", 5)), func(b *karmada.Binding) { b.Replicas = 3 }), fleet: fleet(m2(room(0))),
			candidates: "m2", message: "keep what they need",
		},
		"what is missing would go to a dead cluster alone": {
			binding: divided(on("m1", 2), on("m2", 2)), fleet: fleet(m2(), m3(notReady)),
			reason: reason.NoTarget, message: "m3 is not Ready",
		},
		"the scheduler would give it all to a dead survivor": {
			binding: oneTwo(), fleet: fleet(m2(notReady)), reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"a live one beside the dead one takes its share": {
			binding: divided(on("m1", 2), on("m2", 2)), fleet: fleet(m2(notReady), m3()), candidates: "m3",
		},
		"all would go to the heavier dead one": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 1), on("m2", 1)}, weight(9, "m1", "m2"), weight(1, "m3")), fleet: fleet(m2(notReady), m3()),
			reason: reason.NoTarget, message: "m2 is not Ready",
		},
		"it holds none of the replicas, so nothing grows": {
			binding: divided(on("m1", 0), on("m2", 3)), fleet: fleet(m2(room(0))), candidates: "m2", message: "hold every replica already",
		},
		"scaled to zero, the scheduler must be told to look": {
			binding: divided(on("m1", 0)), fleet: fleet(m2()), candidates: "m2", reschedule: true,
		},
		"scaled to zero with a survivor, it need not": {binding: divided(on("m1", 0), on("m2", 0)), fleet: fleet(m2()), candidates: "m2"},
		"told to look, it begins at the first group": {
			binding: with(divided(on("m1", 0)), groups("backup", "primary: m2", "backup: m1 m3")), fleet: fleet(m2(), m3()),
			candidates: "m2", reschedule: true,
		},
	}.run(t)
}

// Rules: R4.6-8, R4.7-14.
func TestPreCheckOfWhatStandsAlready(t *testing.T) {
	foreign := karmada.Task{FromCluster: "m1", Producer: "TaintManager", Reason: "TaintUntolerated"}
	elsewhere := foreign
	elsewhere.FromCluster = "m2"
	kept := fixtures.Held("m1", 2)
	kept.Reason = karmada.TaskReasonNeedsOperator
	preCheckCases{
		"it does not use the cluster":                                {binding: duplicated("m2"), fleet: fleet(m2()), reason: reason.NotTargeting, message: "does not use m1"},
		"Lifeboat's own task is no obstacle":                         {binding: with(duplicated("m1"), fixtures.Task(fixtures.Held("m1", 2))), fleet: fleet(m2()), candidates: "m2"},
		"another evictor's task is":                                  {binding: with(duplicated("m1"), fixtures.Task(foreign)), fleet: fleet(m2()), reason: reason.ForeignTask, message: "TaintManager"},
		"so is one that was left to an operator":                     {binding: with(duplicated("m1"), fixtures.Task(kept)), fleet: fleet(m2()), reason: reason.ForeignTask, message: karmada.TaskReasonNeedsOperator},
		"Lifeboat's task for another cluster only bans that cluster": {binding: with(duplicated("m1"), fixtures.Task(fixtures.Held("m2", 2))), fleet: fleet(m2(), m3()), candidates: "m3"},
		"what was kept elsewhere only bans that cluster": {
			binding: with(duplicated("m1"), fixtures.Task(karmada.Task{FromCluster: "m2", Producer: karmada.Producer, Reason: karmada.TaskReasonKept})),
			fleet:   fleet(m2(), m3()), candidates: "m3",
		},
		"another's task only bans that cluster": {binding: with(duplicated("m1"), fixtures.Task(elsewhere)), fleet: fleet(m2(), m3()), candidates: "m3"},
		"and where there is no other":           {binding: with(duplicated("m1"), fixtures.Task(elsewhere)), fleet: fleet(m2()), reason: reason.NoTarget, message: "m2 is under eviction for it"},
		"what is not supported is not judged": {
			binding: with(duplicated("m1"), func(b *karmada.Binding) { b.PlacedComponents = true }), fleet: fleet(m2()), reason: reason.NotSupportedComps, message: "components",
		},
		"nor what is behind an unsupported purge mode": {
			binding: with(duplicated("m1"), func(b *karmada.Binding) { b.PurgeMode, b.Placement = karmada.PurgeDirectly, nil }), fleet: fleet(m2()),
			reason: reason.NotSupportedPlacement, message: "no placement",
		},
		"the purge mode itself is asked elsewhere": {
			binding: with(duplicated("m1"), func(b *karmada.Binding) { b.PurgeMode = karmada.PurgeDirectly }), fleet: fleet(m2()), candidates: "m2",
		},
	}.run(t)
}

func TestRefusalsNameAFewAndCountTheRest(t *testing.T) {
	var many []karmada.Cluster
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		many = append(many, cluster(name, notReady))
	}
	v := placement.PreCheck(placement.PreCheckInput{Binding: duplicated("m1"), Failing: "m1", Fleet: many})
	require.Equal(t, "0 candidates: a is not Ready, b is not Ready, c is not Ready, d is not Ready, e is not Ready, f is not Ready, and 2 more", v.Message)
}

// A reschedule divides from scratch, so it is asked for only where the eviction leaves
// nothing, and there only where the scheduler would not look by itself, or where nothing
// but an earlier affinity group fits. With a survivor, which no Lifeboat task holds, never.
//
// Rules: R4.7-20, R4.7-21.
func TestARescheduleIsAskedForOnlyWhereNothingSurvives(t *testing.T) {
	looks := func(survivors ...string) *karmada.Binding {
		return duplicated(append([]string{"m1"}, survivors...)...)
	}
	idle := func(survivors ...string) *karmada.Binding {
		targets := []karmada.TargetCluster{on("m1", 0)}
		for _, name := range survivors {
			targets = append(targets, on(name, 0))
		}
		return fixtures.Divided(targets)
	}
	here := groups("backup", "primary: m2", "backup: m1 m3 m4")
	for name, tc := range map[string]struct {
		binding func(...string) *karmada.Binding
		fleet   []karmada.Cluster
		change  func(*karmada.Binding)
		want    bool
	}{
		"the scheduler looks":                        {binding: looks, fleet: fleet(m2(), m4()), want: false},
		"the scheduler does not look":                {binding: idle, fleet: fleet(m2(), m4()), want: true},
		"its own group fits":                         {binding: looks, fleet: fleet(m2(), m3(), m4()), change: here, want: false},
		"only an earlier group fits":                 {binding: looks, fleet: fleet(m2(), m4(notReady)), change: here, want: true},
		"neither looks, nor anything but an earlier": {binding: idle, fleet: fleet(m2(), m4(notReady)), change: here, want: true},
		"nothing fits":                               {binding: looks, fleet: fleet(m4(notReady)), change: here, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			for survives, survivors := range map[bool][]string{false: nil, true: {"m4"}} {
				b := tc.binding(survivors...)
				if tc.change != nil {
					tc.change(b)
				}
				in := placement.PreCheckInput{Binding: b, Failing: "m1", Fleet: append(fleet(cluster("m1", notReady)), tc.fleet...)}
				v := placement.PreCheck(in)
				require.Equal(t, tc.want && !survives, v.Reschedule, "survivors %v: %s", survivors, v.Message)
				require.False(t, v.Reschedule && !v.OK)

				require.Equal(t, v.Reschedule, in.NeedsReschedule())
				pending := *b // between the two writes of a decision that ends it
				pending.RescheduleTriggeredAt = new(b.Status.LastScheduled.Add(time.Second))
				in.Binding = &pending
				require.Equal(t, reason.SchedulingPending, placement.PreCheck(in).Reason)
				require.Equal(t, v.Reschedule, in.NeedsReschedule())
				in.Binding = b

				b.Status.LastScheduled = nil // by a scheduler before v1.10: it never reschedules
				never := placement.PreCheck(in)
				require.False(t, never.Reschedule || in.NeedsReschedule())
				if v.Reschedule {
					require.Equal(t, reason.SchedulingPending, never.Reason)
				} else {
					require.Equal(t, v, never)
				}
			}
		})
	}
}

// A member that reports too much room blocks no migration.
func TestRoomThatIsSaidTooLargeMakesNoSumRunOver(t *testing.T) {
	huge := func(c *karmada.Cluster) { c.Capacity = fixtures.Pods(math.MaxInt64, 0) }
	b := divided(on("m1", 3))
	b.Placement.ReplicaScheduling.WeightPreference = &karmada.WeightPreference{DynamicWeight: karmada.DynamicByAvailableReplicas}
	v := placement.PreCheck(placement.PreCheckInput{Binding: b, Failing: "m1", Fleet: []karmada.Cluster{cluster("m1"), m2(huge), m3(huge)}})
	require.True(t, v.OK, "%+v", v)
}

// What two replicas want may be more than 64 bits say: that is no less than nothing.
func TestAWishTooLargeToBeToldIsNoWishForNothing(t *testing.T) {
	b := duplicated("m1")
	b.Replicas, b.Clusters[0].Replicas = 0, 0
	b.Components = []karmada.Component{{Name: "worker", Replicas: 2, Request: quantities("memory", "8Ei")}}
	roomy := func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{Allocatable: quantities("pods", "100", "memory", "1Gi"), Allocated: quantities("pods", "1")}
	}
	v := placement.PreCheck(placement.PreCheckInput{Binding: b, Failing: "m1", Fleet: []karmada.Cluster{cluster("m1"), m2(roomy)}})
	require.Equal(t, reason.NoCapacity, v.Reason, "%+v", v)
}

// The same of all that would have to move off a cluster, where a rule asks for the room.
func TestAllThatWouldMoveMayBeMoreThanCanBeTold(t *testing.T) {
	b := duplicated("m1")
	b.Clusters[0].Replicas, b.Request = 2, quantities("memory", "8Ei")
	tally := placement.NewTally()
	tally.Add(b)
	roomy := func(c *karmada.Cluster) {
		c.Capacity = &karmada.Capacity{Allocatable: quantities("pods", "100", "memory", "1Gi"), Allocated: quantities("pods", "1")}
	}
	x := placement.ExtentOf(placement.ExtentInput{Leaving: "m1", Failing: []string{"m1"}, Fleet: []karmada.Cluster{cluster("m1"), m2(roomy)}, Tally: tally})
	require.EqualValues(t, "memory", x.Short)
}

// promised reserves so many pods on one cluster.
func promised(cluster string, n int) placement.Reservations {
	return placement.Reservations{Placed: map[string]corev1.ResourceList{cluster: quantities("pods", n)}}
}

func podsIn(list corev1.ResourceList) int64 { return list.Pods().Value() }
