package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
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
	require.Equal(t, map[string]failover.Outcome{"app": "Restored"}, outcomes(r))
	restored := s.world.Log("restore")
	taints := s.world.Log("taint")
	require.Len(t, restored, 1)
	require.Len(t, taints, 2)
	require.False(t, taints[1].At.Before(restored[0].At), "untainted at %s, restored at %s", taints[1].At, restored[0].At)
}
