package workflows_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
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
	s.accept(s.orderOne(verb, key, putBack))
}

// refuses is orderOne for a put-back that its migration refuses: the operator gets the reason, and soon.
func (s *story) refuses(at time.Duration, key karmada.BindingKey, why string) {
	var ordered *answer
	s.at(at, func() { ordered = s.orderOne(workflows.UpdatePutBack, key, false) })
	s.at(at+11*time.Second, func() { require.ErrorContains(s.t, ordered.err, "put-back refused: "+why) })
}

// A release of what waits for a fence is refused, and who ordered it is told, though the
// migration needs attention for that reason already. The refusal answers no later order.
//
// Rules: R4.9-57.
func TestRelease_WaitsForAFence_IsRefusedAndAnswersItsOrderAlone(t *testing.T) {
	s, key := direct(t)
	s.world.DeleteAfter = 30 * time.Minute
	s.maintain()
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
	return s.update(s.migration(key), verb, "child|"+verb+s.env.Now().String(), o)
}

// resultOf is what became of binding app in the last attempt.
func resultOf(t *testing.T, r workflows.FailoverReport) record.Result {
	t.Helper()
	results := r.Attempts[len(r.Attempts)-1].Results
	at := slices.IndexFunc(results, func(x record.Result) bool { return x.Key.Name == "app" })
	require.GreaterOrEqual(t, at, 0, "%+v", r.Attempts)
	return results[at]
}

// slowHealth is withApp in which the new copy takes its time: what is placed waits.
func slowHealth(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := withApp(t)
	s.world.HealthyAfter = 20 * time.Minute
	return s, key
}

// Rules: R4.4-13, R4.9-32.
func TestOneQueuedBindingIsCancelledOrSkippedAndNeverMoves(t *testing.T) {
	for verb, want := range map[string]phase.Outcome{
		workflows.UpdateCancel: phase.OutcomeAbandoned, workflows.UpdateSkip: phase.OutcomeSkipped,
	} {
		t.Run(verb, func(t *testing.T) {
			s, key := outage(t, 15*time.Minute)
			s.tolerates(key, 120)
			s.at(addAfter+30*time.Second, func() { s.must(verb, key, false) })
			got := s.playApp()
			require.Equal(t, want, got.Outcome)
			require.Contains(t, got.Cause, "jane: a drill", "who and why are on record")
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// An operator's word does not wait for the cluster, and stands for the attempt, though something fits by then.
//
// Rules: R4.9-33.
func TestABindingWhoseMoveWasCancelledIsRestoredAndNotMovedAgainInThatAttempt(t *testing.T) {
	for name, order := range map[string]func(*story, karmada.BindingKey){
		"through its failover": func(s *story, key karmada.BindingKey) { s.must(workflows.UpdateCancel, key, false) },
		"its migration itself": func(s *story, key karmada.BindingKey) { s.accept(s.orderChild(workflows.UpdateCancel, key, false)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := unplaceable(s)
			s.outage(10 * time.Minute)
			s.at(3*time.Minute, func() { order(s, key) })
			s.at(3*time.Minute+time.Second, func() { s.world.DropTaint("m2", "cordon") })
			got := s.playApp()
			require.Equal(t, phase.OutcomeRestored, got.Outcome)
			require.Contains(t, got.Cause, "cancelled by jane")
			require.Len(t, s.world.Log("evict"), 1)
			require.Less(t, s.world.Log("restore")[0].At.Sub(storyBegins), 10*time.Minute)
		})
	}
}

// The migration itself takes the same orders as its failover does for it.
//
// Rules: R4.9-29, R4.9-35.
func TestAPutBackReturnsWhatIsPlacedInOneWrite(t *testing.T) {
	for name, order := range map[string]func(*story, karmada.BindingKey){
		"a cancel with put-back":           func(s *story, key karmada.BindingKey) { s.must(workflows.UpdateCancel, key, true) },
		"a put-back, of its migration":     func(s *story, key karmada.BindingKey) { s.accept(s.orderChild(workflows.UpdatePutBack, key, false)) },
		"a put-back, through its failover": func(s *story, key karmada.BindingKey) { s.must(workflows.UpdatePutBack, key, false) },
	} {
		t.Run(name, func(t *testing.T) {
			s, key := slowHealth(t)
			s.outage(3 * time.Minute)
			s.at(5*time.Minute, func() {
				nobody := workflows.Order{Reason: "x"}
				s.refuse(`"who"`, s.update(s.migration(key), workflows.UpdateRelease, "nobody", nobody))
				order(s, key)
			})
			got := s.playApp()
			require.Equal(t, phase.OutcomeRestored, got.Outcome)
			require.Equal(t, reason.PutBackOrdered, got.Reason)
			require.Len(t, s.world.Log("restore"), 1)
			require.Empty(t, s.world.Log("release"))
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, s.world.Peek(key).Clusters, "the new copy goes, the old one runs on")
		})
	}
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
			s.maintain()
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
			s.at(4*time.Minute, func() { s.world.SetReady("m1", true); s.world.DropTaint("m1", maintenance) })
			got := s.playApp()
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
	s.play()
	require.Empty(t, s.world.Log("restore"))
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome, "a put-back that was refused changes nothing")
}

func TestAnOperatorsReleaseDropsTheHoldBeforeHealthIsProven(t *testing.T) {
	s, key := slowHealth(t)
	s.outage(5 * time.Minute)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateRelease, key, false) })
	got := s.playApp()
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Contains(t, got.Cause, "released by jane")
	require.Less(t, s.world.Log("release")[0].At.Sub(storyBegins), 5*time.Minute)
}

