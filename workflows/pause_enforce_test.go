package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// A pause that is given while the worker is still being asked whether this failover
// may be enforced is the later word, and stands; one that stood before ends with it.
// Rules: R4.15-14.
func TestAPauseGivenWhileEnforcingIsAskedForStands(t *testing.T) {
	for name, later := range map[string]bool{"given meanwhile": true, "given before": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Terms.Mode = rules.ModeObserve
			s.begins = 40 * time.Second
			s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.SetReady("m1", false)
			pauseAt := 4 * time.Minute
			if later {
				pauseAt += 20 * time.Second
			}
			var accepted *answer
			s.at(pauseAt, func() { s.order(workflows.UpdatePause, "wait") })
			s.at(4*time.Minute+10*time.Second, func() {
				s.setMode(rules.ModeEnforce)
				accepted = s.resumeEnforcing()
			})
			s.at(8*time.Minute, func() {
				require.True(t, accepted.done)
				require.NoError(t, accepted.err)
				require.Equal(t, later, s.status().Paused != nil)
			})
			s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			require.NotEmpty(t, s.world.Log("taint"), "it was enforced")
			if later {
				require.Empty(t, s.world.Log("evict"))
			} else {
				require.Len(t, s.world.Log("evict"), 1)
			}
		})
	}
}

// While paused, what would move in observe waits for the resume: no turn comes of it.
// Rules: R4.15-5.
func TestAPausedObserverSleeps(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.settings.Pace.EvictionRate = 0.05
	for _, name := range []string{"a", "b", "c"} {
		s.bind(name, []string{"m1"}, "m1", "m2")
	}
	s.world.SetReady("m1", false)
	s.at(70*time.Second, func() { s.order(workflows.UpdatePause, "wait") })
	var waited []time.Duration
	s.env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		if at := s.env.Now().Sub(storyBegins); at > 2*time.Minute && at < 5*time.Minute {
			waited = append(waited, d)
		}
	})
	s.at(6*time.Minute, func() {
		require.Equal(t, 2, s.status().States[queue.Ready])
		s.order(workflows.UpdateResume, "go on")
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"a": "WouldMove", "b": "WouldMove", "c": "WouldMove"}, outcomes(r))
	require.Less(t, len(waited), 60, "not one a second")
	require.NotEmpty(t, waited)
}
