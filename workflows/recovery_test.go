package workflows_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// unplaceable evicts a binding whose only candidate goes away with the write, so
// that the scheduler finds no fit.
func unplaceable(s *story) karmada.BindingKey {
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	noFit(s, key)
	return key
}

// A task that nobody takes away keeps the recovered cluster out for ever: none is left, and the
// restore comes before the untaint, though it takes its time.
//
// Rules: R4.9-6, R4.9-12, R4.9-21.
func TestKarmada5782AnUnplacedBindingIsRestoredBeforeTheUntaint(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	refused := s.failsFirst(3, "restore", errors.New("etcdserver: request timed out"))
	s.outage(5 * time.Minute)
	require.Equal(t, phase.OutcomeRestored, s.playApp().Outcome)
	require.Len(t, *refused, 3)
	b := s.world.Peek(key)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, b.Clusters)
	require.Empty(t, b.Tasks)
	require.Equal(t, []string{"taint", "evict", "restore", "taint"}, ops(s), "restores come first, the untaint right after")
}

func ops(s *story) []string {
	var out []string
	for _, w := range s.world.Log("") {
		out = append(out, w.Op)
	}
	return out
}

// Rules: R4.5-19, R4.7-18.
func TestKarmada4952TheSchedulersLatePatchIsTakenBack(t *testing.T) {
	s, key := outage(t, 5*time.Minute)
	s.world.ScheduleAfter = 10 * time.Second
	s.onEvict(func() { s.at(time.Second, func() { s.returns(key, "m1") }) })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 2)
	require.Equal(t, 1, s.pacer.used, "the repeated removal needs no permit")
}

// Rules: R4.4-17, R4.7-11.
func TestKubernetes50067ALostAnswerIsFoundOutByReadingAgain(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	s.world.Lost = func(op, _ string) bool { return op == "evict" }
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 1, "what stands is not written again")
	require.Len(t, s.used, 1, "seen to stand: the cap counts it")
	require.Equal(t, "shop/app", s.used[0].Binding)
}

// Each attempt has a permit of its own; the write that stands is reported as a migration, and no other.
//
// Rules: R4.5-11, R4.6-23.
func TestARefusedWriteGoesBackToTheQueueWithItsReason(t *testing.T) {
	s, _ := outage(t, 10*time.Minute)
	refusals := s.failsFirst(2, "evict", karmada.ErrForbidden)
	reasons := map[reason.Reason]bool{}
	s.looks = append(s.looks, func() {
		if item, queued := s.queued(); queued && item.State == queue.Blocked {
			reasons[item.Reason] = true
		}
	})
	for at := addAfter; at < 4*time.Minute; at += 5 * time.Second {
		s.at(at, s.lookSoon)
	}
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Len(t, *refusals, 2)
	require.GreaterOrEqual(t, (*refusals)[1].Sub((*refusals)[0]), s.settings.Terms.Recheck, "its back-off")
	require.Equal(t, map[reason.Reason]bool{reason.Forbidden: true}, reasons)
	require.Equal(t, []workflows.PermitUse{{Number: 3, Binding: "shop/app"}}, s.used, "each attempt had a permit of its own; one was used")
}

