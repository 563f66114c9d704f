package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/starter/show"
)

// trailLines bounds how much of a trail is drawn for people.
const trailLines = 200

// trail draws who did what, and on what evidence.
func (v View) trail(e Episode) {
	if len(e.Trail) == 0 {
		return
	}
	v.Line("\nWho did what, by the audit trail:")
	t := v.Table("At", "What", "Whom", "By", "Because")
	for _, r := range e.Trail[:min(len(e.Trail), trailLines)] {
		t.AppendRow(table.Row{r.Time.UTC().Format("15:04:05"), what(r), whom(r), by(r), show.Short(because(r), 60)})
	}
	t.Render()
	if more := len(e.Trail) - trailLines; more > 0 {
		v.Line("... and %d more; -o json has them all", more)
	}
}

func what(r failover.AuditRecord) string {
	switch {
	case r.Order != "":
		return "ordered: " + r.Order
	case r.Outcome != "":
		return string(r.Outcome)
	default:
		return string(r.Kind)
	}
}

func whom(r failover.AuditRecord) string {
	switch n := len(r.Bindings); n {
	case 0:
		return r.Cluster
	case 1:
		return show.Short(r.Bindings[0], 40)
	default:
		return show.Short(fmt.Sprintf("%s and %d more", r.Bindings[0], n-1), 40)
	}
}

func by(r failover.AuditRecord) string {
	if r.Who != "" {
		return show.Short(r.Who, 24)
	}
	return "Lifeboat"
}

// because is everything that a record gives as a reason, the evidence last.
func because(r failover.AuditRecord) string {
	var parts []string
	for _, part := range []string{r.Why, string(r.Reason), r.Message, r.Cause, strings.Join(r.To, ",")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Evidence)) {
		parts = append(parts, name+"="+r.Evidence[name])
	}
	return strings.Join(parts, "; ")
}
