package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A deleted binding ends its migration as Gone, wherever that stands.
//
// Rules: R4.7-39, R4.9-52.
func TestADeletedBindingEndsItsMigrationAtEveryPhase(t *testing.T) {
	rows := recoveryTable()
	restoring := rows["evicted, no answer yet, and it will be no"]
	restoring.phase = phase.MigrationRestoring
	rows["restoring"] = restoring
	seen := map[phase.Migration]bool{phase.MigrationDone: true}
	for name, r := range rows {
		if r.phase == "" {
			continue // nothing of Lifeboat's runs for it
		}
		seen[r.phase] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			if r.arrange != nil {
				r.arrange(s, key)
			}
			s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
			deleted := func() {
				s.standsAt(r)
				s.world.DeleteBinding(key)
			}
			switch {
			case r.early:
				s.afterTheFirstEviction(deleted)
			case name == "restoring":
				s.at(comesBetween, s.well)
				s.at(comesBetween+5*time.Second, deleted)
			default:
				s.at(comesBetween, deleted)
			}
			s.at(8*time.Minute, s.well)
			report := s.play()
			require.Equal(t, phase.FailoverRecovered, report.Ended)
			require.Equal(t, phase.OutcomeGone, s.appResult().Outcome, "%+v", s.appResult())
			require.Len(t, report.Attempts[0].Results, 1)
			require.Less(t, s.appResult().At.Sub(storyBegins), 8*time.Minute, "nobody has to come for that")
			require.Empty(t, s.world.Leftovers())
		})
	}
	seen[phase.MigrationChecking] = true // TestAParentThatWaitsForItsPermitLetsGoAtEveryEnd
	for _, phase := range []phase.Migration{
		phase.MigrationChecking, phase.MigrationEvicting, phase.MigrationAwaitingFence, phase.MigrationPlacing,
		phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring, phase.MigrationDone,
	} {
		require.True(t, seen[phase], "no row stands at %s", phase)
	}
}

// However long a new copy takes, the old one is held. The timeout only raises the flag.
//
// Rules: R4.7-19, R4.7-37.
func TestGracefulTimeoutRaisesTheFlagAndDeletesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*story, karmada.BindingKey)
		end     phase.Outcome
	}{
		"not healthy": {arrange: func(s *story, _ karmada.BindingKey) { s.world.HealthyAfter = 3 * time.Hour }, end: phase.OutcomeMigrated},
		"no fit":      {arrange: noFit, end: phase.OutcomeRestored},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			c.arrange(s, key)
			s.world.SetReady("m1", false)
			timeout := addAfter + s.settings.Terms.GracefulTimeout
			s.at(timeout-time.Minute, func() { require.Empty(t, s.status().Moves["shop/app"].Attention) })
			s.at(2*time.Hour, func() {
				move := s.status().Moves["shop/app"]
				require.NotEmpty(t, move.Attention)
				require.Equal(t, reason.GracefulTimeout, s.standing(key).Attention)
				b := s.world.Peek(key)
				task, _ := b.TaskFor("m1")
				require.NotNil(t, task)
				require.True(t, *task.SuppressDeletion)
				require.True(t, s.world.HasWork(key, "m1"), "the old copy stays")
				require.Equal(t, []string{"evict"}, s.writesOn(key))
				s.world.SetReady("m1", true)
			})
			s.play()
			require.Equal(t, c.end, s.appResult().Outcome)
			require.Empty(t, s.world.Leftovers())
		})
	}
}
