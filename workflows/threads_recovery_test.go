package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A task that nobody takes away keeps the recovered cluster out for ever.
// Rules: R4.9-12, R4.9-21.
func TestKarmada5782NoTaskIsLeftOnceTheClusterIsReady(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.NotEmpty(t, s.world.Log("evict"))
	require.Empty(t, s.world.Peek(key).Tasks)
	require.Empty(t, s.world.Leftovers())
}

// A flaky readyz, and a binding that can run nowhere else.
// Rules: R4.9-2, R4.9-10.
func TestKarmada5803AFlakyClusterTakesNothingFromWhoHasNowhereToGo(t *testing.T) {
	s := newStory(t)
	stays := s.bind("stays", []string{"m1"}, "m1")
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	for i := range 12 {
		s.at(3*time.Minute+time.Duration(i)*wellFor/2, func() { s.world.SetReady("m1", i%2 == 0) })
	}
	s.at(15*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "stays": "Abandoned"}, outcomes(r))
	require.Len(t, r.Attempts, 1, "it never stayed well for the whole window")
	require.Len(t, s.world.Log("evict"), 1)
	b := s.world.Peek(stays)
	require.Equal(t, "m1", b.Clusters[0].Name)
	require.Empty(t, b.Tasks)
}

// The cluster is back while its copy there still runs beside the new one: it is
// shown, goes on until the new one runs, and only then the old one goes.
// Rules: R4.9-7, R4.9-14, R4.9-16, R4.9-18.
func TestKarmada3167BothCopiesAreSeenUntilTheNewOneRuns(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.PeekCluster("m1").Added, "what is placed does not delay the untaint")
		require.Len(t, s.world.Peek(key).Tasks, 1, "and is not cut short by it")
		v, err := s.env.QueryWorkflowByID(workflows.BindingMigrationID("", "m1", key), workflows.QueryStatus)
		require.NoError(t, err)
		var st workflows.MigrationStatus
		require.NoError(t, v.Get(&st))
		require.True(t, st.Placed)
		require.Equal(t, phase.MigrationAwaitingHealth, st.Phase)
	})
	r := s.play()
	require.Equal(t, phase.OutcomeMigrated, resultOf(t, r).Outcome)
	require.GreaterOrEqual(t, s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At), s.world.HealthyAfter)
	require.Equal(t, phase.FailoverRecovered, r.Ended)
}

// The network was away and comes back: nothing of what could not move is lost.
// Rules: R4.9-1, R4.9-10, R4.9-36.
func TestKarmada2364NothingIsLostWhenTheNetworkReturns(t *testing.T) {
	s := newStory(t)
	var keys []karmada.BindingKey
	for _, name := range []string{"a", "b", "c"} {
		keys = append(keys, s.bind(name, []string{"m1"}, "m1"))
	}
	moves := s.bind("moves", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	for _, key := range keys {
		b := s.world.Peek(key)
		require.Equal(t, "m1", b.Clusters[0].Name)
		require.True(t, s.world.HasWork(key, "m1"))
	}
	require.Equal(t, "m2", s.world.Peek(moves).Clusters[0].Name, "what was released is listed, not returned")
	require.Equal(t, phase.OutcomeMigrated, outcomes(r)["moves"])
	for _, w := range s.world.Log("evict") {
		require.Less(t, w.At.Sub(storyBegins), 5*time.Minute, "nothing is dispatched once it is back")
	}
}

// Recovery in the middle of a move confuses nobody: the failure is over only when
// the last move has ended.
// Rules: R4.9-8.
func TestRamen2268And1981TheFailureIsOverWhenTheLastMoveIs(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.False(t, r.Until.Before(s.world.Log("release")[0].At))
	require.Empty(t, s.world.Peek(key).Tasks)
}

// It fails and is back quickly: for a moment the same cluster stood in spec.clusters and
// in a task. Each of Lifeboat's writes moves it from one to the other.
// Rules: R4.7-7, R4.9-12, R4.9-21.
func TestKarmada3283NoClusterIsTargetAndUnderEvictionAtOnce(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	held := 0
	s.world.OnWrite = func(w world.Write, _, after karmada.Binding) {
		_, target := after.Target("m1")
		task, _ := after.TaskFor("m1")
		require.Equal(t, target < 0, task != nil, "%s: a target or held, never both, never neither", w.Op)
		if task != nil {
			held++
		}
	}
	s.world.SetReady("m1", false)
	s.at(addAfter+20*time.Second, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	require.Positive(t, held)
	b := s.world.Peek(key)
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}}, b.Clusters)
	require.Empty(t, s.world.Leftovers())
}

// A member in pull mode that came back deleted everything that it had. What did not
// move is wanted there as before; what moved is shown as pending purge until it is gone.
// Rules: R4.7-36, R4.8-12, R4.9-10.
func TestKarmada5406AMemberThatIsBackDeletesOnlyWhatMoved(t *testing.T) {
	s := newStory(t)
	moves := s.bind("moves", []string{"m1"}, "m1", "m2")
	stays := s.bind("stays", []string{"m1"}, "m1")
	before := s.workOn(stays, "m1")
	require.NotEmpty(t, before)
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() {
		owed := s.status().PendingPurges
		require.Len(t, owed, 1, "what waits to be deleted there is shown while it is away")
		require.Equal(t, moves, owed[0].Key)
		require.Equal(t, before, s.workOn(stays, "m1"))
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"moves": "Migrated", "stays": "Abandoned"}, outcomes(r))
	require.Equal(t, before, s.workOn(stays, "m1"), "not deleted and made again")
	require.False(t, s.world.HasWork(moves, "m1"))
	require.Empty(t, r.PendingPurges, "paid")
}

