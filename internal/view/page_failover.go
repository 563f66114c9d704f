package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// WindowLines are the lines of the windows, in the order of their keys.
func WindowLines(e rules.Evidence) []WindowLine {
	lines := make([]WindowLine, 0, len(e.Windows))
	for _, one := range e.Windows.Sorted() {
		lines = append(lines, WindowLine{
			Rule: one.Rule, Taint: one.Taint.Key + ":" + string(one.Taint.Effect), State: one.Last,
			Reason: one.Reason, Matching: one.Matching, Idle: one.Idle, Since: one.Since, Deadline: one.Deadline(), Remove: one.Taint.RemoveOnMismatch,
			Stands: e.WouldStand(one.Taint) || slices.ContainsFunc(e.Added, func(a karmada.AddedTaint) bool {
				of := rules.KeyOf(a) == one.Key() || one.Matching && a.Key == one.Taint.Key && a.Effect == one.Taint.Effect
				return of && (!e.TakenAway(a) || !e.Removable(a)) // else nothing but the record is left
			}),
			Moves: karmada.Triggers(one.Taint.Effect), Unwritable: !e.Writes(one.Taint),
		})
	}
	return lines
}

// FailoverPage is the live page of a ClusterFailover. Always below MaxPage.
func FailoverPage(v Failover) string { return fit(v.Doc) }

// Doc has the state of the failover, its reason and progress, what comes next, what is blocked, and what the
// operator can do; its tables have so many rows.
func (v Failover) Doc(rows int) Doc {
	p := &page{book: v.Runbook, rows: rows}
	p.Title = v.headline()
	p.asOf(v.Now, v.Phase.Terminal())
	v.notes(p)
	p.fact("Reason", p.because(v.Reason, v.Why))
	p.fact("Phase", v.phase())
	p.fact("How far", v.howFar())
	p.fact("Comes next", v.comesNext())
	p.fact("Pace", p.pace(v.Pace))
	p.fact("Last begins", v.eta())
	p.fact("Ends", v.ends())
	p.fact("Times", times(v.Now, instant{"first seen", v.Since}, instant{"confirmed", v.Confirmed}))
	p.actions(v.Actions())
	v.blocked(p)
	v.moving(p)
	v.next(p)
	v.finished(p)
	v.orders(p)
	v.windows(p)
	v.pendingPurge(p)
	return p.Doc
}

const observed = "**Observe mode: nothing is written. This is what would happen.**"

// notes are the lines above everything else.
func (v Failover) notes(p *page) {
	if v.Mode == rules.ModeObserve {
		p.note(observed)
	}
	if v.Pace.Tier == pace.TierHalted && v.Mode != rules.ModeObserve && !v.Phase.Terminal() {
		p.note("**⏸ The pace of the whole fleet is halted** (%s). Nothing is evicted until that ends.", p.reason(v.Pace.Reason))
	}
	for _, by := range [][2]string{
		{v.PausedBy, "**⏸ Paused** by %s. Nothing new is evicted until an operator resumes it."},
		{v.StoppedBy, "**⏹ Cancelled** by %s."},
		{v.DrainedBy, "**Drained** by %s."},
	} {
		if by[0] != "" {
			p.note(by[1], text(by[0]))
		}
	}
	for _, t := range v.Tainted {
		p.note("**Tainted by order**: %s.", text(t))
	}
	if t := v.TakenAway; t != nil {
		p.note("%s: %s", Moment(v.PutBack, v.Now), TaintPutBack(*t, v.Cluster))
	}
	if n := v.Counts.Flagged; n > 0 {
		p.note("**⚠ %s attention**, see *Moving*.", each(n, "move needs", "moves need"))
	}
	if n := v.Counts.Unproven; n > 0 {
		p.note("**⚠ %s for proof that the old copy is dead**, see *What you can do*. Nothing else waits for it.", each(n, "move waits", "moves wait"))
	}
	if n := v.Counts.BlockedBy[reason.AwaitingApproval]; n > 0 {
		p.note("**⚠ %s approval**, see *Blocked*. Without one they stay where they are.", each(n, "move awaits", "moves await"))
	}
}

// phase is the phase and its beginning, the attempt, and the mode.
func (v Failover) phase() string {
	line := "**" + string(v.Phase) + "**"
	if !v.Entered.IsZero() {
		line += " since " + Moment(v.Entered, v.Now)
	}
	return fmt.Sprintf("%s, attempt %d, %s mode", line, v.Attempt, v.Mode)
}

