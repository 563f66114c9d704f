package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/stretchr/testify/require"
)

// The scheduler takes longer over the eviction than the cluster takes to come back: the
// restore that waits for its answer still comes before the untaint.
//
// Rules: R4.9-6, R4.9-19, R4.9-28.
func TestTheUntaintWaitsForARestoreThatWaitsForTheScheduler(t *testing.T) {
	s := newStory(t)
	unplaceable(s)
	s.world.ScheduleAfter = 45 * time.Second
	s.world.SetReady("m1", false)
	s.at(addAfter+4*time.Second, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	restored := s.world.Log("restore")
	taints := s.world.Log("taint")
	require.Len(t, restored, 1)
	require.Len(t, taints, 2)
	require.False(t, taints[1].At.Before(restored[0].At), "untainted at %s, restored at %s", taints[1].At, restored[0].At)
}

// A restore that an older attempt asked for has had its time then; the untaint of the next
// attempt waits for it again.
//
// Rules: R4.9-6, R4.9-19, R4.9-28.
func TestTheUntaintOfTheNextAttemptWaitsForAnOlderRestore(t *testing.T) {
	s := newStory(t)
	unplaceable(s)
	s.world.ScheduleAfter = 8*time.Minute + 40*time.Second
	s.world.SetReady("m1", false)
	s.at(2*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(6*time.Minute, func() {
		require.Empty(t, s.world.PeekCluster("m1").Added, "its time in the first attempt is up")
		s.world.SetReady("m1", false)
	})
	s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Len(t, r.Attempts, 2)
	restored, taints := s.world.Log("restore"), s.world.Log("taint")
	require.Len(t, restored, 1)
	last := taints[len(taints)-1]
	require.Equal(t, "+0 -2", last.Detail)
	require.False(t, last.At.Before(restored[0].At), "untainted at %s, restored at %s", last.At, restored[0].At)
	require.Empty(t, s.world.Leftovers())
}

// A put-back that was refused wants attention, and goes on wanting it; that is no word
// about the restore which the recovery asks for afterwards: the untaint waits for it.
//
// Rules: R4.9-6, R4.9-19, R4.9-28.
func TestARefusedPutBackExcusesNoRestoreFromBeingWaitedFor(t *testing.T) {
	s := newStory(t)
	key := unplaceable(s)
	s.world.ScheduleAfter = 55 * time.Second
	s.world.SetReady("m1", false)
	s.refuses(addAfter+2*time.Second, key, "m1 is not Ready")
	s.at(addAfter+4*time.Second, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	restored, taints := s.world.Log("restore"), s.world.Log("taint")
	require.Len(t, restored, 1)
	require.False(t, taints[len(taints)-1].At.Before(restored[0].At), "untainted at %s, restored at %s", taints[len(taints)-1].At, restored[0].At)
}
