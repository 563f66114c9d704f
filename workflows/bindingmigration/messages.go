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

// messages are all that this migration is told, ordered and asked.
func (m *migration) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{{
			Name: workflows.QueryStatus, Description: "Where this binding's move stands", Answer: func() (workflows.MigrationStatus, error) {
				return workflows.MigrationStatus{Now: workflow.Now(m.ctx), MigrationState: m.st}, nil
			},
		}},
		Updates: []flow.Update{
			flow.Ordered(workflows.UpdateCancel, "Stop this one move: before the write it is abandoned, unplaced it is restored, placed both copies stay", m.refuseCancel, m.orderCancel),
			m.heldOrder(workflows.UpdatePutBack, "Restore the former clusters in one write, as long as the old copy is held",
				"the former clusters are put back if the old copy can take over; see the status", m.orderPutBack),
			m.heldOrder(workflows.UpdateRelease, "Drop the hold now, proven healthy or not: the old copy goes",
				"the hold is dropped as soon as there is a target", m.orderRelease),
			flow.Ordered(workflows.UpdateConfirmFenced, "Vouch that the old copy of this binding is dead and cannot run any more", m.refuseFenced, m.confirmFenced),
		},
		Signals: []flow.Signal{
			flow.Told(workflows.SignalBindingObserved, m.heard),
			flow.Told(workflows.SignalRecover, m.recovered),
			flow.Told(workflows.SignalMigrationAdopted, m.adoptedBy),
			flow.Told(workflows.SignalFenced, m.fencedByAll),
			flow.Told(workflows.SignalMigrationOrder, m.takeOrder),
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
			m.cancel(o, false)
		}
	})
	return nil
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
