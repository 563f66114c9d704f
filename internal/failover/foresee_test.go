package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ofResource(uid types.UID) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Resource.UID = uid }
}

// Of three clusters of weight 3:2:1 the lightest gets a replica of 14 and none of 2.
//
// Rules: R4.6-35.
func TestPreCheck_DividesByWebster_AndNamesThoseThatGetReplicas(t *testing.T) {
	weights := []failover.StaticWeight{weight(3, "m2"), weight(2, "m3"), weight(1, "m4")}
	three := fleet(cluster("m2"), cluster("m3"), cluster("m4"))
	for name, tc := range map[string]preCheckCase{
		"every one gets some":                   {binding: divided([]failover.TargetCluster{on("m1", 14)}, weights...), fleet: three, candidates: []string{"m2", "m3", "m4"}},
		"the lightest gets none":                {binding: divided([]failover.TargetCluster{on("m1", 2)}, weights...), fleet: three, candidates: []string{"m2", "m3"}},
		"ties go by name":                       {binding: divided([]failover.TargetCluster{on("m1", 1)}), fleet: three, candidates: []string{"m2"}},
		"backwards where the uid's hash is odd": {binding: with(divided([]failover.TargetCluster{on("m1", 1)}), ofResource("b")), fleet: three, candidates: []string{"m4"}},
		"forwards where it is even":             {binding: with(divided([]failover.TargetCluster{on("m1", 1)}), ofResource("a")), fleet: three, candidates: []string{"m2"}},
		"a million replicas take no time":       {binding: divided([]failover.TargetCluster{on("m1", 2_000_000_000)}, weights...), fleet: three, candidates: []string{"m2", "m3", "m4"}},
		"before 1.16 the heaviest gets what is left": {
			binding: divided([]failover.TargetCluster{on("m1", 1)}, weights...), fleet: three, change: karmada(15), candidates: []string{"m2"},
		},
		"before 1.16 a tie may go to a dead cluster": {
			binding: divided([]failover.TargetCluster{on("m1", 1)}), fleet: fleet(cluster("m2"), cluster("m3", notReady)), change: karmada(15),
			reason: failover.ReasonNoTarget, message: "m3 is not Ready",
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-34, R4.6-44.
func TestPreCheck_FollowsTheReleaseOfKarmada(t *testing.T) {
	overlap := may(&failover.ClusterAffinity{FieldSelector: fields("zone", corev1.NodeSelectorOpIn, "e1")})
	two := fleet(cluster("m2", in("east", "e1", ""), in("east", "e2", "")))
	two[0].Zones = []string{"e1", "e2"}
	for name, tc := range map[string]preCheckCase{
		"one zone in common suffices":    {binding: with(duplicated("m1"), overlap), fleet: two, candidates: []string{"m2"}},
		"before 1.18 all must be listed": {binding: with(duplicated("m1"), overlap), fleet: two, change: karmada(17), reason: failover.ReasonNoTarget},
		"since 1.18 one suffices":        {binding: with(duplicated("m1"), overlap), fleet: two, change: karmada(18), candidates: []string{"m2"}},
		"an empty fieldSelector selects": {binding: with(duplicated("m1"), may(&failover.ClusterAffinity{FieldSelector: &failover.FieldSelector{}})), fleet: fleet(cluster("m2")), candidates: []string{"m2"}},
		"an empty weightPreference spreads": {
			binding: with(divided([]failover.TargetCluster{on("m1", 2)}), spread(3, 3), func(b *failover.Binding) {
				b.Placement.ReplicaScheduling.WeightPreference = &failover.WeightPreference{}
			}), fleet: fleet(cluster("m2"), cluster("m3")), reason: failover.ReasonSpreadUnsatisfied, message: "spread wants 3",
		},
	} {
		t.Run(name, tc.run)
	}
	require.Equal(t, failover.KarmadaRelease(17), failover.ParseKarmadaRelease("1.17"))
	require.Equal(t, failover.KarmadaRelease(0), failover.ParseKarmadaRelease("v2"))
	require.Equal(t, "1.19", failover.NewestKarmada.String())
}

// Rules: R4.6-36.
func TestPreCheck_CountsRoomNodeByNode(t *testing.T) {
	models := func(m ...failover.NodeModel) func(*failover.Cluster) {
		return func(c *failover.Cluster) {
			c.Capacity = &failover.Capacity{Allocatable: quantities("pods", 5000, "cpu", 500, "nvidia.com/gpu", 8), Allocated: quantities("pods", 0), Models: m}
		}
	}
	node := func(count int64) failover.NodeModel {
		return failover.NodeModel{Min: quantities("cpu", 4), Count: count}
	}
	empty := func(b *failover.Binding) { b.HasRequirements = true }
	for name, tc := range map[string]preCheckCase{
		"one node holds 110 pods":              {binding: with(byAvailable(on("m1", 110)), empty), fleet: fleet(cluster("m2", models(node(1)))), candidates: []string{"m2"}},
		"and no more":                          {binding: with(byAvailable(on("m1", 111)), empty), fleet: fleet(cluster("m2", models(node(1)))), reason: failover.ReasonNoCapacity},
		"without requirements only pods count": {binding: byAvailable(on("m1", 111)), fleet: fleet(cluster("m2", models(node(1)))), candidates: []string{"m2"}},
		"a resource that no grade names":       {binding: with(byAvailable(on("m1", 1)), asking("nvidia.com/gpu", 1)), fleet: fleet(cluster("m2", models(node(1)))), reason: failover.ReasonNoCapacity},
		"no nodes counted, no room":            {binding: with(byAvailable(on("m1", 1)), asking("cpu", 1)), fleet: fleet(cluster("m2", models(node(0)))), reason: failover.ReasonNoCapacity},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-38, R4.6-39, R4.6-40, R4.6-41.
func TestPreCheck_WhatTheEvictionDoesNotDecide_IsBlocked(t *testing.T) {
	later := t0.Add(time.Hour)
	triggered := func(b *failover.Binding) { b.RescheduleTriggeredAt, b.Status.LastScheduled = &later, ptr(t0) }
	zero := func(b *failover.Binding) {
		b.Replicas, b.HasRequirements = 0, true
		for i := range b.Clusters {
			b.Clusters[i].Replicas = 0
		}
	}
	for name, tc := range map[string]preCheckCase{
		"a reschedule is pending": {binding: with(duplicated("m1"), triggered), fleet: fleet(cluster("m2")), reason: failover.ReasonSchedulingPending, message: "rescheduleTriggeredAt"},
		"one that was answered is not": {
			binding: with(duplicated("m1"), triggered, func(b *failover.Binding) { b.Status.LastScheduled = &later }), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"the placement is not applied": {
			binding: with(duplicated("m1"), func(b *failover.Binding) { b.PlacementPending = true }), fleet: fleet(cluster("m2")),
			reason: failover.ReasonSchedulingPending, message: "apply its placement",
		},
		"nothing makes the scheduler look again": {
			binding: with(divided([]failover.TargetCluster{on("m1", 0), on("m2", 3)}), scheduled(corev1.ConditionFalse, "SchedulerError", t0)), fleet: fleet(cluster("m2")),
			reason: failover.ReasonSchedulingPending, message: "has not accepted its targets",
		},
		"it looks again by itself": {
			binding: with(divided([]failover.TargetCluster{on("m1", 1), on("m2", 2)}), scheduled(corev1.ConditionFalse, "SchedulerError", t0)), fleet: fleet(cluster("m2")), candidates: []string{"m2"},
		},
		"no replicas":              {binding: with(duplicated("m1"), zero), fleet: fleet(cluster("m2")), reason: failover.ReasonNoReplicas},
		"no replicas, a survivor":  {binding: with(duplicated("m1", "m2"), zero), fleet: fleet(cluster("m2")), reason: failover.ReasonNoReplicas},
		"a survivor holds nothing": {binding: divided([]failover.TargetCluster{on("m1", 0), on("m2", 0), on("m3", 2)}), fleet: fleet(cluster("m2"), cluster("m3", notReady)), reason: failover.ReasonNoTarget},
		"components beside replicas": {
			binding: with(duplicated("m1"), func(b *failover.Binding) {
				b.Components = []failover.Component{{Name: "main", Replicas: 2, Request: quantities("cpu", 1)}}
			}), fleet: fleet(cluster("m2")), reason: failover.ReasonNotSupportedComps, message: "beside spec.replicas",
		},
	} {
		t.Run(name, tc.run)
	}
}

// Rules: R4.6-43.
func TestPreCheck_MarginIsTakenFromEveryRoom(t *testing.T) {
	margin := func(percent int) func(*failover.PreCheckInput) {
		return func(in *failover.PreCheckInput) { in.Margin = percent }
	}
	for name, tc := range map[string]preCheckCase{
		"enough beside the margin": {binding: byAvailable(on("m1", 8)), fleet: fleet(cluster("m2", room(10))), change: margin(20), candidates: []string{"m2"}},
		"not enough beside it":     {binding: byAvailable(on("m1", 9)), fleet: fleet(cluster("m2", room(10))), change: margin(20), reason: failover.ReasonNoCapacity, message: "with a margin of 20 %"},
		"Aggregated, too":          {binding: aggregatedOver(on("m1", 9)), fleet: fleet(cluster("m2", room(10))), change: margin(20), reason: failover.ReasonNoCapacity},
		"static weights need none": {binding: divided([]failover.TargetCluster{on("m1", 9)}), fleet: fleet(cluster("m2", room(10))), change: margin(20), candidates: []string{"m2"}},
	} {
		t.Run(name, tc.run)
	}
}
