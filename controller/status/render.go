package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
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
	pace := p.Pace
	allowed := fmt.Sprintf("%g evictions/s", pace.Rate)
	if pace.Unlimited {
		allowed = "unlimited"
	}
	faulty := fmt.Sprintf("%d of %d clusters faulty", len(pace.Faulty), pace.Total)
	if len(pace.Faulty) > 0 {
		faulty += " (" + show.Short(strings.Join(pace.Faulty, ", "), 40) + ")"
	}
	asOf := ""
	if v.Now.Sub(p.Assessed) > stale {
		asOf = ", as of " + v.Age(p.Assessed) + " ago"
	}
	mode := ""
	if m := p.InForce["mode"]; m != "" {
		mode = m + " mode, "
	}
	v.Wrapped("", fmt.Sprintf("Fleet: %s%s, %s, %s: %s%s", mode, v.tier(pace.Tier), allowed, faulty, pace.Reason, asOf))
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
	s := f.FailoverStatus
	n := count(s)
	why := string(s.Reason)
	if s.Paused != nil {
		why = "paused by " + s.Paused.Who + ": " + s.Paused.Reason
	}
	return table.Row{
		f.Cluster, string(s.Terms.Mode), v.phase(s.Phase), s.Attempt, v.Age(s.Entered), n.done, n.moving, n.queued, n.blocked, n.attention, show.Short(why, 40),
	}
}

// numbers are how many bindings of this attempt stand where.
type numbers struct{ done, moving, queued, blocked, attention int }

func count(s *workflows.FailoverStatus) numbers {
	n := numbers{moving: len(s.Moves), queued: s.Left}
	for _, settled := range s.Counts {
		n.done += settled
	}
	for state, queued := range s.Queue {
		switch {
		case state == workflows.ItemBlocked:
			n.blocked += queued
		case state != workflows.ItemIdle && state != workflows.ItemBehind:
			n.queued += queued
		}
	}
	for _, m := range s.Moves {
		if m.Attention != reason.None {
			n.attention++
		}
	}
	n.attention += len(s.Attention)
	return n
}

// Failover shows one failover.
func (v View) Failover(f Failover) {
	v.Line("Workflow  %s", f.WorkflowID)
	if f.Link != "" {
		v.Line("          %s", f.Link)
	}
	if f.FailoverStatus == nil {
		v.Line("No answer: %s", f.Unanswered)
		return
	}
	s := f.FailoverStatus
	n := count(s)
	v.Line("Cluster   %s: Ready %s %s", f.Cluster, s.Cluster.Ready, s.Cluster.ReadyReason)
	v.taints(s)
	if t := s.TakenAway; t != nil && !t.Twice {
		v.Wrapped("", "Note: "+v.Age(t.At)+" ago "+view.TaintPutBack(t.AddedTaint, f.Cluster))
	}
	v.Line("Phase     %s for %s, attempt %d, %s mode: %s", v.phase(s.Phase), v.Age(s.Entered), s.Attempt, s.Terms.Mode, s.Reason)
	v.Line("Bindings  %d done, %d moving, %d queued, %d blocked", n.done, n.moving, n.queued, n.blocked)
	if s.Paused != nil {
		v.Line("Paused    by %s: %s", s.Paused.Who, s.Paused.Reason)
	}
	if d := s.Cluster.Drain; d != nil {
		v.Line("Drained   by %s: %s", d.Who, d.Why)
	}
	for _, o := range s.Cluster.Ordered {
		v.Line("Tainted   with %s by %s: %s", o, o.Who, o.Why)
	}
	v.ordered(s)
	if s.Stopped != nil {
		v.Line("Stopped   by %s: %s", s.Stopped.Who, s.Stopped.Reason)
	}
	if len(s.Attention) > 0 {
		v.Line("Attention %s", reason.Causes(s.Attention))
	}
	v.waiting(s)
	v.outcomes(s)
	v.moves(s)
	v.queue(s)
	v.finished(s)
	v.pendingPurges(s)
	v.unknown(f.Cluster, f.UnknownCopies, 0)
	if f.Unread != "" {
		v.Line("Not read: %s", f.Unread)
	}
	v.actions(view.FailoverActions(choices(f.Cluster, s)))
	show.LookUp(v.Page, f.Runbook)
}