// Rules: R4.1-13, R4.7-29, R4.9-5.
func TestAnOperatorsTaintMovesAndItsRemovalRecoversAtOnce(t *testing.T) {
	s, _ := withApp(t)
	s.maintained(10 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	release := s.world.Log("release")[0]
	require.GreaterOrEqual(t, release.At.Sub(s.world.Log("evict")[0].At), s.settings.Terms.Detection,
		"where the source is Ready, health must hold for longer than detection")
}

// Rules: R4.15-2, R4.15-3, R4.15-6.
func TestObserveWritesNothingAndSaysWhatItWould(t *testing.T) {
	for name, fails := range map[string]func(*story, time.Duration){"it fails": (*story).outage, "an operator's taint": (*story).maintained} {
		t.Run(name, func(t *testing.T) {
			s, _ := withApp(t)
			fails(s, 5*time.Minute)
			s.settings.Terms.Mode = rules.ModeObserve
			s.bind("stays", []string{"m1"}, "m1")
			require.Equal(t, map[string]phase.Outcome{"app": "WouldMove", "stays": "WouldBlock"}, outcomes(s.play()))
			require.Empty(t, s.world.Log(""))
		})
	}
}

func TestObserveSaysWhoWouldWaitForAFence(t *testing.T) {
	s, _ := direct(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.outage(5 * time.Minute)
	require.Equal(t, phase.OutcomeWouldBlock, s.playApp().Outcome)
	require.Equal(t, reason.AwaitingFence, s.appResult().Reason)
}

// Rules: R4.4-10.
func TestWhereThePacerDoesNotAnswerNothingIsEvicted(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	s.pacer.refuse = errors.New("halted")
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(s.play()))
	require.Empty(t, s.world.Log("evict"))
}

// Rules: R4.4-11.
func TestKarmada4688And6357PauseStopsDispatchAndResumeGoesOn(t *testing.T) {
	s, _ := outage(t, 10*time.Minute)
	s.at(10*time.Second, func() { s.order(workflows.UpdatePause, "look first") })
	s.at(5*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		s.order(workflows.UpdateResume, "looked")
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// Rules: R4.9-44.
func TestTemporal8106OrdersWithoutWhoOrWhyAreRefused(t *testing.T) {
	s := newStory(t)
	s.outage(20 * time.Second)
	s.at(10*time.Second, func() {
		s.refuse(`"who"`, s.orderAs(workflows.UpdatePause, workflows.Order{Reason: "x"}))
		s.refuse(`"reason"`, s.orderAs(workflows.UpdatePause, workflows.Order{Who: "x"}))
	})
	s.playTo(phase.FailoverFalseAlarm)
}

// Rules: R4.9-46, R4.9-47, R4.9-48.
func TestAnOrphanedHoldIsAdoptedAsTheFirstAct(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m2"}, "m1", "m2")
	s.held(key)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()), "placed before: it goes on")
}

// Rules: R4.9-3.
func TestAFailureThatComesBackWhileSettlingIsANewAttempt(t *testing.T) {
	s, _ := failing(t)
	s.world.HealthyAfter = 8 * time.Minute
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Len(t, r.Attempts, 2)
	require.Len(t, slices.Concat(r.Attempts[0].Results, r.Attempts[1].Results), 1, "one binding, moved once")
}

// Who deletes a Cluster object stops nothing that runs there: its Works go without the member. What was moved away is
// owed, whether its hold stood or was released before. The unjoin of a dead cluster hung on what could not be deleted
// there: no step of Lifeboat's needs it, and nothing of Lifeboat's outlives it.
//
// Rules: R4.7-36, R4.9-51, R4.9-61.
func TestKarmada3740And1847ClusterDeleted_OldCopiesNobodySawGoStayInTheReport(t *testing.T) {
	for name, deleted := range map[string]func(*story){
		"deleted": func(s *story) { s.world.DeleteCluster("m1") },
		"being deleted": func(s *story) {
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Deleting = true })
			s.at(14*time.Minute, func() { s.world.DeleteCluster("m1") })
		},
		"joined again under its name": (*story).joinAgain,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			released := s.bind("released", []string{"m1"}, "m1", "m3")
			held := unplaceable(s)
			s.bind("stays", []string{"m1"}, "m1")
			s.world.HealthyAfter = 5 * time.Second
			s.world.SetReady("m1", false)
			s.at(12*time.Minute, func() {
				require.Empty(t, s.world.Peek(released).Tasks)
				require.NotEmpty(t, s.world.Peek(held).Tasks)
				deleted(s)
			})
			r := s.playTo(phase.FailoverGone)
			require.NotEmpty(t, r.UID)
			require.Empty(t, s.world.Peek(held).Tasks)
			var owed []karmada.BindingKey
			for _, d := range r.PendingPurges {
				owed = append(owed, d.Key)
			}
			require.ElementsMatch(t, []karmada.BindingKey{released, held}, owed)
		})
	}
}

// A cluster that joins under the name of a deleted one has none of its Works: that a migration sees none there is no proof.
//
// Rules: R4.9-61.
func TestClusterJoinedAgainWhileAnOldCopyGoes_OldCopyStaysInTheReport(t *testing.T) {
	s, key := withApp(t)
	s.world.HealthyAfter, s.world.DeleteAfter = 5*time.Second, time.Hour
	s.maintain()
	s.at(5*time.Minute, func() {
		require.Equal(t, phase.MigrationPurging, s.status().Migrations[key.String()].Phase)
		s.joinAgain()
	})
	r := s.playTo(phase.FailoverGone)
	require.Len(t, r.PendingPurges, 1)
	require.Equal(t, key, r.PendingPurges[0].Key)
}

