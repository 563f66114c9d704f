package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// orderOne gives an order about one binding through m1's failover.
func (s *story) orderOne(verb string, key karmada.BindingKey, putBack bool) *answer {
	s.t.Helper()
	o := workflows.BindingOrder{Binding: key}
	o.Who, o.Reason, o.PutBack = "jane", "a drill", putBack
	return s.update(workflows.ClusterFailoverID("", "m1"), verb, verb+"|"+key.String(), o)
}

// must is orderOne for an order that has to be accepted.
func (s *story) must(verb string, key karmada.BindingKey, putBack bool) {
	s.accepted = append(s.accepted, s.orderOne(verb, key, putBack))
}

// refuses is orderOne for a put-back that its migration refuses: whoever ordered it is told why.
func (s *story) refuses(at time.Duration, key karmada.BindingKey, why string) {
	var ordered *answer
	s.at(at, func() { ordered = s.orderOne(workflows.UpdatePutBack, key, false) })
	s.at(at+11*time.Second, func() { require.ErrorContains(s.t, ordered.err, "put-back refused: "+why) })
}

// A release of what waits for a fence is refused, and whoever ordered it is told, though the
// migration needs attention for that reason already. The refusal answers no later order.
//
// Rules: R4.9-57.
func TestRelease_WaitsForAFence_IsRefusedAndAnswersItsOrderAlone(t *testing.T) {
	s, key := direct(t)
	s.world.DeleteAfter = 30 * time.Minute
	s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
	var released, putBack *answer
	s.at(5*time.Minute, func() { released = s.orderOne(workflows.UpdateRelease, key, false) })
	s.at(5*time.Minute+11*time.Second, func() {
		require.ErrorContains(t, released.err, "release refused: purge mode Directly")
		putBack = s.orderOne(workflows.UpdatePutBack, key, false)
	})
	s.at(5*time.Minute+30*time.Second, func() {
		require.ErrorContains(t, putBack.err, "put-back refused")
		s.world.DropTaint("m1", maintenance)
	})
	s.at(8*time.Minute, func() { s.world.DeleteAfter = 0 })
	s.play()
}

// orderChild gives an order to the migration itself.
func (s *story) orderChild(verb string, key karmada.BindingKey, putBack bool) *answer {
	s.t.Helper()
	o := workflows.CancelOrder{PutBack: putBack}
	o.Who, o.Reason = "jane", "a drill"
	return s.update(workflows.BindingMigrationID("", "m1", key), verb, "child|"+verb, o)
}

// resultOf is what became of binding app in the last attempt.
func resultOf(t *testing.T, r workflows.FailoverReport) record.Result {
	t.Helper()
	for _, x := range r.Attempts[len(r.Attempts)-1].Results {
		if x.Key.Name == "app" {
			return x
		}
	}
	t.Fatalf("no result: %+v", r.Attempts)
	return record.Result{}
}

// slowHealth is a story in which the new copy takes its time: what is placed waits.
func slowHealth(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s := newStory(t)
	s.world.HealthyAfter = 20 * time.Minute
	return s, s.bind("app", []string{"m1"}, "m1", "m2")
}

// Rules: R4.4-13, R4.9-32.
func TestOneQueuedBindingIsCancelledOrSkippedAndNeverMoves(t *testing.T) {
	for verb, want := range map[string]phase.Outcome{
		workflows.UpdateCancel: phase.OutcomeAbandoned, workflows.UpdateSkip: phase.OutcomeSkipped,
	} {
		t.Run(verb, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			seconds := int64(120)
			s.world.Change(key, func(b *karmada.Binding) {
				b.Placement.ClusterTolerations = []corev1.Toleration{{
					Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
				}}
			})
			s.world.SetReady("m1", false)
			s.at(addAfter+30*time.Second, func() { s.must(verb, key, false) })
			s.at(15*time.Minute, func() { s.world.SetReady("m1", true) })
			r := s.play()
			got := resultOf(t, r)
			require.Equal(t, want, got.Outcome)
			require.Contains(t, got.Cause, "jane: a drill", "who and why are on record")
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// Rules: R4.9-33.
func TestOneUnplacedBindingIsRestoredByACancelThroughItsFailover(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateCancel, key, false) })
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeRestored, got.Outcome)
	require.Contains(t, got.Cause, "cancelled by jane")
	require.Len(t, s.world.Log("evict"), 1, "it is not moved again in that attempt")
	require.Less(t, s.world.Log("restore")[0].At.Sub(storyBegins), 10*time.Minute, "a human's word does not wait for the cluster")
}

