package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// asked is a story in which a human is asked about everything in namespace shop.
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
	s.world.SetReady("m1", false)
	share := 50.0
	s.settings.Approval = queue.ApprovalRules{ReplicasAbove: &share}
	for _, name := range []string{"a", "b", "c"} {
		s.in("shop", name, 0)
	}
	key := s.in("shop", "elsewhere", 0)
	s.world.Change(key, func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}} })
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
	s.at(40*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Len(t, s.world.Log("evict"), 2)
}

// Rules: R4.6-22.
func TestApprovalsThatMakeNoSenseAreRefused(t *testing.T) {
	s := asked(t)
	key := s.in("shop", "app", 0)
	moved := s.in("bank", "moved", 0)
	s.world.HealthyAfter = 20 * time.Minute
	refusals := map[string]*answer{}
	say := func(why string, o workflows.ScopedOrder) { refusals[why] = s.tellFailover(workflows.UpdateApprove, o) }
	anonymous := by(queue.Scope{Namespace: "shop"})
	anonymous.Reason = ""
	s.at(30*time.Second, func() { say("nothing is listed yet", by(queue.Scope{All: true})) })
	s.at(3*time.Minute, func() {
		say("name its object", by(queue.Scope{}))
		say(`"reason"`, anonymous)
		say("its move has begun", by(queue.ScopeOf(moved)))
		say("nothing to approve", by(queue.Scope{Namespace: "nobody"}))
		s.ordered(workflows.UpdatePause, by(queue.ScopeOf(key)))
		s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(4*time.Minute, func() { say("not approved already", by(queue.ScopeOf(key))) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(8*time.Minute, func() { say("nothing is dispatched any more", by(queue.Scope{All: true})) })
	s.play()
	for why, a := range refusals {
		require.ErrorContains(t, a.err, why, "%s: %v", why, a.value)
	}
	require.NotContains(t, s.movedAt(), "shop/app", "approved, and paused all the same")
}

// Rules: R4.6-21, R4.15-5.
func TestARehearsalTellsWhatWouldAwaitApproval(t *testing.T) {
	s := asked(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.in("shop", "app", 0)
	var said *answer
	s.at(3*time.Minute, func() { said = s.tellFailover(workflows.UpdateApprove, by(queue.Scope{All: true})) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	got := resultOf(t, r)
	require.Equal(t, phase.OutcomeWouldBlock, got.Outcome)
	require.Equal(t, reason.AwaitingApproval, got.Reason)
	require.ErrorContains(t, said.err, "this failover observes")
}
