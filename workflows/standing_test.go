package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/api/sdk/v1"
	corev1 "k8s.io/api/core/v1"
)

// by is who orders, and why, about whom.
func by(scope queue.Scope) workflows.ScopedOrder {
	return workflows.ScopedOrder{Order: workflows.Order{Who: "jane", Reason: "a drill"}, Scope: scope}
}

func snooze(scope queue.Scope, d string) workflows.SnoozeOrder {
	return workflows.SnoozeOrder{ScopedOrder: by(scope), For: d}
}

func priority(scope queue.Scope, n int32) workflows.PriorityOrder {
	return workflows.PriorityOrder{ScopedOrder: by(scope), Priority: &n}
}

// tellFailover gives any order to m1's failover.
func (s *story) tellFailover(update string, o any) *answer {
	s.t.Helper()
	id := fmt.Sprintf("%s|%#v|%s", update, o, s.env.Now())
	return s.update(workflows.ClusterFailoverID("", "m1"), update, id, o)
}

// ordered is tellFailover for an order that has to be accepted.
func (s *story) ordered(update string, o any) *answer { return s.accept(s.tellFailover(update, o)) }

// in adds a binding of a namespace on m1 that may go to m2, with a toleration.
func (s *story) in(namespace, name string, tolerates time.Duration) karmada.BindingKey {
	key := s.bindIn(namespace, name, []string{"m1"}, "m1", "m2")
	s.tolerates(key, int64(tolerates/time.Second))
	return key
}

// movedAt is when each binding was evicted, counted from the story's begin.
func (s *story) movedAt() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, w := range s.world.Log("evict") {
		out[w.Binding] = w.At.Sub(storyBegins)
	}
	return out
}

// Kubernetes lets a toleration be shortened once a pod runs, never extended: "a
// must-have during an incident".
// Rules: R4.4-12.
func TestKubernetes102993ATolerationIsExtendedInTheMiddleOfAnIncident(t *testing.T) {
	s := newStory(t)
	extended := s.in("shop", "app", 2*time.Minute)
	s.in("shop", "other", 2*time.Minute)
	s.outage(20 * time.Minute)
	var said *answer
	s.at(2*time.Minute, func() { said = s.ordered(workflows.UpdateSnooze, snooze(queue.ScopeOf(extended), "10m")) })
	s.at(3*time.Minute, func() {
		st := s.status()
		i := queued(st, extended)
		require.Equal(t, reason.Snoozed, i.Reason)
		require.Equal(t, queue.Tolerating, i.State)
		require.Equal(t, "jane", st.SnoozedBy(extended).Who)
		require.Contains(t, s.page(), "snoozed | shop/app")
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "other": "Migrated"}, outcomes(s.play()))
	moved := s.movedAt()
	require.GreaterOrEqual(t, moved["shop/app"], 12*time.Minute)
	require.Less(t, moved["shop/other"], 12*time.Minute, "nobody else waits for it")
	require.Contains(t, said.value, "1 due times moved later")
}

// page is the page of m1's failover.
func (s *story) page() string { return s.pageOf(workflows.ClusterFailoverID("", "m1")) }

// pageOf is the page of a workflow.
func (s *story) pageOf(id string) string {
	s.t.Helper()
	var meta sdk.WorkflowMetadata
	answer, err := s.env.QueryWorkflowByID(id, "__temporal_workflow_metadata")
	require.NoError(s.t, err)
	require.NoError(s.t, answer.Get(&meta))
	return meta.GetCurrentDetails()
}

func queued(st workflows.FailoverStatus, key karmada.BindingKey) queue.Item {
	for _, i := range st.Items {
		if i.Key == key {
			return i
		}
	}
	return queue.Item{}
}