// joinAgain deletes m1, and has another cluster join under its name.
func (s *story) joinAgain() {
	s.world.DeleteCluster("m1")
	s.world.AddCluster("m1")
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.UID = "another" })
}

// Rules: R4.9-42.
func TestAVoidRecordOfAStopIsRemoved(t *testing.T) {
	s := newStory(t)
	s.world.RecordStop("m1", karmada.StoppedBy{Who: "jane", Why: "it was us", FailoverID: "of-a-run-that-was-terminated"})
	s.playTo(phase.FailoverFalseAlarm)
}

// Rules: R4.9-39, R4.9-40.
func TestAStoppedFailoverThatIsResumedRunsItsWindowsAgain(t *testing.T) {
	s, _ := outage(t, 20*time.Minute)
	s.at(10*time.Second, func() { s.order(workflows.UpdateCancel, "look first") })
	s.at(5*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		s.order(workflows.UpdateResume, "looked")
	})
	r := s.play()
	require.Len(t, r.Attempts, 2)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.False(t, s.world.Log("evict")[0].At.Before(storyBegins.Add(5*time.Minute+addAfter)), "the windows run again")
}

// The resume is of the whole failover: what paused the whole ends with it, and what paused a namespace does not.
//
// Rules: R4.4-15, R4.9-40.
func TestAFailoverThatWasPausedAndStoppedMovesAfterOneResume(t *testing.T) {
	s, _ := outage(t, 20*time.Minute)
	s.bindIn("bank", "ledger", []string{"m1"}, "m1", "m2")
	s.at(8*time.Second, func() {
		s.order(workflows.UpdatePause, "is this real?")
		s.ordered(workflows.UpdatePause, by(queue.Scope{Namespace: "bank"}))
	})
	s.at(10*time.Second, func() { s.order(workflows.UpdateCancel, "the cluster is fine") })
	var resumed *answer
	s.at(5*time.Minute, func() {
		resumed = s.accept(s.orderAs(workflows.UpdateResume, workflows.Order{Who: "jane", Reason: "it was real after all"}))
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "ledger": "Abandoned"}, outcomes(s.play()))
	require.Equal(t, "re-opened as a new attempt: the windows run again before anything moves; still paused: namespace bank (by jane)", resumed.value)
}

// A hold that outlived its migration outlives no deleted cluster: who is told of
// it first finds it without an owner, also when it never saw the cluster.
// Rules: R4.9-46, R4.9-51, R4.9-53.
func TestAHoldWithoutAnOwnerGoesWithTheDeletedCluster(t *testing.T) {
	s, key := withApp(t)
	s.holdNow(key, "m2")
	s.world.DeleteCluster("m1")
	s.playTo(phase.FailoverGone)
}

// Rules: R4.9-46, R4.9-51, R4.9-53.
func TestAHoldWhoseMigrationWasTerminatedGoesWithTheDeletedCluster(t *testing.T) {
	s, key := failing(t)
	terminated := endsFirst(s, func() { s.holdNow(key, "m2") })
	s.at(2*time.Minute, func() { s.world.DeleteCluster("m1") })
	r := s.playTo(phase.FailoverGone)
	require.True(t, *terminated)
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeMigrated}, outcomes(r))
}

// What was released before its migration was terminated neither targets the cluster nor
// is held there: no list and no look for orphans brings it back.
//
// Rules: R4.9-52, R4.9-53.
func TestWhatWasReleasedBeforeItsMigrationWasTerminatedHasAnOutcome(t *testing.T) {
	s, key := outage(t, 10*time.Minute)
	terminated := endsFirst(s, func() {
		s.returns(key, "m2")
	})
	r := s.play()
	require.True(t, *terminated)
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeAbandoned}, outcomes(r))
	require.Equal(t, reason.Unverified, r.Attempts[0].Results[0].Reason)
}

// endsFirst ends the first migration before its first act, without a report, as an operator's
// termination does; leave says what it leaves behind.
func endsFirst(s *story, leave func()) *bool {
	terminated := false
	s.intercept(&around{run: func(ctx workflow.Context, execute func(workflow.Context) (any, error)) (any, error) {
		if terminated || workflow.GetInfo(ctx).WorkflowType.Name != workflows.TypeBindingMigration {
			return execute(ctx)
		}
		terminated = true
		leave()
		return record.Result{}, nil
	}})
	return &terminated
}

