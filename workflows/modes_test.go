package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// tolerates gives a binding a toleration of the story's taint.
func (s *story) tolerates(key karmada.BindingKey, seconds int64) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{
			Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		}}
	})
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
	for _, name := range []string{"a", "b", "c"} {
		s.bind(name, []string{"m1"}, "m1", "m2")
	}
	s.tolerates(s.bind("patient", []string{"m1"}, "m1", "m2"), 100)
	s.world.SetReady("m1", false)
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
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

// Rules: R4.15-2, R4.15-3.
func TestInObserveEvenAHumansTaintMovesNothing(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	s.at(5*time.Minute, func() { s.world.DropTaint("m1", "maintenance") })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "WouldMove"}, outcomes(r))
	require.Empty(t, s.world.Log(""))
}

// A failover that observes never closes while a taint of an earlier one stands, and may
// not take it away: somebody has to be able to tell it to.
//
// Rules: R4.15-14, R4.9-50.
func TestWhatAnEarlierFailoverHasLeftIsCleanedAwayOnceEnforced(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Added = []karmada.AddedTaint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, Rule: "not-ready", FailoverID: "terminated"}}
	})
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.Log(""))
		s.setMode(rules.ModeEnforce)
		s.resumeEnforcing()
	})
	s.play()
	require.Empty(t, s.world.Leftovers())
}

// What is refused again and again keeps nobody from looking at the cluster.
//
// Rules: R4.15-12.
func TestATaintThatIsRefusedForEverDoesNotOutliveTheFailure(t *testing.T) {
	s := newStory(t)
	s.world.SetReady("m1", false)
	s.at(30*time.Second, func() { s.setMode(rules.ModeObserve) })
	s.at(4*time.Minute, func() {
		s.world.OnCluster = nil // nobody tells
		s.world.SetReady("m1", true)
	})
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
	r := s.play()
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
	hold := true
	s.world.Change(key, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Reason: karmada.TaskReason, Producer: karmada.Producer,
			Message: workflows.BindingMigrationID("", "m1", key), SuppressDeletion: &hold,
		}}
	})
	s.play()
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
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 2)
		require.Empty(t, s.world.Log("release"), "both are on their way")
		s.setMode(rules.ModeObserve)
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored", "placed": "Migrated", "late": "Abandoned"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 2)
	b := s.world.Peek(unplaced)
	target, _ := b.Target("m1")
	require.NotNil(t, target)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.15-9, R4.15-13.
func TestSwitchedToEnforceAnObservingFailoverGoesOnObservingAndTheNextOneEnforces(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.again = 10 * time.Minute
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.tolerates(s.bind("late", []string{"m1"}, "m1", "m2"), 120)
	s.world.SetReady("m1", false)
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
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.bind("stuck", []string{"m1"}, "m1")
	s.tolerates(s.bind("patient", []string{"m1"}, "m1", "m2"), 600)
	s.world.SetReady("m1", false)
	var ordered time.Time
	var accepted *answer
	s.at(4*time.Minute, func() {
		require.Empty(t, s.world.Log(""))
		s.bind("came", []string{"m1"}, "m1", "m3")
		s.setMode(rules.ModeEnforce)
		ordered, accepted = s.env.Now(), s.resumeEnforcing()
	})
	s.at(12*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.True(t, accepted.done)
	require.NoError(t, accepted.err)
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Len(t, r.Attempts, 2)
	first := map[string]phase.Outcome{}
	for _, x := range r.Attempts[0].Results {
		first[x.Key.Name] = x.Outcome
	}
	require.Equal(t, map[string]phase.Outcome{"app": "WouldMove", "stuck": "WouldBlock", "patient": "Abandoned"}, first)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "came": "Migrated", "stuck": "Abandoned", "patient": "Abandoned"}, outcomes(r))
	taints := s.world.Log("taint")
	require.False(t, taints[0].At.Before(ordered))
	for _, w := range s.world.Log("evict") {
		require.False(t, w.At.Before(taints[0].At), "the taints stand before the first eviction")
		require.NotEqual(t, "shop/patient", w.Binding, "its toleration runs from when the taint was really put")
	}
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.15-10, R4.15-14.
func TestAnOrderToEnforceIsRefusedWhereItCannotBeObeyed(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	var observing *answer
	s.at(3*time.Minute, func() { observing = s.resumeEnforcing() })
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.ErrorContains(t, observing.err, "the worker's own config says observe for m1")
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "WouldMove"}, outcomes(r))
	require.Empty(t, s.world.Log(""))

	s = newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	var enforcing *answer
	s.at(2*time.Minute, func() { enforcing = s.resumeEnforcing() })
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	r = s.play()
	require.ErrorContains(t, enforcing.err, "enforces already")
	require.Len(t, r.Attempts, 1)
}