// Rules: R4.4-12.
func TestASnoozeOfANamespaceOrOfAllHoldsWhoComesLaterToo(t *testing.T) {
	for name, c := range map[string]struct {
		scope queue.Scope
		bank  bool // whether namespace bank is snoozed, too
	}{"a namespace": {scope: queue.Scope{Namespace: "shop"}, bank: false}, "all": {scope: queue.Scope{All: true}, bank: true}} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.in("shop", "due", 0)
			s.in("shop", "patient", 30*time.Minute)
			s.in("bank", "due", time.Minute)
			s.at(70*time.Second, func() { s.in("shop", "late", 0) })
			s.outage(40 * time.Minute)
			s.at(30*time.Second, func() { s.ordered(workflows.UpdateSnooze, snooze(c.scope, "15m")) })
			// A shorter one does not take the longer one's place.
			s.at(40*time.Second, func() { s.ordered(workflows.UpdateSnooze, snooze(c.scope, "5m")) })
			s.play()
			moved := s.movedAt()
			const ends = 30*time.Second + 15*time.Minute
			require.GreaterOrEqual(t, moved["shop/due"], ends)
			require.GreaterOrEqual(t, moved["shop/late"], ends)
			require.GreaterOrEqual(t, moved["shop/patient"], addAfter+30*time.Minute, "what was later already stays")
			require.Equal(t, c.bank, moved["bank/due"] >= ends)
			require.Len(t, moved, 4, "everything moved in the end")
		})
	}
}

// Rules: R4.4-12.
func TestASnoozeOutlastsTheAttemptItWasGivenIn(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.PendingPurgeWait = time.Hour // it stays open until the old copy has gone
	gone := s.in("bank", "gone", 0)
	key := s.in("shop", "app", 5*time.Minute)
	s.world.HealthyAfter = 4 * time.Minute
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() { s.ordered(workflows.UpdateSnooze, snooze(queue.ScopeOf(key), "30m")) })
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(4*time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(40*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Greater(t, len(r.Attempts), 1, "it failed again")
	require.Contains(t, s.movedAt(), gone.String())
	require.GreaterOrEqual(t, s.movedAt()["shop/app"], 32*time.Minute)
}

// Rules: R4.4-12, R4.4-15, R4.4-16.
func TestStandingOrdersThatMakeNoSenseAreRefused(t *testing.T) {
	s, moving := slowHealth(t)
	waits := s.in("shop", "waits", time.Hour)
	unknown := queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "unknown"})
	s.outage(6 * time.Minute)
	all, shop := queue.Scope{All: true}, queue.Scope{Namespace: "shop"}
	nobody := snooze(all, "5m")
	nobody.Who = ""
	refuse := func(why, update string, order any) { s.refuse(why, s.tellFailover(update, order)) }
	s.at(3*time.Minute, func() {
		refuse("name its object", workflows.UpdateSnooze, snooze(queue.Scope{}, "5m"))
		refuse("exclude each other", workflows.UpdateSnooze, snooze(queue.Scope{All: true, Namespace: "shop"}, "5m"))
		refuse(`field "for": missing`, workflows.UpdateSnooze, snooze(all, ""))
		refuse("never brings one forward", workflows.UpdateSnooze, snooze(all, "-5m"))
		refuse(`"who"`, workflows.UpdateSnooze, nobody)
		refuse("its move has begun", workflows.UpdateSnooze, snooze(queue.ScopeOf(moving), "5m"))
		refuse("nothing to snooze", workflows.UpdateSnooze, snooze(unknown, "5m"))
		refuse("which is later", workflows.UpdateSnooze, snooze(queue.ScopeOf(waits), "5m"))
		refuse("nothing to pause", workflows.UpdatePause, by(unknown))
		refuse("nothing to prioritise", workflows.UpdatePrioritise, priority(unknown, 5))
		refuse(`field "priority": missing`, workflows.UpdatePrioritise, workflows.PriorityOrder{ScopedOrder: by(all)})
		refuse("is not paused by itself", workflows.UpdateResume, workflows.Resume{ScopedOrder: by(shop)})
		refuse("neither paused nor stopped", workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.Scope{})})
		refuse("enforce is for the whole fai", workflows.UpdateResume, workflows.Resume{ScopedOrder: by(shop), Enforce: true})
	})
	s.at(4*time.Minute, func() { s.order(workflows.UpdateCancel, "a drill") })
	s.at(5*time.Minute, func() { refuse("nothing is dispatched any more", workflows.UpdateSnooze, snooze(all, "5m")) })
	s.playTo(phase.FailoverCancelled)
}