// The scheduler takes longer over the eviction than the cluster takes to come back: the restore that waits for
// its answer still comes before the untaint. A restore that an older attempt asked for has had its time then; the
// untaint of the next attempt waits for it again. A put-back that was refused wants attention, and goes on wanting it;
// that is no word about the restore which the recovery asks for afterwards.
//
// Rules: R4.9-6, R4.9-19, R4.9-28.
func TestTheUntaintWaitsForARestoreThatWaitsForTheScheduler(t *testing.T) {
	for name, c := range map[string]struct {
		schedules time.Duration
		happens   func(*story, karmada.BindingKey)
		attempts  int
	}{
		"": {schedules: 45 * time.Second, happens: func(s *story, _ karmada.BindingKey) { s.outage(addAfter + 4*time.Second) }, attempts: 1},
		"in the next attempt": {
			schedules: 8*time.Minute + 40*time.Second,
			happens: func(s *story, _ karmada.BindingKey) {
				s.outage(2 * time.Minute)
				s.at(6*time.Minute, func() {
					require.Empty(s.t, s.world.PeekCluster("m1").Added, "its time in the first attempt is up")
					s.world.SetReady("m1", false)
				})
				s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
			},
			attempts: 2,
		},
		"after a refused put-back": {
			schedules: 55 * time.Second,
			happens: func(s *story, key karmada.BindingKey) {
				s.outage(addAfter + 4*time.Second)
				s.refuses(addAfter+2*time.Second, key, "m1 is not Ready")
			},
			attempts: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := unplaceable(s)
			s.world.ScheduleAfter = c.schedules
			c.happens(s, key)
			r := s.play()
			require.Len(t, r.Attempts, c.attempts)
			require.Equal(t, phase.OutcomeRestored, r.Attempts[0].Results[0].Outcome)
			restored, taints := s.world.Log("restore"), s.world.Log("taint")
			require.Len(t, restored, 1)
			require.Len(t, taints, 2*c.attempts)
			require.Equal(t, "+0 -2", taints[len(taints)-1].Detail)
			require.False(t, taints[len(taints)-1].At.Before(restored[0].At), "untainted at %s, restored at %s", taints[len(taints)-1].At, restored[0].At)
		})
	}
}

// Rules: R4.9-24, R4.9-25.
func TestARestoreThatTheSchedulerUndoesIsHeldAgainAndThenComplete(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	cordon := s.world.Lost
	undone := false
	s.world.Lost = func(op, binding string) bool {
		if op == "restore" && !undone {
			undone = true
			s.at(100*time.Millisecond, func() { s.world.Change(key, func(b *karmada.Binding) { b.Clusters = nil }) })
		}
		return cordon(op, binding)
	}
	s.outage(5 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(s.play()))
	require.Len(t, s.world.Log("hold"), 1, "the old copy is held again before anything else: %v", ops(s))
	require.Len(t, s.world.Log("restore"), 2)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, s.world.Peek(key).Clusters)
}

// The answer of the restore is lost, and the scheduler undoes it before anybody looks: no hold stands by then, and nothing
// says that Lifeboat's own write dropped it.
//
// Rules: R4.9-25.
func TestARestoreWhoseAnswerIsLostAndThatTheSchedulerUndoesIsHeldAgain(t *testing.T) {
	for name, away := range map[string]time.Duration{"the next try finds out": 0, "nothing answers for as long as it is tried": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := unplaceable(s)
			before := s.world.Lost
			undone, gone := false, false
			s.at(0, func() { s.acts.Reader = silent{s.world, &gone} })
			s.world.Lost = func(op, binding string) bool {
				if op != "restore" || undone {
					return before(op, binding)
				}
				undone, gone = true, away > 0
				s.at(100*time.Millisecond, func() { s.world.Change(key, func(b *karmada.Binding) { b.Clusters = nil }) })
				s.at(away, func() { gone = false })
				return true
			}
			s.outage(5 * time.Minute)
			require.Equal(t, phase.OutcomeRestored, s.playApp().Outcome, "%v", ops(s))
			require.Len(t, s.world.Log("hold"), 1, "%v", ops(s))
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, s.world.Peek(key).Clusters)
		})
	}
}