// choices are what one can do about a failover.
func choices(cluster string, s *workflows.FailoverStatus) view.Choices {
	c := view.Choices{
		Cluster: cluster, Phase: s.Phase, Paused: s.Paused != nil, Asked: asked(s), OldCopies: len(s.PendingPurges),
		Drained: s.Cluster.Drain != nil, DrainOnly: s.Reason == reason.Drained,
		Answers: s.Reason == reason.MemberAnswers,
		Tainted: len(s.Cluster.Ordered) > 0, TaintedOnly: s.Reason == reason.TaintOrdered,
	}
	for _, t := range s.Cluster.Foreign {
		c.Foreign = append(c.Foreign, t.Key+":"+string(t.Effect))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Moves)) {
		if m := s.Moves[key]; m.Attention != reason.None && view.WaitsForProof(m.Phase, m.Reason) {
			c.Unproven = append(c.Unproven, view.Unproven{Binding: key, Reason: m.Reason})
		}
	}
	return c
}

// taints shows what moves the bindings: that others put, and that the rules put.
func (v View) taints(s *workflows.FailoverStatus) {
	var parts []string
	for _, t := range s.Cluster.Foreign {
		parts = append(parts, fmt.Sprintf("%s:%s put by others", t.Key, t.Effect))
	}
	for _, t := range s.Cluster.Ours {
		if t.Rule != "" {
			parts = append(parts, fmt.Sprintf("%s:%s %s", t.Key, t.Effect, rules.RuleTitle(t.Rule)))
		}
	}
	if len(parts) > 0 {
		v.Wrapped("", "Taints    "+strings.Join(parts, ", "))
	}
}

func (v View) actions(actions []string) {
	if len(actions) == 0 {
		return
	}
	v.Line("\nYou can:")
	for _, action := range actions {
		v.Wrapped("  ", strings.ReplaceAll(action, "`", ""))
	}
}

func (v View) outcomes(s *workflows.FailoverStatus) {
	counts := map[phase.Outcome]int{}
	for outcome, n := range s.Counts {
		counts[phase.Outcome(outcome)] = n
	}
	if len(counts) == 0 {
		return
	}
	v.Line("Outcomes  %s", phase.CountsLine(counts))
}

func (v View) moves(s *workflows.FailoverStatus) {
	moving := make([]workflows.Move, 0, len(s.Moves))
	for _, m := range s.Moves {
		moving = append(moving, m)
	}
	if len(moving) == 0 {
		return
	}
	slices.SortFunc(moving, func(a, b workflows.Move) int {
		if calm := reason.None; (a.Attention == calm) != (b.Attention == calm) {
			return boolOrder(b.Attention == calm)
		}
		return cmp.Or(a.Since.Compare(b.Since), a.Key.Compare(b.Key))
	})
	v.Line("\nMoving:")
	t := v.Table("Binding", "Phase", "For", "To", "Reason")
	for _, m := range moving[:min(rows, len(moving))] {
		t.AppendRow(table.Row{
			show.Short(m.Key.String(), 34), string(m.Phase), v.Age(m.PhaseSince()), show.Short(strings.Join(m.Targets(), ","), 14), v.because(m),
		})
	}
	t.Render()
	v.More(rows, len(moving))
}

// because says what a move waits for; a reason that only says the phase again is left out.
func (v View) because(m workflows.Move) string {
	var parts []string
	if m.Attention != reason.None {
		parts = append(parts, v.Coloured(show.Bad, m.Needs()))
	}
	if string(m.Reason) != string(m.Phase) && m.Reason != reason.None {
		parts = append(parts, string(m.Reason))
	}
	if m.Message != "" && m.Reason != reason.Placed { // the targets have their own column
		parts = append(parts, show.Short(m.Message, 120))
	}
	return strings.Join(parts, ": ")
}

