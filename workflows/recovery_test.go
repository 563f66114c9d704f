package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.4-2, R4.9-10.
func TestRecoveryWhileToleratingAbandonsAndWritesNothingOnTheBinding(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	seconds := int64(600)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ClusterTolerations = []corev1.Toleration{{
			Key: taintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		}}
	})
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
	require.Empty(t, s.world.Log("evict"))
	require.Empty(t, s.world.Leftovers())
}

// unplaceable evicts a binding whose only candidate goes away with the write, so
// that the scheduler finds no fit.
func unplaceable(s *story) karmada.BindingKey {
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Lost = func(op, _ string) bool {
		if op == "evict" {
			s.at(time.Millisecond, func() {
				s.world.PutTaint("m2", corev1.Taint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule})
			})
		}
		return false
	}
	return key
}

// Rules: R4.9-6, R4.9-12, R4.9-21.
func TestAnUnplacedBindingIsRestoredBeforeTheUntaint(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	refused := 0
	s.world.Fail = func(op, _ string) error {
		if op == "restore" && refused < 3 {
			refused++ // it takes its time: who would not wait would untaint meanwhile
			return errors.New("etcdserver: request timed out")
		}
		return nil
	}
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, 3, refused)
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	b := s.world.Peek(key)
	target, _ := b.Target("m1")
	require.NotNil(t, target)
	require.EqualValues(t, 2, target.Replicas)
	require.Empty(t, s.world.Leftovers())
	log := s.world.Log("")
	require.Equal(t, []string{"taint", "evict", "restore", "taint"}, ops(s), "restores come first, the untaint right after: %v", log)
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
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.ScheduleAfter = 10 * time.Second
	done := false
	s.world.Lost = func(op, _ string) bool {
		if op == "evict" && !done {
			done = true
			s.at(time.Second, func() {
				s.world.Change(key, func(b *karmada.Binding) {
					b.Clusters = []karmada.TargetCluster{{Name: "m1", Replicas: 2}}
				})
			})
		}
		return false
	}
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 2)
	require.Equal(t, 1, s.pacer.used, "the repeated removal needs no permit")
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.4-17, R4.7-11.
func TestKubernetes50067ALostAnswerIsFoundOutByReadingAgain(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Lost = func(op, _ string) bool { return op == "evict" }
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1, "what stands is not written again")
	require.Len(t, s.used, 1, "seen to stand: the cap counts it")
	require.Equal(t, "shop/app", s.used[0].Binding)
}

// Each attempt has a permit of its own; the write that stands is reported as a move, and no other.
//
// Rules: R4.5-11, R4.6-23.
func TestARefusedWriteGoesBackToTheQueueWithItsReason(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	var refusals []time.Time
	s.world.Fail = func(op, _ string) error {
		if op == "evict" && len(refusals) < 2 {
			refusals = append(refusals, s.env.Now())
			return karmada.ErrForbidden
		}
		return nil
	}
	s.world.SetReady("m1", false)
	reasons := map[reason.Reason]bool{}
	s.looks = append(s.looks, func() {
		if item, queued := s.queued(); queued && item.State == queue.Blocked {
			reasons[item.Reason] = true
		}
	})
	for at := addAfter; at < 4*time.Minute; at += 5 * time.Second {
		s.at(at, s.lookSoon)
	}
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, refusals, 2)
	require.GreaterOrEqual(t, refusals[1].Sub(refusals[0]), s.settings.Terms.Recheck, "its back-off")
	require.Equal(t, map[reason.Reason]bool{reason.Forbidden: true}, reasons)

	require.Equal(t, []workflows.PermitUse{{Number: 3, Binding: "shop/app"}}, s.used, "each attempt had a permit of its own; one was used")
}

// Rules: R4.1-13, R4.7-29, R4.9-5.
func TestAHumansTaintMovesAndItsRemovalRecoversAtOnce(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
	s.at(10*time.Minute, func() { s.world.DropTaint("m1", "maintenance") })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
	release := s.world.Log("release")[0]
	require.GreaterOrEqual(t, release.At.Sub(s.world.Log("evict")[0].At), s.settings.Terms.Detection,
		"where the source is Ready, health must hold for longer than detection")
}