func TestAnOperatorsReleaseNeverTakesTheLastCopy(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.outage(5 * time.Minute)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateRelease, key, false) })
	s.play()
	require.Empty(t, s.world.Log("release"), "without a target the held copy is the last one")
	require.Equal(t, phase.OutcomeRestored, s.appResult().Outcome)
}

func TestOrdersAboutOneBindingThatMakeNoSenseAreRefused(t *testing.T) {
	s, key := slowHealth(t)
	waits := s.bind("waits", []string{"m1"}, "m1")
	s.outage(5 * time.Minute)
	s.at(3*time.Minute, func() {
		s.refuse("nothing to cancel", s.orderOne(workflows.UpdateCancel, karmada.BindingKey{Namespace: "shop", Name: "other"}, false))
		s.refuse("its move has begun", s.orderOne(workflows.UpdateSkip, key, false))
		s.refuse("nothing of Lifeboat's stands", s.orderOne(workflows.UpdatePutBack, waits, false))
		s.refuse(`"binding": missing`, s.orderOne(workflows.UpdateRelease, karmada.BindingKey{}, false))
	})
	s.play()
}

// quiet keeps m1's failover open without anything that speaks against m1: a second
// rule's window runs.
func quiet(s *story, until time.Duration) {
	s.world.AddRule(whileFalse("network", networkReady, karmada.RuleTaint{Key: "net", Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Hour, RemoveOnMismatch: time.Second}))
	s.network(corev1.ConditionFalse)
	s.at(until, func() { s.network(corev1.ConditionTrue) })
}

// leftBehind is a binding on m2 whose copy on m1 was kept, or left to an operator, by a
// failover that has closed.
func leftBehind(s *story, reason string) karmada.BindingKey {
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.held(key, func(x *karmada.Task) { x.Reason, x.Message = reason, "ended" })
	s.returns(key, "m2")
	return key
}

// Both copies were kept, and an operator decides: a later failure of the same cluster finds nothing to move, and no
// run adopts what is off limits.
//
// Rules: R4.9-49.
func TestTasksLeftBehindAreOffLimitsUnlessNamed(t *testing.T) {
	for _, reason := range []string{karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator} {
		t.Run(reason, func(t *testing.T) {
			s := newStory(t)
			key := leftBehind(s, reason)
			s.outage(5 * time.Minute)
			require.Empty(t, outcomes(s.play()))
			require.Equal(t, []string{"taint", "taint"}, ops(s))
			require.Len(t, s.world.Peek(key).Tasks, 1)
			require.Equal(t, "m2", s.world.Peek(key).Clusters[0].Name)
		})
		for verb, want := range map[string]struct {
			op, on string
			end    phase.Outcome
		}{
			workflows.UpdatePutBack: {op: "restore", on: "m1", end: phase.OutcomeRestored},
			workflows.UpdateRelease: {op: "release", on: "m2", end: phase.OutcomeMigrated},
		} {
			t.Run(reason+"/"+verb, func(t *testing.T) {
				s := newStory(t)
				key := leftBehind(s, reason)
				quiet(s, 5*time.Minute)
				s.at(10*time.Second, func() { s.must(verb, key, false) })
				require.Equal(t, want.end, s.playApp().Outcome)
				require.Equal(t, want.on, s.world.Peek(key).Clusters[0].Name)
				require.Empty(t, s.world.Peek(key).Tasks)
				require.Equal(t, []string{want.op}, ops(s))
			})
		}
	}
}

