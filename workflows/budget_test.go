package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// A plain migration off a dead cluster reports twice, and its release is the look that proves it.
//
// Rules: R4.7-51, R4.7-52, R4.7-53.
func TestPlainMigration_ReportsWhenPlacedAndWhenEnded(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	looks := s.counting()
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Len(t, s.reports, 2)
	require.True(t, s.reports[0].Placed)
	require.Nil(t, s.reports[0].Result)
	require.Equal(t, phase.MigrationAwaitingHealth, s.reports[0].Phase)
	require.Equal(t, reason.PendingPurge, s.reports[1].Result.Reason)
	require.Zero(t, looks.looks, "signals carry verdicts")
}

// A state that lasts is reported without an end.
//
// Rules: R4.7-51.
func TestMigrationThatWaits_IsReportedOnceItHasWaited(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 2 * time.Minute
	s.world.SetReady("m1", false)
	s.at(10*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Len(t, s.reports, 3)
	require.Equal(t, reason.Placed, s.reports[0].Reason)
	require.Equal(t, reason.NotHealthy, s.reports[1].Reason, "it has waited for 15 s")
	require.NotNil(t, s.reports[2].Result)
}
