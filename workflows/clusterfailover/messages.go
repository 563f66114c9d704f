package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
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
			flow.OnSignal(workflows.SignalMigrationReport, f.reported),
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
		f.orders.cancel = &o
		f.trail.ordered(workflows.UpdateCancel, o, queue.Scope{})
		f.dirty, f.cancelRequested = true, true
	})
	return nil
}

// reported takes a child's report. The end of an older attempt never closes a binding
// of this one.
func (f *failover) reported(r workflows.MigrationReport) {
	if malformedReport(r) {
		f.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationReport, "binding", r.Key.String())
		return
	}
	m := f.st.Migrations[r.Key.String()]
	f.dirty = true
	f.trail.AddActs(workflows.BindingMigrationID(f.instance, f.cluster, r.Key), r)
	f.bindingOrders.answerHeld(r)
	f.draining.wrote(m, r)
	f.children.reported(r)
}

// malformedReport reports whether no migration sends such a report: it names no binding, its end is none or
// that of another binding, or it is too large to be carried.
func malformedReport(r workflows.MigrationReport) bool {
	nobodys := r.Key.Name == "" || r.FailoverID == "" || r.Attempt <= 0
	return nobodys || r.Result != nil && (r.Result.Key != r.Key || r.Result.Outcome == "") || workflows.Oversized(r)
}

// publisher shows the state of the failover: its page, its search attributes, the answers to queries.
type publisher struct {
	*run
	judgement   *judgement
	taints      *taints
	children    *children
	oldCopies   *oldCopies
	shown       phase.Failover // as last published in search attributes
	shownReason reason.Reason
}

// publish shows the newest state: the live page always, search attributes when
// phase or reason changed.
func (p *publisher) publish() {
	if p.st.Phase != p.shown || p.st.Reason != p.shownReason {
		p.shown, p.shownReason = p.st.Phase, p.st.Reason
		_ = workflow.UpsertTypedSearchAttributes(p.ctx, workflows.SearchPhase.ValueSet(string(p.st.Phase)), workflows.SearchReason.ValueSet(string(p.st.Reason)))
	}
	workflow.SetCurrentDetails(p.ctx, view.FailoverPage(p.st.Shown(p.instance, p.cluster, p.now()).View(p.now())))
}