// The unjoin of a dead cluster hung on what could not be deleted there. No step of Lifeboat's
// needs the dead cluster, and nothing of Lifeboat's outlives it.
// Rules: R4.7-36, R4.9-51.
func TestKarmada3740And1847ADeadClusterIsUnjoinedWithoutItsHelp(t *testing.T) {
	s := newStory(t)
	moves := s.bind("moves", []string{"m1"}, "m1", "m2")
	held := unplaceable(s)
	s.world.HealthyAfter = 5 * time.Second
	s.world.SetReady("m1", false)
	s.at(8*time.Minute, func() {
		require.NotEmpty(t, s.world.Peek(held).Tasks)
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Deleting = true })
	})
	s.at(12*time.Minute, func() { s.world.DeleteCluster("m1") })
	r := s.play()
	require.Equal(t, phase.FailoverGone, r.Ended)
	require.Empty(t, s.world.Peek(held).Tasks)
	require.Empty(t, s.world.Peek(moves).Tasks)
	require.Empty(t, s.world.Leftovers())
}

// Getting away from a cluster that did not answer hung on steps which needed it, and a
// condition that had flipped never flipped back. Here everything that moves is at its end
// while the cluster is silent, and what is owed there is paid once it answers.
// Rules: R4.7-36, R4.8-12.
func TestRamen1139And329NoStepWaitsForTheDeadCluster(t *testing.T) {
	s := newStory(t)
	for _, name := range []string{"a", "b", "c"} {
		s.bind(name, []string{"m1"}, "m1", "m2")
	}
	s.world.SetReady("m1", false)
	s.at(time.Hour, func() {
		status := s.status()
		require.Empty(t, status.Moves, "nobody waits for it")
		require.Equal(t, map[string]int{"Migrated": 3}, status.Counts)
		require.Len(t, status.PendingPurges, 3)
		require.Equal(t, phase.FailoverEvacuated, status.Phase)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Empty(t, r.PendingPurges, "paid")
	require.Empty(t, s.world.Leftovers())
}

// The hub was lost with everything that the orchestrator knew: it is rebuilt from what
// is found, and where that does not tell, a human is waited for.
// Rules: R4.5-30, R4.5-31, R4.9-46, R4.9-47, R4.9-48, R4.9-53.
func TestRamen1165And2038WhatIsLostIsRebuiltFromKarmada(t *testing.T) {
	s := newStory(t)
	next := s.bind("next", []string{"m1"}, "m1", "m2")
	moved := s.bind("moved", []string{"m2"}, "m1", "m2")
	hold, replicas := true, int32(2)
	s.world.Change(moved, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Replicas: &replicas, Reason: karmada.TaskReason, Producer: karmada.Producer,
			Message: workflows.BindingMigrationID("", "m1", moved), SuppressDeletion: &hold, ClustersBeforeFailover: []string{"m1"},
		}}
	})
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		at := metav1.NewTime(storyBegins.Add(-time.Minute))
		c.Taints = []corev1.Taint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, TimeAdded: &at}}
		c.Added = []karmada.AddedTaint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, Rule: "not-ready", FailoverID: "lost"}}
	})
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() {
		require.Empty(t, s.world.Peek(moved).Tasks, "what had begun is finished")
		require.Equal(t, reason.StateLost, s.status().Pace.Reason)
		require.Empty(t, s.world.Log("evict"), "nobody knows what was granted: a human says when it goes on")
		s.fleetOrder(workflows.UpdateResume)
	})
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Equal(t, map[string]phase.Outcome{"next": "Migrated", "moved": "Migrated"}, outcomes(r))
	require.Equal(t, "m2", s.world.Peek(next).Clusters[0].Name)
	require.Empty(t, s.world.Leftovers(), "the taint of the lost failover goes with this one's")
}

// Karmada's grace period ends a hold after ten minutes, whether the new copy runs or not.
// Ours ends with a proof: a timeout raises attention, and that is all it does.
// Rules: R4.7-37.
func TestAMissingProofOfHealthNeverDeletes(t *testing.T) {
	s := newStory(t)
	s.world.HealthyAfter = 3 * time.Hour
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	before := s.workOn(key, "m1")
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() {
		require.Empty(t, s.standing(key).Attention)
	})
	s.at(170*time.Minute, func() {
		standing := s.standing(key)
		require.Equal(t, reason.GracefulTimeout, standing.Attention)
		require.Equal(t, phase.MigrationAwaitingHealth, standing.Phase)
		require.Empty(t, s.world.Log("release"))
		require.Equal(t, before, s.workOn(key, "m1"))
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.GreaterOrEqual(t, s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At), s.world.HealthyAfter)
}
