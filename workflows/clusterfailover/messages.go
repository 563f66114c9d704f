package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// messages are the signals, updates and queries of this failover.
func (f *failover) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{
			{Name: workflows.QueryStatus, Description: "The whole state of this failover", Answer: func() (workflows.FailoverStatus, error) { return f.st.Status(f.instance, f.cluster, f.now()), nil }},
			{Name: workflows.QueryExplain, Description: "The chain of reasons for one binding", Answer: func(r workflows.ExplainRequest) (workflows.Explanation, error) {
				return f.st.Explain(f.cluster, r, f.now()), nil
			}},
		},
		Updates: append(f.bindingUpdates(), f.clusterUpdates()...),
		Signals: []flow.Signal{
			flow.OnSignal(workflows.SignalClusterObserved, f.judgement.observed),
			flow.OnSignal(workflows.SignalBindingsChanged, f.affected.changed),
			flow.OnSignal(workflows.SignalAdopt, f.orphans.asked),
			flow.OnSignal(workflows.SignalGrant, f.dispatcher.granted),
			flow.OnSignal(workflows.SignalPaceChanged, f.waiting.paced),
			flow.OnReports(f.reported),
			flow.OnSignal(workflows.SignalPause, f.standing.pauseBySignal),
			flow.OnSignal(workflows.SignalClusterRecovered, func(workflows.Order) { f.clusterDirty, f.dirty = true, true }),
		},
	}
}

// bindingUpdates are the orders about one binding, a namespace or all.
func (f *failover) bindingUpdates() []flow.Update {
	return []flow.Update{
		flow.Ordered(workflows.UpdatePause, "Dispatch nothing more, of the whole failover, a namespace or one binding; what has begun goes on", f.standing.refusePause, f.standing.pause),
		flow.Awaited(workflows.UpdateResume, "Dispatch again after a pause of the whole, a namespace or a binding, or re-open a stopped failover as a new attempt; with enforce, act on what was only observed so far", f.wholeOrders.refuseResume, f.wholeOrders.resumeOrEnforce),
		flow.Ordered(workflows.UpdateSnooze, "Leave one binding, a namespace or all where they are for a while: a due time moves later, never earlier", f.standing.refuseSnooze, f.standing.snooze),
		flow.Ordered(workflows.UpdateApprove, "Agree to the move of one binding, a namespace or all that wait now, in this attempt; every other check stays", f.approvals.refuseApprove, f.approvals.approve),
		flow.Ordered(workflows.UpdatePrioritise, "Give one binding, a namespace or all another priority for the rest of this failover: higher goes first", f.standing.refusePrioritise, f.standing.prioritise),
		f.bindingOrders.orderOf(workflows.UpdateSkip, "Leave one binding alone in this attempt, before anything of it is written"),
		f.bindingOrders.orderOf(workflows.UpdatePutBack, "Restore the former clusters of one binding in one write, as long as its old copy is held"),
		f.bindingOrders.orderOf(workflows.UpdateRelease, "Drop the hold of one binding now, proven healthy or not"),
	}
}

// clusterUpdates are the orders about the whole cluster.
func (f *failover) clusterUpdates() []flow.Update {
	return []flow.Update{
		flow.Ordered(workflows.UpdateCancel, "Stop this failover: abandon what is queued, restore what is unplaced, keep both copies of what is placed, untaint. With a binding: the same for that one alone", f.wholeOrders.refuseCancel, f.wholeOrders.acceptCancel),
		flow.Ordered(workflows.UpdateConfirmFenced, "Vouch that the cluster is dead: its copies cannot run any more; Directly moves go on. With a binding: that one alone", f.fences.refuse, f.fences.confirm),
		flow.Awaited(workflows.UpdateDrain, "Empty this cluster: taint it and move every binding off it, the old copies held until the new ones are healthy", refuseDrain, f.clusterOrders.orderDrain),
		flow.Awaited(workflows.UpdateUndrain, "End the drain: what has not moved stays, what is unplaced is put back, what moved stays moved, Lifeboat's taints go", flow.RefuseOrder, f.clusterOrders.orderUndrain),
		f.clusterOrders.taintOf(workflows.UpdateTaint, "Put a taint that moves bindings on this cluster; it stands, and is Lifeboat's, until untaint", begunTaint, f.clusterOrders.obeyTaint),
		f.clusterOrders.taintOf(workflows.UpdateUntaint, "Take a taint away again that was put by order, or all of them; what others or a rule put stays", endedTaint, f.clusterOrders.obeyUntaint),
	}
}

