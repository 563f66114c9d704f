package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
	return resultOf(s.t, s.report)
}

// playApp plays the story and returns what became of app.
func (s *story) playApp() record.Result {
	s.t.Helper()
	s.play()
	return s.appResult()
}

// A recovery does not take it back either: with its task standing the scheduler would
// not take the cluster straight back.
//
// Rules: R4.8-11.
func TestPurgeModeNeverKeepsItThroughARecovery(t *testing.T) {
	s, key := outage(t, 3*time.Minute)
	s.purging(key, karmada.PurgeNever)
	s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
	s.world.HealthyAfter = 5 * time.Minute
	require.Equal(t, phase.OutcomeKept, s.playApp().Outcome)
	require.Empty(t, s.world.Log("restore"))
}

// Rules: R4.8-11.
func TestPurgeModeNeverKeepsTheOldCopyForGood(t *testing.T) {
	s, key := outage(t, 5*time.Minute)
	s.purging(key, karmada.PurgeNever)
	require.Equal(t, phase.OutcomeKept, s.playApp().Outcome)
	require.Equal(t, []string{"m2"}, s.appResult().To)
	require.Empty(t, s.world.Log("release"), "nothing is released")
	require.Equal(t, karmada.TaskReasonKept, s.task(key).Reason)
	require.Equal(t, karmada.PurgeNever, s.task(key).PurgeMode)
	mark := s.world.Log("mark")
	require.Len(t, mark, 1)
	require.GreaterOrEqual(t, mark[0].At.Sub(s.world.Log("evict")[0].At), s.settings.Terms.MinHealthy, "kept, after the new copy was proven")
}

// A preserved copy outlives its Work: its end would prove nothing, so it is kept, and named.
//
// Rules: R4.8-15.
func TestMigration_PreservedCopyGracefully_IsKept(t *testing.T) {
	for name, preserve := range map[string]func(*story, karmada.BindingKey){
		"by the binding": func(s *story, key karmada.BindingKey) { s.world.Change(key, fixtures.Preserves) },
		"by the old Work alone": func(s *story, key karmada.BindingKey) {
			old := s.world.Copies(key)["m1"]
			old.PreservesCopy = true
			s.world.PutWork(old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 5*time.Minute)
			preserve(s, key)
			require.Equal(t, phase.OutcomeKept, s.playApp().Outcome)
			require.Equal(t, reason.CopyPreserved, s.appResult().Reason)
			require.Empty(t, s.world.Log("release"))
			require.Equal(t, karmada.TaskReasonKept, s.task(key).Reason)
		})
	}
}

// Rules: R4.8-16.
func TestMigration_PreservedCopyDirectly_IsBlockedAndNeverWritten(t *testing.T) {
	s, key := outage(t, 10*time.Minute)
	s.purging(key, karmada.PurgeDirectly)
	s.world.Change(key, fixtures.Preserves)
	s.play()
	require.Empty(t, s.world.Log("evict"))
	require.Equal(t, phase.OutcomeAbandoned, s.appResult().Outcome)
}