// Rules: R4.4-15.
func TestAPauseOfANamespaceOrOfOneBindingHoldsNobodyElse(t *testing.T) {
	for name, scope := range map[string]queue.Scope{
		"a namespace": {Namespace: "shop"}, "one binding": queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "app"}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.in("shop", "app", time.Minute)
			s.in("bank", "app", time.Minute)
			s.outage(20 * time.Minute)
			var paused, mistyped, resumed *answer
			s.at(90*time.Second, func() {
				paused = s.ordered(workflows.UpdatePause, by(scope))
				mistyped = s.ordered(workflows.UpdatePause, by(queue.Scope{Namespace: "shpo"}))
			})
			s.at(8*time.Minute, func() {
				st := s.status()
				require.Equal(t, queue.Paused, queued(st, key).State)
				require.Equal(t, reason.Paused, queued(st, key).Reason)
				require.Equal(t, phase.FailoverEvacuating, st.Phase, "somebody still has to move")
				require.Contains(t, s.page(), "paused | "+scope.String())
			})
			s.at(9*time.Minute, func() { s.ordered(workflows.UpdatePause, by(queue.Scope{})) })
			s.at(10*time.Minute, func() {
				resumed = s.ordered(workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.Scope{})})
			})
			s.at(12*time.Minute, func() { s.ordered(workflows.UpdateResume, workflows.Resume{ScopedOrder: by(scope)}) })
			s.play()
			moved := s.movedAt()
			require.Less(t, moved["bank/app"], 8*time.Minute, "it is not paused")
			require.GreaterOrEqual(t, moved["shop/app"], 12*time.Minute, "the end of the whole's pause is not the end of this one")
			require.Contains(t, paused.value, ": 1 queued, no new move")
			require.Contains(t, mistyped.value, ": 0 queued, no new move")
			require.Contains(t, resumed.value, "still paused: "+scope.String())
		})
	}
}

// The scheduler's late patch puts the cluster back while Lifeboat's task stands. While a
// operator has the binding paused, that is no reason to write.
// Rules: R4.4-15, R4.5-20.
func TestNothingIsTakenOutAgainOfABindingThatIsPaused(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.outage(12 * time.Minute)
	s.at(3*time.Minute, func() { s.ordered(workflows.UpdatePause, by(queue.ScopeOf(key))) })
	s.at(4*time.Minute, func() { s.returns(key, "m1") })
	s.at(8*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 1, "%v", ops(s))
		s.ordered(workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.ScopeOf(key))})
	})
	s.play()
	again := s.world.Log("evict")
	require.Len(t, again, 2, "%v", ops(s))
	require.GreaterOrEqual(t, again[1].At.Sub(storyBegins), 8*time.Minute)
}

// A decision that the scheduler had begun before the eviction ends the reschedule without placing anything, and nobody but
// Lifeboat would request it again. A binding that an operator has paused waits for that.
// Rules: R4.7-20, R4.4-15.
func TestARescheduleThatAnOlderDecisionEndedIsRequestedAgain(t *testing.T) {
	for name, paused := range map[string]bool{"at once": false, "once it is resumed": true} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.onlyRescheduled()
			s.onEvict(func() {
				s.spent(key)
				if paused {
					s.ordered(workflows.UpdatePause, by(queue.ScopeOf(key)))
				}
				s.world.ScheduleAfter = time.Second
			})
			s.outage(12 * time.Minute)
			s.at(8*time.Minute, func() {
				if paused {
					require.Len(t, s.world.Log("evict"), 1, "%v", ops(s))
					s.ordered(workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.ScopeOf(key))})
				}
			})
			require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
			require.Len(t, s.world.Log("evict"), 2, "%v", ops(s))
			require.Equal(t, []karmada.TargetCluster{{Name: "m2", Replicas: 2}}, s.world.Peek(key).Clusters)
		})
	}
}

