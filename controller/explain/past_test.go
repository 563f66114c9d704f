package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// trailOf is what a trail has of a failover of m4 in which the cart moved to m1, and
// the till had a story of its own.
func trailOf(failoverID string) []record.Audit {
	at := now.Add(-time.Hour)
	rec := func(kind record.Kind, bindings []string, edit func(*record.Audit)) record.Audit {
		at = at.Add(time.Minute)
		r := record.Audit{
			ID: failoverID + string(kind) + strings.Join(bindings, ","), Time: at, Kind: kind, Attempt: 1, Cluster: "m4", FailoverID: failoverID, Bindings: bindings,
		}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	cartToo := []string{"shop/till-deployment", cart.String()}
	return []record.Audit{
		rec(record.AuditFailureConfirmed, nil, func(r *record.Audit) { r.Evidence = map[string]string{"ready": "False (ClusterNotReachable)"} }),
		rec(record.AuditBindingQueued, cartToo, func(r *record.Audit) { r.Evidence = map[string]string{"taint": "down:NoExecute"} }),
		rec(record.AuditOrderGiven, []string{"shop/till-deployment"}, func(r *record.Audit) { r.Order, r.Who, r.Why = "skip", "jane", "it may die" }),
		rec(record.AuditOrderGiven, []string{cart.String()}, func(r *record.Audit) { r.Order, r.Who, r.Why = "prioritise", "ada", "money" }),
		rec(record.AuditBindingEvicted, []string{cart.String()}, nil),
		rec(record.AuditBindingOutcome, []string{cart.String()}, func(r *record.Audit) { r.Outcome, r.To = phase.OutcomeMigrated, []string{"m1"} }),
		rec(record.AuditFailoverClosed, nil, func(r *record.Audit) { r.Phase = string(phase.FailoverRecovered) }),
	}
}

// kept are the records that would be read for the cart.
func kept(records []record.Audit) []record.Audit {
	var out []record.Audit
	for _, r := range records {
		if About(cart, "")(&r) {
			out = append(out, r)
		}
	}
	return out
}

// Rules: R4.16-9.
func TestWhatTemporalHasForgottenTheTrailTells(t *testing.T) {
	_, s := fleet(t)
	s = asked(t, s, nil, nil, nil)
	s.Trail = kept(trailOf("e"))
	x, text := explained(t, s, "")
	require.Contains(t, text, "before: attempt 1: Migrated, now on m1, 11:06:00 UTC (54m ago), by the audit trail")
	require.Contains(t, text, "FailureConfirmed: ready=False (ClusterNotReachable)")
	require.Contains(t, text, "11:04:00 UTC (56m ago) ordered: prioritise: by ada; money")
	require.NotContains(t, text, "jane", "it is not about this one")
	c := x.Clusters[len(x.Clusters)-1]
	require.Equal(t, "m4", c.Cluster)
	require.Equal(t, FromTrail, c.Ended[0].From)
	require.Len(t, c.Ended[0].Records, 6)

	only, _ := explained(t, s, "m1")
	require.Len(t, only.Clusters, 1, "the one that was asked about")
}

// Rules: R4.16-9.
func TestTheTrailTellsHowItCameToWhatAReportSays(t *testing.T) {
	w, s := fleet(t)
	report := workflows.FailoverReport{Cluster: "m4", FailoverID: "e", Attempts: []workflows.AttemptReport{
		{Attempt: 1, Results: []record.Result{{Key: cart, UID: w.Peek(cart).UID, Outcome: phase.OutcomeMigrated, To: []string{"m1"}, At: now}}},
	}}
	s = asked(t, s, nil, nil, &report)
	_, text := explained(t, s, "")
	require.Contains(t, text, "by the report in Temporal")
	require.NotContains(t, text, "audit trail")
	s.Trail = kept(trailOf("e"))
	x, text := explained(t, s, "")
	require.Contains(t, text, "by the report in Temporal; how it came to that, by the audit trail")
	require.Contains(t, text, "BindingEvicted")
	require.Equal(t, FromReport, x.Clusters[len(x.Clusters)-1].Ended[0].From)
}

// Rules: R4.16-9.
func TestABindingThatIsGoneIsToldOfFromBefore(t *testing.T) {
	w, s := fleet(t)
	w.DeleteBinding(cart)
	ref, err := subject.Parse("shop/cart-deployment", "")
	require.NoError(t, err)
	s.Alone = status.Source{}
	_, err = s.Binding(t.Context(), ref, "")
	require.ErrorIs(t, err, subject.ErrNotFound, "nothing is known of it")

	s.Trail = kept(trailOf("e")[:5])
	x, err := s.Binding(t.Context(), ref, "")
	require.NoError(t, err)
	require.True(t, x.Gone)
	var text strings.Builder
	View{show.Page{Out: &text, Now: now}}.Binding(x)
	require.Contains(t, text.String(), "does not exist any more")
	require.Contains(t, text.String(), "no outcome on record")
	require.Contains(t, text.String(), "not read: Temporal: no route")
}