// What the API server refused is not written: a task that is gone by then was dropped by another hand, and is not held again.
//
// Rules: R4.9-25.
func TestARestoreThatIsRefusedHoldsNothingAgainThatAnotherHandDropped(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.fails("restore", karmada.ErrRefused)
	s.outage(5 * time.Minute)
	s.at(8*time.Minute, func() {
		require.Equal(t, reason.Forbidden, s.status().Migrations[key.String()].Reason)
		s.world.Change(key, func(b *karmada.Binding) { b.Tasks = nil })
	})
	s.at(10*time.Minute, func() { s.world.Fail = nil })
	require.Equal(t, phase.OutcomeNeedsOperator, s.playApp().Outcome, "%v", ops(s))
	require.Empty(t, s.world.Log("hold"))
}

// The scheduler never observes what was put back: it is told not to look. After restoreWait the write
// stands. A scheduler that only takes longer is waited for, and the attention claims no hold.
//
// Rules: R4.9-20, R4.9-24, R4.9-28.
func TestARestoreThatTheSchedulerNeverObservesIsComplete(t *testing.T) {
	suspend := func(b *karmada.Binding) { b.SchedulingSuspended = true }
	for name, c := range map[string]struct {
		before, then func(*karmada.Binding)
		message      string
		observed     bool
		failed       int // writes, before one was taken
	}{
		"suspended while it is held": {before: suspend, then: func(*karmada.Binding) {}, message: "its scheduling is suspended"},
		"suspended after it":         {then: suspend, message: "its scheduling is suspended"},
		"the write itself took long": {then: suspend, message: "its scheduling is suspended", failed: 18},
		"the scheduler is slow":      {then: func(*karmada.Binding) {}, observed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAudited(t)
			key := unplaceable(s)
			evicted := s.world.Lost
			s.world.Lost = func(op, binding string) bool {
				switch {
				case op == "evict" && c.before != nil:
					s.at(0, func() { s.world.Change(key, c.before) })
				case op == "restore":
					s.at(100*time.Millisecond, func() { s.world.Change(key, c.then) })
				}
				return evicted(op, binding)
			}
			if c.observed {
				s.at(4*time.Minute, func() { s.world.ScheduleAfter = 3 * time.Minute })
			}
			s.failsFirst(c.failed, "restore", karmada.ErrInvalid)
			s.outage(5 * time.Minute)
			r := s.playApp()
			require.Equal(t, phase.OutcomeRestored, r.Outcome)
			require.Contains(t, r.Message, c.message)
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, s.world.Peek(key).Clusters)
			require.Len(t, s.world.Log("restore"), 1)
			require.Empty(t, s.world.Log("hold"))
			took := r.At.Sub(s.world.Log("restore")[0].At)
			require.Greater(t, took, s.settings.Terms.RestoreWait)
			attention := s.recorded(record.AuditBindingAttention, key)
			require.Equal(t, c.observed || c.failed > 0, len(attention) == 1, "%+v", attention)
			if c.observed {
				require.Empty(t, r.Message)
				require.Contains(t, attention[0].Message, "put back, and no hold stands")
			}
		})
	}
}

// The scheduler undoes a put-back, and with that the old copy is gone. What is placed
// again goes on: it is not put back over and over for the sake of the recovery.
//
// Rules: R4.9-25, R4.9-29.
func TestAPutBackThatTheSchedulerUndoesIsNotTriedForEver(t *testing.T) {
	s, key := outage(t, 3*time.Minute)
	s.world.HealthyAfter = 10 * time.Minute
	s.world.Lost = func(op, _ string) bool {
		if op == "restore" {
			s.at(100*time.Millisecond, func() { s.returns(key, "m2") })
		}
		return false
	}
	s.refuses(5*time.Minute, key, "its old copy on m1 is gone")
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("restore"), 1, "%v", ops(s))
}

// Rules: R4.3-19, R4.9-52.
func TestABindingThatLeftAndCameBackHasOneOutcome(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.tolerates(key, 300)
	s.outage(20 * time.Minute)
	s.at(2*time.Minute, func() { s.returns(key, "m2") })
	s.at(4*time.Minute, func() { s.returns(key, "m1") })
	r := s.play()
	require.Len(t, r.Attempts[0].Results, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Equal(t, 1, r.Attempts[0].Counts["Migrated"])
	require.Zero(t, r.Attempts[0].Counts["MovedByOthers"])
}

// returns has the scheduler place app on these clusters.
func (s *story) returns(key karmada.BindingKey, on ...string) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = nil
		for _, c := range on {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: c, Replicas: 2})
		}
		b.Generation++
		b.Status.ObservedGeneration = b.Generation
	})
}

