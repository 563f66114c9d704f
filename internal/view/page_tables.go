package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

func (v Failover) next(p *page) {
	total := max(len(v.Next), v.Counts.Waiting+v.Counts.Tolerating)
	columns, ranked := []string{"Binding", "Begins", "Could go to", "Reason"}, slices.ContainsFunc(v.Next, func(n Line) bool { return n.Priority != 0 })
	if ranked {
		columns = slices.Insert(columns, 3, "Priority")
	}
	p.table(Section{Heading: fmt.Sprintf("Next: %d", total), Columns: columns}, len(v.Next), total, func(i int) []string {
		n := v.Next[i]
		row := []string{code(n.Binding), v.begins(i), n.targets(), p.waitsFor(n.Reason, n.Message)}
		if ranked {
			row = slices.Insert(row, 3, fmt.Sprint(n.Priority))
		}
		return row
	})
}

// begins is when the i-th of the queue is expected to be evicted, by tolerations and the pace.
func (v Failover) begins(i int) string {
	dues := make([]time.Time, 0, i+1)
	for _, n := range v.Next[:i+1] {
		dues = append(dues, n.At)
	}
	at, ok := pace.ETA(v.Now, dues, 0, v.Pace.AtMost(v.OwnRate))
	switch due := v.Next[i].At; {
	case ok && v.PausedBy == "" && v.Next[i].Reason != reason.Paused:
		return Moment(at, v.Now)
	case due.After(v.Now):
		return "not before " + Moment(due, v.Now)
	default:
		return "not now"
	}
}

// waits describe the reasons of queued bindings.
var waits = map[reason.Reason]string{
	reason.AwaitingPermit: "its turn at the fleet's pace",
	reason.AwaitingDue:    "its toleration to run out",
	reason.Snoozed:        "its snooze to end",
	reason.Waiting:        "the check for somewhere to go",
	reason.Paused:         "an operator to resume it",
	reason.Halted:         "the halt of the fleet's pace to end",
	reason.WindowFull:     "moves in flight to be placed",
	reason.WaitingFull:    "placed moves to become healthy",
}

// WaitsFor is what a queued binding waits for.
func WaitsFor(why reason.Reason, message string) string {
	return Plain((&page{}).waitsFor(why, message))
}

func (p *page) waitsFor(why reason.Reason, message string) string {
	if w, ok := waits[why]; ok {
		message = w
	}
	return p.because(why, message)
}

func (v Failover) blocked(p *page) {
	total := max(len(v.Blocked), v.Counts.Blocked)
	p.table(Section{
		Heading: fmt.Sprintf("Blocked: %d", total), Columns: []string{"Binding", "Again", "Reason"}, Bullets: v.remedies(p),
		Intro: fmt.Sprintf("By reason: %s. Nothing was written for these: they stay on %s, which may not be running them. "+
			"Each is looked at again by itself. What helps:", v.Counts.reasonCounts(), text(v.Cluster)),
	}, len(v.Blocked), total, func(i int) []string {
		b := v.Blocked[i]
		return []string{code(b.Binding), cmp.Or(Moment(b.At, v.Now), "when it changes"), p.because(b.Reason, b.Message)}
	})
}

// blockedBy are the reasons of blocked bindings, the most frequent first.
func (c Counts) blockedBy() []reason.Reason {
	return slices.SortedFunc(maps.Keys(c.BlockedBy), func(a, b reason.Reason) int {
		return cmp.Or(cmp.Compare(c.BlockedBy[b], c.BlockedBy[a]), cmp.Compare(a, b))
	})
}

// reasonCounts is "NoTarget 3, SpreadUnsatisfied 1".
func (c Counts) reasonCounts() string {
	return strings.Join(reason.Texts(c.blockedBy(), func(r reason.Reason) string {
		return fmt.Sprintf("%s %d", r, c.BlockedBy[r])
	}), ", ")
}

// remedied bounds for how many reasons a page lists a remedy.
const remedied = 3