// Rules: R4.9-34.
func TestOnePlacedBindingIsLeftToTheHumanWhoCancels(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateCancel, key, false) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.OutcomeNeedsOperator, resultOf(t, r).Outcome)
	b := s.world.Peek(key)
	require.Len(t, b.Tasks, 1, "both copies stay")
	require.Equal(t, karmada.TaskReasonNeedsOperator, b.Tasks[0].Reason)
	require.Equal(t, "m2", b.Clusters[0].Name)
}

// Rules: R4.9-29, R4.9-35.
func TestACancelWithPutBackReturnsWhatIsPlacedInOneWrite(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() { s.must(workflows.UpdateCancel, key, true) })
	r := s.play()
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeRestored, got.Outcome)
	require.Equal(t, reason.PutBackOrdered, got.Reason)
	require.Len(t, s.world.Log("restore"), 1)
	require.Empty(t, s.world.Log("release"))
	b := s.world.Peek(key)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, b.Clusters, "the new copy goes, the old one runs on")
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-30.
func TestAPutBackOntoAClusterThatCannotTakeItIsRefused(t *testing.T) {
	for name, arrange := range map[string]func(*story){
		"the cluster is not Ready": func(*story) {},
		"its old copy is gone": func(s *story) {
			s.world.SetReady("m1", true)
			s.world.DropWork("karmada-es-m1", "shop-app")
		},
		"another hand's taint stands": func(s *story) {
			s.world.SetReady("m1", true)
			s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
		},
		"Lifeboat's taint stands, and this act does not take it away": func(s *story) {
			s.world.SetReady("m1", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := slowHealth(t)
			s.world.SetReady("m1", false)
			s.at(3*time.Minute, func() {
				arrange(s)
				s.must(workflows.UpdateCancel, key, true)
			})
			s.at(4*time.Minute, func() { s.world.SetReady("m1", true); s.world.DropTaint("m1", "maintenance") })
			r := s.play()
			got := resultOf(t, r)
			require.Equal(t, phase.OutcomeNeedsOperator, got.Outcome, "both copies stay")
			require.Contains(t, got.Message, "put-back refused")
			require.Empty(t, s.world.Log("restore"))
			require.Equal(t, "m2", s.world.Peek(key).Clusters[0].Name)
		})
	}
}

// Rules: R4.9-31.
func TestAPutBackOfAPlacedDirectlyIsAlwaysRefused(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		s.world.SetReady("m1", true)
		s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly })
	})
	s.refuses(5*time.Minute, key, "purge mode Directly, and it is placed")
	r := s.play()
	require.Empty(t, s.world.Log("restore"))
	require.Equal(t, phase.OutcomeMigrated, resultOf(t, r).Outcome, "a put-back that was refused changes nothing")
}

func TestAHumansReleaseDropsTheHoldBeforeHealthIsProven(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateRelease, key, false) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Contains(t, got.Cause, "released by jane")
	require.Less(t, s.world.Log("release")[0].At.Sub(storyBegins), 5*time.Minute)
}

func TestAHumansReleaseNeverTakesTheLastCopy(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateRelease, key, false) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Empty(t, s.world.Log("release"), "without a target the held copy is the last one")
	require.Equal(t, phase.OutcomeRestored, resultOf(t, r).Outcome)
}

func TestOrdersAboutOneBindingThatMakeNoSenseAreRefused(t *testing.T) {
	s, key := slowHealth(t)
	waits := s.bind("waits", []string{"m1"}, "m1")
	s.world.SetReady("m1", false)
	refusals := map[string]*answer{}
	s.at(3*time.Minute, func() {
		refusals["nothing to cancel"] = s.orderOne(workflows.UpdateCancel, karmada.BindingKey{Namespace: "shop", Name: "other"}, false)
		refusals["its move has begun"] = s.orderOne(workflows.UpdateSkip, key, false)
		refusals["nothing of Lifeboat's stands"] = s.orderOne(workflows.UpdatePutBack, waits, false)
		refusals[`"binding": missing`] = s.orderOne(workflows.UpdateRelease, karmada.BindingKey{}, false)
	})
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	for why, a := range refusals {
		require.ErrorContains(t, a.err, why)
	}
}

// quiet keeps m1's failover open without anything that speaks against m1: a second
// rule's window runs.
func quiet(s *story, until time.Duration) {
	s.world.AddRule(rules.Rule{
		Name: "network",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: "NetworkReady", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []karmada.RuleTaint{{Key: "net", Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Hour, RemoveOnMismatch: time.Second}},
	})
	condition := func(status corev1.ConditionStatus) {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Conditions = append(c.Conditions[:1:1], karmada.Condition{Type: "NetworkReady", Status: status, LastTransition: s.env.Now()})
		})
	}
	condition(corev1.ConditionFalse)
	s.at(until, func() { condition(corev1.ConditionTrue) })
}

