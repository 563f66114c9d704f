package status

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Live is the fleet, with each of its failovers to choose.
func Live(all Overview) show.Picture {
	p := show.Picture{
		All: func(p show.Page) { View{Page: p}.Overview(all) },
		One: func(p show.Page, n int) { View{Page: p}.Failover(all.Failovers[n]) },
	}
	for _, f := range all.Failovers {
		p.Names = append(p.Names, f.Cluster)
	}
	return p
}

// waiting shows the windows of rules that run, and how long they still do.
func (v View) waiting(s *workflows.FailoverStatus) {
	for _, w := range view.WindowLines(s.Windows, s.Cluster.Ours) {
		switch {
		case w.Idle || !w.Deadline.After(v.Now):
		case w.Matching && !w.Stands:
			v.Line("Waits     %s: %s puts %s", v.In(w.Deadline), rules.RuleTitle(w.Rule), w.Taint)
		case !w.Matching && w.Stands:
			v.Line("Waits     %s: %s takes %s away", v.In(w.Deadline), rules.RuleTitle(w.Rule), w.Taint)
		}
	}
	if !s.ETA.IsZero() {
		v.Line("ETA       last eviction in about %s", v.In(s.ETA))
	}
}

// lastFinished is how many outcomes are shown.
const lastFinished = 5

// finished shows what became of the last bindings.
func (v View) finished(s *workflows.FailoverStatus) {
	if len(s.Results) == 0 {
		return
	}
	last := slices.Clone(s.Results)
	slices.SortStableFunc(last, func(a, b record.Result) int { return b.At.Compare(a.At) })
	v.Line("\nLast finished:")
	t := v.Table("Binding", "Outcome", "Ago", "Now on", "Reason")
	for _, r := range last[:min(lastFinished, len(last))] {
		t.AppendRow(table.Row{
			show.Short(r.Key.String(), 38), string(r.Outcome), v.Age(r.At), show.Short(strings.Join(r.To, ","), 20), string(r.Reason),
		})
	}
	t.Render()
}