// headlines describe phases in one line.
var headlines = map[phase.Failover]string{
	phase.FailoverSuspected:  "%s may be failing; nothing has been touched",
	phase.FailoverCordoned:   "%s is cordoned by a rule; no workload moves",
	phase.FailoverConfirmed:  "%s has failed; its workloads are about to move",
	phase.FailoverEvacuating: "%s has failed; its workloads are moving away",
	phase.FailoverEvacuated:  "%s has failed; what could move has moved",
	phase.FailoverRecovering: "%s has recovered; no new moves while it proves stable",
	phase.FailoverSettling:   "%s is back; moves that had begun are finishing",
	phase.FailoverStopped:    "The failover of %s was cancelled and stays stopped",
	phase.FailoverFalseAlarm: "False alarm: %s recovered in time, nothing was touched",
	phase.FailoverUncordoned: "%s was cordoned by a rule and no longer is; no workload moved",
	phase.FailoverRecovered:  "%s has recovered; this failover is over",
	phase.FailoverCancelled:  "The failover of %s was cancelled and is over",
	phase.FailoverGone:       "%s was deleted; this failover is over",
}

// rehearsals are the headlines in observe mode, where nothing moves.
var rehearsals = map[phase.Failover]string{
	phase.FailoverCordoned:   "%s would be cordoned by a rule; no workload would move",
	phase.FailoverConfirmed:  "%s has failed; its workloads would move now",
	phase.FailoverEvacuating: "%s has failed; its workloads would be moving away",
	phase.FailoverEvacuated:  "%s has failed; what could move would have moved",
	phase.FailoverSettling:   "%s is back; this rehearsal is closing",
}

// drains are the headlines of a drained cluster, which has not failed.
var drains = map[phase.Failover]string{
	phase.FailoverSuspected:  "%s is about to be drained",
	phase.FailoverConfirmed:  "%s is being drained; its workloads are about to move",
	phase.FailoverEvacuating: "%s is being drained; its workloads are moving away",
	phase.FailoverEvacuated:  "%s is drained; what could move has moved",
}

// taintings are the headlines of a cluster that operators tainted, and that has not failed.
var taintings = map[phase.Failover]string{
	phase.FailoverSuspected:  "%s was tainted by hand; nothing has been touched",
	phase.FailoverConfirmed:  "%s was tainted by hand; its workloads are about to move",
	phase.FailoverEvacuating: "%s was tainted by hand; its workloads are moving away",
	phase.FailoverEvacuated:  "%s was tainted by hand; what could move has moved",
}

func (v Failover) headline() string {
	format, ok := headlines[v.Phase]
	if v.Phase == phase.FailoverSuspected && v.Reason == reason.MemberAnswers {
		format = "%s answers, but Karmada cannot reach it; nothing has been touched"
	}
	if tainted, is := taintings[v.Phase]; is && (v.Reason == reason.ForeignTaint || v.Reason == reason.TaintOrdered) {
		format = tainted
	}
	if drain, is := drains[v.Phase]; is && v.drainOnly() {
		format = drain
	}
	if rehearsal, would := rehearsals[v.Phase]; would && v.Mode == rules.ModeObserve {
		format = rehearsal
	}
	if !ok {
		format = "%s"
	}
	line := fmt.Sprintf(format, text(v.Cluster))
	if v.Attempt > 1 {
		line += fmt.Sprintf(" (attempt %d)", v.Attempt)
	}
	return line
}

