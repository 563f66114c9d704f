package placement_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ofResource(uid types.UID) func(*karmada.Binding) {
	return func(b *karmada.Binding) { b.Resource.UID = uid }
}

// Of three clusters of weight 3:2:1 the lightest gets a replica of 14 and none of 2.
//
// Rules: R4.6-35.
func TestPreCheck_DividesByWebster_AndNamesThoseThatGetReplicas(t *testing.T) {
	weights := []karmada.StaticWeight{weight(3, "m2"), weight(2, "m3"), weight(1, "m4")}
	three := fleet(m2(), m3(), m4())
	preCheckCases{
		"every one gets some":                   {binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 14)}, weights...), fleet: three, candidates: "m2 m3 m4"},
		"the lightest gets none":                {binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 2)}, weights...), fleet: three, candidates: "m2 m3"},
		"ties go by name":                       {binding: divided(on("m1", 1)), fleet: three, candidates: "m2"},
		"backwards where the uid's hash is odd": {binding: with(divided(on("m1", 1)), ofResource("b")), fleet: three, candidates: "m4"},
		"forwards where it is even":             {binding: with(divided(on("m1", 1)), ofResource("a")), fleet: three, candidates: "m2"},
		"a million replicas take no time":       {binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 2_000_000_000)}, weights...), fleet: three, candidates: "m2 m3 m4"},
		"before 1.16 the heaviest gets what is left": {
			binding: fixtures.Divided([]karmada.TargetCluster{on("m1", 1)}, weights...), fleet: three, change: following(15), candidates: "m2",
		},
		"before 1.16 a tie may go to a dead cluster": {
			binding: divided(on("m1", 1)), fleet: fleet(m2(), m3(notReady)), change: following(15),
			reason: reason.NoTarget, message: "m3 is not Ready",
		},
	}.run(t)
}

// Rules: R4.6-34, R4.6-44.
func TestPreCheck_FollowsTheReleaseOfKarmada(t *testing.T) {
	overlap := may(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("zone", corev1.NodeSelectorOpIn, "e1")})
	two := fleet(m2(in("east", "e1", ""), in("east", "e2", "")))
	two[0].Zones = []string{"e1", "e2"}
	preCheckCases{
		"one zone in common suffices":    {binding: with(duplicated("m1"), overlap), fleet: two, candidates: "m2"},
		"before 1.18 all must be listed": {binding: with(duplicated("m1"), overlap), fleet: two, change: following(17), reason: reason.NoTarget},
		"since 1.18 one suffices":        {binding: with(duplicated("m1"), overlap), fleet: two, change: following(18), candidates: "m2"},
		"an empty fieldSelector selects": {binding: with(duplicated("m1"), may(&karmada.ClusterAffinity{FieldSelector: &karmada.FieldSelector{}})), fleet: fleet(m2()), candidates: "m2"},
		"an empty weightPreference spreads": {
			binding: with(divided(on("m1", 2)), spread(3, 3), func(b *karmada.Binding) {
				b.Placement.ReplicaScheduling.WeightPreference = &karmada.WeightPreference{}
			}), fleet: fleet(m2(), m3()), reason: reason.SpreadUnsatisfied, message: "spread wants 3",
		},
	}.run(t)
	require.Equal(t, karmada.Release(17), karmada.ParseRelease("1.17"))
	require.Equal(t, karmada.Release(0), karmada.ParseRelease("v2"))
	require.Equal(t, "1.19", karmada.NewestRelease.String())
}

// Rules: R4.6-36.
func TestPreCheck_CountsRoomNodeByNode(t *testing.T) {
	models := func(m ...karmada.NodeModel) func(*karmada.Cluster) {
		return func(c *karmada.Cluster) {
			c.Capacity = &karmada.Capacity{Allocatable: quantities("pods", 5000, "cpu", 500, "nvidia.com/gpu", 8), Allocated: quantities("pods", 0), Models: m}
		}
	}
	node := func(count int64) karmada.NodeModel {
		return karmada.NodeModel{Min: quantities("cpu", 4), Count: count}
	}
	empty := func(b *karmada.Binding) { b.HasRequirements = true }
	preCheckCases{
		"one node holds 110 pods":              {binding: with(byAvailable(on("m1", 110)), empty), fleet: fleet(m2(models(node(1)))), candidates: "m2"},
		"and no more":                          {binding: with(byAvailable(on("m1", 111)), empty), fleet: fleet(m2(models(node(1)))), reason: reason.NoCapacity},
		"without requirements only pods count": {binding: byAvailable(on("m1", 111)), fleet: fleet(m2(models(node(1)))), candidates: "m2"},
		"a resource that no grade names":       {binding: with(byAvailable(on("m1", 1)), asking("nvidia.com/gpu", 1)), fleet: fleet(m2(models(node(1)))), reason: reason.NoCapacity},
		"no nodes counted, no room":            {binding: with(byAvailable(on("m1", 1)), asking("cpu", 1)), fleet: fleet(m2(models(node(0)))), reason: reason.NoCapacity},
	}.run(t)
}

