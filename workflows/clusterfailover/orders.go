package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// obey carries out what humans ordered since the last turn.
func (e *failover) obey() {
	o := e.orders
	e.orders = failoverOrders{}
	for _, one := range o.bindings {
		e.obeyOne(one)
	}
	for _, v := range o.scoped {
		e.obeyScoped(v)
	}
	if o.cancel != nil && e.on(phase.EventCancelOrdered, reason.Cancelled) {
		e.st.Stopped, e.st.StopPutBack = o.cancel, o.putBack
		e.st.ClosedAt, e.st.Settled = time.Time{}, time.Time{}
	}
	for _, word := range o.fences {
		if word.binding == (karmada.BindingKey{}) {
			e.fenced(&word.fence)
		} else {
			e.fencedOne(word)
		}
	}
	e.obeyEnforce(o)
	if o.resume != nil && e.st.Phase == phase.FailoverStopped && e.on(phase.EventResumeOrdered, reason.ConditionsMatch) {
		e.newAttempt()
		e.st.Stopped, e.st.StopPutBack, e.st.Windows = nil, false, nil // no rule was applied meanwhile: its windows run again
	}
}

func (e *failover) resume(o workflows.ScopedOrder) string {
	e.dirty = true
	e.trail.order(workflows.UpdateResume, o.Order, o.Scope)
	if o.Scope != (queue.Scope{}) && !o.All {
		return e.resumeScoped(o)
	}
	if e.st.Phase == phase.FailoverStopped {
		e.orders.resume = &o.Order
		return "re-opened as a new attempt: the windows run again before anything moves" + e.stillPaused()
	}
	e.resumed()
	return "resumed" + e.stillPaused()
}

func (e *failover) cancel(o workflows.BindingOrder) string {
	if o.Binding != (karmada.BindingKey{}) {
		return e.orderOne(workflows.UpdateCancel, o)
	}
	e.trail.order(workflows.UpdateCancel, o.Order, queue.Scope{}, "putBack", flow.Yes(o.PutBack))
	e.orders.cancel, e.orders.putBack, e.dirty = &o.Order, o.PutBack, true
	placed := "keeps both copies"
	if o.PutBack {
		placed = "and not released goes back as well"
	}
	return "stopping: what is queued stays, what has no place yet goes back, what is placed " + placed + "; then Lifeboat's taints go"
}

func (e *failover) refuseCancel(o workflows.BindingOrder) error {
	if o.Binding != (karmada.BindingKey{}) {
		return e.refuseOne(workflows.UpdateCancel, o)
	}
	if e.st.Phase == phase.FailoverStopped {
		return flow.Refused("stopped already by " + e.st.Stopped.Who)
	}
	return flow.RefuseOrder(o.Order)
}
