package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const (
	softKey      = "failover.example.org/slow"
	networkReady = "NetworkReady"
)

// softRule puts a soft taint while the network of a cluster is not ready.
func (s *story) softRule(add, remove time.Duration) {
	s.world.AddRule(whileFalse("network", networkReady, karmada.RuleTaint{Key: softKey, Effect: karmada.EffectPreferNoExecute, AddOnMatch: add, RemoveOnMismatch: remove}))
}

func (s *story) network(status corev1.ConditionStatus) {
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Conditions = slices.DeleteFunc(c.Conditions, func(x karmada.Condition) bool { return x.Type == networkReady })
		c.Conditions = append(c.Conditions, karmada.Condition{Type: networkReady, Status: status})
	})
}

// bindSoftly adds a binding that soft taints move after so many seconds, as its annotation says.
func (s *story) bindSoftly(name, seconds string) karmada.BindingKey {
	key := s.bind(name, []string{"m1"}, "m1", "m2", "m3")
	s.world.Change(key, func(b *karmada.Binding) {
		b.HasClusterFailover = true
		b.Annotations = map[string]string{}
		if seconds != "" {
			b.Annotations[karmada.AnnotationTolerationSeconds] = seconds
		}
	})
	return key
}

func (s *story) evictedAt(name string) time.Duration {
	s.t.Helper()
	for _, w := range s.world.Log("evict") {
		if w.Binding == "shop/"+name {
			return w.At.Sub(storyBegins)
		}
	}
	s.t.Fatalf("%s was never evicted", name)
	return 0
}

// Rules: R4.2-3, R4.2-4, R4.2-5, R4.2-6, R4.3-11, R4.3-12.
func TestASoftTaintMovesOnlyWhatAskedForFailoverAndOffALivingCluster(t *testing.T) {
	s := newStory(t)
	s.softRule(addAfter, wellFor)
	s.bindSoftly("own", "60")
	viaPolicy := s.bindSoftly("policy", "")
	s.world.SetPolicyAnnotation(viaPolicy, karmada.AnnotationTolerationSeconds, "120")
	s.bindSoftly("silent", "")
	s.bind("plain", []string{"m1"}, "m1", "m2")
	s.network(corev1.ConditionFalse)
	s.at(addAfter+2*time.Second, func() {
		c := s.world.PeekCluster("m1")
		_, soft := karmada.Triggering(c.Taints)
		require.Len(t, soft, 1)
		require.True(t, slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Key == karmada.EvacuatingTaintKey }))
		require.Empty(t, s.world.Log("evict"), "the evacuation taint stands before the first eviction")
	})
	s.at(14*time.Minute, func() { s.network(corev1.ConditionTrue) })
	require.Equal(t, map[string]phase.Outcome{"own": "Migrated", "policy": "Migrated", "silent": "Migrated"}, outcomes(s.play()),
		"what has no spec.failover.cluster is not affected and owes no outcome")
	tainted := s.world.Log("taint")[0].At.Sub(storyBegins)
	require.GreaterOrEqual(t, tainted, addAfter)
	require.GreaterOrEqual(t, s.evictedAt("own"), tainted+60*time.Second)
	require.GreaterOrEqual(t, s.evictedAt("policy"), tainted+120*time.Second)
	require.GreaterOrEqual(t, s.evictedAt("silent"), tainted+300*time.Second)
	for _, w := range s.world.Log("release") {
		evicted := slices.IndexFunc(s.world.Writes, func(x world.Write) bool { return x.Op == "evict" && x.Binding == w.Binding })
		require.GreaterOrEqual(t, w.At.Sub(s.world.Writes[evicted].At), s.settings.Terms.Detection,
			"the old copy lives: health must outlast detection")
	}
	require.Empty(t, s.world.PeekCluster("m1").Taints)
}

