package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	corev1 "k8s.io/api/core/v1"
)

// View shows plans as text.
type View struct {
	show.Page
	// Rows is how many bindings of each verdict are shown; 0 shows all.
	Rows int
}

// Cluster shows the plan for one cluster.
func (v View) Cluster(p Plan) {
	v.headline(p)
	v.rules(p)
	v.Line("Pace      %s", view.PaceLine(p.Pace))
	t := p.Totals
	v.Line("Bindings  %d would move, %d could not, %d would wait for a fence, %d would stay", t.Migrations, t.Blocked, t.AwaitsFence, t.Stays)
	if end := v.ends(p); end != "" {
		v.Line("Ends      %s", end)
	}
	if len(p.Deficit) > 0 {
		v.Line("No room   for %s", resources(p.Deficit))
	}
	v.priorities(p)
	v.section("Would move:", p, activities.ProspectMoves)
	v.section("Could not move:", p, activities.ProspectBlocked)
	v.section("Would wait until its old copy is proven dead:", p, activities.ProspectFence)
	v.section("Would stay:", p, activities.ProspectStays)
	for _, note := range p.Unread {
		v.Line("")
		v.Wrapped("", "Not read: "+note)
	}
}

func (v View) headline(p Plan) {
	switch {
	case p.Phase != "":
		v.Line("Cluster   %s is failing over (%s, %s mode): %d done, %d moving. What is left:",
			p.Cluster, p.Phase, p.Mode, p.Settled, p.Underway)
		if p.Paused != nil {
			v.Line("Paused    by %s: %s; nothing of this happens until it is resumed", p.Paused.Who, p.Paused.Reason)
		}
	default:
		v.Line("Cluster   %s, if it failed now (%s mode)", p.Cluster, p.Mode)
	}
	switch {
	case p.Reason == reason.OptedOut:
		v.Line("Nothing   would happen: the cluster is opted out")
	case p.Confirmed.IsZero():
		v.Line("Nothing   would happen: no rule would put a taint that moves bindings")
	default:
		v.Line("Confirmed %s", v.after(p, p.Confirmed))
	}
}

// after is a moment as counted from the failure.
func (v View) after(p Plan, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	if d := at.Sub(p.At); d > 0 {
		return "+" + view.Span(d)
	}
	return "at once"
}

func (v View) rules(p Plan) {
	for n, r := range p.Rules {
		head := "          "
		if n == 0 {
			head = "Rules     "
		}
		word := show.Joined(", ", string(r.Match), string(r.Reason))
		switch {
		case r.Stands:
			word += ": its taint stands"
		case !r.At.IsZero():
			word += ": its taint would stand " + v.after(p, r.At)
		}
		v.Line("%s", show.Short(strings.TrimRight(head+r.Rule+" "+r.Taint+" "+word, " "), show.Width))
	}
}

func (v View) ends(p Plan) string {
	switch {
	case p.Totals.Migrations == 0:
		return ""
	case !p.Pace.Flows():
		return "never, while the fleet's pace is halted"
	default:
		return "the last one begins " + v.after(p, p.Ends) + ", if no other failover uses the pace"
	}
}

func (v View) priorities(p Plan) {
	if len(p.Priorities) < 2 {
		return
	}
	v.Line("")
	t := v.Table("Priority", "Move", "Blocked", "Fence", "Stay", "Last begins")
	for _, of := range p.Priorities {
		t.AppendRow(table.Row{of.Priority, of.Migrations, of.Blocked, of.AwaitsFence, of.Stays, v.after(p, of.Ends)})
	}
	t.Render()
}

func (v View) section(title string, p Plan, verdict activities.Prospect) {
	rows := slices.DeleteFunc(slices.Clone(p.Bindings), func(b activities.Foreseen) bool { return b.Prospect != verdict })
	if len(rows) == 0 {
		return
	}
	most := len(rows)
	if v.Rows > 0 {
		most = min(most, v.Rows)
	}
	v.Line("\n%s", title)
	moves := verdict == activities.ProspectMoves
	head := table.Row{"Binding", "Resource", "Due", "Reason"}
	if moves {
		head = slices.Insert(head, 3, any("Begins"), any("Could go to"))
	}
	t := v.Table(head...)
	for _, b := range rows[:most] {
		row := table.Row{show.Short(b.Binding, 36), show.Short(b.Resource, 28), v.after(p, b.Due), view.WaitsFor(b.Reason, b.Message)}
		if moves {
			row[3] = string(b.Reason)
			row = slices.Insert(row, 3, any(v.after(p, b.Begins)), any(show.Short(strings.Join(b.Candidates, ", "), 18)))
		}
		t.AppendRow(row)
	}
	t.Render()
	v.More(most, len(rows))
}

// All shows the plans for a fleet, worst first.
func (v View) All(plans []Plan) {
	if len(plans) == 0 {
		v.Line("There is no cluster.")
		return
	}
	v.Line("If one cluster failed now, the one that would hurt most first:\n")
	t := v.Table("Cluster", "Move", "Blocked", "Fence", "Stay", "Confirmed", "Last begins", "Pace", "No room for")
	for _, p := range plans {
		name := p.Cluster
		if p.Phase != "" {
			name += " (" + string(p.Phase) + ")"
		}
		last := v.after(p, p.Ends)
		if !p.Pace.Flows() {
			last = "never"
		}
		t.AppendRow(table.Row{
			show.Short(name, 34), p.Totals.Migrations, p.Totals.Blocked, p.Totals.AwaitsFence, p.Totals.Stays,
			v.after(p, p.Confirmed), last, string(p.Pace.Tier), show.Short(resources(p.Deficit), 26),
		})
	}
	t.Render()
	for _, note := range unread(plans) {
		v.Line("")
		v.Wrapped("", "Not read: "+note)
	}
}

// unread are the notes of all plans, each once.
func unread(plans []Plan) []string {
	var out []string
	for _, p := range plans {
		out = append(out, p.Unread...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func resources(list corev1.ResourceList) string {
	return strings.Join(reason.Texts(slices.Sorted(maps.Keys(list)), func(name corev1.ResourceName) string {
		q := list[name]
		return q.String() + " " + string(name)
	}), ", ")
}