// onlyRescheduled is a binding of two affinity groups that only a reschedule takes off m1. The scheduler is away.
func (s *story) onlyRescheduled() karmada.BindingKey {
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterAffinity = nil
		b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{
			{AffinityName: "primary", ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{"m2"}}},
			{AffinityName: "backup", ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{"m1"}}},
		}
		b.Status.ObservedAffinity = "backup"
	})
	s.world.ScheduleAfter = time.Hour
	return key
}

// spent has an older decision of the scheduler end the reschedule of a binding.
func (s *story) spent(key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Status.LastScheduled = new(b.RescheduleTriggeredAt.Add(time.Second))
		b.Status.Scheduled = &karmada.Condition{
			Type: "Scheduled", Status: corev1.ConditionFalse, Reason: proof.ScheduledNoClusterFit, LastTransition: *b.Status.LastScheduled,
		}
	})
}

// What the scheduler said before the reschedule was requested again is no answer to that request: it may still place it.
// Rules: R4.7-20.
func TestAPutBackAfterARescheduleWasRequestedAgain_WaitsForTheAnswerToThat(t *testing.T) {
	s := newStory(t)
	key := s.onlyRescheduled()
	s.settings.Terms.RestoreWait = 10 * time.Minute
	s.onEvict(func() { s.spent(key) })
	s.outage(6 * time.Minute)
	s.play()
	evicted, restored := s.world.Log("evict"), s.world.Log("restore")
	require.Len(t, evicted, 2, "%v", ops(s))
	require.Len(t, restored, 1, "%v", ops(s))
	require.GreaterOrEqual(t, restored[0].At.Sub(evicted[1].At), s.settings.Terms.RestoreWait)
}

// A resume that comes while what was cancelled is still put back: nothing is known of the windows by then.
//
// Rules: R4.9-40.
func TestAResumeWhileACancelIsCarriedOut_WaitsForTheWindowsAgain(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.1
	s.bindAll([]string{"a", "b", "c", "d"}, "m1", "m2")
	s.world.ScheduleAfter = 40 * time.Second
	s.outage(20 * time.Minute)
	s.at(addAfter+15*time.Second, func() { s.order(workflows.UpdateCancel, "oops") })
	resumed := addAfter + 20*time.Second
	s.at(resumed, func() {
		require.Equal(t, phase.FailoverStopped, s.status().Phase)
		s.accept(s.orderAs(workflows.UpdateResume, workflows.Order{Who: "jane", Reason: "it fails"}))
	})
	s.play()
	var after int
	for _, w := range s.world.Log("evict") {
		if at := w.At.Sub(storyBegins); at > resumed {
			require.GreaterOrEqual(t, at, resumed+addAfter)
			after++
		}
	}
	require.Positive(t, after)
}

// A stopped failover that only observed goes on without a recovery that never was.
//
// Rules: R4.9-40.
func TestAResumedObserver_SeesNoRecovery(t *testing.T) {
	s, _ := outage(t, 20*time.Minute)
	s.settings.Terms.Mode = rules.ModeObserve
	s.at(90*time.Second, func() { s.order(workflows.UpdateCancel, "oops") })
	s.at(5*time.Minute, func() { s.order(workflows.UpdateResume, "real") })
	require.Len(t, s.play().Attempts, 2)
}

// Rules: R4.4-16.
func TestAPriorityByHandGoesBeforeThatOfTheBinding(t *testing.T) {
	s := newStory(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		key := s.in("shop", name, time.Minute)
		s.world.Change(key, func(b *karmada.Binding) { b.Priority = 10 })
	}
	s.in("bank", "z", time.Minute)
	s.outage(10 * time.Minute)
	s.at(90*time.Second, func() {
		s.ordered(workflows.UpdatePrioritise, priority(queue.Scope{Namespace: "bank"}, 50))
		s.ordered(workflows.UpdatePrioritise, priority(queue.Scope{All: true}, 20))
		s.ordered(workflows.UpdatePrioritise, priority(queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "c"}), 40))
		s.ordered(workflows.UpdatePrioritise, priority(queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "a"}), 0))
	})
	s.play()
	var order []string
	for _, w := range s.world.Log("evict") {
		order = append(order, w.Binding)
	}
	require.Equal(t, []string{"bank/z", "shop/c", "shop/b", "shop/d", "shop/a"}, order)
}