// Rules: R4.1-14, R4.3-17.
func TestAnOperatorsSoftTaintTriggersWithoutAWindowAndItsRemovalAbandons(t *testing.T) {
	s := newStory(t)
	s.bindSoftly("quick", "30")
	s.bindSoftly("slow", "3600")
	s.taintedUntil(8*time.Minute, karmada.EffectPreferNoExecute)
	require.Equal(t, map[string]phase.Outcome{"quick": "Migrated", "slow": "Abandoned"}, outcomes(s.play()))
	require.GreaterOrEqual(t, s.evictedAt("quick"), 30*time.Second)
}

// Rules: R4.3-14, R4.2-6, R4.1-25.
func TestOfBothKindsTheEarlierMovesAndTheEvacuationTaintOutlastsTheFirstToGo(t *testing.T) {
	s := newStory(t)
	s.softRule(10*time.Second, wellFor)
	s.bindSoftly("both", "20")
	s.bind("hard", []string{"m1"}, "m1", "m2")
	s.network(corev1.ConditionFalse)
	s.at(time.Second, func() { s.world.SetReady("m1", false) })
	s.at(5*time.Minute, func() { s.network(corev1.ConditionTrue) })
	s.at(7*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		hard, soft := karmada.Triggering(c.Taints)
		require.Len(t, hard, 1)
		require.Empty(t, soft, "each taint follows its own rule")
		require.True(t, slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Key == karmada.EvacuatingTaintKey }))
	})
	s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"both": "Migrated", "hard": "Migrated"}, outcomes(r))
	require.Less(t, s.evictedAt("both"), s.evictedAt("hard"), "its soft taint made it due first")
	require.GreaterOrEqual(t, s.evictedAt("hard"), addAfter)
}

// What an attempt has frozen of a binding it keeps, soft tolerations included.
//
// Rules: R4.3-15.
func TestHowLongASoftTaintIsBorneIsFrozenForTheAttempt(t *testing.T) {
	s := newStory(t)
	key := s.bindSoftly("app", "")
	s.world.SetPolicyAnnotation(key, karmada.AnnotationTolerationSeconds, "240")
	s.taintedUntil(10*time.Minute, karmada.EffectPreferNoExecute)
	s.at(time.Minute, func() { s.world.SetPolicyAnnotation(key, karmada.AnnotationTolerationSeconds, "1") })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.GreaterOrEqual(t, s.evictedAt("app"), 240*time.Second)
}

// Rules: R4.3-12, R4.3-21.
func TestABindingThatCannotSayHowLongItBearsASoftTaintIsBlockedAndMovedByAHardOne(t *testing.T) {
	s := newStory(t)
	s.bindSoftly("odd", "five minutes")
	s.bindSoftly("fine", "10")
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: karmada.EffectPreferNoExecute})
	s.at(7*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 1, "only the one that says")
		s.world.PutTaint("m1", corev1.Taint{Key: "hard", Effect: corev1.TaintEffectNoExecute})
	})
	s.at(12*time.Minute, func() { s.world.DropTaint("m1", "hard"); s.world.DropTaint("m1", maintenance) })
	require.Equal(t, map[string]phase.Outcome{"odd": "Migrated", "fine": "Migrated"}, outcomes(s.play()))
	require.GreaterOrEqual(t, s.evictedAt("odd"), 7*time.Minute)
}

