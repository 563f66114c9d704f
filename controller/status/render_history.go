package status

import (
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// History shows failovers that are over: one line each, and where bindings is set what
// became of every binding.
func (v View) History(failovers []PastFailover, bindings bool) {
	if len(failovers) == 0 {
		v.Line("No failover is over, as far back as Temporal and the audit trail know.")
		return
	}
	t := v.Table("Cluster", "Began", "Took", "Ended", "Attempts", "Outcomes")
	for _, e := range failovers {
		ended := v.phase(e.Ended)
		if e.Closed != "" {
			ended = v.Coloured(show.Bad, e.Closed)
		}
		t.AppendRow(table.Row{
			show.Short(e.Cluster, 28), day(e.Began), view.Span(e.took()), ended, len(e.Attempts), show.Short(phase.CountsLine(e.Totals()), 48),
		})
	}
	t.Render()
	if !bindings {
		return
	}
	for _, e := range failovers {
		for _, r := range e.Attempts {
			v.attempt(e, r)
		}
		if owed := len(e.PendingPurges) + e.PendingPurgesBeyond; e.Ended == phase.FailoverGone {
			v.unknown(e.Cluster, unknownCopies([]PastFailover{e}, e.UID), e.PendingPurgesBeyond)
		} else if owed > 0 {
			v.Line("Pending purge handed over: %d on %s when it closed. Now: kubectl get works -n karmada-es-%s", owed, e.Cluster, e.Cluster)
		}
		v.trail(e)
	}
}

func day(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05") }

func (v View) attempt(e PastFailover, r workflows.AttemptReport) {
	ended := string(r.Ended)
	if !r.Ended.Terminal() && r.Attempt < len(e.Attempts) {
		ended = "the cluster failed again" // the phase is where the next attempt began
	}
	v.Line("\n%s, attempt %d, %s to %s: %s", e.Cluster, r.Attempt, day(r.Since), r.Until.UTC().Format("15:04:05 UTC"), ended)
	results := slices.Clone(r.Results)
	slices.SortFunc(results, func(a, b record.Result) int {
		return strings.Compare(string(a.Outcome)+" "+a.Key.String(), string(b.Outcome)+" "+b.Key.String())
	})
	if len(results) > 0 {
		t := v.Table("Binding", "Outcome", "At", "Now on", "Reason")
		for _, x := range results {
			why := string(x.Reason)
			for _, more := range []string{x.Message, record.SaidCause(x.Cause)} {
				if more != "" {
					why += ": " + more
				}
			}
			t.AppendRow(table.Row{
				show.Short(x.Key.String(), 40), string(x.Outcome), x.At.UTC().Format("15:04:05"), show.Short(strings.Join(x.To, ","), 16), show.Short(why, 180),
			})
		}
		t.Render()
	}
	if r.Folded > 0 {
		v.Line("... and %d more, which are counted alone; their migrations in Temporal have the rest", r.Folded)
	}
}
