package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// outcomes are what became of bindings, one for each in an attempt; the audit trail is told of each.
type outcomes struct{ *run }

// owe keeps the pending purge of an end that is no outcome of this failover.
func (o *outcomes) owe(p *record.PendingPurge) { o.st.Ledger.Owe(p) }

// endLater ends what was left for later and did not come back. It is counted, where an
// outcome is owed; names and uids of it are not known any more.
func (o *outcomes) endLater(outcome phase.Outcome) {
	for _, set := range o.st.Later {
		if set.Len() > 0 {
			o.st.Ledger.RecordUnnamed(outcome, set)
			o.trail.unnamed(outcome, set.Len())
		}
	}
	o.st.Later, o.st.LaterIdle = nil, nil
}

// keepIn files a result under its own attempt.
func (o *outcomes) keepIn(attempt int, r record.Result) {
	if attempt == o.st.Attempt {
		o.keep(r)
		return
	}
	for n := range o.st.Past {
		if past := &o.st.Past[n]; past.Attempt == attempt {
			past.Amend(r)
			o.trail.outcome(attempt, r)
		}
	}
	o.st.Ledger.Owe(r.PendingPurge)
}

// abandon ends a queued binding without a write. One that no taint ever made move owes no outcome.
func (o *outcomes) abandon(i queue.Item, cancelled *workflows.Order) {
	if !i.Was || i.Reason == reason.SchedulerReturnsIt {
		return
	}
	r := record.Result{
		Key: i.Key, UID: i.UID, Resource: i.Resource, Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterRecovered,
		Cause: record.CauseRecovery, At: o.now(), Message: i.Message,
	}
	switch {
	case cancelled != nil:
		r.Reason, r.Cause = reason.Cancelled, "cancelled by "+cancelled.Who+": "+cancelled.Reason
	case !o.enforcing() && i.State == queue.Blocked:
		r.Outcome, r.Reason = phase.OutcomeWouldBlock, i.Reason
	case i.State == queue.Blocked:
		r.Message = "it was blocked: " + string(i.Reason) + " " + i.Message
	}
	o.keep(r)
}

// keep keeps the one outcome of a binding in this attempt.
func (o *outcomes) keep(r record.Result) {
	if o.st.Ledger.Record(r, o.closing()) {
		o.trail.outcome(o.st.Attempt, r)
	}
}

// orderedEnd is the end of a binding of which nothing was written and that a human called off.
func orderedEnd(o *workflows.MigrationOrder, r record.Result) record.Result {
	why := " by " + o.Who + ": " + o.Reason
	r.Outcome = phase.OutcomeAbandoned
	switch o.Verb {
	case workflows.UpdateSkip:
		r.Outcome, r.Reason, r.Cause = phase.OutcomeSkipped, reason.SkipOrdered, "skipped"+why
	case workflows.UpdatePutBack:
		r.Reason, r.Cause = reason.PutBackOrdered, "put back"+why
	default:
		r.Reason, r.Cause = reason.Cancelled, "cancelled"+why
	}
	return r
}

// callsOff tells whether an order that finds nothing written means that nothing is to be.
func callsOff(o *workflows.MigrationOrder) bool { return o != nil && o.Verb != workflows.UpdateRelease }
