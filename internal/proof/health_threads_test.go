package proof_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// An empty schedule result made every copy "healthy", and the last one was deleted.
//
// Rules: R4.7-17, R4.7-26.
func TestKarmada7455EmptyScheduleResultIsNotHealthy(t *testing.T) {
	empty := fixtures.Duplicated()
	empty.Generation, empty.Status.ObservedGeneration = 7, 7
	v := proof.Healthy(proof.HealthInput{Binding: empty, Failed: "m1", Baseline: was()})
	require.False(t, v.OK)
	require.Equal(t, reason.NotPlaced, v.Reason)
	require.False(t, proof.Placed(empty, "m1").OK)
	empty.Replicas = 0
	require.False(t, proof.Placed(empty, "m1").OK, "whatever spec.replicas says")
}

// The old copy went while the new one had fewer replicas than were asked for.
//
// Rules: R4.7-22, R4.7-23.
func TestKarmada3736EveryReplicaMustBeReadyWhateverKarmadaSays(t *testing.T) {
	for ready := range int64(3) {
		b := fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", karmada.HealthHealthy, ready, 2)))
		v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
		require.Equal(t, ready == 2, v.OK, "%d of 2: %s", ready, v.Message)
	}
}

// A fresh target still carried the Healthy that it had reported in an earlier life.
//
// Rules: R4.7-23.
func TestKarmada3467AStatusOfAnOlderGenerationIsNone(t *testing.T) {
	b := fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", karmada.HealthHealthy, 2, 2, 5, 4)))
	v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
	require.False(t, v.OK)
	require.Contains(t, v.Message, "older generation")
}

// A dead cluster's Deployment was shown 2/2 Ready for ever.
//
// Rules: R4.7-27.
func TestKarmada2989TheHealthOfASilentClusterIsUnknown(t *testing.T) {
	in := proof.HealthInput{
		Binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", karmada.HealthHealthy, 2, 2))), Failed: "m1", Baseline: was(),
	}
	require.True(t, proof.Healthy(in).OK)
	in.Suspect = map[string]bool{"m2": true}
	v := proof.Healthy(in)
	require.False(t, v.OK)
	require.Equal(t, reason.TargetNotReady, v.Reason)
}

// Tasks of ConfigMaps and ClusterRoles never ended, for they have no health.
//
// Rules: R4.7-28.
func TestKarmada4951WhatHasNoHealthIsHealthyOnceApplied(t *testing.T) {
	item := karmada.AggregatedItem{Cluster: "m2", Applied: true, Health: karmada.HealthUnknown}
	in := proof.HealthInput{Failed: "m1", Baseline: proof.BaselineOf(fixtures.NonWorkload("m1"))}
	in.Binding = fixtures.With(fixtures.NonWorkload("m2"), fixtures.Reports(item))
	require.True(t, proof.Healthy(in).OK)
	item.Applied = false
	in.Binding = fixtures.With(fixtures.NonWorkload("m2"), fixtures.Reports(item))
	require.False(t, proof.Healthy(in).OK)
}
