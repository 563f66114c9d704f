package clusterfailover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// publish shows the newest state: the live page always, search attributes when
// phase or reason changed.
func (e *failover) publish() {
	if e.st.Phase != e.shown || e.st.Reason != e.shownReason {
		e.shown, e.shownReason = e.st.Phase, e.st.Reason
		_ = workflow.UpsertTypedSearchAttributes(e.ctx, workflows.SearchPhase.ValueSet(string(e.st.Phase)), workflows.SearchReason.ValueSet(string(e.st.Reason)))
	}
	workflow.SetCurrentDetails(e.ctx, view.FailoverPage(e.view()))
}

// pageLines bounds the lines of each table before the page cuts them further.
const pageLines = 50

func (e *failover) view() view.PageView {
	lines := e.st.Lines()
	v := view.PageView{
		Cluster: e.cluster, Phase: e.st.Phase, Mode: e.st.Terms.Mode, Attempt: e.st.Attempt, Reason: e.st.Reason,
		Why: e.why(), Now: e.now(), Since: e.st.Since, Entered: e.st.Entered, Confirmed: e.st.Named,
		Pace: e.st.Pace, PendingPurge: e.st.PendingPurges, PausedBy: e.st.Paused.Line(), StoppedBy: e.st.Stopped.Line(),
		Runbook: e.st.Terms.Runbook, Orders: lines[:min(len(lines), pageLines)], Counts: e.pageCounts(), Windows: view.WindowLines(e.st.Windows, e.st.Cluster.Ours),
	}
	if d := e.st.Cluster.Drain; d != nil {
		v.DrainedBy, v.DrainOnly = d.Who+": "+d.Why, !e.failing()
	}
	for _, o := range e.st.Cluster.Ordered {
		v.Tainted = append(v.Tainted, o.String()+" by "+o.Who+": "+o.Why)
	}
	v.TaintedOnly = e.onlyOrdered() && v.DrainedBy == ""
	for _, t := range e.st.Cluster.Foreign {
		v.Foreign = append(v.Foreign, t.Key+":"+string(t.Effect))
	}
	for _, f := range e.st.Frozen {
		if !f.To.IsZero() {
			v.Halted += f.To.Sub(f.From)
		}
	}
	e.viewQueue(&v)
	e.viewMoves(&v)
	return v
}

// why says in words what the judgement rests on.
func (e *failover) why() string {
	var parts []string
	if len(e.st.Attention) > 0 {
		parts = append(parts, "needs attention: "+reason.Causes(e.st.Attention))
	}
	if e.st.Cluster.Ready != "" {
		parts = append(parts, strings.TrimSpace("Ready="+e.st.Cluster.Ready+" "+e.st.Cluster.ReadyReason))
	}
	for _, t := range e.st.Cluster.Foreign {
		parts = append(parts, fmt.Sprintf("taint %s:%s put by others", t.Key, t.Effect))
	}
	for _, t := range e.st.Cluster.Ours {
		if t.Rule != "" {
			parts = append(parts, fmt.Sprintf("taint %s:%s %s", t.Key, t.Effect, rules.RuleTitle(t.Rule)))
		}
	}
	return strings.Join(parts, ", ")
}

func (e *failover) pageCounts() view.PageCounts {
	c := view.PageCounts{Outcomes: map[phase.Outcome]int{}, Unproven: e.unproven()}
	c.Moving = len(e.st.Moves) - c.Unproven
	for _, outcome := range workflow.DeterministicKeys(e.st.Counts) {
		if n := e.st.Counts[outcome]; n > 0 {
			c.Outcomes[phase.Outcome(outcome)] = n
			c.Settled += n
		}
	}
	for _, i := range e.st.Items {
		switch i.State {
		case workflows.ItemTolerating:
			c.Tolerating++
		case workflows.ItemDue, workflows.ItemReady, workflows.ItemHold:
			c.Waiting++
		case workflows.ItemBlocked:
			c.Blocked++
			if i.Reason == reason.AwaitingApproval {
				c.Asked++
			}
		case workflows.ItemPaused:
			c.Waiting++
		case workflows.ItemIdle, workflows.ItemBehind, workflows.ItemFence, itemEnded:
		}
	}
	c.Affected = c.Settled + c.Moving + c.Unproven + c.Tolerating + c.Waiting + c.Blocked
	return c
}

// unproven is how many moves wait until their old copies are proven dead.
func (e *failover) unproven() int {
	n := 0
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m := e.st.Moves[key]; view.WaitsForProof(m.Phase, m.Reason) {
			n++
		}
	}
	return n
}

// viewQueue shows who comes next, who is blocked and why, and when it ends.
func (e *failover) viewQueue(v *view.PageView) {
	next := slices.Concat(
		e.first(workflows.ItemReady, pageLines), e.first(workflows.ItemHold, pageLines), e.first(workflows.ItemDue, pageLines), e.first(workflows.ItemTolerating, pageLines),
		e.first(workflows.ItemPaused, pageLines),
	)
	for _, at := range next[:min(len(next), pageLines)] {
		i := &e.st.Items[at]
		due, _ := e.dueAt(*i)
		v.Next = append(v.Next, view.NextLine{
			Binding: i.Key.String(), Due: due, Priority: e.priorityOf(i), Reason: i.Reason, To: i.To,
		})
	}
	for _, at := range e.first(workflows.ItemBlocked, pageLines) {
		i := e.st.Items[at]
		v.Blocked = append(v.Blocked, view.BlockedLine{
			Binding: i.Key.String(), Reason: i.Reason, Message: i.Message, RetryAt: i.RetryAt,
		})
	}
	v.ETA = e.eta()
}

// eta is when the last eviction is expected, zero when nobody can say.
func (e *failover) eta() time.Time {
	dues := make([]time.Time, 0, len(e.st.Items))
	e.tick()
	for at := range e.st.Items {
		switch i := &e.st.Items[at]; i.State {
		case workflows.ItemReady, workflows.ItemHold, workflows.ItemDue, workflows.ItemTolerating:
			due, _ := e.due(i)
			dues = append(dues, due)
		case workflows.ItemIdle, workflows.ItemBlocked, workflows.ItemBehind, workflows.ItemFence, workflows.ItemPaused, itemEnded:
		}
	}
	eta, ok := pace.ETA(e.now(), dues, 0, e.st.Pace)
	if !ok || len(dues) == 0 {
		return time.Time{}
	}
	return eta
}

func (e *failover) viewMoves(v *view.PageView) {
	for _, key := range workflow.DeterministicKeys(e.st.Moves) {
		if m := e.st.Moves[key]; len(v.Moving) < pageLines {
			v.Moving = append(v.Moving, view.MovingLine{
				Binding: key, Phase: m.Phase, To: m.Targets(), Reason: m.Reason, Message: m.Message,
				NeedsAttention: m.Attention != reason.None, Placed: m.Placed, Since: m.Since,
			})
		}
	}
}
