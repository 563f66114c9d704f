package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// wholeOrders are a human's orders about the whole failover: cancel, resume, enforce. They are
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
// worker's own config has to be asked.
func (w *wholeOrders) resumeOrEnforce(ctx workflow.Context, o workflows.Resume) (string, error) {
	if !o.Enforce {
		return w.acceptResume(o.ScopedOrder), nil
	}
	asked := &enforcement{order: o.Order, paused: w.st.Paused}
	w.orders.enforce, w.dirty = asked, true
	live, _ := workflow.NewDisconnectedContext(ctx) // a cancellation is an order, too, and is obeyed in its turn
	err := workflow.Await(live, func() bool { return asked.done || w.st.Phase.Terminal() })
	switch {
	case err != nil || !asked.done:
		return "", flow.Refused("this failover ended before it could be enforced")
	case asked.refused != "":
		return "", flow.Refused(asked.refused)
	default:
		return "enforced from now on, as a new attempt: everything is listed and judged anew", nil
	}
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
