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
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// obey carries out what humans ordered since the last turn.
func (e *failover) obey() {
	o := e.orders
	e.orders = failoverOrders{}
	for _, one := range o.bindings {
		e.bindingOrders.obeyOne(one)
	}
	for _, v := range o.scoped {
		e.children.tellScoped(v)
	}
	if o.cancel != nil && e.on(phase.EventCancelOrdered, reason.Cancelled) {
		e.st.Stopped, e.st.StopPutBack = o.cancel, o.putBack
		e.st.ClosedAt, e.st.Settled = time.Time{}, time.Time{}
	}
	for _, word := range o.fenceWords {
		if word.binding == (karmada.BindingKey{}) {
			e.fences.spread(&word.fence)
		} else {
			e.fences.fencedOne(word)
		}
	}
	e.obeyEnforce(o)
	if o.resume != nil && e.st.Phase == phase.FailoverStopped {
		e.reopen(reason.ConditionsMatch)
	}
}

// reopen begins the next attempt of a stopped failover. The windows of its rules start from zero,
// because no rule was applied while it was stopped.
func (e *failover) reopen(why reason.Reason) {
	if e.on(phase.EventResumeOrdered, why) {
		e.newAttempt()
		e.st.Stopped, e.st.StopPutBack, e.st.Windows = nil, false, nil
	}
}

// obeyEnforce answers an order to enforce; one that was overtaken by a cancel is not obeyed.
func (e *failover) obeyEnforce(o failoverOrders) {
	switch {
	case o.enforce == nil:
	case o.cancel != nil:
		o.enforce.refused, o.enforce.done = "it was cancelled meanwhile by "+o.cancel.Who, true
	default:
		e.beginEnforcing(o.enforce)
	}
}

// beginEnforcing takes the worker's terms anew and, where they allow it, begins an attempt in
// which everything that was observed is listed and judged again. What the rules have
// seen so far stays: the failure need not be confirmed twice.
func (e *failover) beginEnforcing(asked *enforcement) {
	defer func() { asked.done = true }()
	var b activities.Begin
	ctx := flow.Doing(e.ctx, "may this failover be enforced? asked by "+asked.order.Who)
	if err := workflow.ExecuteActivity(ctx, activities.NameBeginFailover, activities.BeginRequest{Cluster: e.cluster}).Get(ctx, &b); err != nil {
		asked.refused = "the worker could not be asked: " + err.Error()
		return
	}
	if asked.refused = e.wholeOrders.noEnforcing(); asked.refused != "" {
		return
	}
	if b.Terms.Mode != rules.ModeEnforce {
		asked.refused = "the worker's own config says observe for " + e.cluster + ": set mode or modes.enforce, restart the workers, and order it again"
		return
	}
	if e.st.Paused == asked.paused {
		e.standing.endPause() // one that was given since says not yet, and stands
	}
	e.trail.ordered(workflows.UpdateResume, asked.order, queue.Scope{}, "enforce", flow.Yes(true))
	e.endObserving(asked.order)
	e.st.Terms = b.Terms
	e.publisher.showMode()
	e.adoptDirty, e.dirty = true, true
}

// endObserving ends the attempt that observed: each binding that was to move gets the
// outcome that it had come to.
func (e *failover) endObserving(order workflows.Order) {
	if e.st.Phase == phase.FailoverSuspected || e.st.Phase == phase.FailoverCordoned {
		e.st.Virtual = nil
		return // nothing was listed yet
	}
	if e.st.Phase == phase.FailoverStopped {
		e.reopen(reason.EnforceOrdered)
		return
	}
	for _, i := range e.st.Items {
		switch {
		case i.Was && i.State != queue.Blocked:
			e.outcomes.keep(record.Result{
				Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.EnforceOrdered,
				Cause: "enforced by " + order.Who + ": " + order.Reason, At: e.now(),
			})
		default:
			e.outcomes.abandon(i, nil)
		}
	}
	if e.on(phase.EventEnforceOrdered, reason.EnforceOrdered) {
		e.newAttempt()
	}
}
