package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// messages are all that this failover is told, ordered and asked.
func (e *failover) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{
			{Name: workflows.QueryStatus, Description: "The whole state of this failover", Answer: func() (workflows.FailoverStatus, error) { return e.st.Status(e.instance, e.cluster, e.now()), nil }},
			{Name: workflows.QueryExplain, Description: "The chain of reasons for one binding", Answer: func(r workflows.ExplainRequest) (workflows.Explanation, error) {
				return e.st.Explain(e.cluster, r, e.now()), nil
			}},
		},
		Updates: append(e.bindingUpdates(), e.clusterUpdates()...),
		Signals: []flow.Signal{
			flow.Told(workflows.SignalClusterObserved, e.judgement.observed),
			flow.Told(workflows.SignalBindingsChanged, e.affected.changed),
			flow.Told(workflows.SignalAdopt, e.orphans.asked),
			flow.Told(workflows.SignalGrant, e.dispatcher.granted),
			flow.Told(workflows.SignalPaceChanged, e.waiting.paced),
			flow.Told(workflows.SignalMigrationReport, e.reported),
			flow.Told(workflows.SignalPause, e.standing.pauseBySignal),
			flow.Told(workflows.SignalClusterRecovered, func(workflows.Order) { e.clusterDirty, e.dirty = true, true }),
		},
	}
}

// bindingUpdates are the orders about one binding, a namespace or all.
func (e *failover) bindingUpdates() []flow.Update {
	return []flow.Update{
		flow.Ordered(workflows.UpdatePause, "Dispatch nothing more, of the whole failover, a namespace or one binding; what has begun goes on", e.standing.refusePause, e.standing.pause),
		flow.Awaited(workflows.UpdateResume, "Dispatch again after a pause of the whole, a namespace or a binding, or re-open a stopped failover as a new attempt; with enforce, act on what was only observed so far", e.wholeOrders.refuseResume, e.wholeOrders.resumeOrEnforce),
		flow.Ordered(workflows.UpdateSnooze, "Leave one binding, a namespace or all where they are for a while: a due time moves later, never earlier", e.standing.refuseSnooze, e.standing.snooze),
		flow.Ordered(workflows.UpdateApprove, "Agree to the move of one binding, a namespace or all that wait now, in this attempt; every other check stays", e.approvals.refuseApprove, e.approvals.approve),
		flow.Ordered(workflows.UpdatePrioritise, "Give one binding, a namespace or all another priority for the rest of this failover: higher goes first", e.standing.refusePrioritise, e.standing.prioritise),
		e.bindingOrders.orderOf(workflows.UpdateSkip, "Leave one binding alone in this attempt, before anything of it is written"),
		e.bindingOrders.orderOf(workflows.UpdatePutBack, "Restore the former clusters of one binding in one write, as long as its old copy is held"),
		e.bindingOrders.orderOf(workflows.UpdateRelease, "Drop the hold of one binding now, proven healthy or not"),
	}
}

// clusterUpdates are the orders about the whole cluster.
func (e *failover) clusterUpdates() []flow.Update {
	return []flow.Update{
		flow.Ordered(workflows.UpdateCancel, "Stop this failover: abandon what is queued, restore what is unplaced, keep both copies of what is placed, untaint. With a binding: the same for that one alone", e.wholeOrders.refuseCancel, e.wholeOrders.acceptCancel),
		flow.Ordered(workflows.UpdateConfirmFenced, "Vouch that the cluster is dead: its copies cannot run any more; Directly moves go on. With a binding: that one alone", e.fences.refuse, e.fences.confirm),
		flow.Awaited(workflows.UpdateDrain, "Empty this cluster: taint it and move every binding off it, the old copies held until the new ones are healthy", refuseDrain, e.clusterOrders.orderDrain),
		flow.Awaited(workflows.UpdateUndrain, "End the drain: what has not moved stays, what is unplaced is put back, what moved stays moved, Lifeboat's taints go", flow.RefuseOrder, e.clusterOrders.orderUndrain),
		e.clusterOrders.taintOf(workflows.UpdateTaint, "Put a taint that moves bindings on this cluster; it stands, and is Lifeboat's, until untaint", begunTaint),
		e.clusterOrders.taintOf(workflows.UpdateUntaint, "Take a taint away again that was put by order, or all of them; what others or a rule put stays", endedTaint),
	}
}

// serve takes messages, and a cancellation as an order.
func (e *failover) serve(ctx workflow.Context) error {
	e.inbox = e.messages()
	if err := e.inbox.Serve(ctx, e.ctx); err != nil {
		return err
	}
	workflow.Go(e.ctx, e.oldCopies.watch)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if ctx.Done().Receive(ctx, nil); ctx.Err() != nil {
			e.orders.cancel = &workflows.Order{Who: "cancellation request", Reason: "requested in Temporal"}
			e.trail.ordered(workflows.UpdateCancel, *e.orders.cancel, queue.Scope{})
			e.dirty, e.cancelRequested = true, true
		}
	})
	return nil
}

// reported takes a child's word. The end of an older attempt never closes a binding
// of this one.
func (e *failover) reported(r workflows.MigrationReport) {
	if malformedReport(r) {
		e.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationReport, "binding", r.Key.String())
		return
	}
	m := e.st.Moves[r.Key.String()]
	e.dirty = true
	e.trail.acts(r)
	e.bindingOrders.answerHeld(r)
	e.draining.wrote(m, r)
	e.children.reported(r)
}

// malformedReport tells a report that no migration sends: it is of nobody, its end is none or
// that of another binding, or it is too large to be carried.
func malformedReport(r workflows.MigrationReport) bool {
	nobodys := r.Key.Name == "" || r.FailoverID == "" || r.Attempt <= 0
	return nobodys || r.Result != nil && (r.Result.Key != r.Key || r.Result.Outcome == "") || workflows.Oversized(r)
}
