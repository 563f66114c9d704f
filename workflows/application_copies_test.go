package workflows_test

import (
	"strings"
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

// twoUnhealthy is a story of an application on m1 and m2, which may go to m3 and m4: that on m1 is Unhealthy from the
// beginning on, that on m2 half a minute later.
func twoUnhealthy(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := unhealthy(t)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: "m2", Replicas: 2})
		b.Placement.ClusterAffinity.ClusterNames = []string{"m1", "m2", "m3", "m4"}
		b.Placement.SpreadConstraints[0].MaxGroups = 2
	})
	s.health(key, "m2", karmada.HealthHealthy)
	s.at(30*time.Second, func() { s.health(key, "m2", karmada.HealthUnhealthy) })
	return s, key
}

// evictedFrom are the clusters that were left, in order.
func (s *story) evictedFrom() (clusters []string) {
	for _, w := range s.world.Log("evict") {
		clusters = append(clusters, w.Cluster)
	}
	return clusters
}

// The scheduler takes long to place what leaves m1. The copy on m2 is Healthy meanwhile: its time begins again.
//
// Rules: R4.13-2.
func TestApplicationFailover_AnotherCopyHealsWhileItMoves_HasItsWholeTimeAgain(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.world.Change(key, func(b *karmada.Binding) { b.Application.TolerationSeconds = 300 })
	s.world.ScheduleAfter = 3 * time.Minute
	s.at(6*time.Minute, func() {
		require.False(t, s.applicationStatus(key).Move.Placed)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.at(7*time.Minute, func() { s.health(key, "m2", karmada.HealthUnhealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1", "m2"}, s.evictedFrom())
	require.False(t, s.world.Log("evict")[1].At.Before(storyBegins.Add(12*time.Minute)))
}

// When the copy on m2 leaves, the scheduler moves the copy on m1, too: the task of another evictor excludes that cluster.
//
// Rules: R4.13-5.
func TestApplicationFailover_OneCopyIsBlocked_TheOtherMoves(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "other"}} })
	s.at(2*time.Minute+15*time.Second, func() { require.Equal(t, reason.ForeignTask, s.applicationStatus(key).Reason) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m2"}, s.evictedFrom())
	require.Less(t, s.world.Log("evict")[0].At.Sub(storyBegins), tolerated+time.Minute)
}

// Rules: R4.13-5, R4.13-9.
func TestApplicationFailover_OneCopyIsApprovedAndBlocked_TheOtherMoves(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "other"}} })
	s.at(10*time.Second, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key))) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m2"}, s.evictedFrom())
}

// Both pass the check, and the write is refused: neither is tried again before its time because of the other.
//
// Rules: R4.13-5.
func TestApplicationFailover_NoCopyCanBeWritten_AreTriedAgainWithBackoff(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.settings.Terms.Recheck = 2 * time.Minute
	refused := s.failsFirst(-1, "evict", karmada.ErrForbidden)
	s.at(13*time.Minute, func() {
		require.InDelta(t, 10, len(*refused), 2)
		s.health(key, "m1", karmada.HealthHealthy)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// Its time is over before what is blocked is checked again.
//
// Rules: R4.13-5, R4.13-6.
func TestApplicationFailover_ACopyWaitsForItsTimeWhileAnotherIsBlocked_MovesWhenThatIsOver(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.settings.Terms.Recheck = 5 * time.Minute
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "other"}} })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m2"}, s.evictedFrom())
	require.WithinDuration(t, storyBegins.Add(tolerated+30*time.Second), s.world.Log("evict")[0].At, 10*time.Second)
}

// Where all copies are blocked they are checked again with the backoff of one.
//
// Rules: R4.13-5.
func TestApplicationFailover_EachCopyIsBlocked_AreCheckedAgainWithBackoff(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "other"}, {FromCluster: "m2", Producer: "other"}}
	})
	s.at(time.Hour, func() {
		stands := s.applicationStatus(key)
		require.ElementsMatch(t, []string{"m1", "m2"}, stands.Tried)
		require.Greater(t, stands.Tries, 2)
		require.Less(t, stands.Tries, 60)
		require.Empty(t, s.evictedFrom())
		s.health(key, "m1", karmada.HealthHealthy)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// It was moved to m2, where it is Unhealthy, too: the copy on m1 would be no better on a third cluster.
//
// Rules: R4.13-7.
func TestApplicationFailover_SameRevisionUnhealthyOnOneOfItsClusters_IsMovedFromNone(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m2", Revision: "/first"}}
	s.world.SetRevision(key, "first")
	s.at(2*time.Minute+15*time.Second, func() { require.Equal(t, phase.ApplicationUnhealthy, s.applicationStatus(key).Phase) })
	s.at(20*time.Minute, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationNeedsOperator, stands.Phase)
		require.Equal(t, reason.SameRevision, stands.Attention)
		require.Contains(t, stands.Message, "m2")
		require.Empty(t, s.evictedFrom())
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
}

// heldByAnotherCopy is a story in which the move off m1 holds its dependents and waits for a permit when the copy on m2, where the
// revision was moved to, turns out to be no better. The fleet was halted until then.
func heldByAnotherCopy(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := twoUnhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m2", Revision: "/first"}}
	s.at(30*time.Second, func() { s.health(key, "m2", karmada.HealthHealthy) })
	s.needConfig(key)
	s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
	s.at(3*time.Minute, func() {
		require.True(t, s.applicationStatus(key).Move.WantsPermit)
		s.health(key, "m2", karmada.HealthUnhealthy)
	})
	s.at(9*time.Minute, func() {
		require.Equal(t, reason.SameRevision, s.applicationStatus(key).Attention)
		s.fleetOrder(workflows.UpdateResume)
	})
	s.at(20*time.Minute-time.Second, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationNeedsOperator, stands.Phase)
		require.Contains(t, strings.Join(stands.View(stands.Now).Actions(), ""), "lifeboat approve")
		require.Empty(t, s.evictedFrom())
	})
	return s, key
}