// Rules: R4.15-2, R4.15-6.
func TestObserveWritesNothingAndSaysWhatItWould(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.bind("stays", []string{"m1"}, "m1")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "WouldMove", "stays": "WouldBlock"}, outcomes(r))
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.4-10.
func TestWhereThePacerDoesNotAnswerNothingIsEvicted(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.pacer.refuse = errors.New("halted")
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
	require.Empty(t, s.world.Log("evict"))
}

// Rules: R4.4-11.
func TestKarmada4688And6357PauseStopsDispatchAndResumeGoesOn(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(10*time.Second, func() { s.order(workflows.UpdatePause, "look first") })
	s.at(5*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		s.order(workflows.UpdateResume, "looked")
	})
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}

// Rules: R4.9-32, R4.9-33, R4.9-37, R4.9-38, R4.9-41.
func TestTemporalWeb210And486ACancelledFailoverRestoresUntaintsAndLeavesARecord(t *testing.T) {
	s := newStory(t)
	s.bind("tolerates", []string{"m1"}, "m1")
	unplaceable(s)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "it was us") })
	s.at(6*time.Minute, func() {
		c := s.world.PeekCluster("m1")
		require.Empty(t, c.Added)
		require.NotNil(t, c.Stopped)
		require.Equal(t, "jane", c.Stopped.Who)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverCancelled, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored", "tolerates": "Abandoned"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-44.
func TestTemporal8106OrdersWithoutWhoOrWhyAreRefused(t *testing.T) {
	s := newStory(t)
	s.world.SetReady("m1", false)
	var nobody, silent *answer
	s.at(10*time.Second, func() {
		nobody = s.orderAs(workflows.UpdatePause, workflows.Order{Reason: "x"})
		silent = s.orderAs(workflows.UpdatePause, workflows.Order{Who: "x"})
	})
	s.at(20*time.Second, func() { s.world.SetReady("m1", true) })
	s.play()
	require.ErrorContains(t, nobody.err, `"who"`)
	require.ErrorContains(t, silent.err, `"reason"`)
}

// Rules: R4.9-46, R4.9-47, R4.9-48.
func TestAnOrphanedHoldIsAdoptedAsTheFirstAct(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m2"}, "m1", "m2")
	hold, replicas := true, int32(2)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Replicas: &replicas, Reason: karmada.TaskReason, Producer: karmada.Producer,
			Message: workflows.BindingMigrationID("", "m1", key), SuppressDeletion: &hold, ClustersBeforeFailover: []string{"m1"},
		}}
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r), "placed before: it goes on")
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-3.
func TestAFailureThatComesBackWhileSettlingIsANewAttempt(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 8 * time.Minute
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", false) })
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Len(t, r.Attempts, 2)
	require.Empty(t, s.world.Leftovers())
	total := 0
	for _, attempt := range r.Attempts {
		total += len(attempt.Results)
	}
	require.Equal(t, 1, total, "one binding, moved once: %+v", r.Attempts)
}