// boolOrder puts what is true first.
func boolOrder(first bool) int {
	if first {
		return -1
	}
	return 1
}

func (v View) queue(s *workflows.FailoverStatus) {
	var next, blocked []workflows.Item
	for _, i := range s.Items {
		switch {
		case i.State == workflows.ItemBlocked:
			blocked = append(blocked, i)
		case i.State != workflows.ItemIdle && i.State != workflows.ItemBehind:
			next = append(next, i)
		}
	}
	if len(next) > 0 {
		v.Line("\nQueued:")
		t := v.Table("Binding", "State", "Reason", "Could go to")
		for _, i := range next[:min(rows, len(next))] {
			t.AppendRow(table.Row{
				show.Short(i.Key.String(), 48), string(i.State), v.waits(i), show.Short(strings.Join(i.To, ","), 30),
			})
		}
		t.Render()
		v.More(rows, len(next))
	}
	if len(blocked) > 0 {
		v.Line("\nBlocked:")
		t := v.Table("Binding", "Reason", "Again in", "Message")
		for _, i := range blocked[:min(rows, len(blocked))] {
			t.AppendRow(table.Row{show.Short(i.Key.String(), 38), show.Short(string(i.Reason), 24), v.In(i.RetryAt), show.Short(i.Message, 150)})
		}
		t.Render()
		v.More(rows, len(blocked))
	}
}

// waits is what an item waits for, and for how long where that is known.
func (v View) waits(i workflows.Item) string {
	if i.State != workflows.ItemTolerating || i.RetryAt.IsZero() {
		return string(i.Reason)
	}
	return fmt.Sprintf("%s, in %s (%s)", i.Reason, show.Span(max(0, i.RetryAt.Sub(v.Now))), i.RetryAt.UTC().Format("15:04:05 UTC"))
}

func (v View) pendingPurges(s *workflows.FailoverStatus) {
	if len(s.PendingPurges) == 0 || s.Phase == phase.FailoverGone {
		return
	}
	copies := "1 old copy stays"
	if n := len(s.PendingPurges); n > 1 {
		copies = fmt.Sprintf("%d old copies stay", n)
	}
	switch {
	case s.Phase.Terminal():
		v.Line("\nPending purge: %s there when this failover closed. Now: kubectl get works -n karmada-es-%s", stayed(len(s.PendingPurges)), s.Cluster)
	case s.Phase == phase.FailoverRecovering || s.Phase == phase.FailoverSettling:
		v.Line("\nPending purge: %s on the cluster, which is back: Karmada is made to delete what is left", copies)
	default:
		v.Line("\nPending purge: %s on the cluster until it is back", copies)
	}
}

// stayed counts old copies that stood at some moment.
func stayed(n int) string {
	if n == 1 {
		return "1 old copy stood"
	}
	return fmt.Sprintf("%d old copies stood", n)
}

func (v View) phase(p phase.Failover) string {
	switch p {
	case phase.FailoverConfirmed, phase.FailoverEvacuating:
		return v.Coloured(show.Bad, string(p))
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverEvacuated, phase.FailoverStopped, phase.FailoverRecovering:
		return v.Coloured(show.Busy, string(p))
	case phase.FailoverSettling, phase.FailoverRecovered, phase.FailoverFalseAlarm, phase.FailoverUncordoned,
		phase.FailoverCancelled, phase.FailoverGone:
		return v.Coloured(show.Well, string(p))
	default:
		return string(p)
	}
}

func (v View) tier(t pace.Tier) string {
	switch t {
	case pace.TierHalted:
		return v.Coloured(show.Bad, string(t))
	case pace.TierSlow:
		return v.Coloured(show.Busy, string(t))
	case pace.TierNormal:
	}
	return string(t)
}
