package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.9-33.
func TestABindingWhoseMoveWasCancelledIsNotMovedAgainInThatAttempt(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() {
		s.accepted = append(s.accepted, s.update(workflows.BindingMigrationID("", "m1", key), workflows.UpdateCancel, "cancel-one",
			workflows.Order{Who: "jane", Reason: "leave this one alone"}))
	})
	s.at(2*time.Minute+time.Second, func() { s.world.DropTaint("m2", "cordon") })
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1, "the human's order stands for the attempt")
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-37.
func TestACancelLeavesNoEvacuationTaintBesideAHumansTaint(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1")
	s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	s.at(2*time.Minute, func() { s.order(workflows.UpdateCancel, "a drill") })
	s.at(4*time.Minute, func() { s.world.DropTaint("m1", "maintenance") })
	r := s.play()
	require.Equal(t, phase.FailoverCancelled, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-19.
func TestALostAnswerStillWaitsForTheSchedulersBeforeTheRestore(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.ScheduleAfter = 2 * time.Minute
	s.settings.Terms.RestoreWait = 10 * time.Minute
	s.world.Lost = func(op, _ string) bool { return op == "evict" }
	s.world.SetReady("m1", false)
	s.at(addAfter+20*time.Second, func() { s.world.SetReady("m1", true) })
	s.play()
	evicted := s.world.Log("evict")[0].At
	for _, w := range s.world.Log("restore") {
		require.False(t, w.At.Before(evicted.Add(s.world.ScheduleAfter)), "its late patch would undo the restore")
	}
}

// A rule that only keeps new work away may go on matching after the failure.
//
// Rules: R4.9-9.
func TestATaintThatMovesNobodyOutlivesTheRecoveryAndOpensNoAttempt(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.AddRule(rules.Rule{
		Name:            "always",
		MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorNotIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionUnknown}}},
		Taints:          []karmada.RuleTaint{{Key: "quiet", Effect: corev1.TaintEffectNoSchedule, AddOnMatch: time.Second, RemoveOnMismatch: time.Second}},
	})
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(10*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Len(t, c.Added, 1, "only the taint that its rule still asks for stands")
		s.world.ClearRules()
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.3-21.
func TestABindingThatIsMendedIsMovedInTheSameAttempt(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.replicas: not a number" })
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() { s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" }) })
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}

// One that bears a soft taint for some time is moved by a hard one that comes meanwhile.
//
// Rules: R4.3-14.
func TestABindingThatBearsASoftTaintIsMovedByAHardOne(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) {
		b.HasClusterFailover = true
		b.Placement.ClusterTolerations = []corev1.Toleration{{
			Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		}}
	})
	s.world.PutTaint("m1", corev1.Taint{Key: "soft", Effect: karmada.EffectPreferNoExecute})
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.at(2*time.Minute, func() { s.world.PutTaint("m1", corev1.Taint{Key: "hard", Effect: corev1.TaintEffectNoExecute}) })
	s.at(8*time.Minute, func() {
		for _, k := range []string{"hard", "soft", taintKey} {
			s.world.DropTaint("m1", k)
		}
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}
