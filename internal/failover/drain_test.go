package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// drained is a cluster on which an order to drain stands, and then its taints.
func drained(d failover.Drain) func(*failover.Cluster) {
	return func(c *failover.Cluster) { d.Who, d.Why = "jane", "new kernel"; c.Drain = &d }
}

func drainTaints() func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		c.Taints = append(c.Taints, noExecute(failover.DrainTaintKey, t0), noSchedule(failover.EvacuatingTaintKey))
		for _, t := range c.Taints {
			c.Added = append(c.Added, failover.AddedTaint{Key: t.Key, Effect: t.Effect})
		}
	}
}

// Rules: R4.12-1.
func TestADrainIsARuleWithoutWindows(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster failover.Cluster
		want    []failover.Match
	}{
		"no order":                        {cluster("m1"), nil},
		"an order":                        {cluster("m1", drained(failover.Drain{})), []failover.Match{failover.Matches}},
		"an order that has ended":         {cluster("m1", drainTaints()), []failover.Match{failover.Mismatches}},
		"an order that cannot be read":    {cluster("m1", drained(failover.Drain{Selector: "a in ("})), []failover.Match{failover.Undecided}},
		"a cluster that cannot be read":   {cluster("m1", drained(failover.Drain{}), func(c *failover.Cluster) { c.Malformed = "bad" }), []failover.Match{failover.Undecided}},
		"a rate that is none":             {cluster("m1", drained(failover.Drain{Rate: -1})), []failover.Match{failover.Undecided}},
		"another's taint of the same key": {cluster("m1", tainted(noExecute(failover.DrainTaintKey, t0))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []failover.Match
			for _, o := range failover.Observe(nil, tc.cluster, failover.FactOf(tc.cluster)) {
				require.Zero(t, o.Taint.AddOnMatch+o.Taint.RemoveOnMismatch)
				got = append(got, o.Match)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Rules: R4.12-3.
func TestADrainsTaintIsToleratedOnlyWhenThatWasAskedFor(t *testing.T) {
	seconds := int64(60)
	everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	aMinute := []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	for name, tc := range map[string]struct {
		policy failover.Policy
		honour bool
		want   failover.Reason
		at     time.Time
	}{
		"no toleration counts":               {failover.Policy{Tolerations: everything}, false, failover.ReasonTaintUntolerated, t0},
		"nor one with seconds":               {failover.Policy{Tolerations: aMinute}, false, failover.ReasonTaintUntolerated, t0},
		"unless ordered so":                  {failover.Policy{Tolerations: everything}, true, failover.ReasonTolerated, time.Time{}},
		"then with its seconds":              {failover.Policy{Tolerations: aMinute}, true, failover.ReasonTolerationExpired, t0.Add(time.Minute)},
		"without a toleration it moves":      {failover.Policy{}, true, failover.ReasonTaintUntolerated, t0},
		"what the selector leaves out stays": {failover.Policy{NotDrained: true}, false, failover.ReasonNoTaint, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			taint := failover.Drain{HonourTolerations: tc.honour}.RuleTaint()
			hard := noExecute(taint.Key, t0)
			hard.Value = taint.Value
			due := failover.DueUnder(tc.policy, []corev1.Taint{hard}, t0.Add(time.Second))
			require.Equal(t, tc.want, due.Reason)
			require.Equal(t, !tc.at.IsZero(), due.Affected)
			require.True(t, tc.at.Equal(due.At), "%s", due.At)
		})
	}
	both := []corev1.Taint{noExecute(failover.DrainTaintKey, t0), noExecute("down", t0)}
	require.True(t, failover.DueUnder(failover.Policy{NotDrained: true}, both, t0).Affected, "another taint moves it all the same")
}

// Rules: R4.12-7, R4.5-1.
func TestADrainedClusterIsUnavailableNotFaulty(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster failover.Cluster
		want    bool
	}{
		"the order alone":              {cluster("m1", drained(failover.Drain{})), false},
		"with its taints":              {cluster("m1", drained(failover.Drain{}), drainTaints()), false},
		"its taints without the order": {cluster("m1", drainTaints()), false},
		"one that fails as well":       {cluster("m1", notReady, drained(failover.Drain{}), drainTaints()), true},
		"with a taint of a rule":       {cluster("m1", drained(failover.Drain{}), tainted(noExecute("down", t0)), drainTaints()), true},
		"with a taint of others":       {cluster("m1", drained(failover.Drain{}), drainTaints(), tainted(noExecute("theirs", t0))), false},
		"the companion alone":          {cluster("m1", tainted(noSchedule(failover.EvacuatingTaintKey))), false},
	} {
		t.Run(name, func(t *testing.T) {
			suspected, _ := failover.Suspected([]failover.Rule{unready()}, tc.cluster, failover.WitnessDown)
			require.True(t, suspected, "it needs a failover")
			faulty, _ := failover.Faulty([]failover.Rule{unready()}, tc.cluster)
			require.Equal(t, tc.want, faulty)
		})
	}
}

// A taint that a human put says that the cluster is to be left, not that it failed; a NoSchedule
// taint says even less. Two healthy clusters of three under such taints halted a fleet.
//
// Rules: R4.5-1.
func TestAHealthyClusterUnderAHumansTaintIsNotFaulty(t *testing.T) {
	byRule := func(effect corev1.TaintEffect) func(*failover.Cluster) {
		return func(c *failover.Cluster) {
			c.Taints = append(c.Taints, corev1.Taint{Key: "down", Effect: effect})
			c.Added = append(c.Added, failover.AddedTaint{Key: "down", Effect: effect, Rule: "not-ready"})
		}
	}
	cordons := unready(ruleTaints(puts("down", corev1.TaintEffectNoSchedule)))
	for _, tc := range []struct {
		name    string
		rules   []failover.Rule
		cluster failover.Cluster
		want    bool
	}{
		{name: "healthy, NoExecute by a human", cluster: cluster("m1", tainted(noExecute("human", t0)))},
		{name: "healthy, a soft taint by a human", cluster: cluster("m1", tainted(softTaint("human", t0)))},
		{name: "healthy, a taint ordered from Lifeboat", cluster: cluster("m1", ordersTaints("a"), putByOrder("a"))},
		{name: "healthy, the record of a cancelled failover", cluster: cluster("m1", func(c *failover.Cluster) { c.Stopped = &failover.StoppedBy{Who: "kim"} })},
		{name: "not Ready, NoExecute by a human", cluster: cluster("m1", notReady, tainted(noExecute("human", t0))), want: true},
		{name: "not Ready, a taint ordered from Lifeboat", cluster: cluster("m1", notReady, ordersTaints("a"), putByOrder("a")), want: true},
		{name: "healthy, the taint of a rule in its removal window", cluster: cluster("m1", byRule(corev1.TaintEffectNoExecute)), want: true},
		{name: "cordoned by a human", cluster: cluster("m1", tainted(noSchedule("human")))},
		{name: "cordoned by a rule that matches", rules: []failover.Rule{cordons}, cluster: cluster("m1", notReady, byRule(corev1.TaintEffectNoSchedule))},
		{name: "cordoned by a rule that matches no more", rules: []failover.Rule{cordons}, cluster: cluster("m1", byRule(corev1.TaintEffectNoSchedule))},
		{name: "cordoned beside a rule that moves", rules: []failover.Rule{cordons, unready()}, cluster: cluster("m1", notReady, byRule(corev1.TaintEffectNoSchedule)), want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faulty, _ := failover.Faulty(tc.rules, tc.cluster)
			require.Equal(t, tc.want, faulty)
		})
	}
}

// A garbled annotation of a cluster makes no fleet look healthier: its conditions count.
//
// Rules: R4.5-1.
func TestAClusterThatNobodyUnderstandsCountsByItsConditions(t *testing.T) {
	garbled := func(c *failover.Cluster) { c.Malformed = "annotation: a number" }
	for want, c := range map[bool]failover.Cluster{true: cluster("m1", notReady, garbled), false: cluster("m1", garbled)} {
		faulty, _ := failover.Faulty([]failover.Rule{unready()}, c)
		require.Equal(t, want, faulty)
	}
}

// Rules: R4.1-15.
func TestADeletionTimestampDrainsWhereAskedFor(t *testing.T) {
	deleting := cluster("m1", func(c *failover.Cluster) { c.Deleting = true })
	d := failover.DrainedByDeletion(deleting)
	require.NotNil(t, d)
	require.True(t, d.Deletion)
	require.Empty(t, d.Validate())
	require.Nil(t, failover.DrainedByDeletion(cluster("m1")))
	ordered := cluster("m1", drained(failover.Drain{Rate: 1}))
	ordered.Deleting = true
	require.Equal(t, ordered.Drain, failover.DrainedByDeletion(ordered), "a human's order goes first")
}

// Rules: R4.12-5.
func TestDrainSelects_ReadsLabelsOfTheWorkload(t *testing.T) {
	front := map[string]string{"tier": "front"}
	id := map[string]string{"resourcebinding.karmada.io/permanent-id": "4"}
	for name, c := range map[string]struct {
		drain   *failover.Drain
		binding failover.Binding
		want    bool
	}{
		"no drain":                        {nil, failover.Binding{}, true},
		"no selector":                     {&failover.Drain{}, failover.Binding{}, true},
		"a label of the workload":         {&failover.Drain{Selector: "tier in (front,back)"}, failover.Binding{WorkloadLabels: front}, true},
		"another value":                   {&failover.Drain{Selector: "tier=back"}, failover.Binding{WorkloadLabels: front}, false},
		"not this value":                  {&failover.Drain{Selector: "tier!=back"}, failover.Binding{WorkloadLabels: front}, true},
		"a label of the binding":          {&failover.Drain{Selector: "resourcebinding.karmada.io/permanent-id=4"}, failover.Binding{Labels: id, WorkloadLabels: front}, true},
		"the workload's label goes first": {&failover.Drain{Selector: "tier=back"}, failover.Binding{Labels: map[string]string{"tier": "back"}, WorkloadLabels: front}, false},
		"labels that are not known":       {&failover.Drain{Selector: "tier!=back"}, failover.Binding{Labels: front}, false},
		"a workload without labels":       {&failover.Drain{Selector: "tier!=back"}, failover.Binding{WorkloadLabels: map[string]string{}}, true},
		"a selector that cannot be read":  {&failover.Drain{Selector: "tier in ("}, failover.Binding{WorkloadLabels: front}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.drain.Selects(&c.binding)) })
	}
}