// attend finds again why this failover needs an operator's eyes, the most urgent cause first. What
// needs attention of a single migration is said by that migration.
func (p *publisher) attend() {
	_, waiting := p.children.inFlight()
	evacuates := p.st.Phase == phase.FailoverEvacuating || p.st.Phase == phase.FailoverEvacuated
	p.st.Attention = nil
	for _, c := range []struct {
		cause reason.Reason
		holds bool
	}{
		{reason.SecondEvictor, p.st.Beside},
		{reason.Malformed, p.st.Cluster.Malformed},
		{reason.Conflict, p.taints.disputed()},
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

// obey carries out what operators ordered since the last turn.
func (f *failover) obey() {
	o := f.orders
	f.orders = failoverOrders{}
	for _, one := range o.bindings {
		f.bindingOrders.obeyOne(one)
	}
	for _, v := range o.scoped {
		f.children.signalScoped(v)
	}
	if o.cancel != nil && f.on(phase.EventCancelOrdered, reason.Cancelled) {
		f.st.Stopped, f.st.StopPutBack = o.cancel, o.putBack
		f.st.ClosedAt, f.st.Settled = time.Time{}, time.Time{}
	}
	for _, word := range o.confirmations {
		if word.binding == (karmada.BindingKey{}) {
			f.fences.spread(&word.fence)
		} else {
			f.fences.fencedOne(word)
		}
	}
	f.obeyEnforce(o)
	if o.resume != nil && f.st.Phase == phase.FailoverStopped {
		f.reopen(reason.ConditionsMatch)
	}
}

// reopen begins the next attempt of a stopped failover. The windows of its rules start from zero,
// because no rule was applied while it was stopped.
func (f *failover) reopen(why reason.Reason) {
	if f.on(phase.EventResumeOrdered, why) {
		f.newAttempt()
		f.st.Stopped, f.st.StopPutBack, f.st.Windows = nil, false, nil
	}
}

// obeyEnforce answers an order to enforce; one that was overtaken by a cancel is not obeyed.
func (f *failover) obeyEnforce(o failoverOrders) {
	switch {
	case o.enforce == nil:
	case o.cancel != nil:
		o.enforce.end("", flow.Refused("it was cancelled meanwhile by "+o.cancel.Who))
	default:
		o.enforce.end(f.beginEnforcing(o.enforce))
	}
}

// beginEnforcing takes the worker's terms again and, where they allow it, begins an attempt in
// which everything that was observed is listed and judged again. What the rules have
// seen so far stays: the failure need not be confirmed twice.
func (f *failover) beginEnforcing(asked *enforcement) (string, error) {
	ctx := flow.Doing(f.ctx, "may this failover be enforced? asked by "+asked.order.Who)
	b, err := flow.Run[activities.Begin](ctx, activities.NameBeginFailover, activities.BeginRequest{Cluster: f.cluster})
	if err != nil {
		return "", flow.Refused("the worker could not be asked: " + err.Error())
	}
	if why := f.wholeOrders.noEnforcing(); why != "" {
		return "", flow.Refused(why)
	}
	if b.Terms.Mode != rules.ModeEnforce {
		return "", flow.Refused("the worker's own config says observe for " + f.cluster +
			": set mode or modes.enforce, restart the workers, and order it again")
	}
	if f.st.Paused == asked.paused {
		f.standing.endPause() // one that was given since says not yet, and stands
	}
	f.trail.ordered(workflows.UpdateResume, asked.order, queue.Scope{}, "enforce", flow.Yes(true))
	f.endObserving(asked.order)
	f.st.Terms = b.Terms
	f.publisher.showMode()
	f.adoptDirty, f.dirty = true, true
	return "enforced from now on, as a new attempt: everything is listed and judged anew", nil
}

// endObserving ends the attempt that observed: each binding that was to move gets the
// outcome that it had come to.
func (f *failover) endObserving(order workflows.Order) {
	if f.st.Phase == phase.FailoverSuspected || f.st.Phase == phase.FailoverCordoned {
		f.st.Virtual = nil
		return // nothing was listed yet
	}
	if f.st.Phase == phase.FailoverStopped {
		f.reopen(reason.EnforceOrdered)
		return
	}
	for _, i := range f.st.Items {
		switch {
		case i.Was && i.State != queue.Blocked:
			f.outcomes.keep(record.Result{
				Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.EnforceOrdered,
				Cause: "enforced by " + order.Who + ": " + order.Reason, At: f.now(),
			})
		default:
			f.outcomes.abandon(i, nil)
		}
	}
	if f.on(phase.EventEnforceOrdered, reason.EnforceOrdered) {
		f.newAttempt()
	}
}

// wholeOrders are an operator's orders about the whole failover: cancel, resume, enforce. They are
// accepted here, and carried out by the next turn.
type wholeOrders struct {
	*run
	standing      *standing
	taints        *taints
	evictor       *evictor
	bindingOrders *bindingOrders
}

func (w *wholeOrders) refuseResume(o workflows.Resume) error {
	if o.Scope != (queue.Scope{}) && o.Scope != (queue.Scope{All: true}) {
		return w.standing.refuseScopedResume(o)
	}
	switch {
	case o.Enforce && w.orders.enforce != nil:
		return flow.Refused("ordered already by " + w.orders.enforce.order.Who)
	case o.Enforce:
		if why := w.noEnforcing(); why != "" {
			return flow.Refused(why)
		}
	case w.st.Paused == nil && w.st.Phase != phase.FailoverStopped:
		return flow.Refused("neither paused nor stopped as a whole: nothing to resume" + w.standing.stillPaused())
	}
	return flow.RefuseOrder(o.Order)
}

// noEnforcing says why this failover cannot be turned into one that enforces.
func (w *wholeOrders) noEnforcing() string {
	_, err := phase.NextFailover(w.st.Phase, phase.EventEnforceOrdered)
	early := w.st.Phase == phase.FailoverSuspected || w.st.Phase == phase.FailoverCordoned || w.st.Phase == phase.FailoverStopped
	switch {
	case err != nil && !early:
		return "it is " + string(w.st.Phase) + ": there is nothing left to enforce"
	case w.enforcing():
		return "this failover enforces already"
	default:
		return ""
	}
}

// resumeOrEnforce answers "resume". With enforce the answer comes from the main loop: the
// worker's own config has to be read.
func (w *wholeOrders) resumeOrEnforce(ctx workflow.Context, o workflows.Resume) (string, error) {
	if !o.Enforce {
		return w.acceptResume(o.ScopedOrder), nil
	}
	asked := &enforcement{order: o.Order, paused: w.st.Paused}
	w.orders.enforce, w.dirty = asked, true
	live, _ := workflow.NewDisconnectedContext(ctx) // a cancellation is an order, too, and is obeyed in its turn
	err := workflow.Await(live, func() bool { return asked.done || w.st.Phase.Terminal() })
	if err != nil || !asked.done {
		return "", flow.Refused("this failover ended before it could be enforced")
	}
	return asked.answer, asked.err
}

func (w *wholeOrders) acceptResume(o workflows.ScopedOrder) string {
	w.dirty = true
	w.trail.ordered(workflows.UpdateResume, o.Order, o.Scope)
	if o.Scope != (queue.Scope{}) && !o.All {
		return w.standing.resumeScoped(o)
	}
	if w.st.Phase == phase.FailoverStopped {
		w.orders.resume = &o.Order
		return "re-opened as a new attempt: the windows run again before anything moves" + w.standing.stillPaused()
	}
	w.standing.endPause()
	w.taints.endDispute()
	w.evictor.resumed()
	return "resumed" + w.standing.stillPaused()
}

func (w *wholeOrders) acceptCancel(o workflows.BindingOrder) string {
	if o.Binding != (karmada.BindingKey{}) {
		return w.bindingOrders.orderOne(workflows.UpdateCancel, o)
	}
	w.trail.ordered(workflows.UpdateCancel, o.Order, queue.Scope{}, "putBack", flow.Yes(o.PutBack))
	w.orders.cancel, w.orders.putBack, w.dirty = &o.Order, o.PutBack, true
	placed := "keeps both copies"
	if o.PutBack {
		placed = "and not released goes back as well"
	}
	return "stopping: what is queued stays, what has no place yet goes back, what is placed " + placed + "; then Lifeboat's taints go"
}

func (w *wholeOrders) refuseCancel(o workflows.BindingOrder) error {
	if o.Binding != (karmada.BindingKey{}) {
		return w.bindingOrders.refuseOne(workflows.UpdateCancel, o)
	}
	if w.st.Phase == phase.FailoverStopped {
		return flow.Refused("stopped already by " + w.st.Stopped.Who)
	}
	return flow.RefuseOrder(o.Order)
}
