package workflows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	corev1 "k8s.io/api/core/v1"
)

const cordonKey = "failover.example.org/cordon"

// cordonRule adds a rule that only cordons: while m1 is not Ready.
func (s *story) cordonRule(add, remove time.Duration) { s.cordonRuleOn("Ready", add, remove) }

func (s *story) cordonRuleOn(condition string, add, remove time.Duration) {
	s.world.AddRule(rules.Rule{
		Name:            "cordons",
		MatchConditions: []rules.MatchCondition{{ConditionType: condition, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse}}},
		Taints:          []karmada.RuleTaint{{Key: cordonKey, Effect: corev1.TaintEffectNoSchedule, AddOnMatch: add, RemoveOnMismatch: remove}},
	})
}

// onlyCordonRule makes that rule the only one.
func (s *story) onlyCordonRule(add, remove time.Duration) {
	s.world.ClearRules()
	s.cordonRule(add, remove)
}

// cordoned tells whether the taint of the rule that only cordons stands on m1.
func (s *story) cordoned() bool {
	return slices.ContainsFunc(s.world.PeekCluster("m1").Taints, func(t corev1.Taint) bool { return t.Key == cordonKey })
}

// Rules: R4.1-45, R4.1-46, R4.1-47.
func TestCordonRule_TaintsByItsWindowsWithoutAFailoverOfWorkloads(t *testing.T) {
	const add, remove = 2 * time.Minute, 5 * time.Minute
	s := newStory(t)
	s.onlyCordonRule(add, remove)
	s.bind("app", []string{"m1"}, "m1", "m2")
	ran := map[string]int{}
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { ran[info.ActivityType.Name]++ })
	s.world.SetReady("m1", false)
	s.at(add-time.Second, func() {
		require.False(t, s.cordoned())
		require.Equal(t, phase.FailoverSuspected, s.status().Phase)
		require.Equal(t, reason.WindowRunning, s.status().Reason)
	})
	s.at(30*time.Minute, func() {
		require.True(t, s.cordoned())
		now := s.status()
		require.Equal(t, phase.FailoverCordoned, now.Phase)
		require.Equal(t, reason.Cordoned, now.Reason)
		require.Empty(t, now.Asked.Cluster, "the pacer is not asked")
		require.Empty(t, now.Items)
		s.world.SetReady("m1", true)
	})
	s.at(30*time.Minute+remove-time.Second, func() { require.True(t, s.cordoned()) })
	r := s.play()
	require.Equal(t, phase.FailoverUncordoned, r.Ended)
	require.Empty(t, r.Attempts[0].Results)
	writes := s.world.Log("")
	require.Len(t, writes, 2, "the taint is put and removed, and nothing else is written")
	require.WithinDuration(t, storyBegins.Add(add), writes[0].At, 2*time.Second)
	require.WithinDuration(t, storyBegins.Add(30*time.Minute+remove), writes[1].At, 2*time.Second)
	for _, dear := range []string{activities.NameFindOrphans, activities.NameListTargeting, activities.NamePreCheck} {
		require.Zero(t, ran[dear], "%s lists or reads bindings", dear)
	}
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.1-45.
func TestCordonRule_ABlipIsAFalseAlarm(t *testing.T) {
	s := newStory(t)
	s.onlyCordonRule(time.Minute, time.Minute)
	s.world.SetReady("m1", false)
	s.at(50*time.Second, func() { s.world.SetReady("m1", true) })
	require.Equal(t, phase.FailoverFalseAlarm, s.play().Ended)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.1-46.
func TestCordonRule_InObserveNothingIsWritten(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.onlyCordonRule(time.Minute, time.Minute)
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() {
		now := s.status()
		require.Equal(t, phase.FailoverCordoned, now.Phase)
		require.Len(t, now.Virtual, 1)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverUncordoned, r.Ended)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 11*time.Minute)
	require.Empty(t, s.world.Log(""))
}

// Two rules for the same condition: the cordon comes first, the failover by its own window, and at
// the return the cordon goes by its own window while that of the other still runs.
//
// Rules: R4.1-17, R4.1-47.
func TestCordonRule_BesideOneThatMovesEachTaintHasItsOwnWindow(t *testing.T) {
	const back = 5 * time.Minute
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.cordonRule(10*time.Second, 5*time.Second)
	s.world.SetReady("m1", false)
	s.at(addAfter-time.Second, func() {
		require.True(t, s.cordoned(), "while the window of the rule that moves still runs")
		require.Equal(t, phase.FailoverSuspected, s.status().Phase)
	})
	s.at(back, func() { s.world.SetReady("m1", true) })
	s.at(back+wellFor-2*time.Second, func() {
		require.False(t, s.cordoned())
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Len(t, hard, 1)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// The window of a rule that only cordons is not begun again because a failover of the same
// cluster ends meanwhile.
//
// Rules: R4.1-26, R4.1-45.
func TestCordonRule_ItsWindowOutlivesTheFailover(t *testing.T) {
	const add = 20 * time.Minute
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.cordonRuleOn(networkReady, add, time.Second)
	s.network(corev1.ConditionFalse)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(add-time.Second, func() { require.False(t, s.cordoned()) })
	s.at(add+5*time.Second, func() {
		require.True(t, s.cordoned())
		require.Equal(t, reason.Cordoned, s.status().Reason)
	})
	s.at(add+time.Minute, func() { s.network(corev1.ConditionTrue) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), add+time.Minute)
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.1-46.
func TestCordoned_ATaintThatMovesMakesItAFailover(t *testing.T) {
	for _, tc := range []struct {
		name string
		fail func(*story)
		well func(*story)
	}{
		{
			name: "a rule that moves", fail: func(s *story) { s.world.SetReady("m1", false) }, well: func(s *story) { s.world.SetReady("m1", true) },
		},
		{
			name: "a human's taint",
			fail: func(s *story) {
				s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
			},
			well: func(s *story) { s.world.DropTaint("m1", maintenance) },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(t)
			s.bind("app", []string{"m1"}, "m1", "m2")
			s.cordonRuleOn(networkReady, 10*time.Second, time.Second)
			s.network(corev1.ConditionFalse)
			s.at(5*time.Minute, func() {
				require.Equal(t, phase.FailoverCordoned, s.status().Phase)
				tc.fail(s)
			})
			s.at(15*time.Minute, func() { tc.well(s) })
			s.at(25*time.Minute, func() { s.network(corev1.ConditionTrue) })
			r := s.play()
			require.Equal(t, phase.FailoverRecovered, r.Ended)
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// Rules: R4.1-46, R4.9-37.
func TestCordoned_ACancelTakesTheTaintAway(t *testing.T) {
	s := newStory(t)
	s.onlyCordonRule(10*time.Second, time.Minute)
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() { s.order(workflows.UpdateCancel, "a drill") })
	s.at(4*time.Minute, func() {
		require.False(t, s.cordoned(), "stopped, no rule is applied")
		s.world.SetReady("m1", true)
	})
	require.Equal(t, phase.FailoverCancelled, s.play().Ended)
	require.Empty(t, s.world.Leftovers())
}
