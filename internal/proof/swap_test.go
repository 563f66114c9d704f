package proof_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.9-15, R4.9-29, R4.9-30.
func TestPlanSwap(t *testing.T) {
	onM2 := func(change ...func(*karmada.Binding)) *karmada.Binding {
		b := with(duplicated("m2"), fixtures.Task(fixtures.Held("m1", 2)))
		b.Generation, b.Status.ObservedGeneration = 3, 3
		return with(b, change...)
	}
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		m1      []func(*karmada.Cluster)
		want    proof.Swap
		reason  reason.Reason
	}{
		"the held source takes over":            {binding: onM2(), want: proof.Swap{Cluster: "m1", Replicas: 2}, reason: reason.Swapped},
		"not before the scheduler has answered": {binding: onM2(func(b *karmada.Binding) { b.Generation = 4 }), reason: reason.RestoreUnanswered},
		"not while it is not Ready":             {binding: onM2(), m1: []func(*karmada.Cluster){notReady}},
		"not while a triggering taint stands, tolerated or not": {
			binding: onM2(func(b *karmada.Binding) {
				b.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			}),
			m1: []func(*karmada.Cluster){tainted(fixtures.NoExecute("down", fixtures.T0))},
		},
		"not while it is being deleted": {binding: onM2(), m1: []func(*karmada.Cluster){fixtures.DeletingCluster}},
		"not to a copy that is Unhealthy: it may have left for that": {binding: onM2(func(b *karmada.Binding) {
			b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m1", Applied: true, Health: karmada.HealthUnhealthy}}
		})},
		"not what was left to an operator":        {binding: onM2(func(b *karmada.Binding) { b.Tasks[0].Reason = karmada.TaskReasonNeedsOperator })},
		"not another producer's":                  {binding: onM2(func(b *karmada.Binding) { b.Tasks[0].Producer = "TaintManager" })},
		"not Directly: Karmada deletes that copy": {binding: onM2(func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly })},
		"not where the placement does not want it any more": {
			binding: onM2(func(b *karmada.Binding) {
				b.Placement.ClusterAffinity = &karmada.ClusterAffinity{ClusterNames: []string{"m2", "m3"}}
			}),
		},
		"not where the spread wants more than there is": {
			binding: onM2(func(b *karmada.Binding) {
				b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 3, MaxGroups: 3}}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := placement.PreCheckInput{
				Binding: tc.binding, Failing: "m2", RoomUnknownOK: true,
				Fleet: fixtures.Fleet(cluster("m1", tc.m1...), cluster("m2", notReady), cluster("m3")),
			}
			got, v := proof.PlanSwap(in)
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.reason == reason.Swapped, v.OK)
		})
	}
}

// What others took over meanwhile is not taken away from them.
func TestASwapOfDividedReplicasTakesNoMoreThanIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		held, on2, on3 int32
		want           int32
	}{
		"all of it went to the failing one": {held: 2, on2: 2, on3: 2, want: 2},
		"a survivor took some":              {held: 2, on2: 1, on3: 3, want: 1},
		"a survivor took everything":        {held: 2, on2: 0, on3: 4, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := with(divided(on("m2", tc.on2), on("m3", tc.on3)), fixtures.Task(fixtures.Held("m1", tc.held)))
			b.Replicas, b.Generation, b.Status.ObservedGeneration = 4, 3, 3
			got, _ := proof.PlanSwap(placement.PreCheckInput{
				Binding: b, Failing: "m2", RoomUnknownOK: true, Fleet: fixtures.Fleet(cluster("m1"), cluster("m2", notReady), cluster("m3")),
			})
			require.Equal(t, tc.want, got.Replicas)
		})
	}
}
