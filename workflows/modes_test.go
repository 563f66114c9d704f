package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// tolerates gives a binding a toleration of the story's taint.
func (s *story) tolerates(key karmada.BindingKey, seconds int64) {
	s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterTolerations = tolerations(seconds) })
}

func (s *story) setMode(mode rules.Mode) { s.acts.Settings.Terms.Mode = mode }

// resumeEnforcing orders what `lifeboat resume --enforce` does.
func (s *story) resumeEnforcing() *answer {
	return s.update(workflows.ClusterFailoverID("", "m1"), workflows.UpdateResume, "enforce",
		workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "it is real"}}, Enforce: true})
}

// wouldMoveAt is when each binding would have been moved.
func wouldMoveAt(t *testing.T, r workflows.FailoverReport) map[string]time.Time {
	t.Helper()
	at := map[string]time.Time{}
	for _, x := range r.Attempts[0].Results {
		require.Equal(t, phase.OutcomeWouldMove, x.Outcome)
		at[x.Key.Name] = x.At
	}
	return at
}

// The taint that observe does not put would have stood from the confirmation on:
// tolerations run from there, and the pace is kept as it would be.
//
// Rules: R4.15-2, R4.15-4, R4.15-5.
func TestObserveCountsFromTheConfirmationAndKeepsThePace(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bindAll([]string{"a", "b", "c"}, "m1", "m2")
	s.tolerates(s.bind("patient", []string{"m1"}, "m1", "m2"), 100)
	s.outage(8 * time.Minute)
	r := s.play()
	confirmed := storyBegins.Add(addAfter)
	at := wouldMoveAt(t, r)
	require.Len(t, at, 4)
	require.False(t, at["a"].Before(confirmed))
	require.GreaterOrEqual(t, at["b"].Sub(at["a"]), 2*time.Second, "0.5 a second")
	require.GreaterOrEqual(t, at["c"].Sub(at["b"]), 2*time.Second)
	require.False(t, at["patient"].Before(confirmed.Add(100*time.Second)))
	require.Zero(t, s.pacerStatus().Granted, "nobody asks for a permit")
	require.Zero(t, s.pacer.asked)
	require.Empty(t, s.world.Log(""))
}

// A failover that observes never closes while a taint of an earlier one stands, and may
// not take it away: somebody has to be able to tell it to.
//
// Rules: R4.15-14, R4.9-50.
func TestWhatAnEarlierFailoverHasLeftIsCleanedAwayOnceEnforced(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.leave("not-ready", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.Log(""))
		s.setMode(rules.ModeEnforce)
		s.resumeEnforcing()
	})
	s.play()
}

// What is refused again and again keeps nobody from looking at the cluster.
//
// Rules: R4.15-12.
func TestATaintThatIsRefusedForEverDoesNotOutliveTheFailure(t *testing.T) {
	s := newStory(t)
	s.outage(4 * time.Minute)
	s.at(30*time.Second, func() { s.setMode(rules.ModeObserve) })
	s.at(4*time.Minute-time.Second, func() { s.world.OnCluster = nil }) // nobody tells
	ended := false
	const long = 20 * time.Minute
	for at := 2 * time.Minute; at < long; at += 5 * time.Second { // something always wakes it
		s.at(at, func() {
			if !ended {
				s.hint(workflows.ClusterFailoverID("", "m1"), workflows.SignalBindingsChanged,
					workflows.BindingsChanged{Bindings: []proof.BindingFact{{Key: karmada.BindingKey{Namespace: "shop", Name: "new"}}}})
			}
		})
	}
	s.run()
	r := s.report
	ended = true
	require.Less(t, r.Until.Sub(storyBegins), long, "and not only once nothing wakes it any more")
	require.Contains(t, []phase.Failover{phase.FailoverFalseAlarm, phase.FailoverRecovered}, r.Ended)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.9-50.
func TestInObserveAHoldWithoutAnOwnerIsOnlyReported(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	key := s.bind("app", []string{"m2"}, "m1", "m2")
	s.held(key)
	s.run()
	require.Empty(t, s.world.Log(""))
	require.Len(t, s.world.Peek(key).Tasks, 1)
}

// Rules: R4.15-9, R4.15-10, R4.15-11, R4.15-12.
func TestKarmada5375SwitchedToObserveWhatHasBegunIsFinishedAndNothingNewBegins(t *testing.T) {
	s := newStory(t)
	unplaced := unplaceable(s)
	s.bind("placed", []string{"m1"}, "m1", "m3")
	late := s.bind("late", []string{"m1"}, "m1", "m3")
	s.tolerates(late, 120)
	s.world.HealthyAfter = 4 * time.Minute
	s.outage(10 * time.Minute)
	s.at(2*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 2)
		require.Empty(t, s.world.Log("release"), "both are on their way")
		s.setMode(rules.ModeObserve)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Restored", "placed": "Migrated", "late": "Abandoned"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 2)
	b := s.world.Peek(unplaced)
	target, _ := b.Target("m1")
	require.NotNil(t, target)
}

// Rules: R4.15-9, R4.15-13.
func TestSwitchedToEnforceAnObservingFailoverGoesOnObservingAndTheNextOneEnforces(t *testing.T) {
	s, _ := failing(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.host, s.args = hostAgain, []any{10 * time.Minute}
	s.tolerates(s.bind("late", []string{"m1"}, "m1", "m2"), 120)
	s.at(2*time.Minute, func() { s.setMode(rules.ModeEnforce) })
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.Log(""))
		s.world.SetReady("m1", false)
	})
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	first, next := s.playBoth()
	require.Equal(t, map[string]phase.Outcome{"app": "WouldMove", "late": "WouldMove"}, outcomes(first))
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "late": "Migrated"}, outcomes(next))
	require.Len(t, s.world.Log("evict"), 2)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.15-14, R4.9-52.