// Seen: what the scheduler had put back on a dead cluster stayed there for the rest of the
// attempt, although nothing of it ran anywhere, and the report said where it was not.
//
// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackOnADeadClusterAloneMovesOnceMore(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.outage(15 * time.Minute)
	s.at(5*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		s.returns(key, "m1", "m2")
	})
	s.at(7*time.Minute, func() {
		s.blocked(reason.SchedulerReturnsIt) // it lives on m2
		require.Equal(t, reason.SchedulerReturnsIt, s.status().Results[0].Reason)
		s.world.SetReady("m2", false)
		s.cordon("m2", karmada.EvacuatingTaintKey) // as its own failover does
		s.returns(key, "m1")
	})
	got := s.playApp()
	require.Len(t, s.world.Log("evict"), 2)
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Equal(t, []string{"m3"}, got.To)
	require.NotEqual(t, reason.SchedulerReturnsIt, got.Reason)
	require.Equal(t, []karmada.TargetCluster{{Name: "m3", Replicas: 2}}, s.world.Peek(key).Clusters)
}

// With nowhere to go it says so, and waits for room as any other; the report names no cluster
// on which it does not run.
//
// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackOnADeadClusterAndFitsNowhereIsLookedAtAgain(t *testing.T) {
	s, key := outage(t, 10*time.Minute)
	s.at(5*time.Minute, func() {
		s.world.SetReady("m2", false)
		s.returns(key, "m1")
	})
	s.at(10*time.Minute-time.Second, func() {
		require.False(t, s.blocked(reason.NoTarget).Permanent)
		require.Empty(t, s.status().Results[0].To)
		require.Equal(t, reason.SchedulerReturnsIt, s.status().Results[0].Reason)
	})
	got := s.playApp()
	require.Equal(t, phase.OutcomeMigrated, got.Outcome, "one outcome, and it stays")
	require.Equal(t, reason.SchedulerReturnsIt, got.Reason)
	require.Empty(t, got.To)
}

// A cluster that answers Karmada runs the copy: nothing is gained by another move.
//
// Rules: R4.2-7.
func TestWhatTheSchedulerPutsBackOnAReadyClusterStays(t *testing.T) {
	s, key := withApp(t)
	s.maintained(10 * time.Minute)
	s.at(5*time.Minute, func() { s.returns(key, "m1") })
	s.at(10*time.Minute-time.Second, func() { s.blocked(reason.SchedulerReturnsIt) })
	s.play()
	require.Len(t, s.world.Log("evict"), 1)
}

// hostBehindOlder is host with a migration of an earlier failover on the way.
func hostBehindOlder(ctx workflow.Context, cluster string, older workflows.BindingMigrationParams) (workflows.FailoverReport, error) {
	id := workflows.BindingMigrationID("", cluster, older.State.Ref.Key)
	if err := begin(ctx, id, workflows.TypeBindingMigration, older).GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return workflows.FailoverReport{}, err
	}
	return host(ctx, cluster)
}

// A failover was terminated while one of its migrations waited for the old copy to
// go. Its end is no outcome of the failover that came after it.
// Rules: R4.9-4, R4.9-53, R4.9-54.
func TestTemporalUI325And1399AMigrationOfATerminatedFailoverIsNoOutcomeOfTheNext(t *testing.T) {
	s, key := withApp(t)
	older := workflows.BindingMigrationParams{State: workflows.MigrationState{
		Ref: activities.MigrationRef{
			Cluster: "m1", ClusterUID: "uid-m1", Key: key, UID: "uid-shop/app", Mode: rules.ModeEnforce,
			Owner: s.migration(key), Written: storyBegins.Add(-time.Minute),
		},
		Parent: workflows.ClusterFailoverID("", "m1"), FailoverID: "terminated", Attempt: 1, Terms: s.settings.Terms,
		Phase: phase.MigrationPurging, Began: storyBegins.Add(-time.Minute), Entered: storyBegins, Placed: true, Evicted: workflows.WriteStands,
		OldWork: &karmada.Work{Namespace: "karmada-es-m1", Name: "dies-slowly", UID: "old"},
	}}
	s.host, s.args = hostBehindOlder, []any{"m1", older}
	s.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "dies-slowly", Cluster: "m1", UID: "old", Deleting: true})
	// m1 answers, and fails by another word: its old copies are still seen to go.
	s.maintained(10 * time.Minute)
	s.at(2*time.Minute, func() { s.world.DropWork("karmada-es-m1", "dies-slowly") })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 1, "it is moved by this failover: %v", ops(s))
}

