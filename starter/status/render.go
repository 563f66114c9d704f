package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Width is what every line stays within.
const Width = 120

// stale is from when on an answer is shown with its age: the pacer looks at the
// fleet when somebody waits for it, not all the time.
const stale = 10 * time.Second

// rows is how much of a list is shown.
const rows = 10

// View shows answers as text.
type View struct {
	Out io.Writer
	Now time.Time
	// Colour is for terminals only.
	Colour bool
}

// Overview shows the fleet.
func (v View) Overview(all Overview) {
	v.pacer(all.Pacer)
	if len(all.Failovers) == 0 {
		v.line("No cluster is failing over.")
	} else {
		t := v.table("Cluster", "Phase", "Round", "For", "Done", "Moving", "Queued", "Blocked", "Attention", "Why")
		for _, f := range all.Failovers {
			t.AppendRow(v.summary(f))
		}
		v.line("")
		t.Render()
	}
	if len(all.Kept) > 0 {
		v.line("\nLeft to a human (each bans its cluster for the binding until its task is dropped):")
		t := v.table("Binding", "Cluster", "Reason", "By")
		for _, k := range all.Kept {
			t.AppendRow(table.Row{k.Binding, k.Cluster, k.Reason, k.Owner})
		}
		t.Render()
	}
	for _, note := range all.Unread {
		v.line("\nNot read: %s", note)
	}
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
		faulty += " (" + short(strings.Join(pace.Faulty, ", "), 40) + ")"
	}
	asOf := ""
	if v.Now.Sub(p.Assessed) > stale {
		asOf = ", as of " + v.age(p.Assessed) + " ago"
	}
	v.line("Fleet: %s, %s, %s: %s%s", v.tier(pace.Tier), allowed, faulty, pace.Reason, asOf)
	if halt := p.Orders.Halted; halt != nil {
		v.line("Halted by %s: %s. To go on: lifeboat resume fleet --reason ...", halt.Who, halt.Reason)
	}
}

func (v View) summary(f Failover) table.Row {
	if f.EpisodeStatus == nil {
		return table.Row{f.Cluster, "?", "", "", "", "", "", "", "", f.Unanswered}
	}
	s := f.EpisodeStatus
	n := count(s)
	why := string(s.Reason)
	if s.Paused != nil {
		why = "paused by " + s.Paused.Who + ": " + s.Paused.Reason
	}
	return table.Row{
		f.Cluster, v.phase(s.Phase), s.Round, v.age(s.Entered), n.done, n.moving, n.queued, n.blocked, n.attention, short(why, 40),
	}
}

// numbers are how many bindings of this round stand where.
type numbers struct{ done, moving, queued, blocked, attention int }

func count(s *workflows.EpisodeStatus) numbers {
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
		if m.NeedsAttention {
			n.attention++
		}
	}
	if s.NeedsAttention != "" {
		n.attention++
	}
	return n
}

// Failover shows one failover.
func (v View) Failover(f Failover) {
	v.line("Workflow  %s", f.WorkflowID)
	if f.Link != "" {
		v.line("          %s", f.Link)
	}
	if f.EpisodeStatus == nil {
		v.line("No answer: %s", f.Unanswered)
		return
	}
	s := f.EpisodeStatus
	n := count(s)
	v.line("Cluster   %s: Ready %s %s", f.Cluster, s.Cluster.Ready, s.Cluster.ReadyReason)
	v.line("Phase     %s for %s, round %d, %s mode: %s", v.phase(s.Phase), v.age(s.Entered), s.Round, s.Terms.Mode, s.Reason)
	v.line("Bindings  %d done, %d moving, %d queued, %d blocked", n.done, n.moving, n.queued, n.blocked)
	if s.Paused != nil {
		v.line("Paused    by %s: %s", s.Paused.Who, s.Paused.Reason)
	}
	if d := s.Cluster.Drain; d != nil {
		v.line("Drained   by %s: %s", d.Who, d.Why)
	}
	if s.Stopped != nil {
		v.line("Stopped   by %s: %s", s.Stopped.Who, s.Stopped.Reason)
	}
	if s.NeedsAttention != "" {
		v.line("Attention %s", s.NeedsAttention)
	}
	v.outcomes(s)
	v.moves(s)
	v.queue(s)
	v.debts(s)
	actions := failover.EpisodeActions(f.Cluster, s.Phase, s.Paused != nil)
	if s.Cluster.Drain != nil {
		actions = append([]string{failover.UndrainAction(f.Cluster)}, actions...)
	}
	v.actions(actions)
}

func (v View) actions(actions []string) {
	if len(actions) == 0 {
		return
	}
	v.line("\nYou can:")
	for _, action := range actions {
		plain := strings.ReplaceAll(action, "`", "")
		v.line("  %s", strings.ReplaceAll(text.WrapSoft(plain, Width-6), "\n", "\n    "))
	}
}

