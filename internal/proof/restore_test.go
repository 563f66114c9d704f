package proof_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// emptied is a binding whose eviction from m1 found no cluster: the scheduler took
// every target away.
func emptied(before *karmada.Binding, change ...func(*karmada.Binding)) (*karmada.Binding, proof.Baseline) {
	base := proof.BaselineOf(before)
	after := *before
	target, _ := before.Target("m1")
	after.Tasks = append([]karmada.Task{fixtures.Held("m1", target.Replicas)}, before.Tasks...)
	after.Clusters = nil
	after.Generation++
	return with(&after, append([]func(*karmada.Binding){scheduled(corev1.ConditionFalse, proof.ScheduledNoClusterFit, fixtures.At(2))}, change...)...), base
}

// Rules: R4.9-21, R4.9-22, R4.9-23, R4.9-26, R4.9-27, R4.9-49.
func TestPlanRestore(t *testing.T) {
	onTwo := func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{on("m2", 2)} }
	split := func() *karmada.Binding {
		return divided(on("m1", 1), on("m2", 2), on("m3", 3))
	}
	succeeded := scheduled(corev1.ConditionTrue, "Success", fixtures.T0)
	zero := func(b *karmada.Binding) { b.Replicas, b.HasRequirements = 0, true }
	moved := func(b *karmada.Binding) { b.Status.ObservedAffinity = "backup" }
	grouped := func() *karmada.Binding {
		return with(duplicated("m1"), groups("primary", "primary: m1 m4", "backup: m2"))
	}
	byRoom := func() *karmada.Binding {
		return with(divided(on("m1", 2)), groups("primary", "primary: m1 m4", "backup: m2"), func(b *karmada.Binding) {
			b.Placement.ReplicaScheduling.DivisionPreference = karmada.DivisionAggregated
		})
	}
	takeBack := func(in *proof.RestoreInput) { in.TakeBack = true }
	both := func(in *proof.RestoreInput) {
		in.Fleet = fixtures.Fleet(cluster("m1", fixtures.Room(50)), cluster("m4"))
	}
	deeper := func() *karmada.Binding {
		return with(duplicated("m1"), groups("middle", "first: m4", "middle: m1", "backup: m2"))
	}
	for name, tc := range map[string]struct {
		before *karmada.Binding
		now    []func(*karmada.Binding)
		change func(*proof.RestoreInput)
		want   proof.RestorePlan // Message is part of it only
	}{
		"back where it was":              {before: duplicated("m1"), want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back with 2 replicas"}},
		"a non-workload has no replicas": {before: nonWorkload("m1"), want: proof.RestorePlan{OK: true, Message: "m1 comes back"}},
		"divided: as many as were taken out": {
			before: split(), want: proof.RestorePlan{OK: true, Replicas: 1, Others: []karmada.TargetCluster{on("m2", 2), on("m3", 3)}, Message: "with 1 replica beside m2, m3"},
		},
		"divided: the baseline knows them, too": {
			before: split(), change: func(in *proof.RestoreInput) { in.Task.Replicas = nil },
			want: proof.RestorePlan{OK: true, Replicas: 1, Others: []karmada.TargetCluster{on("m2", 2), on("m3", 3)}, Message: "1 replica"},
		},
		"a survivor with a task of its own stays away": {
			before: split(), now: []func(*karmada.Binding){fixtures.Task(karmada.Task{FromCluster: "m2", Producer: "TaintManager"})},
			want: proof.RestorePlan{OK: true, Replicas: 1, Others: []karmada.TargetCluster{on("m3", 3)}, Message: "beside m3"},
		},
		"so does one that left the fleet": {
			before: split(), change: func(in *proof.RestoreInput) {
				in.Fleet = fixtures.Fleet(cluster("m1"), cluster("m2", fixtures.DeletingCluster), cluster("m3"))
			},
			want: proof.RestorePlan{OK: true, Replicas: 1, Others: []karmada.TargetCluster{on("m3", 3)}, Message: "beside m3"},
		},
		"survivors that stand are left as they are": {
			before: duplicated("m1", "m2"), now: []func(*karmada.Binding){onTwo}, want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"},
		},
		"every copy has all replicas, as many as there are now": {
			before: duplicated("m1", "m2"), now: []func(*karmada.Binding){func(b *karmada.Binding) { b.Replicas = 5 }},
			want: proof.RestorePlan{OK: true, Replicas: 5, Others: []karmada.TargetCluster{on("m2", 5)}, Message: "5 replicas"},
		},
		"divided: no more than it has by now": {
			before: split(), now: []func(*karmada.Binding){func(b *karmada.Binding) { b.Replicas = 2 }},
			want: proof.RestorePlan{OK: true, Replicas: 1, Others: []karmada.TargetCluster{on("m2", 2), on("m3", 2)}, Message: "with 1 replica beside"},
		},
		"divided: scaled to 0, and nothing fitted before": {
			before: split(), now: []func(*karmada.Binding){zero},
			want: proof.RestorePlan{OK: true, Others: []karmada.TargetCluster{on("m2", 0), on("m3", 0)}, Message: "with 0 replicas beside"},
		},
		"scaled to 0, and the scheduler has seen it": {
			before: duplicated("m1"), now: []func(*karmada.Binding){zero, succeeded, generation(4, 4)},
			want: proof.RestorePlan{Reason: reason.Placed, Message: "spec.replicas is 0"},
		},
		"nor is it taken straight back": {
			before: duplicated("m1"), now: []func(*karmada.Binding){zero, succeeded, generation(4, 4)},
			change: func(in *proof.RestoreInput) { in.StraightBack = true }, want: proof.RestorePlan{Reason: reason.Placed, Message: "spec.replicas is 0"},
		},
		"an order to put it back ends": {
			before: split(), now: []func(*karmada.Binding){zero, succeeded, generation(4, 4)},
			change: func(in *proof.RestoreInput) { in.PutBack = true }, want: proof.RestorePlan{Reason: reason.PutBackRefused, Message: "spec.replicas is 0"},
		},
		"a stuck placement is taken back": {
			change: takeBack, before: duplicated("m1"), now: []func(*karmada.Binding){onTwo, scheduled(corev1.ConditionFalse, "Unschedulable", fixtures.At(2))},
			want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back with 2 replicas, m2 goes", Away: []string{"m2"}},
		},
		"where the old copy cannot take over, the new target stays": {
			before: duplicated("m1"), now: []func(*karmada.Binding){onTwo, scheduled(corev1.ConditionFalse, "Unschedulable", fixtures.At(2))},
			want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back with 2 replicas"},
		},
		"of a divided one all may stay that have room": {
			change: takeBack, before: split(), now: []func(*karmada.Binding){scheduled(corev1.ConditionFalse, "Unschedulable", fixtures.At(2)), func(b *karmada.Binding) {
				b.Clusters, b.Replicas = []karmada.TargetCluster{on("m2", 4), on("m3", 3)}, 8
			}},
			want: proof.RestorePlan{OK: true, Replicas: 1, Message: "m1 comes back with 1 replica"},
		},
		"a placement in its first pass is waited for": {
			before: duplicated("m1"), now: []func(*karmada.Binding){onTwo, succeeded, generation(4, 3)},
			want: proof.RestorePlan{Reason: reason.RestoreUnanswered, Message: "the scheduler is placing it on m2"},
		},
		"one to which Karmada dispatches nothing is taken back": {
			change: takeBack, before: duplicated("m1"), now: []func(*karmada.Binding){onTwo, succeeded, generation(4, 4), func(b *karmada.Binding) { b.DispatchingSuspended = true }},
			want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back with 2 replicas, m2 goes", Away: []string{"m2"}},
		},
		"growth of a survivor is a placement, too": {
			before: split(), now: []func(*karmada.Binding){succeeded, generation(4, 3), func(b *karmada.Binding) {
				b.Clusters = []karmada.TargetCluster{on("m2", 3), on("m3", 3)}
			}},
			want: proof.RestorePlan{Reason: reason.RestoreUnanswered, Message: "placing it on m2, m3"},
		},
		"what is placed is not taken back": {
			before: duplicated("m1"), now: []func(*karmada.Binding){onTwo, succeeded, generation(4, 4)}, want: proof.RestorePlan{Reason: reason.Placed, Message: "placed on m2"},
		},
		"unless the scheduler would take it straight back": {
			before: duplicated("m1"), now: []func(*karmada.Binding){onTwo, succeeded, generation(4, 4)},
			change: func(in *proof.RestoreInput) { in.StraightBack = true }, want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"},
		},

		"the scheduler has moved on to another group": {
			before: grouped(), now: []func(*karmada.Binding){moved}, change: both,
			want: proof.RestorePlan{OK: true, Replicas: 2, Reschedule: true, Message: "with a reschedule back to its affinity group"},
		},
		"of which clusters are not known": {
			before: grouped(), now: []func(*karmada.Binding){moved},
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: "might not leave it on m1"},
		},
		"a reschedule would divide it over another cluster": {
			before: byRoom(), now: []func(*karmada.Binding){moved}, change: both,
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: "might not leave it on m1"},
		},
		"a put-back by a reschedule that would is refused": {
			before: byRoom(), now: []func(*karmada.Binding){moved},
			change: func(in *proof.RestoreInput) { both(in); in.PutBack = true },
			want:   proof.RestorePlan{Reason: reason.PutBackRefused, Message: "might not leave it on m1"},
		},
		"a put-back by a reschedule, before the scheduler has looked": {
			before: grouped(), now: []func(*karmada.Binding){moved, onTwo, generation(4, 3)},
			change: func(in *proof.RestoreInput) { both(in); in.PutBack = true },
			want:   proof.RestorePlan{Reason: reason.RestoreUnanswered, Message: "has yet to look at it"},
		},
		"a put-back by a reschedule": {
			before: grouped(), now: []func(*karmada.Binding){moved, onTwo, generation(4, 4)},
			change: func(in *proof.RestoreInput) { both(in); in.PutBack = true },
			want:   proof.RestorePlan{OK: true, Replicas: 2, Away: []string{"m2"}, Reschedule: true, Message: "with a reschedule"},
		},
		"a reschedule would divide it evenly": {
			before: with(divided(on("m1", 2)), groups("primary", "primary: m1 m4", "backup: m2")), now: []func(*karmada.Binding){moved}, change: both,
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: "might not leave it on m1"},
		},
		"the other cluster has less room": {
			before: byRoom(), now: []func(*karmada.Binding){moved},
			change: func(in *proof.RestoreInput) {
				in.Fleet = fixtures.Fleet(cluster("m1"), cluster("m4", fixtures.Room(5)))
			},
			want: proof.RestorePlan{OK: true, Replicas: 2, Reschedule: true, Message: "with a reschedule"},
		},
		"it stands at the group still": {before: grouped(), want: proof.RestorePlan{OK: true, Replicas: 2, Message: "m1 comes back"}},
		"it has moved on, and survivors would come back, too": {
			before: with(duplicated("m1", "m4"), groups("primary", "primary: m1 m4", "backup: m2")), now: []func(*karmada.Binding){moved},
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: `stands at affinity group "backup"`},
		},
		"it has moved on, and another target stands": {
			before: grouped(), now: []func(*karmada.Binding){moved, onTwo},
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: "would divide from scratch"},
		},
		"a reschedule might end in an earlier group": {
			before: deeper(), now: []func(*karmada.Binding){moved},
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: `might take an affinity group before "middle"`},
		},
		"a put-back by a reschedule that might end in an earlier group is refused": {
			before: deeper(), now: []func(*karmada.Binding){moved},
			change: func(in *proof.RestoreInput) { in.PutBack = true },
			want:   proof.RestorePlan{Reason: reason.PutBackRefused, Message: `might take an affinity group before "middle"`},
		},
		"not when that group has nothing": {
			before: deeper(), now: []func(*karmada.Binding){moved},
			change: func(in *proof.RestoreInput) {
				in.Fleet = fixtures.Fleet(cluster("m1"), cluster("m4", tainted(noSchedule("x"))))
			},
			want: proof.RestorePlan{OK: true, Replicas: 2, Reschedule: true, Message: "reschedule"},
		},
		"its placement does not select the cluster any more": {
			before: duplicated("m1"), now: []func(*karmada.Binding){func(b *karmada.Binding) { b.Placement = &karmada.Placement{ClusterAffinity: fixtures.Names("m2")} }},
			want: proof.RestorePlan{Reason: reason.RestoreUndone, Message: "does not select m1 any more"},
		},

		"no Lifeboat task stands": {
			before: duplicated("m1"), change: func(in *proof.RestoreInput) { in.Task.Producer = "TaintManager" }, want: proof.RestorePlan{Reason: reason.ForeignTask, Message: "no Lifeboat hold task"},
		},
		"the task is for another cluster": {
			before: duplicated("m1"), change: func(in *proof.RestoreInput) { in.Task.FromCluster = "m2" }, want: proof.RestorePlan{Reason: reason.ForeignTask, Message: "for m1"},
		},
		"the task was left to an operator": {
			before: duplicated("m1"), change: func(in *proof.RestoreInput) { in.Task.Reason = karmada.TaskReasonNeedsOperator }, want: proof.RestorePlan{Reason: reason.ForeignTask, Message: "no Lifeboat hold task"},
		},
		"the cluster is being deleted": {
			before: duplicated("m1"), change: func(in *proof.RestoreInput) { in.Cluster.Deleting = true }, want: proof.RestorePlan{Reason: reason.ClusterGone, Message: "m1 is gone"},
		},
		"the cluster is gone": {
			before: duplicated("m1"), change: func(in *proof.RestoreInput) { in.Cluster = karmada.Cluster{} }, want: proof.RestorePlan{Reason: reason.ClusterGone, Message: "m1 is gone"},
		},
		"the binding cannot be understood": {
			before: duplicated("m1"), now: []func(*karmada.Binding){func(b *karmada.Binding) { b.Malformed = "spec: not an object" }},
			want: proof.RestorePlan{Reason: reason.Malformed, Message: "not an object"},
		},
		"it has no placement any more": {
			before: duplicated("m1"), now: []func(*karmada.Binding){func(b *karmada.Binding) { b.Placement = nil }},
			want: proof.RestorePlan{Reason: reason.NotSupportedPlacement, Message: "no placement"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, base := emptied(tc.before, tc.now...)
			hold, _ := b.TaskFor("m1")
			in := proof.RestoreInput{Binding: b, Failed: "m1", Task: *hold, Baseline: base, Cluster: cluster("m1")}
			if tc.change != nil {
				tc.change(&in)
			}
			plan := proof.PlanRestore(in)
			require.Contains(t, plan.Message, tc.want.Message)
			plan.Message, tc.want.Message = "", ""
			require.Equal(t, tc.want, plan)
		})
	}
}