// A migration was told to recover and had no answer of the scheduler; then the
// cluster failed again. The order of the attempt before must not restore it.
// Rules: R4.9-28.
func TestARecoveryOfAnOlderAttemptRestoresNothingOntoAClusterThatFailsAgain(t *testing.T) {
	s := newStory(t)
	unplaceable(s)
	s.world.ScheduleAfter = 20 * time.Minute
	s.outage(2 * time.Minute)
	s.at(6*time.Minute, func() {
		require.Empty(t, s.world.PeekCluster("m1").Added, "the untaint does not wait for ever")
		s.world.SetReady("m1", false)
	})
	s.at(40*time.Minute, func() {
		require.Empty(t, s.world.Log("restore"))
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Len(t, r.Attempts, 2)
	require.Equal(t, phase.OutcomeRestored, r.Attempts[0].Results[0].Outcome, "its outcome is that of the attempt in which it began")
	require.Len(t, s.world.Log("restore"), 1)
}

func TestAnOperatorsOrderDoesNotWaitForAnActThatWasRefused(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	s.settings.Terms.Recheck, s.settings.Terms.ClusterPoll = 10*time.Minute, 10*time.Minute
	ordered := false
	s.world.Fail = func(op, _ string) error {
		if op != "taint" || ordered {
			return nil
		}
		ordered = true
		s.order(workflows.UpdateCancel, "it was us")
		return karmada.ErrInvalid
	}
	s.at(addAfter+3*time.Second, func() {
		require.True(t, ordered)
		require.NotNil(t, s.world.PeekCluster("m1").Stopped, "obeyed at once")
	})
	s.playTo(phase.FailoverCancelled)
	require.Empty(t, s.world.Log("evict"))
}

// The taint stands, and before its answer has come the failure is over: nobody was listed
// yet. Whom the taint moves is told of in the report all the same.
//
// Rules: R4.9-10, R4.9-37, R4.9-52.
func TestWhomATaintMovesHasAnOutcomeThoughItWasOverBeforeTheList(t *testing.T) {
	for name, c := range map[string]struct {
		over func(*story)
		why  reason.Reason
		end  phase.Failover
	}{
		"it recovers":         {over: func(s *story) { s.world.SetReady("m1", true) }, why: reason.ClusterRecovered, end: phase.FailoverRecovered},
		"an operator cancels": {over: func(s *story) { s.order(workflows.UpdateCancel, "it was us") }, why: reason.Cancelled, end: phase.FailoverCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 10*time.Minute)
			stoic := s.bind("stoic", []string{"m1"}, "m1", "m2")
			s.tolerant(stoic)
			s.tainted = sync.OnceFunc(func() { c.over(s) })
			r := s.playTo(c.end)
			require.Empty(t, s.world.Log("evict"))
			require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
			require.Equal(t, c.why, r.Attempts[0].Results[0].Reason)
		})
	}
}

// What the first eviction needs is done before the taint stands, unless its pre-check takes long: then the taint does not
// wait for it.
//
// Rules: R4.3-15.
func TestTheFirstEvictionIsPreparedBeforeTheTaint(t *testing.T) {
	for name, c := range map[string]struct{ check, taint, evict time.Duration }{
		"a pre-check of a second":    {check: time.Second, taint: 3 * time.Second, evict: 1500 * time.Millisecond},
		"a pre-check of ten seconds": {check: 10 * time.Second, taint: 4 * time.Second, evict: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := outage(t, 5*time.Minute)
			s.slow = map[string]time.Duration{activities.NamePreCheck: c.check}
			s.play()
			taint, evict := s.world.Log("taint")[0].At, s.world.Log("evict")[0].At
			require.Less(t, taint.Sub(storyBegins), addAfter+c.taint)
			require.Less(t, evict.Sub(taint), c.evict)
			t.Logf("tainted after %s, evicted %s later", taint.Sub(storyBegins), evict.Sub(taint))
		})
	}
}