// Rules: R4.2-8.
func TestABanIsLeftWhereTheSchedulerWouldPutItBack(t *testing.T) {
	everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	app := func(edits ...func(*failover.Binding)) *failover.Binding {
		b := &failover.Binding{
			Key: failover.BindingKey{Namespace: "shop", Name: "app"}, Replicas: 2, Workload: true,
			Resource: failover.Resource{APIVersion: "apps/v1", Kind: "Deployment", Name: "app"},
			Clusters: []failover.TargetCluster{{Name: "m2", Replicas: 2}},
			Tasks:    []failover.Task{{FromCluster: "m1", Producer: failover.Producer, Reason: failover.TaskReason, Message: "own"}},
			Placement: &failover.Placement{
				ClusterTolerations: everything,
				ReplicaScheduling:  &failover.ReplicaScheduling{Type: failover.SchedulingDuplicated},
			},
		}
		for _, edit := range edits {
			edit(b)
		}
		return b
	}
	m1 := cluster("m1", drained(failover.Drain{}), drainTaints())
	intolerant := func(b *failover.Binding) { b.Placement.ClusterTolerations = nil }
	for name, tc := range map[string]struct {
		binding         *failover.Binding
		source          failover.Cluster
		returned, ready bool
		want            failover.Ban
	}{
		"it tolerates every taint":                 {app(), m1, false, true, failover.Ban{Wanted: true}},
		"our taints keep the scheduler away":       {app(intolerant), m1, false, true, failover.Ban{}},
		"it came back all the same":                {app(intolerant), m1, true, true, failover.Ban{Wanted: true}},
		"no drain":                                 {app(), cluster("m1"), true, true, failover.Ban{}},
		"the drain leaves it out":                  {app(), cluster("m1", drained(failover.Drain{Selector: "a=b"}), drainTaints()), true, true, failover.Ban{}},
		"parents hold it":                          {app(heldAs(failover.TaskReason, "own", "parent")), m1, true, true, failover.Ban{}},
		"its old copy could not go: it stays held": {app(), m1, true, false, failover.Ban{Wanted: true, Reason: failover.ReasonSchedulerReturnsIt}},
	} {
		t.Run(name, func(t *testing.T) {
			got := failover.PlanBan(tc.binding, tc.source, tc.returned, tc.ready)
			got.Message = ""
			require.Equal(t, tc.want, got)
		})
	}
	task := failover.Task{Producer: failover.Producer, Reason: failover.TaskReasonBanned, Message: "cluster-failover/m1"}
	require.True(t, task.Bans())
	require.False(t, task.Owned(), "no migration works on it")
}