// remedies list, for the most frequent reasons, what an operator can change, and a command that explains
// the first binding where that is in the table.
func (v Failover) remedies(p *page) []string {
	reasons := v.Counts.blockedBy()
	return reason.Texts(reasons[:min(remedied, len(reasons))], func(r reason.Reason) string {
		line := p.reason(r) + ": " + cmp.Or(remedies[r], "see what it lacks")
		if at := slices.IndexFunc(v.Blocked, func(b Line) bool { return b.Reason == r }); at >= 0 {
			line += ": `lifeboat explain " + text(v.Blocked[at].Binding) + "`"
		}
		return line
	})
}

// remedies are what an operator can do about a reason, in a line; the runbook has more.
var remedies = map[reason.Reason]string{
	reason.NoTarget:              "bring a cluster back or uncordon it, or widen the placement in its policy",
	reason.SpreadUnsatisfied:     "add a cluster in another group, or lower minGroups in its policy",
	reason.NoCapacity:            "make room on a cluster that it may use, or add one",
	reason.AwaitingApproval:      "approve it, or leave it where it is",
	reason.ApprovalExpired:       "approve it all the same, or leave it where it is",
	reason.Malformed:             "repair the field that the message names",
	reason.Forbidden:             "see its message: grant the missing permission, raise the quota, or repair the webhook that refuses it",
	reason.Invalid:               "repair the webhook that refuses it",
	reason.Unreachable:           "repair Karmada's API server, or the network to it",
	reason.SecondEvictor:         "turn Karmada's own failover off: `lifeboat preflight` names the flags and their order",
	reason.ForeignTask:           "end the task of the other producer, or release or put back what was left to an operator",
	reason.SchedulerReturnsIt:    "find out why the scheduler prefers the failed cluster: a toleration, or no other that fits",
	reason.StateNotCarried:       "set purgeMode Directly and one target in its policy, or let it go without its state",
	reason.StateNotCollected:     "let its old copy report a status, or let it go without its state",
	reason.StateUnreadable:       "repair the rule of its statePreservation, or let it go without its state",
	reason.SchedulingPending:     "find out what karmada-scheduler waits for: its condition Scheduled, and its log",
	reason.SchedulingSuspended:   "end its spec.suspension.scheduling",
	reason.DispatchingSuspended:  "end its spec.suspension.dispatching",
	reason.ComponentsUnsized:     "give its components resource requests",
	reason.NotSupportedPlacement: "simplify its placement, or move it by hand",
	reason.NotSupportedComps:     "move it by hand",
	reason.ForeignScheduler:      "move it by hand",
	reason.ModeObserve:           "give all workers the same mode",
	reason.DependentsNotHeld:     "see why the dependent's binding cannot be written",
	reason.DependentsUnknown:     "wait for Karmada's dependencies distributor",
	reason.PingPong:              "find out why it stays nowhere; approve it alone, or wait until its hour is over",
}

func (v Failover) moving(p *page) {
	p.table(Section{Heading: v.movingTitle(), Columns: []string{"Binding", "Phase", "Since", "To", "Reason"}},
		len(v.Moving), v.Counts.Moving+v.Counts.Unproven, func(i int) []string {
			m := v.Moving[i]
			return []string{code(m.Binding), string(m.Phase), Moment(m.At, v.Now), m.targets(), p.stands(m)}
		})
}