// Rules: R4.13-7.
func TestApplicationFailover_SameRevisionUnhealthyElsewhereBeforeItsPermit_IsNotMoved(t *testing.T) {
	s, key := heldByAnotherCopy(t)
	s.at(20*time.Minute, func() { s.health(key, "m2", karmada.HealthHealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
}

// An approval of one copy is not used by another while the first is blocked.
//
// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_SameRevisionApprovedAndBlocked_MovesNoOther(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m2", Revision: "/first"}}
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m2", Producer: "other"}} })
	s.at(20*time.Minute, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key))) })
	s.at(40*time.Minute, func() {
		require.Equal(t, reason.ForeignTask, s.applicationStatus(key).Reason)
		require.Empty(t, s.evictedFrom())
		s.health(key, "m1", karmada.HealthHealthy)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_SameRevisionApprovedWhileAnotherCopyWaits_MovesTheCopyThatIsNamed(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m2", Revision: "/first"}}
	s.at(20*time.Minute, func() {
		require.Contains(t, s.applicationStatus(key).Message, "m2")
		s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, "m2", s.evictedFrom()[0])
}

// The copy on m1 is approved. That on m2 becomes Unhealthy where it was moved to while the fleet is halted: nobody was asked about it.
//
// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_ApprovedBeforeAnotherCopyIsUnhealthy_IsHeldByIt(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m2", Revision: "/first"}}
	s.settings.Approval = queue.ApprovalRules{Namespaces: []string{"shop"}}
	s.at(30*time.Second, func() { s.health(key, "m2", karmada.HealthHealthy) })
	s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
	s.at(3*time.Minute, func() {
		require.Equal(t, reason.AwaitingApproval, s.applicationStatus(key).Reason)
		s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(4*time.Minute, func() { s.health(key, "m2", karmada.HealthUnhealthy) })
	s.at(9*time.Minute, func() { s.fleetOrder(workflows.UpdateResume) })
	s.at(30*time.Minute, func() {
		require.Empty(t, s.evictedFrom())
		require.Equal(t, reason.SameRevision, s.applicationStatus(key).Attention)
		require.Contains(t, s.applicationStatus(key).Message, "m2")
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
}

// An approval of a copy whose time is not over yet delays no other.
//
// Rules: R4.13-2, R4.13-9.
func TestApplicationFailover_ApprovedBeforeItsTimeIsOver_AnotherCopyMovesFirst(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.at(10*time.Second, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key))) })
	s.at(40*time.Second, func() { s.health(key, "m1", karmada.HealthHealthy) })
	s.at(50*time.Second, func() { s.health(key, "m1", karmada.HealthUnhealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, "m2", s.evictedFrom()[0])
}

// Each was moved to where it is: an approval is of one of them, the first, and the other does not hold that.
//
// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_SameRevisionUnhealthyWhereverItWasMoved_MovesWhatIsApproved(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m1", Revision: "/first"}, {Cluster: "m2", Revision: "/first"}}
	s.at(20*time.Minute, func() {
		require.Contains(t, s.applicationStatus(key).Message, "m1")
		s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key)))
	})
	s.at(40*time.Minute, func() {
		require.Equal(t, []string{"m1"}, s.evictedFrom())
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
}

// Two operators approve it, and one of them the whole namespace: that takes nothing from the first approval.
//
// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_ApprovedAgainWhileItsMoveIsApproved_GoesOn(t *testing.T) {
	s, key := heldByAnotherCopy(t)
	approve := func(id string, scope queue.Scope) {
		s.accept(s.update(workflows.ApplicationFailoverID("", key), workflows.UpdateApprove, id, by(scope)))
	}
	s.at(20*time.Minute, func() {
		approve("first", queue.ScopeOf(key))
		approve("second", queue.ScopeOf(key))
		approve("third", queue.Scope{Namespace: key.Namespace})
	})
	s.at(40*time.Minute, func() { s.health(key, "m2", karmada.HealthHealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
	require.Less(t, s.world.Log("evict")[0].At.Sub(storyBegins), 25*time.Minute)
}

// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_ApprovedAgainOnceItsApprovedMoveIsPlaced_IsForTheNext(t *testing.T) {
	s, key := heldByAnotherCopy(t)
	s.at(20*time.Minute, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key))) })
	s.at(20*time.Minute+40*time.Second, func() {
		require.True(t, s.applicationStatus(key).Move.Placed)
		s.accept(s.update(workflows.ApplicationFailoverID("", key), workflows.UpdateApprove, "again", by(queue.ScopeOf(key))))
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1", "m2"}, s.evictedFrom())
}

// An approval of its whole namespace lets no move go that another copy holds: it is for the next one.
//
// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_NamespaceApprovedWhileItsMoveIsHeldByAnotherCopy_IsForTheNext(t *testing.T) {
	s, key := heldByAnotherCopy(t)
	s.at(20*time.Minute, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.Scope{Namespace: key.Namespace})) })
	s.at(40*time.Minute, func() {
		require.Empty(t, s.evictedFrom())
		require.Equal(t, 2, s.applicationStatus(key).Approval.Attempt)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
}

// Its move is approved, and writes nothing: the approval stays with the copy that it is of.
//
// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_ApprovedMoveIsRefusedWhileAnotherCopyHeldIt_MovesNoOther(t *testing.T) {
	s, key := heldByAnotherCopy(t)
	s.fails("evict", karmada.ErrForbidden)
	s.at(20*time.Minute, func() { s.orderApp(key, workflows.UpdateApprove, by(queue.ScopeOf(key))) })
	s.at(25*time.Minute, func() { s.world.Fail = nil })
	s.at(60*time.Minute, func() {
		require.Empty(t, s.evictedFrom())
		require.Equal(t, reason.SameRevision, s.applicationStatus(key).Attention)
		s.health(key, "m2", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, []string{"m1"}, s.evictedFrom())
}

// Rules: R4.13-7.
func TestApplicationFailover_SameRevisionUnhealthyOnItsNewCluster_IsSaidWhileAnotherCopyWaits(t *testing.T) {
	s, key := twoUnhealthy(t)
	s.world.SetRevision(key, "first")
	s.world.HealthyAfter = time.Hour
	s.at(4*time.Minute, func() { s.health(key, "m3", karmada.HealthUnhealthy) })
	s.at(20*time.Minute, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationNeedsOperator, stands.Phase)
		require.Contains(t, stands.Message, "m3")
		require.Contains(t, strings.Join(stands.View(stands.Now).Actions(), ""), "lifeboat put-back")
		require.Equal(t, []string{"m1"}, s.evictedFrom())
		s.health(key, "m2", karmada.HealthHealthy)
		s.health(key, "m3", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
}

// Rules: R4.13-1, R4.13-4.
func TestApplicationFailover_UnhealthyOnAClusterThatFails_StaysOpen(t *testing.T) {
	s, key := unhealthy(t)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationUnhealthy, stands.Phase)
		require.Equal(t, reason.ClockStopped, stands.Reason)
		require.Equal(t, "on m1", stands.Message)
		s.world.SetReady("m1", true)
		s.world.Change(key, func(*karmada.Binding) {})
	})
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(5*time.Minute + tolerated)
}

