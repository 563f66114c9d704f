package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// emptied is a binding whose eviction from m1 found no cluster: the scheduler took
// every target away.
func emptied(before *failover.Binding, change ...func(*failover.Binding)) (*failover.Binding, failover.Baseline) {
	base := failover.BaselineOf(before)
	after := *before
	target, _ := before.Target("m1")
	after.Tasks = append([]failover.Task{held("m1", target.Replicas)}, before.Tasks...)
	after.Clusters = nil
	after.Generation++
	return with(&after, append([]func(*failover.Binding){scheduled(corev1.ConditionFalse, failover.ScheduledNoClusterFit, at(2))}, change...)...), base
}

// Rules: R4.9-21, R4.9-22, R4.9-23, R4.9-26, R4.9-27, R4.9-49.
func TestPlanRestore(t *testing.T) {
	onTwo := func(b *failover.Binding) { b.Clusters = []failover.TargetCluster{on("m2", 2)} }
	split := func() *failover.Binding {
		return divided([]failover.TargetCluster{on("m1", 1), on("m2", 2), on("m3", 3)})
	}
	succeeded := scheduled(corev1.ConditionTrue, "Success", t0)
	moved := func(b *failover.Binding) { b.Status.ObservedAffinity = "backup" }
	grouped := func() *failover.Binding {
		return with(duplicated("m1"), groups("primary", "primary: m1 m4", "backup: m2"))
	}
	deeper := func() *failover.Binding {
		return with(duplicated("m1"), groups("middle", "first: m4", "middle: m1", "backup: m2"))
	}
	for name, tc := range map[string]struct {
		before *failover.Binding
		now    []func(*failover.Binding)
		change func(*failover.RestoreInput)
		want   failover.RestorePlan // Message is part of it only
	}{
		"back where it was": {
			before: duplicated("m1"), want: failover.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back with 2 replicas"},
		},
		"a non-workload has no replicas": {before: nonWorkload("m1"), want: failover.RestorePlan{OK: true, Message: "m1 comes back"}},
		"divided: as many as were taken out": {
			before: split(), want: failover.RestorePlan{OK: true, Replicas: 1, Others: []failover.TargetCluster{on("m2", 2), on("m3", 3)}, Message: "with 1 replica beside m2, m3"},
		},
		"divided: the baseline knows them, too": {
			before: split(), change: func(in *failover.RestoreInput) { in.Task.Replicas = nil },
			want: failover.RestorePlan{OK: true, Replicas: 1, Others: []failover.TargetCluster{on("m2", 2), on("m3", 3)}, Message: "1 replica"},
		},
		"a survivor with a task of its own stays away": {
			before: split(), now: []func(*failover.Binding){task(failover.Task{FromCluster: "m2", Producer: "TaintManager"})},
			want: failover.RestorePlan{OK: true, Replicas: 1, Others: []failover.TargetCluster{on("m3", 3)}, Message: "beside m3"},
		},
		"so does one that left the fleet": {
			before: split(), change: func(in *failover.RestoreInput) {
				in.Fleet = fleet(cluster("m1"), cluster("m2", deletingCluster), cluster("m3"))
			},
			want: failover.RestorePlan{OK: true, Replicas: 1, Others: []failover.TargetCluster{on("m3", 3)}, Message: "beside m3"},
		},
		"survivors that stand are left as they are": {
			before: duplicated("m1", "m2"), now: []func(*failover.Binding){onTwo}, want: failover.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"},
		},
		"every copy has all replicas, as many as there are now": {
			before: duplicated("m1", "m2"), now: []func(*failover.Binding){func(b *failover.Binding) { b.Replicas = 5 }},
			want: failover.RestorePlan{OK: true, Replicas: 5, Others: []failover.TargetCluster{on("m2", 5)}, Message: "5 replicas"},
		},
		"a stuck placement is taken back": {
			before: duplicated("m1"), now: []func(*failover.Binding){onTwo, scheduled(corev1.ConditionFalse, "Unschedulable", at(2))},
			want: failover.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"},
		},
		"a placement in its first pass is waited for": {
			before: duplicated("m1"), now: []func(*failover.Binding){onTwo, succeeded, generation(4, 3)},
			want: failover.RestorePlan{Reason: failover.ReasonRestoreUnanswered, Message: "the scheduler is placing it on m2"},
		},
		"growth of a survivor is a placement, too": {
			before: split(), now: []func(*failover.Binding){succeeded, generation(4, 3), func(b *failover.Binding) { b.Clusters = []failover.TargetCluster{on("m2", 3), on("m3", 3)} }},
			want: failover.RestorePlan{Reason: failover.ReasonRestoreUnanswered, Message: "placing it on m2, m3"},
		},
		"what is placed is not taken back": {
			before: duplicated("m1"), now: []func(*failover.Binding){onTwo, succeeded, generation(4, 4)}, want: failover.RestorePlan{Reason: failover.ReasonPlaced, Message: "placed on m2"},
		},
		"unless the scheduler would take it straight back": {
			before: duplicated("m1"), now: []func(*failover.Binding){onTwo, succeeded, generation(4, 4)},
			change: func(in *failover.RestoreInput) { in.StraightBack = true }, want: failover.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"},
		},

		"the scheduler has moved on to another group": {
			before: grouped(), now: []func(*failover.Binding){moved}, want: failover.RestorePlan{OK: true, Replicas: 2, Reschedule: true, Message: "with a reschedule back to its affinity group"},
		},
		"it stands at the group still": {before: grouped(), want: failover.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"}},
		"it has moved on, and survivors would come back, too": {
			before: with(duplicated("m1", "m4"), groups("primary", "primary: m1 m4", "backup: m2")), now: []func(*failover.Binding){moved},
			want: failover.RestorePlan{Reason: failover.ReasonRestoreUndone, Message: `stands at affinity group "backup"`},
		},
		"it has moved on, and another target stands": {
			before: grouped(), now: []func(*failover.Binding){moved, onTwo},
			want: failover.RestorePlan{Reason: failover.ReasonRestoreUndone, Message: "would divide from scratch"},
		},
		"a reschedule might end in an earlier group": {
			before: deeper(), now: []func(*failover.Binding){moved},
			want: failover.RestorePlan{Reason: failover.ReasonRestoreUndone, Message: `might take an affinity group before "middle"`},
		},
		"a put-back by a reschedule that might end in an earlier group is refused": {
			before: deeper(), now: []func(*failover.Binding){moved},
			change: func(in *failover.RestoreInput) { in.PutBack = true },
			want:   failover.RestorePlan{Reason: failover.ReasonPutBackRefused, Message: `might take an affinity group before "middle"`},
		},
		"not when that group has nothing": {
			before: deeper(), now: []func(*failover.Binding){moved},
			change: func(in *failover.RestoreInput) {
				in.Fleet = fleet(cluster("m1"), cluster("m4", tainted(noSchedule("x"))))
			},
			want: failover.RestorePlan{OK: true, Replicas: 2, Reschedule: true, Message: "reschedule"},
		},
		"its placement does not select the cluster any more": {
			before: duplicated("m1"), now: []func(*failover.Binding){func(b *failover.Binding) { b.Placement = &failover.Placement{ClusterAffinity: names("m2")} }},
			want: failover.RestorePlan{Reason: failover.ReasonRestoreUndone, Message: "does not select m1 any more"},
		},

		"no task of ours stands": {
			before: duplicated("m1"), change: func(in *failover.RestoreInput) { in.Task.Producer = "TaintManager" }, want: failover.RestorePlan{Reason: failover.ReasonForeignTask, Message: "no hold task"},
		},
		"the task is for another cluster": {
			before: duplicated("m1"), change: func(in *failover.RestoreInput) { in.Task.FromCluster = "m2" }, want: failover.RestorePlan{Reason: failover.ReasonForeignTask, Message: "for m1"},
		},
		"the task was left to a human": {
			before: duplicated("m1"), change: func(in *failover.RestoreInput) { in.Task.Reason = failover.TaskReasonLeftToHuman }, want: failover.RestorePlan{Reason: failover.ReasonForeignTask, Message: "no hold task"},
		},
		"the cluster is being deleted": {
			before: duplicated("m1"), change: func(in *failover.RestoreInput) { in.Cluster.Deleting = true }, want: failover.RestorePlan{Reason: failover.ReasonClusterGone, Message: "m1 is gone"},
		},
		"the cluster is gone": {
			before: duplicated("m1"), change: func(in *failover.RestoreInput) { in.Cluster = failover.Cluster{} }, want: failover.RestorePlan{Reason: failover.ReasonClusterGone, Message: "m1 is gone"},
		},
		"the binding cannot be understood": {
			before: duplicated("m1"), now: []func(*failover.Binding){func(b *failover.Binding) { b.Malformed = "spec: not an object" }},
			want: failover.RestorePlan{Reason: failover.ReasonMalformed, Message: "not an object"},
		},
		"it has no placement any more": {
			before: duplicated("m1"), now: []func(*failover.Binding){func(b *failover.Binding) { b.Placement = nil }},
			want: failover.RestorePlan{Reason: failover.ReasonNotSupportedPlacement, Message: "no placement"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, base := emptied(tc.before, tc.now...)
			hold, _ := b.TaskFor("m1")
			in := failover.RestoreInput{Binding: b, Failed: "m1", Task: *hold, Baseline: base, Cluster: cluster("m1")}
			if tc.change != nil {
				tc.change(&in)
			}
			plan := failover.PlanRestore(in)
			require.Contains(t, plan.Message, tc.want.Message)
			plan.Message, tc.want.Message = "", ""
			require.Equal(t, tc.want, plan)
		})
	}
}

// Rules: R4.9-17.
func TestTakesStraightBack(t *testing.T) {
	ours := func(c *failover.Cluster) {
		c.Taints = []corev1.Taint{noExecute("failed", t0), noSchedule(failover.EvacuatingTaintKey)}
		c.Added = []failover.AddedTaint{{Key: "failed", Effect: corev1.TaintEffectNoExecute}, {Key: failover.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, tc := range map[string]struct {
		binding *failover.Binding
		cluster failover.Cluster
		want    bool
	}{
		"a duplicated one without a bound": {duplicated("m2"), cluster("m1"), true},
		"a non-workload":                   {nonWorkload("m2"), cluster("m1"), true},
		"a divided one never":              {divided([]failover.TargetCluster{on("m2", 3)}), cluster("m1"), false},
		"a non-workload under a divided placement": {with(nonWorkload("m2"), func(b *failover.Binding) {
			b.Placement.ReplicaScheduling = &failover.ReplicaScheduling{Type: failover.SchedulingDivided}
		}), cluster("m1"), true},
		"its spread is full":                           {with(duplicated("m2"), spread(1, 1)), cluster("m1"), false},
		"its spread has a place left":                  {with(duplicated("m2"), spread(1, 2)), cluster("m1"), true},
		"its placement does not select the cluster":    {with(duplicated("m2"), may(names("m2"))), cluster("m1"), false},
		"the scheduler has moved on to another group":  {with(duplicated("m2"), groups("backup", "primary: m1", "backup: m2")), cluster("m1"), false},
		"the group has both":                           {with(duplicated("m2"), groups("backup", "primary: m3", "backup: m1 m2")), cluster("m1"), true},
		"our own taints go with the recovery":          {duplicated("m2"), cluster("m1", ours), true},
		"somebody's taint keeps it away":               {duplicated("m2"), cluster("m1", ours, tainted(noSchedule("cordon"))), false},
		"unless it is tolerated":                       {with(duplicated("m2"), tolerating(tolerate("cordon"))), cluster("m1", tainted(noSchedule("cordon"))), true},
		"the cluster does not serve the kind any more": {duplicated("m2"), cluster("m1", func(c *failover.Cluster) { c.APIEnablements = []string{} }), false},
		"the cluster is being deleted":                 {duplicated("m2"), cluster("m1", deletingCluster), false},
		"without a placement nobody schedules it":      {with(duplicated("m2"), func(b *failover.Binding) { b.Placement = nil }), cluster("m1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, failover.TakesStraightBack(tc.binding, tc.cluster))
		})
	}
}