// movingTitle counts migrations that wait for proof apart.
func (v Failover) movingTitle() string {
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

// targets is where the binding is placed, or where it could go.
func (m Line) targets() string {
	switch {
	case len(m.To) == 0:
		return ""
	case m.Placed:
		return both(m.To)
	default:
		return either(m.To)
	}
}

// stands is what a migration waits for, and why it needs attention if that is another reason.
func (p *page) stands(m Line) string {
	why := m.Reason
	if string(why) == string(m.Phase) && m.Message != "" {
		why = reason.None // it repeats the phase
	}
	line := p.because(why, m.Message)
	if m.Attention == reason.None {
		return line
	}
	if m.Attention != m.Reason {
		line = p.reason(m.Attention) + ": " + line
	}
	return "⚠ needs attention: " + line
}

// LastFinished is how many outcomes are shown.
const LastFinished = 5

func (v Failover) finished(p *page) {
	p.table(Section{Heading: "Last finished", Columns: []string{"Binding", "Outcome", "At", "Now on", "Reason"}},
		min(LastFinished, len(v.Finished)), 0, func(i int) []string {
			r := v.Finished[i]
			return []string{code(r.Key.String()), string(r.Outcome), Moment(r.At, v.Now), text(strings.Join(r.To, ", ")), p.because(r.Reason, "")}
		})
}

// orders are the orders of operators about bindings, a namespace or all.
func (v Failover) orders(p *page) {
	p.table(Section{Heading: "Ordered by hand", Columns: []string{"What", "Whom", "Until", "By"}}, len(v.Orders), 0, func(i int) []string {
		o := v.Orders[i]
		until := "it is resumed, or this closes"
		switch {
		case !o.Until.IsZero():
			until = Moment(o.Until, v.Now)
		case o.What != OrderPaused:
			until = "this closes"
		}
		return []string{text(o.What), text(o.Whom), until, text(o.By)}
	})
}

// OrderPaused is [OrderLine].What of a pause.
const OrderPaused = "paused"

func (v Failover) windows(p *page) {
	p.table(Section{Heading: "Rules", Columns: []string{"Rule", "Taint", "Conditions", "Since", "Then"}}, len(v.Windows), 0, func(i int) []string {
		w := v.Windows[i]
		return []string{code(w.Rule), code(w.Taint), w.state(), Moment(w.Since, v.Now), w.then(v.Now)}
	})
}

// Says describes the window of a rule in a line.
func (w WindowLine) Says(now time.Time) string {
	return fmt.Sprintf("rule %s: %s since %s, %s: %s", w.Rule, w.state(), Moment(w.Since, now), w.Taint, w.then(now))
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
	if w.unknown() {
		state += " (unknown now)"
	}
	return state
}

// unknown reports whether its conditions cannot be decided now.
func (w WindowLine) unknown() bool { return w.State == rules.Undecided || w.State == rules.Lapsed }

// waits reports whether its window is over, and ends with nothing as long as its conditions cannot be decided.
func (w WindowLine) waits(now time.Time) bool { return w.unknown() && !w.Deadline.After(now) }

func (w WindowLine) then(now time.Time) string {
	switch {
	case w.Matching:
		return w.adds(now)
	case w.Stands && w.Unwritable:
		return "tainted until the cluster's soft taints can be read"
	case w.Stands && w.Idle:
		return "tainted until its removeOnConditions match"
	case w.Stands && w.waits(now):
		return "tainted until that is known"
	case w.Stands:
		return "untaint at " + Moment(w.Deadline, now)
	default:
		return "no taint"
	}
}

// adds is what comes of a window that matches.
func (w WindowLine) adds(now time.Time) string {
	switch {
	case w.Stands:
		return "tainted"
	case w.Unwritable:
		return "taint as soon as the cluster's soft taints can be read"
	case w.waits(now):
		return "taint as soon as that is known"
	default:
		return "taint at " + Moment(w.Deadline, now)
	}
}

func (v Failover) pendingPurge(p *page) {
	intro := "They moved and run elsewhere; the old ones are deleted once the cluster is Ready again, and run beside the new ones until then."
	switch {
	case v.Phase == phase.FailoverGone:
		return // their state is not known
	case v.Phase.Terminal():
		intro = "They stood there when this failover closed. Now: `kubectl get works -n karmada-es-" + text(v.Cluster) + "`"
	}
	p.table(Section{
		Heading: fmt.Sprintf("Old copies still on %s: %d", text(v.Cluster), len(v.PendingPurge)), Intro: intro, Columns: []string{"Binding", "Work"},
	}, len(v.PendingPurge), 0, func(i int) []string {
		d := v.PendingPurge[i]
		return []string{code(d.Key.String()), code(d.Namespace + "/" + d.Work)}
	})
}