func TestResumedInEnforceEverythingIsListedAndMovedAnew(t *testing.T) {
	s, _ := outage(t, 12*time.Minute)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bind("stuck", []string{"m1"}, "m1")
	s.tolerates(s.bind("patient", []string{"m1"}, "m1", "m2"), 600)
	const ordered = 4 * time.Minute
	s.at(ordered, func() {
		require.Empty(t, s.world.Log(""))
		s.bind("came", []string{"m1"}, "m1", "m3")
		s.setMode(rules.ModeEnforce)
		s.accept(s.resumeEnforcing())
	})
	r := s.play()
	require.Len(t, r.Attempts, 2)
	require.Equal(t, map[string]phase.Outcome{"app": "WouldMove", "stuck": "WouldBlock", "patient": "Abandoned"}, outcomesOf(r.Attempts[0].Results))
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "came": "Migrated", "stuck": "Abandoned", "patient": "Abandoned"}, outcomes(r))
	taints := s.world.Log("taint")
	require.GreaterOrEqual(t, taints[0].At.Sub(storyBegins), ordered)
	for _, w := range s.world.Log("evict") {
		require.False(t, w.At.Before(taints[0].At), "the taints stand before the first eviction")
		require.NotEqual(t, "shop/patient", w.Binding, "its toleration runs from when the taint was really put")
	}
}

// Rules: R4.15-10, R4.15-14.
func TestAnOrderToEnforceIsRefusedWhereItCannotBeObeyed(t *testing.T) {
	for mode, c := range map[rules.Mode]struct {
		why  string
		want phase.Outcome
	}{
		rules.ModeObserve: {why: "the worker's own config says observe for m1", want: phase.OutcomeWouldMove},
		rules.ModeEnforce: {why: "enforces already", want: phase.OutcomeMigrated},
	} {
		t.Run(string(mode), func(t *testing.T) {
			s, _ := outage(t, 6*time.Minute)
			s.settings.Terms.Mode = mode
			s.at(3*time.Minute, func() { s.refuse(c.why, s.resumeEnforcing()) })
			r := s.play()
			require.Len(t, r.Attempts, 1)
			require.Equal(t, map[string]phase.Outcome{"app": c.want}, outcomes(r))
			require.Equal(t, mode == rules.ModeObserve, len(s.world.Log("")) == 0)
		})
	}
}

// A pause that is given while the worker is still being asked whether this failover
// may be enforced is the later word, and stands; one that stood before ends with it.
// Rules: R4.15-14.
func TestAPauseGivenWhileEnforcingIsAskedForStands(t *testing.T) {
	for name, later := range map[string]bool{"given meanwhile": true, "given before": false} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 10*time.Minute)
			s.settings.Terms.Mode = rules.ModeObserve
			s.slow = map[string]time.Duration{activities.NameBeginFailover: 40 * time.Second}
			pauseAt, evicted := 4*time.Minute, 1
			if later {
				pauseAt, evicted = pauseAt+20*time.Second, 0
			}
			s.at(pauseAt, func() { s.order(workflows.UpdatePause, "wait") })
			s.at(4*time.Minute+10*time.Second, func() {
				s.setMode(rules.ModeEnforce)
				s.accept(s.resumeEnforcing())
			})
			s.at(8*time.Minute, func() { require.Equal(t, later, s.status().Paused != nil) })
			s.play()
			require.NotEmpty(t, s.world.Log("taint"), "it was enforced")
			require.Len(t, s.world.Log("evict"), evicted)
		})
	}
}

// While paused, what would move in observe waits for the resume: no turn comes of it.
// Rules: R4.15-5.
func TestAPausedObserverSleeps(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.settings.Pace.EvictionRate = 0.05
	s.bindAll([]string{"a", "b", "c"}, "m1", "m2")
	s.outage(10 * time.Minute)
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
	require.Equal(t, map[string]phase.Outcome{"a": "WouldMove", "b": "WouldMove", "c": "WouldMove"}, outcomes(s.play()))
	require.Less(t, len(waited), 60, "not one a second")
	require.NotEmpty(t, waited)
}