// Rules: R4.9-17.
func TestTakesStraightBack(t *testing.T) {
	added := func(c *karmada.Cluster) {
		c.Taints = []corev1.Taint{fixtures.NoExecute("failed", fixtures.T0), noSchedule(karmada.EvacuatingTaintKey)}
		c.Added = []karmada.AddedTaint{{Key: "failed", Effect: corev1.TaintEffectNoExecute}, {Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	}
	cordons := func(c *karmada.Cluster) {
		c.Taints = append(c.Taints, noSchedule("cordon"))
		c.Added = append(c.Added, karmada.AddedTaint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule, Rule: "disk"})
	}
	matches := func(rule string) map[rules.WindowKey]bool {
		return map[rules.WindowKey]bool{rules.KeyOf(karmada.AddedTaint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule, Rule: rule}): true}
	}
	for name, tc := range map[string]struct {
		binding  *karmada.Binding
		cluster  karmada.Cluster
		matching map[rules.WindowKey]bool
		want     bool
	}{
		"Lifeboat's cordon stays while its rule matches": {binding: duplicated("m2"), cluster: cluster("m1", added, cordons), matching: matches("disk"), want: false},
		"unless that is tolerated, too":                  {binding: with(duplicated("m2"), fixtures.Tolerating(fixtures.Tolerate("cordon"))), cluster: cluster("m1", added, cordons), matching: matches("disk"), want: true},
		"its rule does not match any more":               {binding: duplicated("m2"), cluster: cluster("m1", added, cordons), matching: matches("net"), want: true},
		"a duplicated one without a bound":               {binding: duplicated("m2"), cluster: cluster("m1"), want: true},
		"a non-workload":                                 {binding: nonWorkload("m2"), cluster: cluster("m1"), want: true},
		"a divided one never":                            {binding: divided(on("m2", 3)), cluster: cluster("m1"), want: false},
		"a non-workload under a divided placement": {binding: with(nonWorkload("m2"), func(b *karmada.Binding) {
			b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided}
		}), cluster: cluster("m1"), want: true},
		"its spread is full":                           {binding: with(duplicated("m2"), spread(1, 1)), cluster: cluster("m1"), want: false},
		"its spread has a place left":                  {binding: with(duplicated("m2"), spread(1, 2)), cluster: cluster("m1"), want: true},
		"its placement does not select the cluster":    {binding: with(duplicated("m2"), fixtures.May(fixtures.Names("m2"))), cluster: cluster("m1"), want: false},
		"the scheduler has moved on to another group":  {binding: with(duplicated("m2"), groups("backup", "primary: m1", "backup: m2")), cluster: cluster("m1"), want: false},
		"the group has both":                           {binding: with(duplicated("m2"), groups("backup", "primary: m3", "backup: m1 m2")), cluster: cluster("m1"), want: true},
		"Lifeboat's own taints go with the recovery":   {binding: duplicated("m2"), cluster: cluster("m1", added), want: true},
		"somebody's taint keeps it away":               {binding: duplicated("m2"), cluster: cluster("m1", added, tainted(noSchedule("cordon"))), want: false},
		"unless it is tolerated":                       {binding: with(duplicated("m2"), fixtures.Tolerating(fixtures.Tolerate("cordon"))), cluster: cluster("m1", tainted(noSchedule("cordon"))), want: true},
		"the cluster does not serve the kind any more": {binding: duplicated("m2"), cluster: cluster("m1", func(c *karmada.Cluster) { c.APIEnablements = []string{} }), want: false},
		"the cluster is being deleted":                 {binding: duplicated("m2"), cluster: cluster("m1", fixtures.DeletingCluster), want: false},
		"the scheduler places it nowhere":              {binding: with(duplicated(), func(b *karmada.Binding) { b.Replicas, b.HasRequirements = 0, true }), cluster: cluster("m1"), want: false},
		"without a placement nobody schedules it":      {binding: with(duplicated("m2"), func(b *karmada.Binding) { b.Placement = nil }), cluster: cluster("m1"), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, proof.TakesStraightBack(tc.binding, tc.cluster, tc.matching))
		})
	}
}

