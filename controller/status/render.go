package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// stale is the age from which an answer is shown with its age: the pacer assesses the fleet only when a failover
// needs it.
const stale = 10 * time.Second

// rows bounds the rows of a list.
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
	v.applications(all.Applications)
	if len(all.Kept) > 0 {
		v.Line("\nLeft to an operator (each bans its cluster for the binding until its task is dropped):")
		t := v.Table("Binding", "Cluster", "Reason", "By")
		for _, k := range all.Kept[:min(len(all.Kept), rows)] {
			t.AppendRow(table.Row{k.Binding, k.Cluster, k.Reason, k.Owner})
		}
		t.Render()
		v.beyond(len(all.Kept) - rows)
	}
	for _, note := range all.Unread {
		v.Line("\nNot read: %s", note)
	}
	show.LookUp(v.Page, all.Runbook)
}

// applications shows the applications that are Unhealthy, and when they move.
func (v View) applications(all []workflows.ApplicationStatus) {
	if len(all) == 0 {
		return
	}
	v.Line("\nApplications that are Unhealthy:")
	t := v.Table("Binding", "Phase", "For", "Next", "Reason", "Message")
	for _, a := range all {
		next := ""
		if !a.Next.IsZero() {
			next = "in " + view.Span(max(0, a.Next.Sub(v.Now)))
		}
		t.AppendRow(table.Row{a.Key.String(), string(a.Phase), v.Age(a.Entered), next, string(a.Reason), show.Short(a.Message, 60)})
	}
	t.Render()
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
		v.Line("Paused by %s: %s. To go on: lifeboat resume fleet --reason ...", halt.Who, halt.Reason)
	}
}

// exceptions are the configured clusters in another mode.
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

// fitting omits mode and attempt on a narrow terminal, so that attention stays visible.
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

// Failover shows one failover: its page, and below it what Temporal does not have.
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
	tiers = map[pace.Tier]text.Color{pace.TierHalted: show.Bad, pace.TierReduced: show.Busy}
)

// Live is the picture of the fleet and of each failover.
func Live(all Overview) show.Picture {
	return show.Picture{
		All:   func(p show.Page) { View{Page: p}.Overview(all) },
		Names: reason.Texts(all.Failovers, func(f Failover) string { return f.Cluster }),
		One:   func(p show.Page, n int) { View{Page: p}.Failover(all.Failovers[n]) },
	}
}

