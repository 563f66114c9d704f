package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// An attempt that is over hears of one of its bindings more than once: its migration was
// ended from outside, adopted, and reports in the end.
//
// Rules: R4.9-52.
func TestAnOlderAttemptKeepsOneOutcomeOfABindingThatIsReportedTwice(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.HealthyAfter = 8 * time.Minute
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.at(5*time.Minute, func() { s.world.SetReady("m1", false) })
	uid := s.world.Peek(key).UID
	for _, at := range []time.Duration{7 * time.Minute, 8 * time.Minute} {
		s.at(at, func() {
			result := &record.Result{Key: key, UID: uid, Outcome: phase.OutcomeAbandoned, Reason: reason.Unverified}
			s.hint(workflows.ClusterFailoverID("", "m1"), workflows.SignalMigrationReport, workflows.MigrationReport{
				FailoverID: "e", Attempt: 1, Key: key, UID: uid, Phase: phase.MigrationDone, Result: result,
			})
		})
	}
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Greater(t, len(r.Attempts), 1)
	require.Len(t, r.Attempts[0].Results, 1)
	total := 0
	for _, n := range r.Attempts[0].Counts {
		total += n
	}
	require.Equal(t, 1, total)
}