// Rules: R4.9-51.
func TestTheDeletedClustersTaskIsTheLastThingToGo(t *testing.T) {
	s := newStory(t)
	unplaceable(s)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.DeleteCluster("m1") })
	r := s.play()
	require.Equal(t, phase.FailoverGone, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Whoever deletes a Cluster object stops nothing that runs there: its Works go without the
// member. What was moved away is owed, whether its hold stood or was released before.
//
// Rules: R4.9-51, R4.9-61.
func TestClusterDeleted_OldCopiesNobodySawGoStayInTheReport(t *testing.T) {
	for name, deleted := range map[string]func(*story){
		"deleted": func(s *story) { s.world.DeleteCluster("m1") },
		"joined again under its name": func(s *story) {
			s.world.DeleteCluster("m1")
			s.world.AddCluster("m1")
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.UID = "another" })
		},
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
			r := s.play()
			require.Equal(t, phase.FailoverGone, r.Ended)
			require.NotEmpty(t, r.UID)
			var owed []karmada.BindingKey
			for _, d := range r.PendingPurges {
				owed = append(owed, d.Key)
			}
			require.ElementsMatch(t, []karmada.BindingKey{released, held}, owed)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// Rules: R4.9-42.
func TestAVoidRecordOfAStopIsRemoved(t *testing.T) {
	s := newStory(t)
	s.world.RecordStop("m1", karmada.StoppedBy{Who: "jane", Why: "it was us", FailoverID: "of-a-run-that-was-terminated"})
	r := s.play()
	require.Equal(t, phase.FailoverFalseAlarm, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-39, R4.9-40.
func TestAStoppedFailoverThatIsResumedRunsItsWindowsAgain(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(10*time.Second, func() { s.order(workflows.UpdateCancel, "look first") })
	s.at(5*time.Minute, func() {
		require.Empty(t, s.world.Log("evict"))
		s.order(workflows.UpdateResume, "looked")
	})
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Len(t, r.Attempts, 2)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
	require.False(t, s.world.Log("evict")[0].At.Before(storyBegins.Add(5*time.Minute+addAfter)), "the windows run again")
}

// A hold that outlived its migration outlives no deleted cluster: whoever is told of
// it first finds it without an owner, also when it never saw the cluster.
// Rules: R4.9-46, R4.9-51, R4.9-53.
func TestAHoldWithoutAnOwnerGoesWithTheDeletedCluster(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	leaveHold(s, key)
	s.world.DeleteCluster("m1")
	r := s.play()
	require.Equal(t, phase.FailoverGone, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.9-46, R4.9-51, R4.9-53.
func TestAHoldWhoseMigrationWasTerminatedGoesWithTheDeletedCluster(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	terminated := endsFirst(s, func() { leaveHold(s, key) })
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() { s.world.DeleteCluster("m1") })
	r := s.play()
	require.True(t, *terminated)
	require.Equal(t, phase.FailoverGone, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeMigrated}, outcomes(r))
	require.Empty(t, s.world.Leftovers())
}

// What was released before its migration was terminated neither targets the cluster nor
// is held there: no list and no look for orphans brings it back.
//
// Rules: R4.9-52, R4.9-53.
func TestWhatWasReleasedBeforeItsMigrationWasTerminatedHasAnOutcome(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	terminated := endsFirst(s, func() {
		leaveHold(s, key)
		s.world.Change(key, func(b *karmada.Binding) { b.Tasks = nil })
	})
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.True(t, *terminated)
	require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeAbandoned}, outcomes(r))
	require.Equal(t, reason.Unverified, r.Attempts[0].Results[0].Reason)
}

// endsFirst ends the first migration without a word; what stands then is what leave leaves.
func endsFirst(s *story, leave func()) *bool {
	terminated := false
	end := func() bool {
		first := !terminated
		if first {
			terminated = true
			leave()
		}
		return first
	}
	s.intercept(&ender{end: end})
	return &terminated
}

// ender ends migrations as a human would who should not have: before their first act.
type ender struct {
	interceptor.WorkerInterceptorBase
	end func() bool
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (i *ender) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &endedInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, i}
}

type endedInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	by *ender
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor.
func (i *endedInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	if workflow.GetInfo(ctx).WorkflowType.Name == workflows.TypeBindingMigration && i.by.end() {
		return record.Result{}, nil
	}
	return i.Next.ExecuteWorkflow(ctx, in)
}

// leaveHold moves a binding from m1 to m2 under a hold of a migration that does not run.
func leaveHold(s *story, key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) {
		hold := true
		b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: b.Replicas}}
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", PurgeMode: karmada.PurgeGracefully, Reason: karmada.TaskReason, Producer: karmada.Producer,
			Message: workflows.BindingMigrationID("", "m1", key), SuppressDeletion: &hold,
		}}
	})
}