// History shows closed failovers: one line each, and with bindings every outcome.
func (v View) History(failovers []PastFailover, bindings bool) {
	if len(failovers) == 0 {
		v.Line("No failover is over, as far back as Temporal and the audit trail go.")
		return
	}
	clusters := v.Table("Cluster", "Began", "Took", "Ended", "Attempts", "Outcomes")
	applications := v.Table("Application", "Began", "Took", "Ended", "Moved", "Reason")
	for _, e := range failovers {
		row := table.Row{show.Short(e.Name(), 28), day(e.Began), view.Span(e.Until.Sub(e.Began)), v.ended(e)}
		if e.Binding == "" {
			clusters.AppendRow(append(row, len(e.Attempts), show.Short(phase.CountsLine(e.Totals()), 48)))
			continue
		}
		last, moved := e.Last(), ""
		if len(last.To) > 0 {
			moved = e.Cluster + " -> " + strings.Join(last.To, ",")
		}
		applications.AppendRow(append(row, show.Short(moved, 24), show.Short(show.Joined(": ", string(last.Reason), last.Cause), 22)))
	}
	for _, t := range []table.Writer{clusters, applications} {
		if t.Length() > 0 {
			t.Render()
		}
	}
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

// ended is the phase in which a failover ended.
func (v View) ended(e PastFailover) string {
	if e.Closed != "" {
		return v.Coloured(show.Bad, e.Closed)
	}
	return v.phase(e.Ended)
}

func day(at time.Time) string { return at.UTC().Format(time.DateTime) }

// clock is a moment, with its date where that is not the one of the heading.
func clock(at, heading time.Time) string {
	if at.UTC().Format(time.DateOnly) != heading.UTC().Format(time.DateOnly) {
		return day(at)
	}
	return at.UTC().Format(time.TimeOnly)
}

func (v View) attempt(e PastFailover, r workflows.AttemptReport) {
	ended := string(r.Ended)
	if e.Binding == "" && !r.Ended.Terminal() && r.Attempt < len(e.Attempts) {
		ended = "the cluster failed again" // the phase is where the next attempt began
	}
	v.Line("\n%s, attempt %d, %s to %s: %s", e.Name(), r.Attempt, day(r.Since), clock(r.Until, r.Since)+" UTC", ended)
	results := slices.Clone(r.Results)
	slices.SortFunc(results, func(a, b record.Result) int {
		return strings.Compare(string(a.Outcome)+" "+a.Key.String(), string(b.Outcome)+" "+b.Key.String())
	})
	if len(results) > 0 {
		t := v.Table("Binding", "Outcome", "At", "Now on", "Reason")
		for _, x := range results {
			why := show.Joined(": ", string(x.Reason), x.Message, record.SaidCause(x.Cause))
			t.AppendRow(table.Row{
				show.Short(x.Key.String(), 40), string(x.Outcome), clock(x.At, r.Since), show.Short(strings.Join(x.To, ","), 16), show.Short(why, 180),
			})
		}
		t.Render()
	}
	if r.Folded > 0 {
		v.Line("... and %d more, which are counted alone; their migrations in Temporal have the rest", r.Folded)
	}
}

// trailLines bounds the drawn records of a trail.
const trailLines = 200

// trail draws the audit trail of a failover.
func (v View) trail(e PastFailover) {
	records := slices.Concat(e.Trail, e.Fleet)
	if len(records) == 0 {
		return
	}
	slices.SortStableFunc(records, func(a, b record.Audit) int { return a.Time.Compare(b.Time) })
	v.Line("\nWho did what, by the audit trail:")
	v.records(records[:min(len(records), trailLines)], e.Began)
	v.beyond(len(records) - trailLines)
}

// beyond counts the rows that a table has no room for.
func (v View) beyond(more int) {
	if more > 0 {
		v.Line("... and %d more; -o json has them all", more)
	}
}

// Pacer draws the newest records of the pace; earlier counts the others.
func (v View) Pacer(records []record.Audit, earlier int) {
	if len(records) == 0 {
		v.Line("The audit trail has nothing of the fleet's pace, or there is none: see --audit.")
		return
	}
	if earlier > 0 {
		v.Line("%d earlier ones; --limit shows more", earlier)
	}
	v.records(records, time.Time{})
}

func (v View) records(records []record.Audit, heading time.Time) {
	t := v.Table("At", "What", "Whom", "By", "Message")
	for _, r := range records {
		t.AppendRow(table.Row{clock(r.Time, heading), what(r), objectOf(r), show.Short(cmp.Or(r.Who, "Lifeboat"), 24), show.Short(because(r), 60)})
	}
	t.Render()
}

// Said is a record, and all of its reasons and evidence.
func Said(r record.Audit) (done, why string) {
	if r.Who != "" {
		why = "by " + r.Who
	}
	return what(r), show.Joined("; ", why, because(r))
}

func what(r record.Audit) string {
	switch {
	case r.Order != "":
		return "ordered: " + r.Order
	case r.Outcome != "":
		return string(r.Outcome)
	case r.Kind == record.AuditPaceChanged:
		return "pace: " + r.Phase
	default:
		return string(r.Kind)
	}
}

func objectOf(r record.Audit) string {
	switch n := len(r.Bindings); n {
	case 0:
		if ofPacer(&r) {
			return "the fleet"
		}
		return r.Cluster
	case 1:
		return show.Short(r.Bindings[0], 40)
	default:
		return show.Short(fmt.Sprintf("%s and %d more", r.Bindings[0], n-1), 40)
	}
}

// because joins all reasons of a record, and its evidence.
func because(r record.Audit) string {
	parts := []string{r.Why, string(r.Reason), r.Message, record.SaidCause(r.Cause), strings.Join(r.To, ",")}
	for _, name := range slices.Sorted(maps.Keys(r.Evidence)) {
		parts = append(parts, name+"="+r.Evidence[name])
	}
	return show.Joined("; ", parts...)
}
