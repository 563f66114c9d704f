package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// Rules: R4.8-17, R4.9-7.
func TestFailover_OldCopiesEndAsSoonAsTheClusterIsReady(t *testing.T) {
	s := newStory(t)
	s.world.BacksOff = true
	const copies = 45
	for i := range copies {
		s.bind(fmt.Sprintf("app%d", i), []string{"m1"}, "m1", "m2", "m3")
	}
	const back = 10 * time.Minute
	s.world.SetReady("m1", false)
	s.at(back, func() { s.world.SetReady("m1", true) })
	r := s.play()

	require.Equal(t, phase.FailoverRecovered, r.Ended)
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
	s := newStory(t)
	s.world.BacksOff = true
	s.world.Fail = func(op, _ string) error {
		if op == "end" {
			return karmada.ErrForbidden
		}
		return nil
	}
	s.bind("app", []string{"m1"}, "m1", "m2")
	const back = 10 * time.Minute
	s.world.SetReady("m1", false)
	s.at(back, func() { s.world.SetReady("m1", true) })
	var late []reason.Reason
	s.at(back+wellFor+2*time.Minute, func() {
		value, err := s.env.QueryWorkflowByID(workflows.ClusterFailoverID("", "m1"), workflows.QueryStatus)
		require.NoError(t, err)
		var status workflows.FailoverStatus
		require.NoError(t, value.Get(&status))
		late = status.Attention
	})
	r := s.play()

	require.Equal(t, []reason.Reason{reason.PendingPurge}, late)
	require.Len(t, r.PendingPurges, 1, "handed over")
	require.InDelta(t, (wellFor + s.settings.Terms.PendingPurgeWait).Seconds(), r.Until.Sub(storyBegins.Add(back)).Seconds(), 30)
}