func (v View) outcomes(s *workflows.EpisodeStatus) {
	counts := map[failover.Outcome]int{}
	for outcome, n := range s.Counts {
		counts[failover.Outcome(outcome)] = n
	}
	if len(counts) == 0 {
		return
	}
	v.line("Outcomes  %s", failover.CountsLine(counts))
}

func (v View) moves(s *workflows.EpisodeStatus) {
	moving := make([]workflows.Move, 0, len(s.Moves))
	for _, m := range s.Moves {
		moving = append(moving, m)
	}
	if len(moving) == 0 {
		return
	}
	slices.SortFunc(moving, func(a, b workflows.Move) int {
		if a.NeedsAttention != b.NeedsAttention {
			return boolOrder(a.NeedsAttention)
		}
		return a.Since.Compare(b.Since)
	})
	v.line("\nMoving:")
	t := v.table("Binding", "Resource", "Phase", "For", "To", "Reason")
	for _, m := range moving[:min(rows, len(moving))] {
		why := string(m.Reason)
		if m.NeedsAttention {
			why = "needs attention: " + why
		}
		t.AppendRow(table.Row{
			short(m.Key.String(), 34), short(m.Resource, 26), string(m.Phase), v.age(m.Since),
			short(strings.Join(m.To, ","), 16), short(why, 26),
		})
	}
	t.Render()
	v.more(len(moving))
}

// boolOrder puts what is true first.
func boolOrder(first bool) int {
	if first {
		return -1
	}
	return 1
}

func (v View) queue(s *workflows.EpisodeStatus) {
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
		v.line("\nQueued:")
		t := v.table("Binding", "Resource", "State", "Reason", "Could go to")
		for _, i := range next[:min(rows, len(next))] {
			t.AppendRow(table.Row{
				short(i.Key.String(), 38), short(i.Resource, 28), string(i.State), string(i.Reason), short(strings.Join(i.To, ","), 20),
			})
		}
		t.Render()
		v.more(len(next))
	}
	if len(blocked) > 0 {
		v.line("\nBlocked:")
		t := v.table("Binding", "Reason", "Because")
		for _, i := range blocked[:min(rows, len(blocked))] {
			t.AppendRow(table.Row{short(i.Key.String(), 38), string(i.Reason), short(i.Message, 50)})
		}
		t.Render()
		v.more(len(blocked))
	}
}

func (v View) debts(s *workflows.EpisodeStatus) {
	if len(s.Debts) == 0 {
		return
	}
	v.line("\nPurge debt: %d old copies stay on the cluster until it is back", len(s.Debts))
}

func (v View) more(total int) {
	if total > rows {
		v.line("... and %d more", total-rows)
	}
}

// table is borderless, as kubectl's.
func (v View) table(head ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(v.Out)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	t.SetStyle(style)
	t.AppendHeader(table.Row(head))
	t.SetAllowedRowLength(Width)
	t.SuppressTrailingSpaces()
	return t
}

func (v View) line(format string, args ...any) {
	_, _ = fmt.Fprintf(v.Out, format+"\n", args...) // a closed terminal is nobody's concern
}

func (v View) age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	d := max(v.Now.Sub(since), 0)
	if d > time.Hour {
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second).String()
}

func (v View) phase(p failover.EpisodePhase) string {
	switch p {
	case failover.EpisodeConfirmed, failover.EpisodeEvacuating:
		return v.coloured(text.FgRed, string(p))
	case failover.EpisodeSuspected, failover.EpisodeEvacuated, failover.EpisodeStopped, failover.EpisodeRecovering:
		return v.coloured(text.FgYellow, string(p))
	case failover.EpisodeSettling, failover.EpisodeRecovered, failover.EpisodeFalseAlarm,
		failover.EpisodeCancelled, failover.EpisodeGone:
		return v.coloured(text.FgGreen, string(p))
	default:
		return string(p)
	}
}

func (v View) tier(t failover.Tier) string {
	switch t {
	case failover.TierHalted:
		return v.coloured(text.FgRed, string(t))
	case failover.TierSlow:
		return v.coloured(text.FgYellow, string(t))
	case failover.TierNormal:
	}
	return string(t)
}

func (v View) coloured(c text.Color, s string) string {
	if !v.Colour {
		return s
	}
	return c.EscapeSeq() + s + text.Reset.EscapeSeq()
}

// short cuts a text to what fits, in characters.
func short(s string, most int) string {
	if text.StringWidthWithoutEscSequences(s) <= most {
		return s
	}
	return text.Trim(s, most-1) + "…"
}
