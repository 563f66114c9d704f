package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.9-24, R4.9-25.
func TestARestoreThatTheSchedulerUndoesIsHeldAgainAndThenComplete(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	cordon := s.world.Lost
	undone := false
	s.world.Lost = func(op, binding string) bool {
		if op == "restore" && !undone {
			undone = true
			s.at(100*time.Millisecond, func() {
				s.world.Change(key, func(b *karmada.Binding) { b.Clusters = nil })
			})
		}
		return cordon(op, binding)
	}
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	require.Len(t, s.world.Log("hold"), 1, "the old copy is held again before anything else: %v", ops(s))
	require.Len(t, s.world.Log("restore"), 2)
	b := s.world.Peek(key)
	target, _ := b.Target("m1")
	require.NotNil(t, target)
	require.EqualValues(t, 2, target.Replicas)
	require.Empty(t, s.world.Leftovers())
}

// The scheduler undoes a put-back, and with that the old copy is gone. What is placed
// again goes on: it is not put back over and over for the sake of the recovery.
//
// Rules: R4.9-25, R4.9-29.
func TestAPutBackThatTheSchedulerUndoesIsNotTriedForEver(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 10 * time.Minute
	s.world.Lost = func(op, _ string) bool {
		if op == "restore" {
			s.at(100*time.Millisecond, func() {
				s.world.Change(key, func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}} })
			})
		}
		return false
	}
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.refuses(5*time.Minute, key, "its old copy on m1 is gone")
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("restore"), 1, "%v", ops(s))
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.3-19, R4.9-52.
func TestABindingThatLeftAndCameBackHasOneOutcome(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	seconds := int64(300)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{
			Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		}}
	})
	put := func(on string) func() {
		return func() {
			s.world.Change(key, func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: on, Replicas: 2}} })
		}
	}
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, put("m2"))
	s.at(4*time.Minute, put("m1"))
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Len(t, r.Attempts[0].Results, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Equal(t, 1, r.Attempts[0].Counts["Migrated"])
	require.Zero(t, r.Attempts[0].Counts["MovedByOthers"])
}
