package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// purging gives a binding a purge mode of its own.
func (s *story) purging(key karmada.BindingKey, mode karmada.PurgeMode) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Annotations = map[string]string{karmada.AnnotationPurgeMode: string(mode)}
	})
}

// appResult is what became of app in the last attempt.
func (s *story) appResult() record.Result {
	s.t.Helper()
	for _, r := range s.report.Attempts[len(s.report.Attempts)-1].Results {
		if r.Key.Name == "app" {
			return r
		}
	}
	require.Fail(s.t, "no outcome")
	return record.Result{}
}

// A recovery does not take it back either: with its task standing the scheduler would
// not take the cluster straight back.
//
// Rules: R4.8-11.
func TestPurgeModeNeverKeepsItThroughARecovery(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.purging(key, karmada.PurgeNever)
	s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
	s.world.HealthyAfter = 5 * time.Minute
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeKept, s.appResult().Outcome)
	require.Empty(t, s.world.Log("restore"))
}

// Rules: R4.8-11.
func TestPurgeModeNeverKeepsTheOldCopyForGood(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.purging(key, karmada.PurgeNever)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()

	require.Equal(t, phase.OutcomeKept, s.appResult().Outcome)
	require.Equal(t, []string{"m2"}, s.appResult().To)
	require.Empty(t, s.world.Log("release"), "nothing is released")
	kept := s.world.Peek(key)
	task, _ := kept.TaskFor("m1")
	require.NotNil(t, task)
	require.Equal(t, karmada.TaskReasonKept, task.Reason)
	require.Equal(t, karmada.PurgeNever, task.PurgeMode)
	mark := s.world.Log("mark")
	require.Len(t, mark, 1)
	require.GreaterOrEqual(t, mark[0].At.Sub(s.world.Log("evict")[0].At), s.settings.Terms.MinHealthy, "kept, after the new copy was proven")
	require.Empty(t, s.world.Leftovers(), "what is kept is no leftover; all else is gone")
}

// A preserved copy outlives its Work: its end would prove nothing, so it is kept, and named.
//
// Rules: R4.8-15.
func TestMigration_PreservedCopyGracefully_IsKept(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) { b.PreservesCopies = true })
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()

	require.Equal(t, phase.OutcomeKept, s.appResult().Outcome)
	require.Equal(t, reason.CopyPreserved, s.appResult().Reason)
	require.Empty(t, s.world.Log("release"))
	kept := s.world.Peek(key)
	task, _ := kept.TaskFor("m1")
	require.NotNil(t, task)
	require.Equal(t, karmada.TaskReasonKept, task.Reason)
}

// Rules: R4.8-16.
func TestMigration_PreservedCopyDirectly_IsBlockedAndNeverWritten(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.purging(key, karmada.PurgeDirectly)
	s.world.Change(key, func(b *karmada.Binding) { b.PreservesCopies = true })
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()

	require.Empty(t, s.world.Log("evict"))
	require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
}

func TestPurgeModeNeverIsRestoredWhileUnplaced(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.purging(key, karmada.PurgeNever)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeRestored, s.appResult().Outcome)
	require.Empty(t, s.world.Peek(key).Tasks)
}

