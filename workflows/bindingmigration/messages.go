package bindingmigration

import (
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// messages are all that this migration is told, ordered and asked.
func (m *migration) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{{
			Name: workflows.QueryStatus, Description: "Where this binding's move stands", Answer: func() (workflows.MigrationStatus, error) {
				return workflows.MigrationStatus{Now: workflow.Now(m.ctx), MigrationState: *m.st}, nil
			},
		}},
		Updates: []flow.Update{
			flow.Ordered(workflows.UpdateCancel, "Stop this one move: before the write it is abandoned, unplaced it is restored, placed both copies stay", m.orders.refuseCancel, m.orders.orderCancel),
			m.orders.heldOrder(workflows.UpdatePutBack, "Restore the former clusters in one write, as long as the old copy is held",
				"the former clusters are put back if the old copy can take over; see the status", m.orders.orderPutBack),
			m.orders.heldOrder(workflows.UpdateRelease, "Drop the hold now, proven healthy or not: the old copy goes",
				"the hold is dropped as soon as there is a target", m.orders.orderRelease),
			flow.Ordered(workflows.UpdateConfirmFenced, "Vouch that the old copy of this binding is dead and cannot run any more", m.fences.refuseFenced, m.fences.confirmFenced),
		},
		Signals: []flow.Signal{
			flow.Told(workflows.SignalBindingObserved, m.heard),
			flow.Told(workflows.SignalRecover, m.orders.recovered),
			flow.Told(workflows.SignalMigrationAdopted, m.adoptedBy),
			flow.Told(workflows.SignalFenced, m.fences.fencedByAll),
			flow.Told(workflows.SignalMigrationOrder, m.orders.takeOrder),
			flow.Told(workflows.SignalPermit, m.takePermit),
		},
	}
}

// serve takes messages, and a cancellation as an order.
func (m *migration) serve(ctx workflow.Context) error {
	m.inbox = m.messages()
	if err := m.inbox.Serve(ctx, m.ctx); err != nil {
		return err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		if ctx.Done().Receive(ctx, nil); ctx.Err() != nil {
			o := workflows.Order{Who: "cancellation request", Reason: "requested in Temporal"}
			m.orderedBy(workflows.UpdateCancel, o)
			m.orders.cancel(o, false)
			m.cancelRequested = true
		}
	})
	return nil
}

// takePermit takes the permit that its failover gives it, where it has use for one.
func (m *migration) takePermit(p pace.Permit) {
	switch {
	case !p.Valid():
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalPermit, "number", p.Number)
	case m.st.WantsPermit():
		m.st.Permit, m.dirty = p, true
	}
}
