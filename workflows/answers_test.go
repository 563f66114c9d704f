package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// probes has the external probe see the member up from one moment to another, and down from
// there on; the controller repeats the word each minute.
func (s *story) probes(up, down, until time.Duration) {
	for at := up; at < until; at += time.Minute {
		says := rules.ExternalProbeUp
		if at >= down {
			says = rules.ExternalProbeDown
		}
		s.at(at, func() { s.testify(says, "") })
	}
}

// An expired credential looks like a dead cluster.
//
// Rules: R4.1-48, R4.1-50.
func TestAMemberThatAnswersTheProbeIsNotFailedOver(t *testing.T) {
	for name, mode := range map[string]rules.Mode{"enforce": rules.ModeEnforce, "observe": rules.ModeObserve} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Terms.Mode = mode
			s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.SetReady("m1", false)
			s.probes(time.Second, time.Hour, 30*time.Minute)
			s.at(20*time.Minute, func() {
				now := s.status()
				require.Equal(t, phase.FailoverSuspected, now.Phase)
				require.Equal(t, reason.MemberAnswers, now.Reason)
				require.Equal(t, []reason.Reason{reason.MemberAnswers}, now.Attention)
				require.Empty(t, s.world.Log(""))
			})
			s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
			require.Equal(t, phase.FailoverFalseAlarm, s.play().Ended)
		})
	}
}

// Rules: R4.1-50.
func TestAMemberThatAnswersNoMoreIsFailedOverAfterItsWholeWindow(t *testing.T) {
	const dies = 10*time.Minute + time.Second
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.probes(time.Second, dies, 20*time.Minute)
	s.at(20*time.Minute, func() {
		require.Empty(t, s.status().Attention)
		s.world.SetReady("m1", true)
	})
	require.Equal(t, phase.FailoverRecovered, s.play().Ended)
	evicted := s.world.Log("evict")
	require.Len(t, evicted, 1)
	require.GreaterOrEqual(t, evicted[0].At.Sub(storyBegins), dies+addAfter)
}

// A word that nobody repeats contradicts nothing: no controller leads.
//
// Rules: R4.1-37, R4.1-50.
func TestAnOldAnswerOfAMemberContradictsNothing(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(time.Second, func() { s.testify(rules.ExternalProbeUp, "") })
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	evicted := s.world.Log("evict")
	require.Len(t, evicted, 1)
	require.GreaterOrEqual(t, evicted[0].At.Sub(storyBegins), 3*time.Minute+addAfter)
}

// Rules: R4.1-51.
func TestAFailoverGoesOnWhenItsMemberAnswersAgain(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.probes(addAfter+30*time.Second, time.Hour, 20*time.Minute)
	s.at(20*time.Minute, func() {
		require.Equal(t, phase.FailoverEvacuated, s.status().Phase)
		require.Len(t, s.world.PeekCluster("m1").Added, 2, "the taint and the evacuation NoSchedule taint")
		s.world.SetReady("m1", true)
	})
	require.Equal(t, phase.FailoverRecovered, s.play().Ended)
}

// Rules: R4.1-53.
func TestAnOperatorOverrulesTheExternalProbeWithATaint(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.probes(time.Second, time.Hour, 20*time.Minute)
	s.at(10*time.Minute, func() { s.taints(workflows.UpdateTaint, "outage:NoExecute") })
	s.at(15*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 1)
		require.False(t, karmada.OursAdded(s.world.PeekCluster("m1"), corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute}), "the rule's own taint is not put")
	})
	s.at(20*time.Minute, func() {
		s.world.SetReady("m1", true)
		s.taints(workflows.UpdateUntaint, "outage:NoExecute")
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}
