package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// The next attempt begins with nothing that held for one attempt; older attempts keep their counts,
// and the newest ones some of their results.
func TestNextAttempt_ArchivesTheOneThatIsOver(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	s := workflows.FailoverState{Attempt: 1, Since: now, Phase: phase.FailoverSettling}
	s.Ledger.Reset()
	for n := range 4 {
		s.Listed, s.ClosedAt, s.Judged = now, now, "down"
		s.Approvals, s.Asking = []workflows.Approval{{}}, []queue.ApprovalRule{queue.AskReplicas}
		s.Items = []queue.Item{{}}
		for i := range 600 {
			s.Ledger.Record(record.Result{Key: karmada.BindingKey{Name: fmt.Sprint(i)}, Outcome: phase.OutcomeKept}, false)
		}
		now = now.Add(time.Hour)
		over := s.NextAttempt(now)
		require.Equal(t, n+1, over.Attempt)
		require.Equal(t, now, over.Until)
		require.Len(t, over.Results, 600)
		require.Equal(t, n+2, s.Attempt)
		require.Equal(t, now, s.Since)
		require.Zero(t, s.Listed)
		require.Zero(t, s.ClosedAt)
		require.Empty(t, s.Judged)
		require.Zero(t, len(s.Items)+len(s.Approvals)+len(s.Asking)+len(s.Results))
	}
	for n, past := range s.Past {
		require.Equal(t, map[string]int{"Kept": 600}, past.Counts)
		if n < len(s.Past)-2 {
			require.Empty(t, past.Results)
			continue
		}
		require.Len(t, past.Results, 500)
		require.Equal(t, 100, past.Folded)
	}
	require.Len(t, s.Report("member1", now).Attempts, 5)
}
