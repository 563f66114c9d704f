package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

func (v PageView) next(p *page, rows int) {
	if len(v.Next) == 0 {
		return
	}
	p.heading("Next: %d", max(len(v.Next), v.Counts.Waiting+v.Counts.Tolerating))
	ranked := slices.ContainsFunc(v.Next, func(n NextLine) bool { return n.Priority != 0 })
	columns := []string{"#", "Binding", "Begins about (UTC)", "Reason", "Could go to"}
	if ranked {
		columns = append(columns, "Priority")
	}
	p.table(grid{
		columns: columns,
		n:       len(v.Next),
		total:   v.Counts.Waiting + v.Counts.Tolerating,
		row: func(i int) []string {
			n := v.Next[i]
			row := []string{fmt.Sprint(i + 1), code(n.Binding), v.begins(i), p.waitsFor(n), ""}
			if len(n.To) > 0 {
				row[4] = either(n.To)
			}
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
	at, ok := pace.ETA(v.Now, dues, 0, v.Pace)
	if !ok || v.PausedBy != "" || v.Next[i].Reason == reason.Paused {
		return "not now"
	}
	return clock(at, v.Now)
}

// waitsFor says in words what a queued binding waits for.
func (p *page) waitsFor(n NextLine) string {
	words := map[reason.Reason]string{
		reason.AwaitingPermit: "its turn at the fleet's pace",
		reason.AwaitingDue:    "its toleration to run out",
		reason.Snoozed:        "its snooze to end",
		reason.Waiting:        "the check for somewhere to go",
		reason.Paused:         "somebody to resume",
		reason.Halted:         "the fleet's halt to end",
		reason.WindowFull:     "moves in flight to be placed",
		reason.WaitingFull:    "placed moves to become healthy",
	}
	if w, ok := words[n.Reason]; ok {
		return p.reason(n.Reason) + ": " + w
	}
	return p.because(n.Reason, "")
}

func (v PageView) blocked(p *page, rows int) {
	if len(v.Blocked) == 0 {
		return
	}
	p.heading("Blocked: %d", max(len(v.Blocked), v.Counts.Blocked))
	p.line("By reason: %s. Nothing was written for these: they stay on %s, which may not be running them. "+
		"Each is looked at again by itself. What helps:\n", reasonCounts(v.Blocked), text(v.Cluster))
	p.bullets(v.remedies(p))
	p.table(grid{
		columns: []string{"Binding", "Reason", "Looked at again (UTC)"},
		n:       len(v.Blocked),
		total:   v.Counts.Blocked,
		row: func(i int) []string {
			b := v.Blocked[i]
			return []string{code(b.Binding), p.because(b.Reason, b.Message), again(b.RetryAt, v.Now)}
		},
	}, rows)
}

// again is when a blocked binding is looked at again by itself.
func again(at, now time.Time) string {
	if at.IsZero() {
		return "when it changes"
	}
	return clock(at, now)
}

// byReason are the reasons of what is blocked and how many have each, the most frequent first.
func byReason(blocked []BlockedLine) ([]reason.Reason, map[reason.Reason]int) {
	counts := map[reason.Reason]int{}
	for _, b := range blocked {
		counts[b.Reason]++
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b reason.Reason) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}), counts
}

// reasonCounts is "NoTarget 3, SpreadUnsatisfied 1".
func reasonCounts(blocked []BlockedLine) string {
	reasons, counts := byReason(blocked)
	parts := make([]string, 0, len(reasons))
	for _, r := range reasons {
		parts = append(parts, fmt.Sprintf("%s %d", r, counts[r]))
	}
	return strings.Join(parts, ", ")
}

// remedied bounds for how many reasons a page says what helps.
const remedied = 3

// remedies say for the most frequent reasons what a human can change, and which command
// shows it of the first binding.
func (v PageView) remedies(p *page) []string {
	reasons, _ := byReason(v.Blocked)
	var lines []string
	for _, r := range reasons[:min(remedied, len(reasons))] {
		first := v.Blocked[slices.IndexFunc(v.Blocked, func(b BlockedLine) bool { return b.Reason == r })]
		what, ok := remedies[r]
		if !ok {
			what = "see what it lacks"
		}
		lines = append(lines, fmt.Sprintf("%s: %s: `lifeboat explain %s`", p.reason(r), what, text(first.Binding)))
	}
	return lines
}

// remedies are what a human can do about what blocks a binding, in a line; the runbook has the rest.
var remedies = map[reason.Reason]string{
	reason.NoTarget:              "bring a cluster back or uncordon it, or widen the placement in its policy",
	reason.SpreadUnsatisfied:     "add a cluster in another group, or lower minGroups in its policy",
	reason.NoCapacity:            "make room on a cluster that it may use, or add one",
	reason.AwaitingApproval:      "approve it, or leave it where it is",
	reason.ApprovalExpired:       "approve it all the same, or leave it where it is",
	reason.Malformed:             "mend the field that the message names",
	reason.Forbidden:             "grant what is missing, or see to the webhook that says no",
	reason.Invalid:               "see to the webhook that says no",
	reason.Unreachable:           "see to Karmada's API server and the way there",
	reason.SecondEvictor:         "turn Karmada's own failover off: `lifeboat preflight` names the flags and their order",
	reason.ForeignTask:           "end the task of the other producer, or release or put back what was left to a human",
	reason.SchedulerReturnsIt:    "find out why the scheduler prefers the failed cluster: a toleration, or no other that fits",
	reason.StateNotCarried:       "set purgeMode Directly and one target in its policy, or let it go without its state",
	reason.StateNotCollected:     "let its old copy report a status, or let it go without its state",
	reason.StateUnreadable:       "mend the rule of its statePreservation, or let it go without its state",
	reason.SchedulingSuspended:   "end its spec.suspension.scheduling",
	reason.ComponentsUnsized:     "give its components resource requests",
	reason.NotSupportedPlacement: "simplify its placement, or move it by hand",
	reason.NotSupportedComps:     "move it by hand",
	reason.ForeignScheduler:      "move it by hand",
	reason.ModeObserve:           "give all workers the same mode",
	reason.DependentsNotHeld:     "see why the dependent's binding cannot be written",
	reason.DependentsUnknown:     "wait for Karmada's dependencies distributor",
	reason.PingPong:              "find out why it stays nowhere; approve it alone, or wait until its hour is over",
}

func (v PageView) moving(p *page, rows int) {
	if len(v.Moving) == 0 {
		return
	}
	p.heading("%s", v.movingTitle())
	lines := slices.Clone(v.Moving)
	slices.SortStableFunc(lines, func(a, b MovingLine) int { return boolFirst(a.NeedsAttention, b.NeedsAttention) })
	p.table(grid{
		columns: []string{"Binding", "To", "Began (UTC)", "Stands at"},
		n:       len(lines),
		total:   v.Counts.Moving + v.Counts.Unproven,
		row: func(i int) []string {
			m := lines[i]
			return []string{code(m.Binding), m.to(), clock(m.Since, v.Now), p.stands(m)}
		},
	}, rows)
}

// movingTitle tells what moves from what only waits for proof.
func (v PageView) movingTitle() string {
	moving, unproven := v.Counts.Moving, v.Counts.Unproven
	moving = max(moving, len(v.Moving)-unproven)
	switch {
	case unproven == 0:
		return fmt.Sprintf("Moving: %d", moving)
	case moving == 0:
		return fmt.Sprintf("Waiting for proof: %d", unproven)
	default:
		return fmt.Sprintf("Moving: %d, waiting for proof: %d", moving, unproven)
	}
}

// to is where it is now, or where it could go as long as nothing has placed it.
func (m MovingLine) to() string {
	switch {
	case len(m.To) == 0:
		return ""
	case m.Placed:
		return both(m.To)
	default:
		return "could go to " + either(m.To)
	}
}

// stands is the phase and what it waits for there; a reason that only says the phase
// again is shown once.
func (p *page) stands(m MovingLine) string {
	line, why := string(m.Phase), ""
	switch {
	case string(m.Reason) == line:
		line = p.because(m.Reason, m.Message)
	default:
		why = p.because(m.Reason, m.Message)
	}
	if m.NeedsAttention {
		line = "⚠ " + line
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
	case w.State == rules.Neither && w.Reason == reason.MemberAnswers:
		state = "contradicted: the member answers"
	case w.Idle:
		state = "neither add nor remove"
	}
	if w.State == rules.Undecided || w.State == rules.Lapsed {
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

func (v PageView) pendingPurge(p *page, rows int) {
	if len(v.PendingPurge) == 0 {
		return
	}
	p.heading("Old copies still on %s: %d", text(v.Cluster), len(v.PendingPurge))
	p.line("They moved and run elsewhere; the old ones are deleted once the cluster is Ready again, and run beside the new ones until then.\n")
	p.table(grid{
		columns: []string{"Binding", "Work"},
		n:       len(v.PendingPurge),
		row: func(i int) []string {
			d := v.PendingPurge[i]
			return []string{code(d.Key.String()), code(d.Namespace + "/" + d.Work)}
		},
	}, rows)
}