// A ConfigMap without a placement, left to the operator with its workload, never has a target. A recovery restores what is not
// placed, and this migration learns of one at its start.
//
// Rules: R4.10-3, R4.9-49.
func TestRelease_DependentLeftToAnOperator_EndsItsHoldAfterThatOfItsParent(t *testing.T) {
	s := newStory(t)
	app := s.bind("app", []string{"m1"}, "m1", "m2")
	s.needConfig(app)
	for _, key := range []karmada.BindingKey{app, configKey} {
		s.held(key, func(x *karmada.Task) { x.Reason, x.Message = karmada.TaskReasonNeedsOperator, "ended" })
	}
	s.returns(app, "m2")
	quiet(s, 5*time.Minute)
	release := func(key karmada.BindingKey) *answer { return s.orderOne(workflows.UpdateRelease, key, false) }
	var early *answer
	s.at(10*time.Second, func() { early = release(configKey) })
	s.at(time.Minute, func() {
		require.True(t, early.done)
		require.Contains(t, fmt.Sprint(early.value, early.err), "waits for its parent shop/app")
		require.Len(t, s.world.Peek(configKey).Tasks, 1)
		s.accept(release(app))
	})
	s.at(2*time.Minute, func() {
		s.accept(s.update(workflows.ClusterFailoverID("", "m1"), workflows.UpdateRelease, "again", workflows.BindingOrder{
			CancelOrder: workflows.CancelOrder{Order: jane}, Binding: configKey,
		}))
	})
	s.play()
	require.Empty(t, s.world.Peek(app).Tasks)
	require.Empty(t, s.world.Peek(configKey).Tasks)
	require.False(t, s.world.HasWork(configKey, "m1"))
}

// Its old copy is dead: there is nothing to prove any more.
//
// Rules: R4.9-49.
func TestRelease_DirectlyLeftToAnOperator_IsReleasedOnceItsOldCopyIsGone(t *testing.T) {
	s := newStory(t)
	key := leftBehind(s, karmada.TaskReasonNeedsOperator)
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly })
	quiet(s, 4*time.Minute)
	s.world.DropWork("karmada-es-m1", "shop-app")
	s.at(10*time.Second, func() { s.must(workflows.UpdateRelease, key, false) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Empty(t, s.world.Peek(key).Tasks)
}

// On a cluster that does not answer its old copy is dead by a fence alone.
//
// Rules: R4.9-49, R4.8-7.
func TestRelease_DirectlyLeftToAnOperator_ClusterIsSilent_NeedsAFence(t *testing.T) {
	for name, fenced := range map[string]bool{"nobody vouches": false, "somebody vouches": true} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := leftBehind(s, karmada.TaskReasonNeedsOperator)
			s.outage(10 * time.Minute)
			s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly })
			if fenced {
				s.at(4*time.Minute, func() { s.vouch(workflows.ClusterFailoverID("", "m1")) })
			}
			s.at(5*time.Minute, func() {
				require.Contains(t, s.world.Copies(key), "m1")
				if released := s.orderOne(workflows.UpdateRelease, key, false); fenced {
					s.accept(released)
				} else {
					s.refuse("release refused: m1 does not answer, and the old copy is not proven dead", released)
				}
			})
			s.play()
			require.Equal(t, fenced, len(s.world.Peek(key).Tasks) == 0)
		})
	}
}

// What an operator named and cannot be released goes back to the operator, and keeps no failover open.
//
// Rules: R4.9-49, R4.9-57.
func TestRelease_DirectlyLeftToAnOperatorAndNotPlaced_IsRefused(t *testing.T) {
	s := newStory(t)
	key := leftBehind(s, karmada.TaskReasonNeedsOperator)
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode, b.DispatchingSuspended = karmada.PurgeDirectly, true })
	quiet(s, 4*time.Minute)
	s.world.DropWork("karmada-es-m1", "shop-app")
	s.at(10*time.Second, func() { s.refuse("release refused: its dispatching", s.orderOne(workflows.UpdateRelease, key, false)) })
	require.Equal(t, phase.OutcomeNeedsOperator, s.playApp().Outcome)
	require.Len(t, s.world.Peek(key).Tasks, 1)
}