// requiredOn has a parent of a binding run on a cluster.
func requiredOn(cluster string) func(*karmada.Binding) {
	return func(b *karmada.Binding) {
		b.RequiredBy = []karmada.RequiredBy{{Name: "parent", Clusters: []string{cluster}}}
	}
}

// Rules: R4.2-8.
func TestABanIsLeftWhereTheSchedulerWouldPutItBack(t *testing.T) {
	everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	app := func(edits ...func(*karmada.Binding)) *karmada.Binding {
		b := &karmada.Binding{
			Key: karmada.BindingKey{Namespace: "shop", Name: "app"}, Replicas: 2, Workload: true,
			Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Name: "app"},
			Clusters: []karmada.TargetCluster{{Name: "m2", Replicas: 2}},
			Tasks:    []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReason, Message: "own"}},
			Placement: &karmada.Placement{
				ClusterTolerations: everything,
				ReplicaScheduling:  &karmada.ReplicaScheduling{Type: karmada.SchedulingDuplicated},
			},
		}
		for _, edit := range edits {
			edit(b)
		}
		return b
	}
	m1 := cluster("m1", fixtures.Drained(karmada.Drain{}), fixtures.DrainTaints())
	intolerant := func(b *karmada.Binding) { b.Placement.ClusterTolerations = nil }
	for name, tc := range map[string]struct {
		binding         *karmada.Binding
		source          karmada.Cluster
		returned, ready bool
		want            proof.Ban
	}{
		"it tolerates every taint":                  {binding: app(), source: m1, returned: false, ready: true, want: proof.Ban{Wanted: true}},
		"Lifeboat's taints keep the scheduler away": {binding: app(intolerant), source: m1, returned: false, ready: true, want: proof.Ban{}},
		"it came back all the same":                 {binding: app(intolerant), source: m1, returned: true, ready: true, want: proof.Ban{Wanted: true}},
		"no drain":                                  {binding: app(), source: cluster("m1"), returned: true, ready: true, want: proof.Ban{}},
		"the drain leaves it out":                   {binding: app(), source: cluster("m1", fixtures.Drained(karmada.Drain{Selector: "a=b"}), fixtures.DrainTaints()), returned: true, ready: true, want: proof.Ban{}},
		"parents hold it":                           {binding: app(heldAs(karmada.TaskReason, "own", "parent")), source: m1, returned: true, ready: true, want: proof.Ban{}},
		"a parent runs there: it stays held":        {binding: app(requiredOn("m1")), source: m1, returned: false, ready: true, want: proof.Ban{Wanted: true, Reason: reason.HeldForParents}},
		"a parent runs elsewhere":                   {binding: app(requiredOn("m2")), source: m1, returned: false, ready: true, want: proof.Ban{Wanted: true}},
		"its old copy could not go: it stays held":  {binding: app(), source: m1, returned: true, ready: false, want: proof.Ban{Wanted: true, Reason: reason.SchedulerReturnsIt}},
	} {
		t.Run(name, func(t *testing.T) {
			got := proof.PlanBan(tc.binding, tc.source, tc.returned, tc.ready)
			got.Message = ""
			require.Equal(t, tc.want, got)
		})
	}
	task := karmada.Task{Producer: karmada.Producer, Reason: karmada.TaskReasonBanned, Message: "cluster-failover/m1"}
	require.True(t, task.Bans())
	require.False(t, task.Owned(), "no migration works on it")
}
