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

// obey carries out what operators ordered since the last turn.
func (f *failover) obey() {
	for range len(f.orders.bindings) {
		one := f.orders.bindings[0]
		f.orders.bindings = f.orders.bindings[1:]
		if f.orders.cancel != nil && one.afterCancel {
			f.orders.bindings, f.dirty = append(f.orders.bindings, one), true // the cancel reaches its migration first
			continue
		}
		f.bindingOrders.obeyOne(one)
	}
	scoped, words := f.orders.scoped, f.orders.confirmations
	f.orders.scoped, f.orders.confirmations = nil, nil
	for _, v := range scoped {
		f.migrations.signalScoped(v)
	}
	for _, word := range words {
		if word.binding == (karmada.BindingKey{}) {
			f.fences.spread(&word.fence)
		} else {
			f.fences.fencedOne(word)
		}
	}
	f.obeyWhole()
}

// obeyWhole carries out orders about the whole failover: until its turn comes, each can be replaced by a newer one.
func (f *failover) obeyWhole() {
	cancelled := f.orders.cancel
	if cancelled != nil && f.on(phase.EventCancelOrdered, reason.Cancelled) {
		f.st.Stopped, f.st.StopPutBack = cancelled, f.orders.putBack
		f.st.ClosedAt, f.st.Untainted = time.Time{}, time.Time{}
	}
	f.orders.cancel, f.orders.putBack = nil, false
	f.obeyEnforce(cancelled)
	if f.orders.resume != nil && f.st.Phase == phase.FailoverStopped {
		f.reopen(reason.ConditionsMatch)
	}
	f.orders.resume = nil
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
func (f *failover) obeyEnforce(cancelled *workflows.Order) {
	switch asked := f.orders.enforce; {
	case asked == nil:
	case cancelled != nil:
		asked.End("", flow.Refused("it was cancelled meanwhile by "+cancelled.Who))
	default:
		asked.End(f.beginEnforcing(asked))
	}
	f.orders.enforce = nil
}

// beginEnforcing takes the worker's terms again and, where they allow it, begins an attempt in
// which everything that was observed is listed and judged again. What the rules have
// seen so far stays: the failure need not be confirmed twice.
func (f *failover) beginEnforcing(asked *flow.Enforcement) (string, error) {
	ctx := flow.Doing(f.ctx, "may this failover be enforced? asked by "+asked.Order.Who)
	b, err := flow.Run[activities.Begin](ctx, activities.NameBeginFailover, activities.BeginRequest{Cluster: f.cluster})
	if err != nil {
		return "", flow.Refused("the worker could not be asked: " + err.Error())
	}
	if why := f.wholeOrders.noEnforcing(); why != "" {
		return "", flow.Refused(why)
	}
	if b.Terms.Mode != rules.ModeEnforce {
		return "", flow.RefuseObserved(f.cluster)
	}
	if f.st.Paused == asked.Paused {
		f.standing.endPause() // one that was given since says not yet, and stands
	}
	f.trail.ordered(workflows.UpdateResume, asked.Order, queue.Scope{}, "enforce", flow.Yes(true))
	f.endObserving(asked.Order)
	f.st.Terms = b.Terms
	f.publisher.showMode()
	f.st.AdoptDirty, f.dirty = true, true
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
		case i.Affected && i.State != queue.Blocked:
			f.outcomes.keep(record.Result{
				Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.EnforceOrdered,
				Cause: "enforced by " + order.Who + ": " + order.Reason, At: f.now(),
			})
		default:
			f.outcomes.abandon(i, nil)
		}
	}
	f.outcomes.endLater(phase.OutcomeAbandoned)
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
	secondEvictor *secondEvictor
	bindingOrders *bindingOrders
}

func (w *wholeOrders) refuseResume(o workflows.Resume) error {
	if o.Scope != (queue.Scope{}) && o.Scope != (queue.Scope{All: true}) {
		return w.standing.refuseScopedResume(o)
	}
	switch {
	case o.Enforce && w.orders.enforce != nil:
		return flow.Refused("ordered already by " + w.orders.enforce.Order.Who)
	case o.Enforce:
		if why := w.noEnforcing(); why != "" {
			return flow.Refused(why)
		}
	case w.st.Paused == nil && w.st.Phase != phase.FailoverStopped && w.orders.cancel == nil:
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
		return flow.EnforcesAlready
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
	asked := &flow.Enforcement{Order: o.Order, Paused: w.st.Paused}
	w.orders.enforce, w.dirty = asked, true
	return asked.Await(ctx, func() bool { return w.st.Phase.Terminal() })
}

func (w *wholeOrders) acceptResume(o workflows.ScopedOrder) string {
	w.dirty = true
	w.trail.ordered(workflows.UpdateResume, o.Order, o.Scope)
	if o.Scope != (queue.Scope{}) && !o.All {
		return w.standing.resumeScoped(o)
	}
	w.standing.endPause()
	w.taints.endDispute()
	w.secondEvictor.resumed()
	withdrawn := w.orders.cancel != nil // and not carried out yet: the newer order counts
	w.orders.cancel, w.orders.putBack = nil, false
	if withdrawn && w.st.Phase != phase.FailoverStopped {
		return "resumed before the cancel was carried out" + w.standing.stillPaused()
	}
	if w.st.Phase == phase.FailoverStopped {
		w.orders.resume = &o.Order
		return "re-opened as a new attempt: the windows run again before anything moves" + w.standing.stillPaused()
	}
	return "resumed" + w.standing.stillPaused()
}

func (w *wholeOrders) acceptCancel(o workflows.BindingOrder) string {
	if o.Binding != (karmada.BindingKey{}) {
		return w.bindingOrders.orderOne(workflows.UpdateCancel, o)
	}
	w.trail.ordered(workflows.UpdateCancel, o.Order, queue.Scope{}, "putBack", flow.Yes(o.PutBack))
	if w.orders.resume != nil && !o.PutBack { // the newer order counts
		w.orders.resume, w.dirty = nil, true
		return "stays stopped: the resume was not carried out yet"
	}
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
	switch {
	case w.st.Phase == phase.FailoverStopped && w.orders.resume == nil:
		return flow.Refused("stopped already by " + w.st.Stopped.Who)
	case w.st.Phase == phase.FailoverStopped && o.PutBack:
		return flow.Refused("it is being resumed; order the put-back when it is")
	}
	return flow.RefuseOrder(o.Order)
}