// The taints that a failover foresees are not said to stand when their write fails.
//
// Rules: R4.3-16.
func TestForeseenTaintsDoNotStandBeforeTheirWrite(t *testing.T) {
	s, app := outage(t, 5*time.Minute)
	failed := s.failsFirst(1, "taint", karmada.ErrInvalid)
	s.at(addAfter+5*time.Second, func() {
		require.Len(t, *failed, 1)
		require.Empty(t, s.world.Log("taint"))
		require.Empty(t, s.explain(app).Taints)
	})
	s.play()
}

// An attempt that is over hears of one of its bindings more than once: its migration was
// ended from outside, adopted, and reports in the end.
//
// Rules: R4.9-52.
func TestAnOlderAttemptKeepsOneOutcomeOfABindingThatIsReportedTwice(t *testing.T) {
	s, key := failing(t)
	s.world.HealthyAfter = 8 * time.Minute
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", false) })
	uid := s.world.Peek(key).UID
	for _, at := range []time.Duration{7 * time.Minute, 8 * time.Minute} {
		s.at(at, func() {
			result := &record.Result{Key: key, UID: uid, Outcome: phase.OutcomeAbandoned, Reason: reason.Unverified}
			s.hint(workflows.ClusterFailoverID("", "m1"), workflows.SignalMigrationReports, workflows.MigrationReports{Reports: []activities.MigrationReport{{
				FailoverID: "e", Attempt: 1, Key: key, UID: uid, Phase: phase.MigrationDone, Result: result,
			}}})
		})
	}
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Greater(t, len(r.Attempts), 1)
	require.Len(t, r.Attempts[0].Results, 1)
	require.Equal(t, map[string]int{string(r.Attempts[0].Results[0].Outcome): 1}, nonZero(r.Attempts[0].Counts))
}

// Rules: R4.9-19.
func TestALostAnswerStillWaitsForTheSchedulersBeforeTheRestore(t *testing.T) {
	s, _ := outage(t, addAfter+20*time.Second)
	s.world.ScheduleAfter = 2 * time.Minute
	s.settings.Terms.RestoreWait = 10 * time.Minute
	s.world.Lost = func(op, _ string) bool { return op == "evict" }
	s.play()
	evicted := s.world.Log("evict")[0].At
	for _, w := range s.world.Log("restore") {
		require.False(t, w.At.Before(evicted.Add(s.world.ScheduleAfter)), "its late patch would undo the restore")
	}
}

// A rule that only keeps new work away may go on matching after the failure.
//
// Rules: R4.9-9.
func TestATaintThatMovesNobodyOutlivesTheRecoveryAndOpensNoAttempt(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	s.world.AddRule(rules.Rule{
		Name:            "always",
		MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorNotIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionUnknown}}},
		Taints:          []karmada.RuleTaint{{Key: "quiet", Effect: corev1.TaintEffectNoSchedule, AddOnMatch: time.Second, RemoveOnMismatch: time.Second}},
	})
	s.at(10*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Len(t, c.Added, 1, "only the taint that its rule still asks for stands")
		s.world.ClearRules()
	})
	r := s.play()
	require.Len(t, r.Attempts, 1)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}

// Rules: R4.3-21.
func TestABindingThatIsMendedIsMovedInTheSameAttempt(t *testing.T) {
	s, key := outage(t, 8*time.Minute)
	s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.replicas: not a number" })
	s.at(2*time.Minute, func() { s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" }) })
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}

// One that tolerates a soft taint for some time is moved by a hard one that comes meanwhile.
//
// Rules: R4.3-14.
func TestABindingThatBearsASoftTaintIsMovedByAHardOne(t *testing.T) {
	s, key := withApp(t)
	s.world.Change(key, func(b *karmada.Binding) {
		b.HasClusterFailover = true
		b.Placement.ClusterTolerations = []corev1.Toleration{{
			Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		}}
	})
	s.world.PutTaint("m1", corev1.Taint{Key: "soft", Effect: karmada.EffectPreferNoExecute})
	s.world.PutTaint("m1", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	s.at(2*time.Minute, func() { s.world.PutTaint("m1", corev1.Taint{Key: "hard", Effect: corev1.TaintEffectNoExecute}) })
	s.at(8*time.Minute, func() {
		for _, k := range []string{"hard", "soft", taintKey} {
			s.world.DropTaint("m1", k)
		}
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
}