// Rules: R4.4-15.
func TestThePauseSignalIsThereForWhenUpdatesFail(t *testing.T) {
	for name, c := range map[string]struct {
		signal any
		bank   bool // whether namespace bank is paused, too
	}{
		"a namespace":                    {signal: by(queue.Scope{Namespace: "shop"}), bank: false},
		"the whole":                      {signal: by(queue.Scope{}), bank: true},
		"a scope that makes no sense":    {signal: by(queue.Scope{Namespace: "shop", All: true}), bank: true},
		"as older tools send it, no who": {signal: map[string]any{"reason": "look first"}, bank: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.in("shop", "app", time.Minute)
			s.in("bank", "app", time.Minute)
			s.outage(10 * time.Minute)
			s.at(70*time.Second, func() {
				s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalPause, c.signal)
			})
			s.play()
			require.NotContains(t, s.movedAt(), "shop/app")
			require.Equal(t, !c.bank, len(s.movedAt()) == 1)
		})
	}
}

// Of one scope each list has one entry: the newest pause and priority, the longer snooze.
// Rules: R4.4-12.
func TestStandingOrders_OfOneScope_HaveOneEntry(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	of := func(scope queue.Scope, who string) workflows.ScopedOrder {
		return workflows.ScopedOrder{Scope: scope, Order: workflows.Order{Who: who, Reason: "a drill"}}
	}
	shop, cart := queue.Scope{Namespace: "shop"}, queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "cart"})
	var s workflows.StandingOrders

	s.Pause(workflows.ScopedPause{ScopedOrder: of(shop, "jane")})
	s.Pause(workflows.ScopedPause{ScopedOrder: of(cart, "jane")})
	s.Pause(workflows.ScopedPause{ScopedOrder: of(shop, "joe")})
	require.Equal(t, []workflows.ScopedPause{{ScopedOrder: of(cart, "jane")}, {ScopedOrder: of(shop, "joe")}}, s.Pauses)
	s.Resume(shop)
	require.Equal(t, []workflows.ScopedPause{{ScopedOrder: of(cart, "jane")}}, s.Pauses)

	s.Prioritise(workflows.Priority{ScopedOrder: of(shop, "jane"), Priority: 1})
	s.Prioritise(workflows.Priority{ScopedOrder: of(shop, "joe"), Priority: 2})
	require.Equal(t, []workflows.Priority{{ScopedOrder: of(shop, "joe"), Priority: 2}}, s.Priorities)

	s.Snooze(workflows.Snooze{ScopedOrder: of(shop, "jane"), Until: now.Add(2 * time.Hour)})
	s.Snooze(workflows.Snooze{ScopedOrder: of(shop, "joe"), Until: now.Add(time.Hour)})
	s.Snooze(workflows.Snooze{ScopedOrder: of(cart, "joe"), Until: now.Add(time.Hour)})
	require.Len(t, s.Snoozes, 2)
	require.Equal(t, "jane", s.Snoozes[0].Who, "the longer stands")
	require.False(t, s.Forget(now))
	require.True(t, s.Forget(now.Add(time.Hour)))
	require.Equal(t, []workflows.Snooze{{ScopedOrder: of(shop, "jane"), Until: now.Add(2 * time.Hour)}}, s.Snoozes)
}