// Rules: R4.13-5.
func TestApplicationFailover_MalformedWhileItIsBlocked_SaysAfterwardsWhyItIs(t *testing.T) {
	s, key := unhealthy(t)
	s.settings.Terms.Recheck = 10 * time.Minute
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "other"}} })
	s.at(4*time.Minute, func() { s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" }) })
	s.at(5*time.Minute, func() {
		require.Equal(t, reason.Malformed, s.applicationStatus(key).Attention)
		s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" })
	})
	s.at(6*time.Minute, func() {
		require.Equal(t, reason.ForeignTask, s.applicationStatus(key).Reason)
		require.Equal(t, reason.None, s.applicationStatus(key).Attention)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
}

// Of a malformed binding nothing is known: that stops the time, and does not begin it again.
//
// Rules: R4.13-3.
func TestApplicationFailover_MalformedForAWhile_GoesOnWithItsTime(t *testing.T) {
	s, key := unhealthy(t)
	s.at(time.Minute, func() { s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" }) })
	s.at(4*time.Minute, func() {
		require.Equal(t, reason.Malformed, s.applicationStatus(key).Reason)
		s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" })
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.WithinDuration(t, storyBegins.Add(3*time.Minute+tolerated), s.world.Log("evict")[0].At, 20*time.Second)
}

// Rules: R4.13-7.
func TestApplicationFailover_MalformedAtTheFirstLook_RecallsWhereItWasMoved(t *testing.T) {
	s, key := unhealthy(t)
	s.arrivals = rules.Arrivals{{Cluster: "m1", Revision: "/first"}}
	s.world.SetRevision(key, "first")
	s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" })
	s.at(time.Minute, func() { s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" }) })
	s.at(20*time.Minute, func() {
		require.Equal(t, reason.SameRevision, s.applicationStatus(key).Attention)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.evictedFrom())
}