// leftBehind is a binding on m2 whose copy on m1 was kept, or left to a human, by a
// failover that has closed.
func leftBehind(s *story, reason string) karmada.BindingKey {
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	hold, replicas := true, int32(2)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}}
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Replicas: &replicas, Reason: reason, Producer: karmada.Producer, SuppressDeletion: &hold,
			Message: "ended", ClustersBeforeFailover: []string{"m1"},
		}}
	})
	return key
}

// Rules: R4.9-49.
func TestTasksLeftBehindAreOffLimitsUnlessNamed(t *testing.T) {
	for _, reason := range []string{karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator} {
		for verb, want := range map[string]struct {
			op, on string
			end    phase.Outcome
		}{
			"":                      {on: "m2"},
			workflows.UpdatePutBack: {op: "restore", on: "m1", end: phase.OutcomeRestored},
			workflows.UpdateRelease: {op: "release", on: "m2", end: phase.OutcomeMigrated},
		} {
			t.Run(reason+"/"+verb, func(t *testing.T) {
				s := newStory(t)
				key := leftBehind(s, reason)
				quiet(s, 5*time.Minute)
				if verb != "" {
					s.at(10*time.Second, func() { s.must(verb, key, false) })
				}
				r := s.play()
				b := s.world.Peek(key)
				require.Equal(t, want.on, b.Clusters[0].Name)
				if verb == "" {
					require.Len(t, b.Tasks, 1)
					require.Empty(t, s.world.Log(""))
					return
				}
				require.Empty(t, b.Tasks)
				require.Equal(t, []string{want.op}, ops(s))
				require.Equal(t, want.end, resultOf(t, r).Outcome)
			})
		}
	}
}

func TestANamedPutBackThatIsRefusedLeavesTheTaskToTheHuman(t *testing.T) {
	s := newStory(t)
	key := leftBehind(s, karmada.TaskReasonNeedsOperator)
	quiet(s, 5*time.Minute)
	s.world.DropWork("karmada-es-m1", "shop-app")
	s.refuses(10*time.Second, key, "its old copy on m1 is gone")
	r := s.play()
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeNeedsOperator, got.Outcome)
	require.Contains(t, got.Message, "put-back refused")
	require.Len(t, s.world.Peek(key).Tasks, 1)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.9-35, R4.9-37.
func TestACancelledFailoverWithPutBackReturnsWhatIsPlaced(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		// The rule still matches: the window ran on another word than Ready would be now.
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionTrue })
		s.must(workflows.UpdateCancel, karmada.BindingKey{}, true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverCancelled, r.Ended)
	require.Equal(t, phase.OutcomeRestored, resultOf(t, r).Outcome)
	require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
	require.Empty(t, s.world.Leftovers())
}

func TestTheMigrationItselfTakesTheSameOrders(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	var late *answer
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() { s.accepted = append(s.accepted, s.orderChild(workflows.UpdatePutBack, key, false)) })
	s.at(2*time.Minute, func() {
		late = s.update(workflows.BindingMigrationID("", "m1", key), workflows.UpdateRelease, "nobody", workflows.Order{Reason: "x"})
	})
	r := s.play()
	require.ErrorContains(t, late.err, `"who"`)
	require.Equal(t, reason.PutBackOrdered, resultOf(t, r).Reason)
}

// Seen: a put-back of a binding whose old copy was released was accepted, and did nothing.
//
// Rules: R4.9-36.
func TestWhatWasReleasedIsNotOrderedBackAndTheOrderSaysSo(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	var back, release *answer
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		back = s.orderOne(workflows.UpdatePutBack, key, false)
		release = s.orderOne(workflows.UpdateRelease, key, false)
	})
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	for _, a := range []*answer{back, release} {
		require.True(t, a.done)
		require.ErrorContains(t, a.err, "released already: what was released does not come back")
	}
}

// What was refused stays beside what the migration waits for since.
//
// Rules: R4.7-54.
func TestPutBack_Refused_StaysVisible(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.refuses(3*time.Minute, key, "m1 is not Ready")
	s.at(4*time.Minute, func() {
		m := s.status().Moves[key.String()]
		require.Equal(t, phase.MigrationAwaitingHealth, m.Phase)
		require.Contains(t, m.Message, "put-back refused")
		require.Contains(t, m.Message, "; now: ")
		require.NotEmpty(t, m.Attention)
		require.Contains(t, s.pageOf(workflows.BindingMigrationID("", "m1", key)), "put-back refused")
	})
	s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
}
