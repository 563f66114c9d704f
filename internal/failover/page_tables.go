package failover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (v PageView) next(p *page, rows int) {
	if len(v.Next) == 0 {
		return
	}
	p.heading("Next")
	ranked := slices.ContainsFunc(v.Next, func(n NextLine) bool { return n.Priority != 0 })
	columns := []string{"#", "Binding", "Begins about", "Waits for", "Could go to"}
	if ranked {
		columns = append(columns, "Priority")
	}
	p.table(grid{
		columns: columns,
		n:       len(v.Next),
		row: func(i int) []string {
			n := v.Next[i]
			row := []string{fmt.Sprint(i + 1), code(n.Binding), v.begins(i), n.waitsFor(), text(strings.Join(n.To, ", "))}
			if ranked {
				row = append(row, fmt.Sprint(n.Priority))
			}
			return row
		},
	}, rows)
}

// begins is when the i-th of the queue is expected to be evicted, as far as
// tolerations and the pace tell.
func (v PageView) begins(i int) string {
	dues := make([]time.Time, 0, i+1)
	for _, n := range v.Next[:i+1] {
		dues = append(dues, n.Due)
	}
	at, ok := ETA(v.Now, dues, 0, v.Pace)
	if !ok || v.PausedBy != "" || v.Next[i].Reason == ReasonPaused {
		return "not now"
	}
	return relative(at, v.Now)
}

// waitsFor says in words what a queued binding waits for.
func (n NextLine) waitsFor() string {
	words := map[Reason]string{
		ReasonAwaitingGrant: "its turn at the fleet's pace",
		ReasonAwaitingDue:   "its toleration to run out",
		ReasonSnoozed:       "its snooze to end",
		ReasonWaiting:       "the check for somewhere to go",
		ReasonPaused:        "somebody to resume",
		ReasonHalted:        "the fleet's halt to end",
		ReasonWindowFull:    "moves in flight to be placed",
		ReasonWaitingFull:   "placed moves to become healthy",
	}
	if w, ok := words[n.Reason]; ok {
		return w
	}
	return string(n.Reason)
}

func (v PageView) blocked(p *page, rows int) {
	if len(v.Blocked) == 0 {
		return
	}
	p.heading("Blocked: %d", max(len(v.Blocked), v.Counts.Blocked))
	p.line("By reason: %s. Nothing was written for these: they stay on %s, which may not be running them. "+
		"Each moves by itself once what blocks it changes.\n", reasonCounts(v.Blocked), text(v.Cluster))
	p.table(grid{
		columns: []string{"Binding", "Why", "Looked at again"},
		n:       len(v.Blocked),
		total:   v.Counts.Blocked,
		row: func(i int) []string {
			b := v.Blocked[i]
			return []string{code(b.Binding), because(b.Reason, b.Message), again(b.RetryAt, v.Now)}
		},
	}, rows)
}

// again is when a blocked binding is looked at again by itself.
func again(at, now time.Time) string {
	if at.IsZero() {
		return "when it changes"
	}
	return relative(at, now)
}

// reasonCounts is "NoTarget 3, SpreadUnsatisfied 1", the most frequent first.
func reasonCounts(blocked []BlockedLine) string {
	counts := map[Reason]int{}
	for _, b := range blocked {
		counts[b.Reason]++
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(reasons))
	for _, r := range reasons {
		parts = append(parts, fmt.Sprintf("%s %d", r, counts[r]))
	}
	return strings.Join(parts, ", ")
}

func (v PageView) moving(p *page, rows int) {
	if len(v.Moving) == 0 {
		return
	}
	p.heading("Moving: %d", max(len(v.Moving), v.Counts.Moving))
	lines := slices.Clone(v.Moving)
	slices.SortStableFunc(lines, func(a, b MovingLine) int { return boolFirst(a.NeedsAttention, b.NeedsAttention) })
	p.table(grid{
		columns: []string{"Binding", "To", "Began", "Stands at"},
		n:       len(lines),
		total:   v.Counts.Moving,
		row: func(i int) []string {
			m := lines[i]
			return []string{code(m.Binding), text(strings.Join(m.To, ", ")), relative(m.Since, v.Now), m.stands()}
		},
	}, rows)
}

// stands is the phase and what it waits for there; a reason that only says the phase again is left out.
func (m MovingLine) stands() string {
	line := string(m.Phase)
	if m.NeedsAttention {
		line = "⚠ " + line
	}
	why := because(m.Reason, m.Message)
	if string(m.Reason) == string(m.Phase) {
		why = text(m.Message)
	}
	if why != "" {
		line += ": " + why
	}
	return line
}

func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// orders are what humans said about bindings, a namespace or all.
func (v PageView) orders(p *page, rows int) {
	if len(v.Orders) == 0 {
		return
	}
	p.heading("Ordered by hand")
	p.table(grid{
		columns: []string{"What", "Whom", "Until", "By"},
		n:       len(v.Orders),
		row: func(i int) []string {
			o := v.Orders[i]
			until := "it is resumed, or this closes"
			switch {
			case !o.Until.IsZero():
				until = moment(o.Until, v.Now)
			case o.What != OrderPaused:
				until = "this closes"
			}
			return []string{text(o.What), text(o.Whom), until, text(o.By)}
		},
	}, rows)
}

// OrderPaused is what the page calls a pause of a namespace or a binding.
const OrderPaused = "paused"

func (v PageView) windows(p *page, rows int) {
	if len(v.Windows) == 0 {
		return
	}
	p.heading("Rules")
	p.table(grid{
		columns: []string{"Rule", "Taint", "Conditions", "Since", "Then"},
		n:       len(v.Windows),
		row: func(i int) []string {
			w := v.Windows[i]
			return []string{code(w.Rule), code(w.Taint), w.state(), moment(w.Since, v.Now), w.then(v.Now)}
		},
	}, rows)
}

func (w WindowLine) state() string {
	state := "well"
	switch {
	case w.Matching:
		state = "match"
	case w.Idle:
		state = "neither add nor remove"
	}
	if w.State == Undecided || w.State == Lapsed {
		state += " (cannot tell now)"
	}
	return state
}

func (w WindowLine) then(now time.Time) string {
	switch {
	case w.Matching && w.Stands:
		return "tainted"
	case w.Matching:
		return "taint at " + moment(w.Deadline, now)
	case w.Stands && w.Idle:
		return "tainted until its removeOnConditions match"
	case w.Stands:
		return "untaint at " + moment(w.Deadline, now)
	default:
		return "no taint"
	}
}

func (v PageView) debt(p *page, rows int) {
	if len(v.Debt) == 0 {
		return
	}
	p.heading("Old copies still on %s: %d", text(v.Cluster), len(v.Debt))
	p.line("They moved and run elsewhere; the old ones are deleted when the cluster answers again.\n")
	p.table(grid{
		columns: []string{"Binding", "Work"},
		n:       len(v.Debt),
		row: func(i int) []string {
			d := v.Debt[i]
			return []string{code(d.Key.String()), code(d.Namespace + "/" + d.Work)}
		},
	}, rows)
}
