package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// trailLines bounds how much of a trail is drawn for people.
const trailLines = 200

// trail draws who did what, and on what evidence.
func (v View) trail(e PastFailover) {
	records := slices.Concat(e.Trail, e.Fleet)
	if len(records) == 0 {
		return
	}
	slices.SortStableFunc(records, func(a, b record.Audit) int { return a.Time.Compare(b.Time) })
	v.Line("\nWho did what, by the audit trail:")
	v.records(records[:min(len(records), trailLines)], "15:04:05")
	if more := len(records) - trailLines; more > 0 {
		v.Line("... and %d more; -o json has them all", more)
	}
}

// Pacer draws what the audit trail has of the fleet's pace, the newest most of it.
func (v View) Pacer(records []record.Audit, most int) {
	if len(records) == 0 {
		v.Line("The audit trail has nothing of the fleet's pace, or there is none: see --audit.")
		return
	}
	if more := len(records) - most; more > 0 {
		v.Line("%d earlier ones; -o json has them all, and --limit shows more", more)
		records = records[more:]
	}
	v.records(records, "2006-01-02 15:04:05")
}

func (v View) records(records []record.Audit, clock string) {
	t := v.Table("At", "What", "Whom", "By", "Message")
	for _, r := range records {
		t.AppendRow(table.Row{r.Time.UTC().Format(clock), what(r), whom(r), by(r), show.Short(because(r), 60)})
	}
	t.Render()
}

// Said is what a record tells of, and everything that it gives as a reason, by whose
// word and on what evidence.
func Said(r record.Audit) (done, why string) {
	why = because(r)
	if r.Who != "" {
		why = strings.TrimSuffix("by "+r.Who+"; "+why, "; ")
	}
	return what(r), why
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

func whom(r record.Audit) string {
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

func by(r record.Audit) string {
	if r.Who != "" {
		return show.Short(r.Who, 24)
	}
	return "Lifeboat"
}

// because is everything that a record gives as a reason, the evidence last.
func because(r record.Audit) string {
	var parts []string
	for _, part := range []string{r.Why, string(r.Reason), r.Message, record.SaidCause(r.Cause), strings.Join(r.To, ",")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Evidence)) {
		parts = append(parts, name+"="+r.Evidence[name])
	}
	return strings.Join(parts, "; ")
}