// What the binding itself says is frozen when the attempt is confirmed, and so is the configured
// default; what its policy object says is, too, but by the first check that asks for it, for
// only then is the policy read. Later edits change nothing in this attempt.
//
// Rules: R4.3-15.
func TestThePurgeModeIsFrozenForTheAttempt(t *testing.T) {
	const confirmed, due = 5 * time.Minute, 15 * time.Minute
	const never, gracefully = karmada.PurgeNever, karmada.PurgeGracefully
	const kept, migrated = phase.OutcomeKept, phase.OutcomeMigrated
	type says struct{ own, policy karmada.PurgeMode } // of the binding, and of its policy; empty: as before
	for name, c := range map[string]struct {
		before    says // the failure
		confirmed says // after the confirmation, before the first check
		checked   says // after the first check, which found no place
		byDefault karmada.PurgeMode
		want      phase.Outcome
	}{
		"nobody says anything":                         {byDefault: never, want: kept},
		"its own, edited after the confirmation":       {before: says{own: never}, confirmed: says{own: gracefully}, byDefault: gracefully, want: kept},
		"its own, edited after the first check":        {before: says{own: never}, checked: says{own: gracefully}, byDefault: gracefully, want: kept},
		"it says something only after the first check": {checked: says{own: gracefully}, byDefault: never, want: kept},
		"its policy, edited after the confirmation":    {before: says{policy: gracefully}, confirmed: says{policy: never}, byDefault: gracefully, want: kept},
		"its policy, edited after the first check":     {before: says{policy: gracefully}, checked: says{policy: never}, byDefault: gracefully, want: migrated},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Terms.Purge = c.byDefault
			key := s.bind("app", []string{"m1"}, "m1")
			s.tolerates(key, int64(due.Seconds()))
			say := func(x says) {
				if x.own != "" {
					s.purging(key, x.own)
				}
				if x.policy != "" {
					s.world.SetPolicyAnnotation(key, karmada.AnnotationPurgeMode, string(x.policy))
				}
			}
			say(c.before)
			s.outage(35 * time.Minute)
			s.at(confirmed, func() { say(c.confirmed) })
			s.at(confirmed+due, func() {
				item, queued := s.queued()
				require.True(t, queued && item.State == queue.Blocked, "its first check found no place")
				say(c.checked)
				s.world.Change(key, func(b *karmada.Binding) { b.Placement.ClusterAffinity.ClusterNames = []string{"m1", "m2"} })
			})
			require.Equal(t, c.want, s.playApp().Outcome)
		})
	}
}

// Rules: R4.8-17, R4.9-7.
func TestFailover_OldCopiesEndAsSoonAsTheClusterIsReady(t *testing.T) {
	s := newStory(t)
	s.world.BacksOff = true
	const copies = 45
	for i := range copies {
		s.bind(fmt.Sprintf("app%d", i), []string{"m1"}, "m1", "m2", "m3")
	}
	const back = 10 * time.Minute
	s.outage(back)
	r := s.play()
	require.Empty(t, r.PendingPurges)
	ended := s.world.Log("end")
	require.Len(t, ended, copies)
	for _, w := range ended {
		require.Less(t, w.At.Sub(storyBegins.Add(back)), 5*time.Second, "long before the untaint")
	}
	require.Less(t, r.Until.Sub(storyBegins.Add(back)), wellFor+10*time.Second, "nothing waits for them")
}

// Rules: R4.8-18.
func TestFailover_OldCopiesThatDoNotEnd_StayOpenAndNeedAttention(t *testing.T) {
	const back = 10 * time.Minute
	s, _ := outage(t, back)
	s.world.BacksOff = true
	s.fails("end", karmada.ErrForbidden)
	s.at(back+wellFor+2*time.Minute, func() { require.Equal(t, []reason.Reason{reason.PendingPurge}, s.status().Attention) })
	r := s.play()
	require.Len(t, r.PendingPurges, 1, "handed over")
	require.InDelta(t, (wellFor + s.settings.Terms.PendingPurgeWait).Seconds(), r.Until.Sub(storyBegins.Add(back)).Seconds(), 30)
}

// Rules: R4.8-18.
func TestMigration_MemberKeepsTheOldCopy_NeedsAttentionAndEndsWithAPendingPurge(t *testing.T) {
	s, key := withApp(t)
	s.world.DeleteAfter = 40 * time.Minute
	s.fails("end", karmada.ErrForbidden)
	s.maintained(30 * time.Minute)
	begun := s.started()
	s.at(10*time.Minute, func() {
		require.Len(t, s.world.Log("release"), 1)
		st := s.standing(key)
		require.Equal(t, phase.MigrationPurging, st.Phase)
		require.Equal(t, reason.PendingPurge, st.Attention)
	})
	s.at(28*time.Minute, func() {
		require.Equal(t, phase.MigrationPurging, s.standing(key).Phase, "while it is maintained, who empties it waits for the old copy")
		require.NotEqual(t, phase.FailoverEvacuated, s.status().Phase)
	})
	r := s.play()
	require.Equal(t, reason.PendingPurge, s.appResult().Reason)
	require.Contains(t, s.appResult().Message, "after its release")
	require.Less(t, begun[activities.NameObserveWork], 60, "it looks ever more rarely")
	require.Empty(t, r.PendingPurges, "the failover has seen it go")
}
