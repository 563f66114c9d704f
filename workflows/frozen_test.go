package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// fleetOrder gives the pacer an order.
func (s *story) fleetOrder(update string) {
	s.t.Helper()
	s.accepted = append(s.accepted, s.update(workflows.FleetPacerID(""), update, update, jane))
}

// evictedAfterAHalt is how long after its taint a binding was evicted that tolerates
// it for a minute, when the fleet was halted for three of them meanwhile.
func evictedAfterAHalt(t *testing.T, freeze bool) time.Duration {
	t.Helper()
	s := newStory(t)
	s.settings.Terms.FreezeWhenHalted = freeze
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterTolerations = tolerations(60) })
	s.world.SetReady("m1", false)
	s.at(80*time.Second, func() {
		require.Len(t, s.world.Log("taint"), 1)
		s.fleetOrder(workflows.UpdateHalt)
	})
	s.at(260*time.Second, func() {
		require.Empty(t, s.world.Log("evict"))
		s.fleetOrder(workflows.UpdateResume)
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Len(t, s.world.Log("evict"), 1)
	return s.world.Log("evict")[0].At.Sub(s.world.Log("taint")[0].At)
}

// The configured tolerations stand in for bindings without any of their own.
//
// Rules: R4.3-10.
func TestDefaultTolerationsStandInForBindingsWithoutAny(t *testing.T) {
	s := newStory(t)
	s.settings.DefaultTolerations = tolerations(1200)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.tolerates(s.bind("own", []string{"m1"}, "m1", "m2"), 60)
	s.world.SetReady("m1", false)
	s.at(time.Hour, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "own": "Migrated"}, outcomes(r))
	require.GreaterOrEqual(t, s.evictedAt("app"), addAfter+20*time.Minute)
	require.Less(t, s.evictedAt("own"), s.evictedAt("app"))
}

// Kubernetes halts evictions in a full disruption while the timers of its taints run
// on (kubernetes#70501, enhancements#5263, kubernetes#110114, #131182): whatever was
// tolerated meanwhile moves at once when it goes on. Here a halt stops the clocks.
// Rules: R4.3-20, R4.5-26.
func TestKubernetes70501And5263AHaltStopsTolerationClocks(t *testing.T) {
	frozen, running := evictedAfterAHalt(t, true), evictedAfterAHalt(t, false)
	require.GreaterOrEqual(t, frozen, 4*time.Minute-time.Second, "its minute, and the three of the halt")
	require.GreaterOrEqual(t, running, 3*time.Minute, "no eviction while halted")
	require.Less(t, running, frozen, "where configured, the clock runs on")
}

// One of two taints goes while the other stays: who tolerates the other for ever does
// not move any more.
// Rules: R4.3-16, R4.3-17.
func TestKubernetes90794ATaintThatGoesCallsOffItsEvictionsThoughAnotherStays(t *testing.T) {
	s := newStory(t)
	const stays = "example.com/stays"
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = append(tolerations(120), corev1.Toleration{Key: stays, Operator: corev1.TolerationOpExists})
	})
	s.bind("other", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: stays, Effect: corev1.TaintEffectNoExecute})
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.at(time.Minute, func() { s.world.DropTaint("m1", taintKey) })
	s.at(6*time.Minute, func() { s.world.DropTaint("m1", stays) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned", "other": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1, "only what the taint that stays moves")
}