func (v Failover) howFar() string {
	c := v.Counts
	if c.Affected == 0 && c.Settled == 0 {
		if v.Phase == phase.FailoverSuspected {
			return "not confirmed yet: the affected bindings are not known"
		}
		return "no binding is affected"
	}
	done := fmt.Sprintf("%s: %d of %s done", bar(c.Settled, c.Affected), c.Settled, reason.Count(c.Affected, "binding"))
	if len(c.Outcomes) > 0 {
		done += " (" + phase.CountsLine(c.Outcomes) + ")"
	}
	parts := []string{done}
	for _, part := range []struct {
		n    int
		what string
	}{{c.Moving, "moving"}, {c.Unproven, "waiting for proof"}, {c.Waiting, "waiting their turn"}, {c.Tolerating, "tolerating"}, {c.Blocked, "blocked"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, " · ")
}

// ends is when this failover is over, which may be long after the last eviction.
func (v Failover) ends() string {
	switch v.Phase {
	case phase.FailoverConfirmed, phase.FailoverEvacuating, phase.FailoverEvacuated:
		line := v.whenHealthy()
		switch {
		case v.drainOnly():
			line = "when " + text(v.Cluster) + " is undrained (or deleted)"
		case v.taintedOnly():
			line = "when " + text(v.Cluster) + " is untainted (or deleted)"
		case v.Reason == reason.ForeignTaint:
			line = "when the taint is taken off " + text(v.Cluster) + " (or it is deleted)"
		}
		if v.Counts.Blocked+v.Counts.Unproven > 0 {
			line += "; what is still blocked or waits for proof then stays on it"
		}
		return line
	case phase.FailoverCordoned:
		return "when no rule requires these NoSchedule taints any more, each after its own removal window (or when " + text(v.Cluster) + " is deleted)"
	case phase.FailoverSuspected, phase.FailoverRecovering, phase.FailoverSettling, phase.FailoverStopped,
		phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	return ""
}

// whenHealthy is the usual end, with the longest removal window of the taints that move bindings and stand, or are due.
func (v Failover) whenHealthy() string {
	line := "not with the last eviction, but when " + text(v.Cluster) + " has been healthy"
	var longest time.Duration
	for _, w := range v.Windows {
		if w.Moves && (w.Stands || w.Matching && !w.Unwritable && !w.Deadline.After(v.Now)) {
			longest = max(longest, w.Remove)
		}
	}
	if longest > 0 {
		line += " for " + Span(longest)
	}
	return line + " (or is deleted)"
}

// comesNext is what the failover waits for.
func (v Failover) comesNext() string {
	switch v.Phase {
	case phase.FailoverSuspected:
		if v.Reason == reason.MemberAnswers {
			return "Karmada's access to " + text(v.Cluster) + " is repaired, or " + text(v.Cluster) + " answers no more and the windows begin"
		}
		return v.windowNext("is confirmed as failed", v.failsAt())
	case phase.FailoverCordoned:
		return v.cordonNext()
	case phase.FailoverConfirmed:
		return "the cluster is tainted, then the affected bindings are listed"
	case phase.FailoverEvacuating:
		return v.evictionNext()
	case phase.FailoverEvacuated:
		return "nothing to do but wait: for the cluster to come back, or for what is blocked to get somewhere to go"
	case phase.FailoverRecovering:
		return v.recoveryNext()
	case phase.FailoverSettling:
		return fmt.Sprintf("%s still to finish, then this closes", reason.Count(v.Counts.Moving+v.Counts.Unproven, "move"))
	case phase.FailoverStopped:
		return "its conditions stay good for the removal window, then this closes; or an operator resumes it"
	case phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	return ""
}

// cordonNext is what a cordoned cluster waits for: its failure, where a rule that moves workloads matches.
func (v Failover) cordonNext() string {
	if fails := v.failsAt(); !fails.IsZero() {
		return v.windowNext("is confirmed as failed", fails)
	}
	return v.windowNext("is uncordoned", v.lastEnd(cordons))
}

// recoveryNext is what a recovering cluster waits for: its failure, where another rule confirms that before.
func (v Failover) recoveryNext() string {
	end, fails := v.lastEnd(evacuates), v.failsAt()
	if !fails.IsZero() && (end.IsZero() || fails.Before(end)) {
		return v.windowNext("is confirmed as failed", fails)
	}
	return v.windowNext("is taken as recovered: what is unplaced is put back, then Lifeboat's taints go", end)
}

func evacuates(w WindowLine) bool { return w.Moves && w.Stands }
func cordons(w WindowLine) bool   { return !w.Moves }

// failsAt is the earliest end of the windows that match now and move bindings; zero without one.
func (v Failover) failsAt() (first time.Time) {
	for _, w := range v.Windows {
		if w.Moves && w.Matching && !w.Unwritable && !w.waits(v.Now) && (first.IsZero() || w.Deadline.Before(first)) {
			first = w.Deadline
		}
	}
	return first
}

// lastEnd is the latest end of the removal windows that a predicate selects; zero while one of them does not run.
func (v Failover) lastEnd(is func(WindowLine) bool) (last time.Time) {
	for _, w := range v.Windows {
		switch {
		case !is(w):
		case w.Matching, w.Stands && (w.Idle || w.waits(v.Now)):
			return time.Time{}
		case w.Stands && w.Deadline.After(last):
			last = w.Deadline
		}
	}
	return last
}

// windowNext says what comes when a window ends, "" without one.
func (v Failover) windowNext(then string, end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return fmt.Sprintf("if nothing changes, it %s at %s", then, Moment(end, v.Now))
}

func (v Failover) evictionNext() string {
	switch {
	case v.PausedBy != "":
		return "nothing until it is resumed"
	case v.Pace.Tier == pace.TierHalted:
		return "nothing until the fleet's pace is no longer halted"
	case len(v.Next) == 0 && v.Counts.Moving > 0:
		return "what is moving finishes; nothing waits behind it. Then it is Evacuated"
	case len(v.Next) == 0:
		return ""
	}
	n := v.Next[0]
	line := fmt.Sprintf("%s is due at %s", code(n.Binding), Moment(n.At, v.Now))
	if !n.At.After(v.Now) {
		line = code(n.Binding) + " is due and goes as soon as the pace allows"
	}
	if len(n.To) > 0 {
		line += ", could go to " + either(n.To)
	}
	return line
}

func (v Failover) eta() string {
	if v.ETA.IsZero() || v.Phase != phase.FailoverEvacuating && v.Phase != phase.FailoverConfirmed {
		return ""
	}
	line := Moment(v.ETA, v.Now)
	switch {
	case v.Pace.Tier == pace.TierReduced:
		line += ", at the reduced rate of now"
	case v.Halted > 0:
		line += ", at the rate of now"
	}
	if v.Halted > 0 {
		line += "; halts took " + Span(v.Halted) + " so far, and another one is not foreseen"
	}
	return line
}
