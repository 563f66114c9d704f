package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
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

// refuses is orderOne for a put-back that its migration refuses: who ordered it is told why.
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

// Rules: R4.9-33.
func TestOneUnplacedBindingIsRestoredByACancelThroughItsFailover(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.outage(10 * time.Minute)
	s.at(3*time.Minute, func() { s.must(workflows.UpdateCancel, key, false) })
	got := s.playApp()
	require.Equal(t, phase.OutcomeRestored, got.Outcome)
	require.Contains(t, got.Cause, "cancelled by jane")
	require.Len(t, s.world.Log("evict"), 1, "it is not moved again in that attempt")
	require.Less(t, s.world.Log("restore")[0].At.Sub(storyBegins), 10*time.Minute, "an operator's word does not wait for the cluster")
}

// Rules: R4.9-29, R4.9-35.
func TestACancelWithPutBackReturnsWhatIsPlacedInOneWrite(t *testing.T) {
	s, key := slowHealth(t)
	s.outage(3 * time.Minute)
	s.at(5*time.Minute, func() { s.must(workflows.UpdateCancel, key, true) })
	got := s.playApp()
	require.Equal(t, phase.OutcomeRestored, got.Outcome)
	require.Equal(t, reason.PutBackOrdered, got.Reason)
	require.Len(t, s.world.Log("restore"), 1)
	require.Empty(t, s.world.Log("release"))
	b := s.world.Peek(key)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, b.Clusters, "the new copy goes, the old one runs on")
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
	refusals := map[string]*answer{}
	s.at(3*time.Minute, func() {
		refusals["nothing to cancel"] = s.orderOne(workflows.UpdateCancel, karmada.BindingKey{Namespace: "shop", Name: "other"}, false)
		refusals["its move has begun"] = s.orderOne(workflows.UpdateSkip, key, false)
		refusals["nothing of Lifeboat's stands"] = s.orderOne(workflows.UpdatePutBack, waits, false)
		refusals[`"binding": missing`] = s.orderOne(workflows.UpdateRelease, karmada.BindingKey{}, false)
	})
	s.play()
	for why, a := range refusals {
		require.ErrorContains(t, a.err, why)
	}
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

// Rules: R4.9-49.
func TestTasksLeftBehindAreOffLimitsUnlessNamed(t *testing.T) {
	for _, reason := range []string{karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator} {
		for verb, want := range map[string]struct {
			op, on string
			end    phase.Outcome
			ended  phase.Failover
		}{
			"":                      {on: "m2", ended: phase.FailoverFalseAlarm},
			workflows.UpdatePutBack: {op: "restore", on: "m1", end: phase.OutcomeRestored, ended: phase.FailoverRecovered},
			workflows.UpdateRelease: {op: "release", on: "m2", end: phase.OutcomeMigrated, ended: phase.FailoverRecovered},
		} {
			t.Run(reason+"/"+verb, func(t *testing.T) {
				s := newStory(t)
				key := leftBehind(s, reason)
				quiet(s, 5*time.Minute)
				if verb != "" {
					s.at(10*time.Second, func() { s.must(verb, key, false) })
				}
				s.playTo(want.ended)
				b := s.world.Peek(key)
				require.Equal(t, want.on, b.Clusters[0].Name)
				if verb == "" {
					require.Len(t, b.Tasks, 1)
					require.Empty(t, s.world.Log(""))
					return
				}
				require.Empty(t, b.Tasks)
				require.Equal(t, []string{want.op}, ops(s))
				require.Equal(t, want.end, s.appResult().Outcome)
			})
		}
	}
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

func TestTheMigrationItselfTakesTheSameOrders(t *testing.T) {
	s, key := slowHealth(t)
	s.outage(3 * time.Minute)
	var late *answer
	s.at(5*time.Minute, func() { s.accepted = append(s.accepted, s.orderChild(workflows.UpdatePutBack, key, false)) })
	s.at(2*time.Minute, func() {
		late = s.update(s.migration(key), workflows.UpdateRelease, "nobody", workflows.Order{Reason: "x"})
	})
	s.play()
	require.ErrorContains(t, late.err, `"who"`)
	require.Equal(t, reason.PutBackOrdered, s.appResult().Reason)
}

// Seen: a put-back of a binding whose old copy was released was accepted, and did nothing.
//
// Rules: R4.9-36.
func TestWhatWasReleasedIsNotOrderedBackAndTheOrderSaysSo(t *testing.T) {
	s, key := outage(t, 6*time.Minute)
	var back, release *answer
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		back = s.orderOne(workflows.UpdatePutBack, key, false)
		release = s.orderOne(workflows.UpdateRelease, key, false)
	})
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
// release waited for before.
//
// Rules: R4.7-46.
func TestRelease_RefusedByTheServer_ShowsTheRefusal(t *testing.T) {
	const said = `Internal error occurred: failed calling webhook "resourcebinding.karmada.io"`
	s, key := outage(t, 9*time.Minute)
	s.fails("release", fmt.Errorf("patch resourcebindings shop/app: %w: %s", karmada.ErrRefused, said))
	s.at(6*time.Minute, func() {
		m := s.status().Migrations[key.String()]
		require.Equal(t, phase.MigrationReleasing, m.Phase)
		require.Equal(t, reason.Forbidden, m.Reason)
		require.Contains(t, m.Message, said)
		s.world.Fail = nil
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
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
					s.accepted = append(s.accepted, s.orderChild(workflows.UpdateCancel, key, putBack))
				})
				s.playTo(phase.FailoverGone)
			})
		}
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
				s.world.Change(key, func(b *karmada.Binding) {
					b.Clusters, b.Tasks = []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, nil
					b.Generation++
					b.Status.ObservedGeneration = b.Generation
				})
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
	out := map[string]int{}
	for outcome, n := range counts {
		if n != 0 {
			out[outcome] = n
		}
	}
	return out
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
		send(workflows.SignalMigrationReport, workflows.MigrationReport{Key: key, Result: &record.Result{Key: key, Outcome: phase.OutcomeMigrated}})
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1)
	require.Len(t, r.Attempts[0].Results, 1)
}
