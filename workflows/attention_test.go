package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// A write to the cluster that was refused needs attention until one stands.
//
// Rules: R4.15-33.
func TestAttention_RefusedTaintWrite_EndsWhenOneStands(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.world.Fail = func(op, _ string) error {
		if op == "taint" {
			return karmada.ErrInvalid
		}
		return nil
	}
	s.at(3*time.Minute, func() {
		require.Equal(t, []reason.Reason{reason.Invalid}, s.status().Attention)
		s.world.Fail = nil
	})
	s.at(8*time.Minute, func() {
		require.Empty(t, s.status().Attention)
		require.Equal(t, phase.FailoverEvacuated, s.status().Phase)
		s.world.SetReady("m1", true)
	})
	s.play()
}

// Causes stand side by side: the end of one shows the other.
//
// Rules: R4.15-33.
func TestAttention_TwoCauses_StandSideBySide(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Waiting = 1
	s.world.HealthyAfter = time.Hour
	s.bind("app", []string{"m1"}, "m1", "m2")
	theirs := s.bind("theirs", []string{"m1", "m3"}, "m1", "m3")
	s.bind("waits", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	s.at(4*time.Minute, func() {
		require.Equal(t, []reason.Reason{reason.WaitingFull}, s.status().Attention)
		s.evictedByKarmada(theirs, karmada.TaintManager)
	})
	s.at(6*time.Minute, func() {
		require.Equal(t, []reason.Reason{reason.SecondEvictor, reason.WaitingFull}, s.status().Attention)
		s.world.SetReady("m1", true)
	})
	s.at(6*time.Minute+wellFor+10*time.Second, func() {
		require.NotContains(t, s.status().Attention, reason.WaitingFull, "it dispatches nothing any more")
	})
	s.at(40*time.Minute, func() { s.world.HealthyAfter = 0 })
	s.play()
}