func TestANamedPutBackThatIsRefusedLeavesTheTaskToTheOperator(t *testing.T) {
	s := newStory(t)
	key := leftBehind(s, karmada.TaskReasonNeedsOperator)
	quiet(s, 5*time.Minute)
	s.world.DropWork("karmada-es-m1", "shop-app")
	s.refuses(10*time.Second, key, "its old copy on m1 is gone")
	got := s.playApp()
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
	s.playTo(phase.FailoverCancelled)
	require.Equal(t, phase.OutcomeRestored, s.appResult().Outcome)
	require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
}

// Seen: a put-back of a binding whose old copy was released was accepted, and did nothing.
//
// Rules: R4.9-36.
func TestWhatWasReleasedIsNotOrderedBackAndTheOrderSaysSo(t *testing.T) {
	s, key := outage(t, 6*time.Minute)
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		for _, verb := range []string{workflows.UpdatePutBack, workflows.UpdateRelease} {
			s.refuse("released already: what was released does not come back", s.orderOne(verb, key, false))
		}
	})
	s.play()
}

// What was refused stays beside what the migration waits for since.
//
// Rules: R4.7-54.
func TestPutBack_Refused_StaysVisible(t *testing.T) {
	s, key := slowHealth(t)
	s.outage(9 * time.Minute)
	s.refuses(3*time.Minute, key, "m1 is not Ready")
	s.at(4*time.Minute, func() {
		m := s.status().Migrations[key.String()]
		require.Equal(t, phase.MigrationAwaitingHealth, m.Phase)
		require.Contains(t, m.Message, "put-back refused")
		require.Contains(t, m.Message, "; now: ")
		require.NotEmpty(t, m.Attention)
		require.Contains(t, s.pageOf(s.migration(key)), "put-back refused")
	})
	s.play()
}

// A put-back that no write can carry out ends as refused: it neither waits in Restoring nor
// repeats itself, and the migration goes on.
//
// Rules: R4.9-57.
func TestPutBack_RescheduleWouldTakeEarlierGroup_IsRefused(t *testing.T) {
	s, key := outage(t, 3*time.Minute)
	s.world.Change(key, func(b *karmada.Binding) {
		group := func(name, cluster string) karmada.ClusterAffinityTerm {
			return karmada.ClusterAffinityTerm{AffinityName: name, ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{cluster}}}
		}
		b.Placement.ClusterAffinity = nil
		b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{group("first", "m3"), group("home", "m1"), group("last", "m2")}
		b.Status.ObservedAffinity = "home"
	})
	s.world.HealthyAfter = 10 * time.Minute
	s.refuses(5*time.Minute, key, "a reschedule might take an affinity group")
	s.at(8*time.Minute, func() {
		m := s.status().Migrations[key.String()]
		require.Equal(t, phase.MigrationAwaitingHealth, m.Phase, "%+v", m)
		require.NotEmpty(t, m.Attention)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Empty(t, s.world.Log("restore"))
}

// While a restore waits for the scheduler, a newer order replaces an older one.
//
// Rules: R4.9-58.
func TestOrders_WhileRestoring_NewestWins(t *testing.T) {
	for name, c := range map[string]struct {
		older, newer string
		on           string
		end          phase.Outcome
	}{
		"a release after a put-back": {older: workflows.UpdatePutBack, newer: workflows.UpdateRelease, on: "m2", end: phase.OutcomeMigrated},
		"a cancel after a put-back":  {older: workflows.UpdatePutBack, newer: workflows.UpdateCancel, on: "m2", end: phase.OutcomeNeedsOperator},
		"a cancel after a release":   {older: workflows.UpdateRelease, newer: workflows.UpdateCancel, on: "m2", end: phase.OutcomeNeedsOperator},
		"a put-back after a release": {older: workflows.UpdateRelease, newer: workflows.UpdatePutBack, on: "m1", end: phase.OutcomeRestored},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 3*time.Minute)
			s.world.ScheduleAfter, s.world.HealthyAfter = 10*time.Minute, time.Hour
			s.at(7*time.Minute, func() {
				require.Equal(t, phase.MigrationRestoring, s.status().Migrations[key.String()].Phase)
				s.must(c.older, key, false)
			})
			s.at(8*time.Minute, func() { s.must(c.newer, key, false) })
			require.Equal(t, c.end, s.playApp().Outcome, "%v", ops(s))
			require.Equal(t, c.on, s.world.Peek(key).Clusters[0].Name)
		})
	}
}