// Rules: R4.6-38, R4.6-39, R4.6-40, R4.6-41.
func TestPreCheck_WhatTheEvictionDoesNotDecide_IsBlocked(t *testing.T) {
	later := fixtures.T0.Add(time.Hour)
	triggered := func(b *karmada.Binding) {
		b.RescheduleTriggeredAt, b.Status.LastScheduled = &later, fixtures.Ptr(fixtures.T0)
	}
	zero := func(b *karmada.Binding) {
		b.Replicas, b.HasRequirements = 0, true
		for i := range b.Clusters {
			b.Clusters[i].Replicas = 0
		}
	}
	preCheckCases{
		"a reschedule is pending": {binding: with(duplicated("m1"), triggered), fleet: fleet(m2()), reason: reason.SchedulingPending, message: "rescheduleTriggeredAt"},
		"one that was answered is not": {
			binding: with(duplicated("m1"), triggered, func(b *karmada.Binding) { b.Status.LastScheduled = &later }), fleet: fleet(m2()), candidates: "m2",
		},
		"the placement is not applied": {
			binding: with(duplicated("m1"), func(b *karmada.Binding) { b.PlacementPending = true }), fleet: fleet(m2()),
			reason: reason.SchedulingPending, message: "apply its placement",
		},
		"nothing makes the scheduler look again": {
			binding: with(divided(on("m1", 0), on("m2", 3)), fixtures.Scheduled(corev1.ConditionFalse, "SchedulerError", fixtures.T0)), fleet: fleet(m2()),
			reason: reason.SchedulingPending, message: "has not accepted its targets",
		},
		"it looks again by itself": {
			binding: with(divided(on("m1", 1), on("m2", 2)), fixtures.Scheduled(corev1.ConditionFalse, "SchedulerError", fixtures.T0)), fleet: fleet(m2()), candidates: "m2",
		},
		"no replicas":              {binding: with(duplicated("m1"), zero), fleet: fleet(m2()), reason: reason.NoReplicas},
		"no replicas, a survivor":  {binding: with(duplicated("m1", "m2"), zero), fleet: fleet(m2()), reason: reason.NoReplicas},
		"a survivor holds nothing": {binding: divided(on("m1", 0), on("m2", 0), on("m3", 2)), fleet: fleet(m2(), m3(notReady)), reason: reason.NoTarget},
		"components beside replicas": {
			binding: with(duplicated("m1"), func(b *karmada.Binding) {
				b.Components = []karmada.Component{{Name: "main", Replicas: 2, Request: quantities("cpu", 1)}}
			}), fleet: fleet(m2()), reason: reason.NotSupportedComps, message: "beside spec.replicas",
		},
	}.run(t)
}

// Rules: R4.6-43.
func TestPreCheck_MarginIsTakenFromEveryRoom(t *testing.T) {
	margin := func(percent int) func(*placement.PreCheckInput) {
		return func(in *placement.PreCheckInput) { in.Margin = percent }
	}
	preCheckCases{
		"enough beside the margin": {binding: byAvailable(on("m1", 8)), fleet: fleet(m2(room(10))), change: margin(20), candidates: "m2"},
		"not enough beside it":     {binding: byAvailable(on("m1", 9)), fleet: fleet(m2(room(10))), change: margin(20), reason: reason.NoCapacity, message: "with a margin of 20 %"},
		"Aggregated, too":          {binding: aggregatedOver(on("m1", 9)), fleet: fleet(m2(room(10))), change: margin(20), reason: reason.NoCapacity},
		"static weights need none": {binding: divided(on("m1", 9)), fleet: fleet(m2(room(10))), change: margin(20), candidates: "m2"},
	}.run(t)
}