// A binding whose attempt failed has yet to move, so the cluster is not evacuated; one that is blocked by more waits.
func TestAFailedAttemptLeavesTheClusterToBeEvacuated(t *testing.T) {
	for err, during := range map[error]phase.Failover{
		karmada.ErrConflict:  phase.FailoverEvacuating,
		karmada.ErrForbidden: phase.FailoverEvacuated,
	} {
		t.Run(string(during), func(t *testing.T) {
			s, key := outage(t, 30*time.Minute)
			s.fails("evict", err)
			s.at(4*time.Minute, func() {
				require.Equal(t, queue.Blocked, queued(s.status(), key).State)
				require.Equal(t, during, s.status().Phase)
				s.world.Fail = nil
			})
			s.at(20*time.Minute, func() { require.Equal(t, phase.FailoverEvacuated, s.status().Phase) })
			require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
		})
	}
}

// asked is a story in which an operator is asked about everything in namespace shop.
func asked(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.settings.Approval = queue.ApprovalRules{Namespaces: []string{"shop"}}
	s.world.SetReady("m1", false)
	return s
}

// Rules: R4.6-21, R4.6-22, R4.6-30.
func TestWhatAwaitsApprovalStaysUntilSomebodyApproves(t *testing.T) {
	s := asked(t)
	for _, name := range []string{"a", "b", "c"} {
		s.in("shop", name, 0)
	}
	s.in("bank", "free", 0)
	var one, rest *answer
	s.at(5*time.Minute, func() {
		st := s.status()
		for _, name := range []string{"a", "b", "c"} {
			i := queued(st, karmada.BindingKey{Namespace: "shop", Name: name})
			require.Equal(t, reason.AwaitingApproval, i.Reason)
			require.Equal(t, "its namespace asks", i.Message)
		}
		require.Equal(t, map[reason.Reason]int{reason.AwaitingApproval: 3}, st.BlockedBy)
		require.False(t, st.BlockedSince.IsZero())
		require.True(t, st.BlockedSince.Before(st.Now), "they were due before now")
		require.Equal(t, phase.FailoverEvacuated, st.Phase, "nothing left to do but wait")
		require.Contains(t, s.page(), "3 moves await approval")
		require.Contains(t, s.page(), "lifeboat approve m1")
		one = s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "b"})))
	})
	s.at(10*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 2)
		s.in("shop", "later", 0)
	})
	s.at(12*time.Minute, func() { rest = s.ordered(workflows.UpdateApprove, by(queue.Scope{Namespace: "shop"})) })
	s.at(13*time.Minute, func() { s.in("shop", "latest", 0) })
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	moved := s.movedAt()
	require.Less(t, moved["bank/free"], 5*time.Minute, "what nobody asks about is automatic")
	require.GreaterOrEqual(t, moved["shop/b"], 5*time.Minute)
	for _, name := range []string{"shop/a", "shop/c", "shop/later"} {
		require.GreaterOrEqual(t, moved[name], 12*time.Minute)
	}
	require.NotContains(t, moved, "shop/latest", "who comes later is asked about anew")
	require.Equal(t, phase.OutcomeAbandoned, outcomes(r)["latest"], "without an answer it stays put")
	require.Contains(t, one.value, "1 bindings, 1 of them waited for it")
	require.Contains(t, rest.value, "3 bindings, 3 of them waited for it")
}

