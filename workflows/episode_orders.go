package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// obey carries out what humans ordered since the last turn.
func (e *episode) obey() {
	o := e.orders
	e.orders = episodeOrders{}
	for _, one := range o.bindings {
		e.obeyOne(one)
	}
	if o.cancel != nil && e.on(failover.EventCancelOrdered, failover.ReasonCancelled) {
		e.st.Stopped, e.st.StopPutBack = o.cancel, o.putBack
		e.st.ClosedAt, e.st.Settled = time.Time{}, time.Time{}
	}
	if o.fence != nil {
		e.fenced(o.fence)
	}
	e.obeyEnforce(o)
	if o.resume != nil && e.st.Phase == failover.EpisodeStopped && e.on(failover.EventResumeOrdered, failover.ReasonConditionsMatch) {
		e.newRound()
		e.st.Stopped, e.st.StopPutBack, e.st.Windows = nil, false, nil // no rule was applied meanwhile: its windows run again
	}
}

func (e *episode) pause(o Order) string {
	e.st.Paused, e.dirty = &o, true
	return "paused: no new move begins; what has begun goes on, a recovery still cancels"
}

// pauseBySignal is the way for when updates fail; a malformed one still pauses,
// for pausing is the safe side.
func (e *episode) pauseBySignal(o Order) {
	if o.Who == "" {
		o.Who = "signal"
	}
	e.pause(o)
}

func (e *episode) resume(o Order) string {
	e.dirty = true
	if e.st.Phase == failover.EpisodeStopped {
		e.orders.resume = &o
		return "re-opened as a new round: the windows run again before anything moves"
	}
	e.st.Paused = nil
	return "resumed"
}

func (e *episode) cancel(o BindingOrder) string {
	if o.Binding != (failover.BindingKey{}) {
		return e.orderOne(UpdateCancel, o)
	}
	e.orders.cancel, e.orders.putBack, e.dirty = &o.Order, o.PutBack, true
	return "stopping: queued bindings are abandoned, unplaced ones restored, placed ones keep both copies; then our taints go"
}

func (e *episode) refuseCancel(o BindingOrder) error {
	if o.Binding != (failover.BindingKey{}) {
		return e.refuseOne(UpdateCancel, o)
	}
	if e.st.Phase == failover.EpisodeStopped {
		return refused("stopped already by " + e.st.Stopped.Who)
	}
	return refuseOrder(o.Order)
}
