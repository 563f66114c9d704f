package workflows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/stretchr/testify/require"
)

// The page shows the last results, whatever place they have in the list.
func TestNewest_AreTheLastOfAll(t *testing.T) {
	for n := range 20 {
		results := make([]record.Result, n)
		for at := range results {
			results[at].At = time.Unix(rand.Int64N(30), 0) //nolint:gosec // times for a test
		}
		want := slices.Clone(results)
		slices.SortFunc(want, func(a, b record.Result) int { return b.At.Compare(a.At) })
		require.Equal(t, want[:min(n, 5)], append([]record.Result{}, newest(results, 5)...))
	}
}

// What became due first goes first, and is shown first.
//
// Rules: R4.4-1.
func TestView_TwoAreDue_TheOneThatHasBeenForLongerComesNext(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	s := FailoverStatus{Name: "m1"}
	s.Dues = []rules.Due{{Affected: true, At: at(200)}, {Affected: true, At: at(100)}}
	for n, name := range []string{"late", "soon"} {
		s.Items = append(s.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: name}, Policy: n, State: queue.Ready})
	}
	next := s.View(at(300)).Next
	require.Equal(t, "shop/soon", next[0].Binding)
	require.Equal(t, "shop/late", next[1].Binding)
}

// Rules: R4.15-33, R4.8-7.
func TestView_MoreThanAPageHas_ShowsWhatNeedsAnOperatorAndCountsAll(t *testing.T) {
	s := FailoverStatus{Name: "m1", States: map[queue.State]int{queue.Blocked: 400}, BlockedBy: map[reason.Reason]int{reason.NoTarget: 390, reason.AwaitingApproval: 10}}
	s.Phase, s.Migrations = phase.FailoverEvacuating, map[string]Migration{}
	for n := range 4 * PageLines {
		s.Migrations[fmt.Sprintf("shop/app-%03d", n)] = Migration{Phase: phase.MigrationPlacing}
	}
	for n := range 2 * PageLines {
		s.Migrations[fmt.Sprintf("shop/late-%d", n)] = Migration{Phase: phase.MigrationAwaitingHealth, Attention: reason.GracefulTimeout}
	}
	for n := range 3 {
		s.Migrations[fmt.Sprintf("zoo/db-%d", n)] = Migration{Phase: phase.MigrationAwaitingFence, Attention: reason.AwaitingFence}
	}
	for n := range PageLines {
		s.Items = append(s.Items, queue.Item{State: queue.Blocked, Reason: reason.NoTarget, Message: fmt.Sprint(n)})
	}

	v := s.View(time.Unix(0, 0))
	require.Len(t, v.Moving, PageLines)
	for n, m := range v.Moving {
		require.NotEqual(t, reason.None, m.Attention, m.Binding)
		require.Equal(t, n < 3, m.Phase == phase.MigrationAwaitingFence, m.Binding)
	}
	require.Equal(t, 2*PageLines, v.Counts.Flagged)
	page := view.FailoverPage(v)
	for _, says := range []string{
		"100 moves need attention", "3 moves wait for proof", "confirm-fenced zoo/db-0", "By reason: NoTarget 390, AwaitingApproval 10.", "approve it, or leave it where it is",
	} {
		require.Contains(t, page, says)
	}
}