// The placement no longer selects the recovered cluster, so that nothing puts the binding back. Where m2 serves it, a release
// is obeyed; the last copy stays until the placement is corrected.
//
// Rules: R4.7-38, R4.9-58.
func TestRelease_WhileTheSchedulerWouldUndoTheRestore_IsCarriedOutIfThereIsATarget(t *testing.T) {
	for name, c := range map[string]struct {
		on       []string
		end      phase.Outcome
		released int
		stays    string
	}{
		"m2 serves it": {on: []string{"m1", "m2"}, end: phase.OutcomeMigrated, released: 1, stays: "m2"},
		"nothing does": {on: []string{"m1"}, end: phase.OutcomeRestored, stays: "m1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", c.on, "m1", "m2", "m3")
			s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints[0].MinGroups = len(c.on) })
			selects := func(clusters ...string) {
				s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterAffinity.ClusterNames = clusters })
			}
			s.onEvict(func() {
				s.cordon("m2", "cordon")
				s.cordon("m3", "cordon")
				selects("m2", "m3")
			})
			s.outage(5 * time.Minute)
			s.at(8*time.Minute, func() {
				m := s.status().Migrations[key.String()]
				require.Equal(t, []any{phase.MigrationRestoring, reason.RestoreUndone}, []any{m.Phase, m.Reason}, m.Message)
				s.must(workflows.UpdateRelease, key, false)
			})
			s.at(9*time.Minute, func() {
				require.Len(t, s.world.Log("release"), c.released)
				selects("m1", "m2", "m3")
			})
			require.Equal(t, c.end, s.playApp().Outcome, "%v", ops(s))
			require.Equal(t, c.stays, s.world.Peek(key).Clusters[0].Name)
			restoring := slices.DeleteFunc(s.published, func(shown string) bool { return shown != string(phase.MigrationRestoring) })
			require.Less(t, len(restoring), 10, "it does not go to and fro")
		})
	}
}

// A put-back that the API server refuses is called off by a newer order, and not carried out
// against it once the server takes writes again.
//
// Rules: R4.9-58.
func TestOrders_WhileThePutBackIsRefusedByTheServer_NewestWins(t *testing.T) {
	for newer, end := range map[string]phase.Outcome{
		workflows.UpdateRelease: phase.OutcomeMigrated, workflows.UpdateCancel: phase.OutcomeNeedsOperator,
	} {
		t.Run(newer, func(t *testing.T) {
			s, key := outage(t, 3*time.Minute)
			s.world.HealthyAfter = time.Hour
			s.at(7*time.Minute, func() {
				s.fails("restore", karmada.ErrRefused)
				s.must(workflows.UpdatePutBack, key, false)
			})
			s.at(9*time.Minute, func() {
				require.Equal(t, phase.MigrationRestoring, s.status().Migrations[key.String()].Phase)
				require.Equal(t, reason.Forbidden, s.status().Migrations[key.String()].Reason)
				s.must(newer, key, false)
			})
			s.at(9*time.Minute+30*time.Second, func() { s.world.Fail = nil })
			require.Equal(t, end, s.playApp().Outcome, "%v", ops(s))
			require.Equal(t, "m2", s.world.Peek(key).Clusters[0].Name)
			require.Empty(t, s.world.Log("restore"))
		})
	}
}

// A release that the API server refuses for minutes shows that refusal, and not what the
// release waited for before. It needs attention all the while.
//
// Rules: R4.7-46, R4.7-54.
func TestRelease_RefusedForMinutes_ShowsTheRefusalAndNeedsAttention(t *testing.T) {
	const said = `admission webhook "guard.example.org" denied the request`
	for name, refusal := range map[string]error{"by the server": karmada.ErrRefused, "by a webhook": karmada.ErrForbidden} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 20*time.Minute)
			s.fails("release", fmt.Errorf("patch resourcebindings shop/app: %w: %s", refusal, said))
			for at := 6 * time.Minute; at < 8*time.Minute; at += 7 * time.Second {
				s.at(at, func() {
					m := s.status().Migrations[key.String()]
					require.Equal(t, phase.MigrationReleasing, m.Phase)
					require.Equal(t, reason.Forbidden, m.Reason)
					require.Contains(t, m.Message, said)
					require.NotEmpty(t, m.Attention, "%+v", m)
				})
			}
			s.at(9*time.Minute, func() { s.world.Fail = nil })
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
		})
	}
}