// Rules: R4.6-22.
func TestAnApprovalOfOneAttemptIsNoneInTheNext(t *testing.T) {
	s := asked(t)
	key := s.in("shop", "app", 0)
	s.settings.Terms.PendingPurgeWait = time.Hour
	s.in("bank", "gone", 0)
	s.world.HealthyAfter = 4 * time.Minute
	s.at(90*time.Second, func() {
		s.ordered(workflows.UpdateSnooze, snooze(queue.ScopeOf(key), "5m")) // approved, and not to move yet
		s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(2*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(4*time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(20*time.Minute, func() {
		st := s.status()
		require.Equal(t, 2, st.Attempt)
		require.Equal(t, reason.AwaitingApproval, queued(st, key).Reason)
	})
	s.at(21*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.NotContains(t, s.movedAt(), key.String())
}

// Rules: R4.6-31.
func TestAQuestionThatNobodyAnswersExpiresIntoStayingPut(t *testing.T) {
	s := asked(t)
	key := s.in("shop", "app", 0)
	s.settings.Terms.AskFor = 10 * time.Minute
	s.at(10*time.Minute, func() { require.Equal(t, reason.AwaitingApproval, queued(s.status(), key).Reason) })
	s.at(15*time.Minute, func() {
		i := queued(s.status(), key)
		require.Equal(t, reason.ApprovalExpired, i.Reason)
		require.Contains(t, i.Message, "it was not approved within 10m0s")
		s.acts.Settings.Approval = queue.ApprovalRules{} // the rules go; it stays all the same
		s.world.AddCluster("new")
	})
	s.at(16*time.Minute, func() { s.ordered(workflows.UpdateSnooze, snooze(queue.ScopeOf(key), "2m")) })
	s.at(25*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		require.Equal(t, reason.ApprovalExpired, queued(s.status(), key).Reason)
		s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(40*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.GreaterOrEqual(t, s.movedAt()["shop/app"], 25*time.Minute, "a late yes is a yes")
}

// What has moved and settled is not counted any more: the last ones must not slip
// through for that.
// Rules: R4.6-32.
func TestAShareOfReplicasThatWasTooLargeAsksForTheRestOfTheAttempt(t *testing.T) {
	s := newStory(t)
	s.outage(40 * time.Minute)
	share := 50.0
	s.settings.Approval = queue.ApprovalRules{ReplicasAbove: &share}
	for _, name := range []string{"a", "b", "c"} {
		s.in("shop", name, 0)
	}
	key := s.in("shop", "elsewhere", 0)
	s.returns(key, "m2")
	s.at(3*time.Minute, func() {
		for _, name := range []string{"a", "b"} {
			s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: name})))
		}
	})
	s.at(30*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 2, "two have moved and settled: a quarter of the replicas is left")
		i := queued(s.status(), karmada.BindingKey{Namespace: "shop", Name: "c"})
		require.Equal(t, reason.AwaitingApproval, i.Reason)
		require.Contains(t, i.Message, "were to move in this attempt")
	})
	s.play()
	require.Len(t, s.world.Log("evict"), 2)
}

// Rules: R4.6-22.
func TestApprovalsThatMakeNoSenseAreRefused(t *testing.T) {
	s := asked(t)
	key := s.in("shop", "app", 0)
	moved := s.in("bank", "moved", 0)
	s.world.HealthyAfter = 20 * time.Minute
	refuse := func(why string, o workflows.ScopedOrder) { s.refuse(why, s.tellFailover(workflows.UpdateApprove, o)) }
	anonymous := by(queue.Scope{Namespace: "shop"})
	anonymous.Reason = ""
	s.at(30*time.Second, func() { refuse("nothing is listed yet", by(queue.Scope{All: true})) })
	s.at(3*time.Minute, func() {
		refuse("name its object", by(queue.Scope{}))
		refuse(`"reason"`, anonymous)
		refuse("its move has begun", by(queue.ScopeOf(moved)))
		refuse("nothing to approve", by(queue.Scope{Namespace: "nobody"}))
		s.ordered(workflows.UpdatePause, by(queue.ScopeOf(key)))
		s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(4*time.Minute, func() { refuse("not approved already", by(queue.ScopeOf(key))) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(8*time.Minute, func() { refuse("nothing is dispatched any more", by(queue.Scope{All: true})) })
	s.play()
	require.NotContains(t, s.movedAt(), "shop/app", "approved, and paused all the same")
}

// Rules: R4.6-21, R4.15-5.
func TestARehearsalTellsWhatWouldAwaitApproval(t *testing.T) {
	s := asked(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.in("shop", "app", 0)
	s.at(3*time.Minute, func() {
		s.refuse("this failover observes", s.tellFailover(workflows.UpdateApprove, by(queue.Scope{All: true})))
	})
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	got := s.playApp()
	require.Equal(t, phase.OutcomeWouldBlock, got.Outcome)
	require.Equal(t, reason.AwaitingApproval, got.Reason)
}
