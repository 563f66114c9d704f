package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// migrationInbox are the channels of a BindingMigration.
type migrationInbox struct {
	observed, recover, adopted, fenced, orders, permits workflow.ReceiveChannel
}

// serve registers query, update and signals, and turns cancellation into an order.
func (m *migration) serve(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryStatus, func() (workflows.MigrationStatus, error) {
		return workflows.MigrationStatus{Now: workflow.Now(ctx), MigrationState: m.st}, nil
	}, workflow.QueryHandlerOptions{Description: "Where this binding's move stands"})
	if err != nil {
		return err
	}
	if err := m.serveOrders(ctx); err != nil {
		return err
	}
	if err := m.serveFence(ctx); err != nil {
		return err
	}
	m.inbox = migrationInbox{
		observed: workflow.GetSignalChannel(ctx, workflows.SignalBindingObserved),
		recover:  workflow.GetSignalChannel(ctx, workflows.SignalRecover),
		adopted:  workflow.GetSignalChannel(ctx, workflows.SignalMigrationAdopted),
		fenced:   workflow.GetSignalChannel(ctx, workflows.SignalFenced),
		orders:   workflow.GetSignalChannel(ctx, workflows.SignalMigrationOrder),
		permits:  workflow.GetSignalChannel(ctx, workflows.SignalPermit),
	}
	workflow.Go(m.ctx, m.listen)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if ctx.Done().Receive(ctx, nil); ctx.Err() != nil {
			o := workflows.Order{Who: "cancellation request", Reason: "requested in Temporal"}
			m.orderedBy(workflows.UpdateCancel, o)
			m.cancel(o, false)
		}
	})
	return nil
}

// listen takes signals as they come; the main loop acts on them.
func (m *migration) listen(ctx workflow.Context) {
	s := workflow.NewSelector(ctx)
	flow.Receive(s, m.inbox.observed, m.heard)
	flow.Receive(s, m.inbox.recover, m.recovered)
	flow.Receive(s, m.inbox.adopted, m.adoptedBy)
	flow.Receive(s, m.inbox.fenced, m.fencedByAll)
	flow.Receive(s, m.inbox.orders, m.takeOrder)
	flow.Receive(s, m.inbox.permits, m.takePermit)
	for {
		s.Select(ctx)
	}
}

// drain takes what is left before a continue-as-new, so that nothing is lost.
func (i migrationInbox) drain(m *migration) {
	flow.DrainChannel(i.observed, m.heard)
	flow.DrainChannel(i.recover, m.recovered)
	flow.DrainChannel(i.adopted, m.adoptedBy)
	flow.DrainChannel(i.fenced, m.fencedByAll)
	flow.DrainChannel(i.orders, m.takeOrder)
	flow.DrainChannel(i.permits, m.takePermit)
}

// heard wakes the next look. A fact about another uid is about another binding.
func (m *migration) heard(f proof.BindingFact) {
	if f.UID == "" || f.Key != m.st.Ref.Key {
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalBindingObserved, "key", f.Key.String())
		return
	}
	m.news, m.verdict = f.ResourceVersion, nil
	m.dirty = m.dirty || f.Deleted || f.ResourceVersion == ""
	if f.Verdict == nil || f.Deleted || f.UID != m.st.Ref.UID || workflows.Oversized(f) {
		return
	}
	m.verdict = &f
	if !f.Verdict.Health.OK && f.Verdict.Decides(m.st.Ref.Baseline) { // also where a newer version was read meanwhile: health had a break
		m.st.HealthySince, m.st.Unprobed = time.Time{}, false
	}
}

// recovered takes the word of its ClusterFailover. One about an older attempt came late.
func (m *migration) recovered(r workflows.Recover) {
	switch {
	case r.Attempt <= 0 || (r.Cancelled != nil && r.Cancelled.Malformed() != ""):
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalRecover, "attempt", r.Attempt)
	case r.Attempt < m.st.Attempt:
		m.log.Info("ignored an old signal", "signal", workflows.SignalRecover, "attempt", r.Attempt)
	case r.Cancelled != nil && repeats(m.st.Recover, r):
		m.log.Info("ignored a repeated signal", "signal", workflows.SignalRecover, "attempt", r.Attempt)
	case r.Cancelled != nil:
		m.st.Recover = &r
		m.cancel(*r.Cancelled, r.PutBack)
	default:
		if m.st.Recover != nil && r.Attempt > m.st.Recover.Attempt {
			m.restoreAnew()
		}
		m.st.Recover, m.dirty = &r, true
	}
}

// restoreAnew gives a restore that an older attempt asked for its time once more: what the
// scheduler did not answer then excuses it from delaying no later untaint.
func (m *migration) restoreAnew() {
	if m.st.Phase != phase.MigrationRestoring {
		return
	}
	m.st.Entered = workflow.Now(m.ctx)
	if m.st.Attention == reason.RestoreUnanswered {
		m.st.Attention = reason.None
	}
}

// adoptedBy re-targets reports after the parent's next run or attempt took over. One
// that has dropped its task keeps the attempt that it belongs to: its end is no
// outcome of a failure that came after it.
func (m *migration) adoptedBy(a workflows.MigrationAdopted) {
	if a.FailoverID == "" || a.Attempt <= 0 || len(a.FailoverID) > workflows.MaxText {
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationAdopted)
		return
	}
	if !m.over() {
		m.st.FailoverID, m.st.Attempt = a.FailoverID, a.Attempt
	}
	m.dirty = true
	workflow.Go(m.ctx, func(ctx workflow.Context) { m.tellFrom(ctx, m.st.Result) })
}

// repeats tells that a cancelled failover repeats itself, as one does that has just taken over:
// what was ordered of this binding since is newer.
func repeats(r *workflows.Recover, o workflows.Recover) bool {
	return r != nil && r.Cancelled != nil && o.Cancelled != nil &&
		r.Attempt == o.Attempt && r.PutBack == o.PutBack && *r.Cancelled == *o.Cancelled
}