// A list of soft taints that somebody garbled costs soft taints alone: the failure
// of the cluster is found and its hard taint put all the same.
//
// Rules: R4.2-9.
func TestGarbledSoftTaintsKeepNoFailureFromBeingFound(t *testing.T) {
	s, _ := failing(t)
	s.softRule(time.Second, time.Second)
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.SoftMalformed, c.SoftUnreadable = "soft-taints: not a list", true
	})
	s.network(corev1.ConditionFalse)
	s.at(5*time.Minute, func() {
		_, soft := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Empty(t, soft, "nothing is written where it would overwrite")
		s.world.SetReady("m1", true)
		s.network(corev1.ConditionTrue)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// Another rule that has just begun to match is no reason to keep the taint of one
// that is well; its own window goes on, in an attempt of its own.
//
// Rules: R4.1-17, R4.1-25.
func TestARuleThatOnlyBeganToMatchHoldsUpNoRecovery(t *testing.T) {
	s := newStory(t)
	const long = 10 * time.Minute
	s.softRule(long, wellFor)
	s.bindSoftly("app", "3600")
	s.outage(4 * time.Minute)
	s.at(3*time.Minute, func() { s.network(corev1.ConditionFalse) })
	s.at(7*time.Minute, func() { require.Empty(t, s.world.PeekCluster("m1").Taints, "the first failure is over and cleaned up") })
	s.at(20*time.Minute, func() { s.network(corev1.ConditionTrue) })
	r := s.play()
	require.Len(t, r.Attempts, 2)
	require.Equal(t, phase.OutcomeMigrated, r.Attempts[0].Results[0].Outcome)
	at := slices.IndexFunc(s.world.Log("taint"), func(w world.Write) bool { return w.At.Sub(storyBegins) > 8*time.Minute })
	require.GreaterOrEqual(t, at, 0)
	again := s.world.Log("taint")[at].At.Sub(storyBegins)
	require.GreaterOrEqual(t, again, 3*time.Minute+long, "its window is not cut short")
	require.Less(t, again, 3*time.Minute+long+30*time.Second, "nor restarted by the new attempt")
}

// queued is how the binding app stands in the queue of m1's failover.
func (s *story) queued() (queue.Item, bool) {
	s.t.Helper()
	status := s.status()
	at := slices.IndexFunc(status.Items, func(i queue.Item) bool { return i.Key.Name == "app" })
	if at < 0 {
		return queue.Item{}, false
	}
	return status.Items[at], true
}

// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackAfterAReleaseIsNotEvictedAgainInThatAttempt(t *testing.T) {
	for kind, effect := range map[string]corev1.TaintEffect{"hard": corev1.TaintEffectNoExecute, "soft": karmada.EffectPreferNoExecute} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t)
			key := s.bindSoftly("app", "1")
			s.taintedUntil(10*time.Minute, effect)
			s.at(5*time.Minute, func() {
				require.Len(t, s.world.Log("release"), 1)
				s.returns(key, "m1")
			})
			s.at(10*time.Minute-time.Second, func() { s.blocked(reason.SchedulerReturnsIt) })
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()), "one outcome, and it stays")
			require.Len(t, s.world.Log("evict"), 1)
		})
	}
}

// The answer of the release is lost, and before the next try the scheduler puts the cluster
// back: that is a return as any other, and no restore.
//
// Rules: R4.2-7.
func TestWhatComesBackBeforeTheReleaseIsHeardOfIsNotEvictedAgainInThatAttempt(t *testing.T) {
	s := newStory(t)
	key := s.bindSoftly("app", "1")
	s.maintained(10 * time.Minute)
	s.world.Lost = func(op, _ string) bool {
		if op == "release" {
			s.at(time.Millisecond, func() { s.returns(key, "m1") })
		}
		return op == "release"
	}
	s.play()
	require.Len(t, s.world.Log("release"), 1)
	require.Len(t, s.world.Log("evict"), 1)
	got := s.appResult()
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Equal(t, reason.SchedulerReturnsIt, got.Reason)
}

// A soft taint that comes in mid-attempt makes the one thing read that was not read
// of the bindings at its beginning.
//
// Rules: R4.3-12, R4.3-16.
func TestASoftTaintThatComesLaterMovesWhatBearsTheHardOne(t *testing.T) {
	s := newStory(t)
	key := s.bindSoftly("app", "")
	s.world.SetPolicyAnnotation(key, karmada.AnnotationTolerationSeconds, "60")
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	})
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: karmada.EffectPreferNoExecute})
	})
	s.at(8*time.Minute, func() { s.world.DropTaint("m1", maintenance); s.world.SetReady("m1", true) })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.GreaterOrEqual(t, s.evictedAt("app"), 4*time.Minute)
}