// What is ordered of a migration whose cluster is gone has nothing to go back to: the
// task goes, and the failover closes.
//
// Rules: R4.9-51.
func TestAnOrderDoesNotKeepTheTaskOfADeletedCluster(t *testing.T) {
	arrange := map[string]func(*testing.T) (*story, karmada.BindingKey){
		"placed":   slowHealth,
		"unplaced": func(t *testing.T) (*story, karmada.BindingKey) { s := newStory(t); return s, unplaceable(s) },
		"Directly": func(t *testing.T) (*story, karmada.BindingKey) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Second
			diesAfterTheWrite(s)
			return s, key
		},
	}
	for name, begin := range arrange {
		for order, putBack := range map[string]bool{"cancel": false, "cancel and put back": true} {
			t.Run(name+"/"+order, func(t *testing.T) {
				s, key := begin(t)
				if name != "Directly" {
					s.world.SetReady("m1", false)
				}
				s.at(3*time.Minute, func() {
					require.Len(t, s.world.Peek(key).Tasks, 1)
					s.world.DeleteCluster("m1")
					s.accept(s.orderChild(workflows.UpdateCancel, key, putBack))
				})
				s.playTo(phase.FailoverGone)
			})
		}
	}
}

// An operator releases what an earlier failover left on a cluster that was deleted since.
//
// Rules: R4.9-49, R4.9-51.
func TestRelease_LeftToAnOperatorOnADeletedCluster_EndsItsHold(t *testing.T) {
	for _, left := range []string{karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator} {
		t.Run(left, func(t *testing.T) {
			s := newStory(t)
			key := leftBehind(s, left)
			s.world.DeleteCluster("m1")
			var released *answer
			s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == activities.NameAssessCluster && released == nil {
					released = s.orderOne(workflows.UpdateRelease, key, false)
				}
			})
			s.run()
			require.True(t, released.done)
			require.NoError(t, released.err)
			require.Equal(t, phase.FailoverGone, s.report.Ended)
			require.Empty(t, s.world.Peek(key).Tasks)
			require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
		})
	}
}

// Directly waits for the old copy when another actor puts the binding back. Its migration saw
// that through, however it is found: by the migration before the recovery, whereupon the
// binding is listed again and abandoned with nothing more written, or by the recovery itself.
//
// Rules: R4.9-52.
func TestADirectlyThatAnotherHandPutsBackIsSeenThrough(t *testing.T) {
	for name, first := range map[string]time.Duration{"its move looks first": 5 * time.Minute, "the recovery comes first": 0} {
		t.Run(name, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Second
			died := diesAfterTheWrite(s)
			s.at(5*time.Minute, func() {
				require.Len(t, s.world.Peek(key).Tasks, 1)
				s.world.Change(key, func(b *karmada.Binding) { b.Tasks = nil })
				s.returns(key, "m1")
			})
			s.at(5*time.Minute+first, func() {
				s.world.SetReady("m1", true)
				s.world.DropTaint("m1", maintenance)
			})
			r := s.play()
			require.True(t, *died)
			got := s.appResult()
			require.Equal(t, phase.OutcomeRestored, got.Outcome)
			require.Equal(t, reason.Swapped, got.Reason)
			require.Equal(t, map[string]int{"Restored": 1}, nonZero(r.Attempts[0].Counts))
			require.Len(t, s.world.Log("evict"), 1)
			require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
		})
	}
}

// nonZero are the counts that count anything.
func nonZero(counts map[string]int) map[string]int {
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
	return counts
}

// Somebody edits the task of a Directly that waits: orders are taken as of any other. A
// put-back is refused, for Karmada is deleting the old copy; and then it goes on.
func TestATaskThatIsNoLongerDirectlyTakesOrders(t *testing.T) {
	for verb, byHand := range map[string]bool{workflows.UpdatePutBack: false, workflows.UpdateRelease: true} {
		t.Run(verb, func(t *testing.T) {
			s, key := direct(t)
			s.world.DeleteAfter = 20 * time.Minute
			s.maintained(4 * time.Minute)
			s.at(3*time.Minute, func() {
				s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeGracefully })
			})
			if verb == workflows.UpdatePutBack {
				s.refuses(5*time.Minute, key, "its old copy on m1 is being deleted")
			} else {
				s.at(5*time.Minute, func() { s.must(verb, key, false) })
			}
			require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
			require.Empty(t, s.world.Log("restore"))
			require.Equal(t, byHand, s.world.Log("release")[0].At.Sub(storyBegins) < 6*time.Minute)
		})
	}
}

