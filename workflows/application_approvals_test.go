package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// unapproved is an application that needs an approval, and how often it was checked.
func unapproved(t *testing.T) (s *story, key karmada.BindingKey, checks map[string]int) {
	t.Helper()
	s, key = unhealthy(t)
	s.settings.Approval = queue.ApprovalRules{Namespaces: []string{"shop"}}
	s.settings.Terms.AskFor = 10 * time.Minute
	return s, key, s.started()
}

// twoUnapproved is one with two copies that are Unhealthy: that on m1 is asked for first.
func twoUnapproved(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key, _ := unapproved(t)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: "m2", Replicas: 2})
	})
	s.health(key, "m2", karmada.HealthUnhealthy)
	return s, key
}

// asksForM2 plays such a story to its end: at that time the copy on m2 awaits approval, and then it heals.
func (s *story) asksForM2(key karmada.BindingKey, at time.Duration) {
	s.t.Helper()
	s.at(at, func() {
		require.Equal(s.t, "m2", s.applicationStatus(key).Checked)
		require.Equal(s.t, reason.AwaitingApproval, s.applicationStatus(key).Reason)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// An approval is for a move, not for an attempt at one.
//
// Rules: R4.6-22, R4.13-9.
func TestApplicationFailover_ApprovedMoveThatWritesNothing_NeedsNoOtherApproval(t *testing.T) {
	for name, refused := range map[string]string{
		"its check finds another's task": activities.NamePreCheck, "its eviction finds one": activities.NameEvict,
	} {
		t.Run(name, func(t *testing.T) {
			s, key, _ := unapproved(t)
			approved := false
			s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if approved && info.ActivityType.Name == refused {
					approved = false
					s.world.Change(key, func(b *karmada.Binding) {
						b.Tasks = append(b.Tasks, karmada.Task{FromCluster: "m1", Producer: karmada.TaintManager})
					})
				}
			})
			s.at(tolerated+time.Minute, func() {
				s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key)))
				approved = true
			})
			s.at(tolerated+4*time.Minute, func() {
				require.False(t, approved)
				require.Equal(t, phase.ApplicationBlocked, s.applicationStatus(key).Phase)
			})
			s.at(tolerated+5*time.Minute, func() { s.theirsEnd(key) })
			s.at(time.Hour, func() { s.health(key, "m1", karmada.HealthHealthy) }) // it ends, moved or not
			s.applicationEnds(phase.ApplicationMigrated)
			s.movedOnce(tolerated + 5*time.Minute)
		})
	}
}