// Observe reckons with a soft taint from when it would have been put, and writes nothing.
//
// Rules: R4.3-12.
func TestObserveReckonsWithSoftTaints(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.softRule(addAfter, wellFor)
	s.bindSoftly("app", "60")
	s.bind("plain", []string{"m1"}, "m1", "m2")
	s.network(corev1.ConditionFalse)
	s.at(10*time.Minute, func() { s.network(corev1.ConditionTrue) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeWouldMove}, outcomes(r))
	require.GreaterOrEqual(t, r.Attempts[0].Results[0].At.Sub(storyBegins), addAfter+60*time.Second)
	require.Empty(t, s.world.Log(""))
}

// Somebody garbled the list in which Lifeboat's soft taint stands: it cannot be taken away,
// and a cancelled failover does not close before it is.
//
// Rules: R4.9-9, R4.9-37, R4.9-38.
func TestACancelWaitsForASoftTaintThatCannotBeTakenAwayYet(t *testing.T) {
	s := newStory(t)
	s.softRule(time.Second, time.Second)
	s.bindSoftly("slow", "3600")
	s.network(corev1.ConditionFalse)
	var own corev1.Taint
	s.at(2*time.Minute, func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			_, soft := karmada.Triggering(c.Taints)
			require.Len(t, soft, 1)
			own = soft[0]
			c.Taints = slices.DeleteFunc(c.Taints, func(x corev1.Taint) bool { return x.Key == softKey })
			c.SoftMalformed, c.SoftUnreadable = "soft-taints: not a list", true
		})
		s.order(workflows.UpdateCancel, "a drill")
	})
	s.at(3*time.Minute, func() { s.network(corev1.ConditionTrue) })
	const mended = 20 * time.Minute
	s.at(mended, func() {
		c := s.world.PeekCluster("m1")
		require.Len(t, c.Added, 1, "the evacuation taint has gone, Lifeboat's record of the soft taint has not")
		require.NotNil(t, c.Stopped)
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Taints, c.SoftMalformed, c.SoftUnreadable = append(c.Taints, own), "", false
		})
	})
	r := s.playTo(phase.FailoverCancelled)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), mended)
	require.Less(t, len(s.world.Log("taint")), 8, "who stopped it is written once")
	require.Empty(t, s.world.PeekCluster("m1").Taints)
}

// An operator's taint stands on, and the cluster is opted out: nothing follows from it
// any more, and the failover ends with everything of Lifeboat's gone.
//
// Rules: R4.3-2, R4.9-9.
func TestAnOptOutEndsAFailoverBesideAnOperatorsTaint(t *testing.T) {
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoExecute, karmada.EffectPreferNoExecute} {
		t.Run(string(effect), func(t *testing.T) {
			s := newStory(t)
			s.bindSoftly("app", "10")
			s.taintedUntil(30*time.Minute, effect)
			s.at(5*time.Minute, func() {
				s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Annotations[karmada.AnnotationEnabled] = "false" })
			})
			r := s.play()
			require.Less(t, r.Until.Sub(storyBegins), 30*time.Minute)
			require.Len(t, r.Attempts, 1)
		})
	}
}

// An adopted binding that the scheduler has put back under a soft taint alone: whether that
// taint moves it, and when, is its own policy's word, which the run before took with it.
//
// Rules: R4.2-3, R4.7-18, R4.9-48.
func TestAnAdoptedBindingUnderASoftTaintAloneIsRemovedAgainByItsOwnPolicy(t *testing.T) {
	for name, seconds := range map[string]string{"its annotation": "40", "its policy's": ""} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bindSoftly("app", seconds)
			s.world.SetPolicyAnnotation(key, karmada.AnnotationTolerationSeconds, "70")
			s.held(key)
			s.taintedUntil(12*time.Minute, karmada.EffectPreferNoExecute)
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
			least := 70 * time.Second
			if seconds != "" {
				least = 40 * time.Second
			}
			require.GreaterOrEqual(t, s.evictedAt("app"), least)
			require.Less(t, s.evictedAt("app"), 12*time.Minute)
			require.NotEqual(t, "m1", s.world.Peek(key).Clusters[0].Name)
		})
	}
}