func TestMalformedSignalsToAFailoverChangeNothing(t *testing.T) {
	s, key := outage(t, 5*time.Minute)
	send := func(name string, arg any) {
		s.signal(workflows.ClusterFailoverID("", "m1"), name, arg)
	}
	s.at(10*time.Second, func() {
		send(workflows.SignalClusterObserved, workflows.ClusterObserved{})
		send(workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: rules.ClusterFact{Cluster: "m2", UID: "uid-m2", Deleted: true}})
		send(workflows.SignalAdopt, workflows.Adopt{Cluster: "m2"})
		send(workflows.SignalGrant, workflows.Grant{Permits: pace.Permits{Number: 99}})
		send(workflows.SignalMigrationReports, workflows.MigrationReports{Reports: []activities.MigrationReport{{Key: key, Result: &record.Result{Key: key, Outcome: phase.OutcomeMigrated}}}})
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1)
	require.Len(t, r.Attempts[0].Results, 1)
}

// What a cancel has left to an operator is that operator's also while the failover is stopped, before the cluster is back.
//
// Rules: R4.9-49.
func TestStopped_AnOrderAboutWhatTheCancelLeft_IsCarriedOut(t *testing.T) {
	s, key := outage(t, 20*time.Minute)
	s.world.HealthyAfter = 20 * time.Minute
	s.at(3*time.Minute, func() { s.must(workflows.UpdateCancel, karmada.BindingKey{}, false) })
	s.at(5*time.Minute, func() {
		require.Equal(t, phase.FailoverStopped, s.status().Phase)
		require.Equal(t, karmada.TaskReasonNeedsOperator, s.world.Peek(key).Tasks[0].Reason)
	})
	s.refuses(5*time.Minute, key, "m1 fails again by rule not-ready")
	s.at(6*time.Minute, func() { s.must(workflows.UpdateRelease, key, false) })
	s.at(7*time.Minute, func() {
		require.Equal(t, phase.FailoverStopped, s.status().Phase)
		require.Empty(t, s.world.Peek(key).Tasks)
	})
	s.run()
	require.Equal(t, phase.FailoverCancelled, s.report.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeMigrated}, outcomes(s.report))
}

// A release whose answer was lost stands. An order against it does not take that for another hand's work: the old copy
// is followed until it is gone.
//
// Rules: R4.9-58.
func TestReleaseWhoseAnswerIsLost_AnOrderComesAgainstIt_FollowsTheOldCopy(t *testing.T) {
	for _, verb := range []string{workflows.UpdateCancel, workflows.UpdatePutBack} {
		t.Run(verb, func(t *testing.T) {
			s, key := outage(t, 15*time.Minute)
			s.world.BacksOff = true
			away := false
			s.at(0, func() { s.acts.Reader = silent{s.world, &away} })
			s.world.Lost = func(op, _ string) bool {
				away = away || op == "release"
				return op == "release"
			}
			s.at(3*time.Minute, func() {
				require.Empty(t, s.world.Peek(key).Tasks)
				require.Equal(t, phase.MigrationReleasing, s.status().Migrations[key.String()].Phase)
				s.orderOne(verb, key, false)
			})
			s.at(3*time.Minute+20*time.Second, func() { away = false })
			s.run()
			r := s.report.Attempts[0].Results[0]
			require.Equal(t, phase.OutcomeMigrated, r.Outcome)
			require.NotEqual(t, reason.ForeignTask, r.Reason, r.Cause)
			require.Len(t, s.world.Copies(key), 1)
		})
	}
}

// silent is an API server that answers no question about a binding while it is away.
type silent struct {
	activities.Reader
	away *bool
}

// Binding is not answered while the API server is away.
func (r silent) Binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	if *r.away {
		return karmada.Binding{}, karmada.ErrUnreachable
	}
	return r.Reader.Binding(ctx, key)
}