// Rules: R4.6-31, R4.13-9.
func TestApplicationFailover_RequestThatNobodyAnswers_ExpiresUntilAnOperatorApproves(t *testing.T) {
	s, key, checks := unapproved(t)
	asked := 0
	s.at(tolerated+9*time.Minute, func() {
		status := s.applicationStatus(key)
		require.Equal(t, reason.AwaitingApproval, status.Reason)
		require.False(t, status.ApprovalAskedAt.IsZero())
	})
	s.at(tolerated+20*time.Minute, func() {
		status := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationBlocked, status.Phase)
		require.Equal(t, reason.ApprovalExpired, status.Reason)
		require.Contains(t, status.Message, "it was not approved within 10m0s: ")
		asked = checks[activities.NamePreCheck]
		s.acts.Settings.Approval = queue.ApprovalRules{} // the rules go; it stays all the same
		s.world.AddCluster("new")
		s.orderApp(key, workflows.UpdatePause, by(queue.ScopeOf(key)))
	})
	s.at(tolerated+30*time.Minute, func() { s.orderApp(key, workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.ScopeOf(key))}) })
	s.at(tolerated+40*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		require.Equal(t, asked, checks[activities.NamePreCheck], "nothing asks again")
		require.Empty(t, s.world.Log("evict"))
		s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(2*time.Hour, func() { s.health(key, "m1", karmada.HealthHealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated + 40*time.Minute)
}

// The copy for which approval was requested heals: the request for another one has a time of its own.
//
// Rules: R4.6-31.
func TestApplicationFailover_RequestForAnotherCopy_HasItsWholeTime(t *testing.T) {
	s, key := twoUnapproved(t)
	s.at(tolerated+8*time.Minute, func() {
		require.Equal(t, "m1", s.applicationStatus(key).Checked)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.asksForM2(key, tolerated+15*time.Minute)
}

// Nobody approved the copy on m1 in time, and it heals: of the other one no operator was asked yet.
//
// Rules: R4.6-31.
func TestApplicationFailover_CopyHealsAfterItsRequestExpired_AnotherIsAskedFor(t *testing.T) {
	s, key := twoUnapproved(t)
	s.at(tolerated+15*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.asksForM2(key, tolerated+20*time.Minute)
}

// Of a malformed binding nothing is known: what expired stands.
//
// Rules: R4.6-31, R4.13-3.
func TestApplicationFailover_MalformedForAWhileAfterARequestExpired_ChecksNothing(t *testing.T) {
	s, key, checks := unapproved(t)
	asked := 0
	s.at(tolerated+15*time.Minute, func() {
		asked = checks[activities.NamePreCheck]
		s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" })
	})
	s.at(tolerated+16*time.Minute, func() { s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" }) })
	s.at(tolerated+20*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		require.Equal(t, asked, checks[activities.NamePreCheck])
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// A pause keeps a move from its permit: an approval that comes meanwhile is for the next one, as its answer says.
//
// Rules: R4.6-22, R4.13-9.
func TestApplicationFailover_ApprovedWhileItsMoveIsPaused_IsForTheNext(t *testing.T) {
	s, key := unhealthy(t)
	s.needConfig(key)
	mine := by(queue.ScopeOf(key))
	s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
	s.at(3*time.Minute, func() { s.orderApp(key, workflows.UpdatePause, mine) })
	s.at(4*time.Minute, func() {
		require.True(t, s.applicationStatus(key).Move.WantsPermit)
		s.orderApp(key, workflows.UpdateApprove, mine)
	})
	s.at(5*time.Minute, func() {
		require.Equal(t, 2, s.applicationStatus(key).Approval.Attempt)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// Rules: R4.6-31.
func TestApplicationFailover_RequestExpired_StandsWhateverAnotherCopyDoes(t *testing.T) {
	s, key, checks := unapproved(t)
	s.arrivals = rules.Arrivals{{Cluster: "m2", Revision: "/first"}}
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: "m2", Replicas: 2})
	})
	s.health(key, "m2", karmada.HealthHealthy)
	asked := 0
	s.at(tolerated+15*time.Minute, func() {
		asked = checks[activities.NamePreCheck]
		s.health(key, "m2", karmada.HealthUnhealthy)
	})
	s.at(tolerated+16*time.Minute, func() { s.health(key, "m2", karmada.HealthHealthy) })
	s.at(tolerated+20*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		require.Equal(t, asked, checks[activities.NamePreCheck])
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// Rules: R4.6-31.
func TestApplicationFailover_ContinuesAsNewAfterARequestExpired_ChecksNothing(t *testing.T) {
	s, key, checks := unapproved(t)
	s.params.State = &workflows.ApplicationState{
		Key: key, FailoverID: "first", Began: storyBegins, Phase: phase.ApplicationBlocked, Checked: "m1", ApprovalAskedAt: storyBegins,
		Look: activities.Application{UID: s.world.Peek(key).UID}, Expired: reason.Verdict{Reason: reason.ApprovalExpired, Message: "too late"},
		Clocks: rules.UnhealthyClocks{{Cluster: "m1", Revision: "/first", Since: storyBegins, Ran: tolerated}},
	}
	s.at(20*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		require.Zero(t, checks[activities.NamePreCheck])
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// A copy that is tolerated again is asked for again, for as long.
//
// Rules: R4.6-31.
func TestApplicationFailover_AnotherRevisionAfterARequestExpired_RequestsApprovalAgain(t *testing.T) {
	s, key, _ := unapproved(t)
	s.at(tolerated+20*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		s.world.SetRevision(key, "second")
		s.world.Change(key, func(b *karmada.Binding) { b.Generation++ })
	})
	s.at(2*tolerated+24*time.Minute, func() {
		require.Equal(t, reason.AwaitingApproval, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log("evict"))
}

// What no rule asks for any more is not asked for since then, when a rule asks again.
//
// Rules: R4.6-31.
func TestApplicationFailover_CheckThatNeedsNoApproval_EndsTheRequest(t *testing.T) {
	s, key, _ := unapproved(t)
	s.at(tolerated+5*time.Minute, func() {
		require.Equal(t, reason.AwaitingApproval, s.applicationStatus(key).Reason)
		s.world.Change(key, func(b *karmada.Binding) { b.SchedulingSuspended = true })
	})
	s.at(tolerated+12*time.Minute, func() {
		status := s.applicationStatus(key)
		require.Equal(t, reason.SchedulingSuspended, status.Reason)
		require.Zero(t, status.ApprovalAskedAt)
		s.world.Change(key, func(b *karmada.Binding) { b.SchedulingSuspended = false })
	})
	s.at(tolerated+18*time.Minute, func() {
		require.Equal(t, reason.AwaitingApproval, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// Rules: R4.13-9.
func TestApplicationFailover_ApprovedWhileItIsChecked_IsCheckedAgainAtOnce(t *testing.T) {
	s, key, _ := unapproved(t)
	s.settings.Terms.Recheck = 10 * time.Minute
	s.slow = map[string]time.Duration{activities.NamePreCheck: 20 * time.Second}
	s.at(tolerated+10*time.Second, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key))) })
	s.at(tolerated+9*time.Minute, func() { s.health(key, "m1", karmada.HealthHealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Less(t, s.world.Log("evict")[0].At.Sub(storyBegins), tolerated+5*time.Minute)
}

// What expired while it was only observed is asked for again.
//
// Rules: R4.6-31, R4.15-14.
func TestApplicationFailover_EnforcedAfterARequestExpired_RequestsApprovalAgain(t *testing.T) {
	s, key, _ := unapproved(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.at(tolerated+20*time.Minute, func() {
		require.Equal(t, reason.ApprovalExpired, s.applicationStatus(key).Reason)
		s.setMode(rules.ModeEnforce)
		s.accept(s.enforceApp(key))
	})
	s.at(tolerated+25*time.Minute, func() {
		require.Equal(t, reason.AwaitingApproval, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}