// What the binding itself says is frozen when the attempt is confirmed, and so is the configured
// default; what its policy object says is, too, but by the first check that asks for it, for
// only then is the policy read. Later edits change nothing in this attempt.
//
// Rules: R4.3-15.
func TestThePurgeModeIsFrozenForTheAttempt(t *testing.T) {
	const confirmed, due = 5 * time.Minute, 15 * time.Minute
	own := func(mode karmada.PurgeMode) func(*story, karmada.BindingKey) {
		return func(s *story, key karmada.BindingKey) { s.purging(key, mode) }
	}
	policy := func(mode karmada.PurgeMode) func(*story, karmada.BindingKey) {
		return func(s *story, key karmada.BindingKey) {
			s.world.SetPolicyAnnotation(key, karmada.AnnotationPurgeMode, string(mode))
		}
	}
	nothing := func(*story, karmada.BindingKey) {}
	for name, c := range map[string]struct {
		before    func(*story, karmada.BindingKey) // the failure
		confirmed func(*story, karmada.BindingKey) // after the confirmation, before the first check
		checked   func(*story, karmada.BindingKey) // after the first check, which found no place
		byDefault karmada.PurgeMode
		want      phase.Outcome
	}{
		"nobody says anything": {before: nothing, confirmed: nothing, checked: nothing, byDefault: karmada.PurgeNever, want: phase.OutcomeKept},
		"its own, edited after the confirmation": {
			before: own(karmada.PurgeNever), confirmed: own(karmada.PurgeGracefully), checked: nothing, byDefault: karmada.PurgeGracefully, want: phase.OutcomeKept,
		},
		"its own, edited after the first check": {
			before: own(karmada.PurgeNever), confirmed: nothing, checked: own(karmada.PurgeGracefully), byDefault: karmada.PurgeGracefully, want: phase.OutcomeKept,
		},
		"it says something only after the first check": {
			before: nothing, confirmed: nothing, checked: own(karmada.PurgeGracefully), byDefault: karmada.PurgeNever, want: phase.OutcomeKept,
		},
		"its policy, edited after the confirmation": {
			before: policy(karmada.PurgeGracefully), confirmed: policy(karmada.PurgeNever), checked: nothing, byDefault: karmada.PurgeGracefully, want: phase.OutcomeKept,
		},
		"its policy, edited after the first check": {
			before: policy(karmada.PurgeGracefully), confirmed: nothing, checked: policy(karmada.PurgeNever), byDefault: karmada.PurgeGracefully, want: phase.OutcomeMigrated,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Terms.Purge = c.byDefault
			key := s.bind("app", []string{"m1"}, "m1")
			s.tolerates(key, int64(due.Seconds()))
			c.before(s, key)
			s.world.SetReady("m1", false)
			s.at(confirmed, func() { c.confirmed(s, key) })
			s.at(confirmed+due, func() {
				item, queued := s.queued()
				require.True(t, queued && item.State == queue.Blocked, "its first check found no place")
				c.checked(s, key)
				s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterAffinity.ClusterNames = []string{"m1", "m2"} })
			})
			s.at(35*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			require.Equal(t, c.want, s.appResult().Outcome)
		})
	}
}

// Both copies were kept, and a human decides: a later failure of the same cluster
// finds nothing to move, and no run adopts what is off limits.
func TestWhatWasKeptIsOffLimits(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.purging(key, karmada.PurgeNever)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	kept := s.world.Peek(key)

	again := newStory(t)
	again.world.AddBinding(karmada.Binding{
		Key: key, Replicas: 2, Resource: kept.Resource, Placement: kept.Placement, Clusters: kept.Clusters, Tasks: kept.Tasks,
	})
	again.world.SetReady("m1", false)
	again.at(5*time.Minute, func() { again.world.SetReady("m1", true) })
	r := again.play()
	require.Empty(t, outcomes(r))
	require.Empty(t, again.world.Log("evict"))
	require.Equal(t, kept.Tasks, again.world.Peek(key).Tasks)
}

// A run that takes a hold over knows no policy: the task itself says how the old copy goes.
//
// Rules: R4.8-11.
func TestAnAdoptedHoldGoesByItsTasksPurgeMode(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m2"}, "m1", "m2")
	hold, replicas := true, int32(2)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Replicas: &replicas, Reason: karmada.TaskReason, Producer: karmada.Producer, PurgeMode: karmada.PurgeNever,
			Message: workflows.BindingMigrationID("", "m1", key), SuppressDeletion: &hold, ClustersBeforeFailover: []string{"m1"},
		}}
	})
	s.play()
	require.Equal(t, phase.OutcomeKept, s.appResult().Outcome)
	require.Empty(t, s.world.Log("release"))
}
