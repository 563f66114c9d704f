package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// Two rules for one condition: the taint with the longer removal window outlives the recovery that
// the shorter one confirms.
//
// Rules: R4.1-17, R4.1-21.
func TestAtRecoveryEachTaintGoesByItsOwnWindow(t *testing.T) {
	const longer = 10 * time.Minute
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.cordonRule(time.Second, longer)
	back := 5 * time.Minute
	s.world.SetReady("m1", false)
	s.at(back, func() { s.world.SetReady("m1", true) })
	s.at(back+wellFor+20*time.Second, func() {
		c := s.world.PeekCluster("m1")
		hard, _ := karmada.Triggering(c.Taints)
		require.Empty(t, hard, "the rule with the shorter window untaints first")
		require.Len(t, c.Added, 1)
		require.Equal(t, cordonKey, c.Added[0].Key)
	})
	s.at(back+longer-time.Second, func() { require.Len(t, s.world.PeekCluster("m1").Added, 1) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), back+longer)
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// A rule that becomes invalid while the failover settles removes nothing until it is mended.
//
// Rules: R4.1-24.
func TestARuleThatBecomesInvalidWhileSettlingKeepsItsTaint(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.settings.Terms.RestoreWait = 5 * time.Minute
	s.world.ScheduleAfter = 4 * time.Minute
	s.world.SetReady("m1", false)
	s.at(addAfter+10*time.Second, func() { s.world.SetReady("m1", true) })
	s.at(addAfter+wellFor+20*time.Second, func() {
		require.NotEmpty(t, s.world.Peek(key).Tasks, "it settles, and the restore waits for the scheduler")
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" })
	})
	s.at(20*time.Minute, func() {
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Len(t, hard, 1)
		s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "" })
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 20*time.Minute)
	require.Empty(t, s.world.Leftovers())
}
