package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
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
	require.Equal(t, failover.EpisodeRecovered, r.Ended)
	require.Equal(t, map[string]failover.Outcome{"app": "Migrated", "stays": "Abandoned"}, outcomes(r))
	require.Len(t, r.Rounds, 1, "it never stayed well for the whole window")
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
		require.Equal(t, failover.MigrationAwaitingHealth, st.Phase)
	})
	r := s.play()
	require.Equal(t, failover.OutcomeMigrated, resultOf(t, r).Outcome)
	require.GreaterOrEqual(t, s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At), s.world.HealthyAfter)
	require.Equal(t, failover.EpisodeRecovered, r.Ended)
}

// The network was away and comes back: nothing of what could not move is lost.
// Rules: R4.9-1, R4.9-10, R4.9-36.
func TestKarmada2364NothingIsLostWhenTheNetworkReturns(t *testing.T) {
	s := newStory(t)
	var keys []failover.BindingKey
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
	require.Equal(t, failover.OutcomeMigrated, outcomes(r)["moves"])
	for _, w := range s.world.Log("evict") {
		require.Less(t, w.At.Sub(storyBegins), 5*time.Minute, "nothing is dispatched once it is back")
	}
}

// Recovery in the middle of a move confuses nobody: the failure is over only when
// the last move has ended.
// Rules: R4.9-8.
func TestRamen2268TheFailureIsOverWhenTheLastMoveIs(t *testing.T) {
	s, key := slowHealth(t)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, failover.EpisodeRecovered, r.Ended)
	require.False(t, r.Until.Before(s.world.Log("release")[0].At))
	require.Empty(t, s.world.Peek(key).Tasks)
}