// An order about a held copy of which nothing is held is refused, and is no outcome of that binding.
//
// Rules: R4.9-36.
func TestOrderAboutAHeldCopy_NothingIsHeld_IsRefused(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	other := s.bind("other", []string{"m3"}, "m3", "m4")
	for at, verb := range map[time.Duration]string{2 * time.Minute: workflows.UpdatePutBack, 3 * time.Minute: workflows.UpdateRelease} {
		var ordered *answer
		s.at(at, func() { ordered = s.orderOne(verb, other, false) })
		s.at(at+11*time.Second, func() { require.ErrorContains(t, ordered.err, "no Lifeboat task holds a copy on m1", verb) })
	}
	s.play()
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeMigrated}, outcomes(s.report))
}

// A move ends while an order about it waits for the main loop: its end is no answer to what nobody has told it.
func TestRelease_OrderedWhileTheMoveEnds_IsAnsweredWhenItIsCarriedOut(t *testing.T) {
	s, key := outage(t, 15*time.Minute)
	s.purging(key, karmada.PurgeNever)
	s.slow = map[string]time.Duration{activities.NameAssessCluster: 6 * time.Second}
	var ordered *answer
	s.world.OnWrite = func(w world.Write, _, _ karmada.Binding) {
		if w.Op != "evict" {
			return
		}
		s.at(s.settings.Terms.MinHealthy, func() {
			s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalClusterRecovered, workflows.Order{})
		})
		s.at(s.settings.Terms.MinHealthy+time.Second, func() {
			require.Equal(t, phase.MigrationAwaitingHealth, s.status().Migrations[key.String()].Phase)
			ordered = s.orderOne(workflows.UpdateRelease, key, false)
		})
	}
	s.at(5*time.Minute, func() {
		require.NoError(t, ordered.err)
		require.Len(t, s.world.Log("release"), 1)
	})
	s.play()
}

// Of cancel and resume the newer counts, also while the main loop waits for something else and has carried out neither.
//
// Rules: R4.9-58.
func TestCancelAndResume_WhileTheMainLoopWaits_TheNewerCounts(t *testing.T) {
	wakes := func(s *story) {
		s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalClusterRecovered, workflows.Order{})
	}
	cancel := func(s *story) *answer {
		return s.tellFailover(workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: workflows.Order{Who: "jane", Reason: "stop"}}})
	}
	resume := func(s *story) *answer {
		return s.orderAs(workflows.UpdateResume, workflows.Order{Who: "joe", Reason: "go on"})
	}
	for name, c := range map[string]struct {
		stopped       bool // before both
		first, second func(*story) *answer
		want          phase.Failover
	}{
		"resume, then cancel": {stopped: true, first: resume, second: cancel, want: phase.FailoverStopped},
		"cancel, then resume": {first: cancel, second: resume, want: phase.FailoverSuspected},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 20*time.Minute)
			s.slow = map[string]time.Duration{activities.NameAssessCluster: 5 * time.Second}
			if c.stopped {
				s.at(10*time.Second, func() { s.accept(cancel(s)) })
			}
			s.at(40*time.Second, func() { wakes(s) })
			s.at(41*time.Second, func() { s.accept(c.first(s)) })
			s.at(42*time.Second, func() { s.accept(c.second(s)) })
			s.at(55*time.Second, func() {
				require.Equal(t, c.want, s.status().Phase)
				require.Equal(t, 1, s.status().Attempt)
			})
			s.at(time.Minute, func() { cancel(s) })
			s.run()
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// A put-back of one binding that is ordered after the cancel of all of them is newer.
//
// Rules: R4.9-58.
func TestPutBackOfOne_RightAfterTheCancelOfAll_IsCarriedOut(t *testing.T) {
	s, key := outage(t, 5*time.Minute)
	s.world.HealthyAfter = 20 * time.Minute
	s.slow = map[string]time.Duration{activities.NameAssessCluster: 5 * time.Second}
	s.at(6*time.Minute, func() {
		s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalClusterRecovered, workflows.Order{})
	})
	s.at(6*time.Minute+time.Second, func() { s.must(workflows.UpdateCancel, karmada.BindingKey{}, false) })
	s.at(6*time.Minute+2*time.Second, func() { s.must(workflows.UpdatePutBack, key, false) })
	s.run()
	require.Equal(t, []string{"m1"}, karmada.TargetNames(s.world.Peek(key).Clusters))
}
