package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// returns has the scheduler place app on these clusters.
func (s *story) returns(key karmada.BindingKey, on ...string) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = nil
		for _, c := range on {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: c, Replicas: 2})
		}
	})
}

// Seen: what the scheduler had put back on a dead cluster stayed there for the rest of the
// attempt, although nothing of it ran anywhere, and the report said where it was not.
//
// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackOnADeadClusterAloneMovesOnceMore(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		s.returns(key, "m1", "m2")
	})
	s.at(7*time.Minute, func() {
		item, queued := s.queued()
		require.True(t, queued)
		require.Equal(t, queue.Blocked, item.State, "it lives on m2")
		require.Equal(t, reason.SchedulerReturnsIt, item.Reason)
		require.Equal(t, reason.SchedulerReturnsIt, s.status().Results[0].Reason)
		s.world.SetReady("m2", false)
		s.world.PutTaint("m2", corev1.Taint{Key: karmada.EvacuatingTaintKey, Effect: corev1.TaintEffectNoSchedule}) // as its own failover does
		s.returns(key, "m1")
	})
	s.at(15*time.Minute, func() {
		b := s.world.Peek(key)
		require.Len(t, b.Clusters, 1)
		require.Equal(t, "m3", b.Clusters[0].Name)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Len(t, s.world.Log("evict"), 2)
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Equal(t, []string{"m3"}, got.To)
	require.NotEqual(t, reason.SchedulerReturnsIt, got.Reason)
	require.Empty(t, s.world.Leftovers())
}

// With nowhere to go it says so, and waits for room as any other; the report names no cluster
// on which it does not run.
//
// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackOnADeadClusterAndFitsNowhereIsLookedAtAgain(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		s.world.SetReady("m2", false)
		s.returns(key, "m1")
	})
	s.at(10*time.Minute, func() {
		item, _ := s.queued()
		require.Equal(t, reason.NoTarget, item.Reason)
		require.False(t, item.Permanent)
		require.Empty(t, s.status().Results[0].To)
		require.Equal(t, reason.SchedulerReturnsIt, s.status().Results[0].Reason)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeMigrated, got.Outcome, "one outcome, and it stays")
	require.Equal(t, reason.SchedulerReturnsIt, got.Reason)
	require.Empty(t, got.To)
}

// A cluster that answers Karmada runs the copy: nothing is gained by another move.
//
// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackOnAReadyClusterStays(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	s.at(5*time.Minute, func() { s.returns(key, "m1") })
	s.at(10*time.Minute, func() {
		item, _ := s.queued()
		require.Equal(t, reason.SchedulerReturnsIt, item.Reason)
		s.world.DropTaint("m1", "maintenance")
	})
	s.play()
	require.Len(t, s.world.Log("evict"), 1)
}