// serve takes messages, and a cancellation as an order.
func (f *failover) serve(ctx workflow.Context) error {
	f.inbox = f.messages()
	if err := f.inbox.Serve(ctx, f.ctx); err != nil {
		return err
	}
	workflow.Go(f.ctx, f.oldCopies.watch)
	flow.OnCancel(ctx, func(o workflows.Order) {
		f.wholeOrders.acceptCancel(workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: o}})
		f.dirty, f.cancelRequested = true, true
	})
	return nil
}

// reported takes a migration's report. The end of an older attempt never closes a binding
// of this one.
func (f *failover) reported(r activities.MigrationReport) {
	if r.TakenBy != "" {
		f.migrations.declined(r)
		return
	}
	if workflows.MalformedReport(r) {
		f.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationReports, "binding", r.Key.String())
		return
	}
	m := f.st.Migrations[r.Key.String()]
	if m.EndsAnother(r) {
		return
	}
	f.dirty = true
	f.trail.AddActs(workflows.BindingMigrationID(f.instance, f.cluster, r.Key), r)
	f.bindingOrders.keepUnseen(m, r)
	f.bindingOrders.held.Reported(m.CalledOff(r), f.orders.isUntold)
	f.draining.wrote(m, r)
	f.migrations.reported(r)
}

// publisher shows the state of the failover: its page, its search attributes, the answers to queries.
type publisher struct {
	*run
	judgement   *judgement
	taints      *taints
	migrations  *migrations
	oldCopies   *oldCopies
	shown       phase.Failover // as last published in search attributes
	shownReason reason.Reason
	paged       time.Time
	nextPage    time.Time // zero where the page is the newest
}

// publish shows the newest state: the live page always, though that of a long queue not at every turn, search
// attributes when phase or reason changed.
func (p *publisher) publish() {
	changed := p.st.Phase != p.shown || p.st.Reason != p.shownReason
	if changed {
		p.shown, p.shownReason = p.st.Phase, p.st.Reason
		_ = workflow.UpsertTypedSearchAttributes(p.ctx, workflows.SearchPhase.ValueSet(string(p.st.Phase)), workflows.SearchReason.ValueSet(string(p.st.Reason)))
	}
	if len(p.st.Items) >= longList && !changed && p.now().Sub(p.paged) < pageApart {
		p.nextPage = p.paged.Add(pageApart)
		return
	}
	p.paged, p.nextPage = p.now(), time.Time{}
	workflow.SetCurrentDetails(p.ctx, view.FailoverPage(p.st.Shown(p.instance, p.cluster, p.now()).View(p.now())))
}

// pageApart is the least time between two pages over a long queue. One costs as much as the rest of a turn, and a
// worker that reads the history from its beginning takes every turn again.
const pageApart = 5 * time.Second

// attend finds again why this failover needs an operator's eyes, the most urgent cause first. What
// needs attention of a single migration is said by that migration.
func (p *publisher) attend() {
	waiting := p.migrations.counts().waiting()
	evacuates := p.st.Phase == phase.FailoverEvacuating || p.st.Phase == phase.FailoverEvacuated
	p.st.Attention = nil
	for _, c := range []struct {
		cause reason.Reason
		holds bool
	}{
		{reason.SecondEvictor, p.st.Beside},
		{reason.Malformed, p.st.Cluster.Malformed},
		{reason.Conflict, p.st.Disputed()},
		{reason.MemberAnswers, p.judgement.evidence().MemberAnswers()},
		{reason.Invalid, p.st.Refused},
		{reason.FleetUnknown, p.st.Unheard},
		{reason.WaitingFull, evacuates && waiting >= p.st.Terms.Waiting},
		{reason.PendingPurge, p.oldCopies.late()},
	} {
		if c.holds {
			p.st.Attention = append(p.st.Attention, c.cause)
		}
	}
}

// showMode publishes the mode in the search attributes and the memo.
func (p *publisher) showMode() {
	mode := string(p.st.Terms.Mode)
	_ = workflow.UpsertTypedSearchAttributes(p.ctx, workflows.SearchCluster.ValueSet(p.cluster), workflows.SearchMode.ValueSet(mode))
	_ = workflow.UpsertMemo(p.ctx, map[string]any{"lifeboatFailover": p.st.FailoverID, "lifeboatMode": mode})
}
