package status

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// stale is from when on an answer is shown with its age: the pacer looks at the
// fleet when somebody waits for it, not all the time.
const stale = 10 * time.Second

// rows is how much of a list is shown.
const rows = 10

// View shows answers as text.
type View struct{ show.Page }

// Overview shows the fleet.
func (v View) Overview(all Overview) {
	v.pacer(all.Pacer)
	if len(all.Failovers) == 0 {
		v.Line("No cluster is failing over.")
	} else {
		t := v.Table(v.fitting(table.Row{"Cluster", "Mode", "Phase", "Attempt", "For", "Done", "Moving", "Queued", "Blocked", "Attention", "Reason"})...)
		for _, f := range all.Failovers {
			t.AppendRow(v.fitting(v.summary(f)))
		}
		v.Line("")
		t.Render()
	}
	if len(all.Kept) > 0 {
		v.Line("\nLeft to a human (each bans its cluster for the binding until its task is dropped):")
		t := v.Table("Binding", "Cluster", "Reason", "By")
		for _, k := range all.Kept {
			t.AppendRow(table.Row{k.Binding, k.Cluster, k.Reason, k.Owner})
		}
		t.Render()
	}
	for _, note := range all.Unread {
		v.Line("\nNot read: %s", note)
	}
	show.LookUp(v.Page, all.Runbook)
}

func (v View) pacer(p *workflows.PacerStatus) {
	if p == nil {
		return
	}
	line := view.PaceLine(p.Pace)
	if mode := p.InForce["mode"]; mode != "" {
		line = mode + " mode, " + line
	}
	if v.Now.Sub(p.Assessed) > stale {
		line += ", as of " + v.Age(p.Assessed) + " ago"
	}
	v.Wrapped("", "Fleet: "+v.Coloured(tiers[p.Pace.Tier], line))
	v.exceptions(p.InForce)
	if halt := p.Orders.Halted; halt != nil {
		v.Line("Halted by %s: %s. To go on: lifeboat resume fleet --reason ...", halt.Who, halt.Reason)
	}
}

// exceptions are the clusters that the workers handle in another mode, as they are configured.
func (v View) exceptions(inForce map[string]string) {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(inForce)) {
		if strings.HasPrefix(key, "modes.") {
			parts = append(parts, key+": "+inForce[key])
		}
	}
	if len(parts) > 0 {
		v.Wrapped("", "Modes: "+strings.Join(parts, "; "))
	}
}

// fitting leaves mode and attempt out on a narrow terminal, so that attention is seen.
func (v View) fitting(row table.Row) table.Row {
	if v.Columns == 0 || v.Columns >= 100 {
		return row
	}
	return slices.Concat(row[:1], row[2:3], row[4:])
}

func (v View) summary(f Failover) table.Row {
	if f.FailoverStatus == nil {
		return table.Row{f.Cluster, "", "?", "", "", "", "", "", "", "", f.Unanswered}
	}
	s := f.View(v.Now)
	why := string(s.Reason)
	if s.PausedBy != "" {
		why = "paused by " + s.PausedBy
	}
	c := s.Counts
	return table.Row{
		f.Cluster, string(s.Mode), v.phase(s.Phase), s.Attempt, v.Age(s.Entered), c.Settled, c.Moving + c.Unproven, c.Waiting + c.Tolerating, c.Blocked, c.Attention, show.Short(why, 40),
	}
}

// Failover shows one failover: what its page says, and below what Temporal does not have.
func (v View) Failover(f Failover) {
	v.Line("Workflow  %s", f.WorkflowID)
	if f.Link != "" {
		v.Line("          %s", f.Link)
	}
	if f.FailoverStatus == nil {
		v.Line("No answer: %s", f.Unanswered)
		return
	}
	v.Doc(f.View(v.Now).Doc(rows))
	v.unknown(f.Cluster, f.UnknownCopies, 0)
	if f.Unread != "" {
		v.Line("\nNot read: %s", f.Unread)
	}
	show.LookUp(v.Page, f.Runbook)
}

func (v View) phase(p phase.Failover) string { return v.Coloured(phases[p], string(p)) }

// phases and tiers have their colours.
var (
	phases = map[phase.Failover]text.Color{
		phase.FailoverConfirmed: show.Bad, phase.FailoverEvacuating: show.Bad,
		phase.FailoverSuspected: show.Busy, phase.FailoverCordoned: show.Busy, phase.FailoverEvacuated: show.Busy, phase.FailoverStopped: show.Busy,
		phase.FailoverRecovering: show.Busy, phase.FailoverSettling: show.Well, phase.FailoverRecovered: show.Well, phase.FailoverFalseAlarm: show.Well,
		phase.FailoverUncordoned: show.Well, phase.FailoverCancelled: show.Well, phase.FailoverGone: show.Well,
	}
	tiers = map[pace.Tier]text.Color{pace.TierHalted: show.Bad, pace.TierSlow: show.Busy}
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
