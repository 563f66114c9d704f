package clusterfailover

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// reported takes a migration's report: its end, how far it is, or, of one of an earlier failover, that it
// waits for a permit. The end of an older attempt never closes a binding of this one.
func (ms *migrations) reported(r activities.MigrationReport) {
	key := r.Key.String()
	m, known := ms.st.Migrations[key]
	switch {
	case r.Result != nil:
		delete(ms.st.Migrations, key)
		ms.finished(r, m, known)
	case known:
		ms.progressed(r, m)
	case r.WantsPermit && r.FailoverID != ms.st.FailoverID:
		ms.former = append(ms.former, r)
	}
}

// declined drops the migration of an application that stays with its own failover: it is found again once the failure is
// confirmed.
func (ms *migrations) declined(r activities.MigrationReport) {
	if m, known := ms.st.Migrations[r.Key.String()]; !known || m.UID != r.UID || m.StartedHere {
		return
	}
	delete(ms.st.Migrations, r.Key.String())
	if ms.dirty = true; ms.st.Confirmed.IsZero() {
		ms.st.Declined = true
	} else {
		ms.st.AdoptDirty = true // it was confirmed meanwhile
	}
}

// progressed takes a migration's progress.
func (ms *migrations) progressed(r activities.MigrationReport, m workflows.Migration) {
	m.Progressed(r, ms.now())
	m.Holds = m.Holds && unwritten(r.Phase) || m.WantsPermit
	// A missing answer excuses no migration: restoreWait is its time.
	m.Excused = m.Excused || r.Late || r.Reason == reason.RestoreUndone || r.Reason == reason.DependentsNotBack
	ms.note(m)
}

// unheld are the outcomes of a migration that found no task of Lifeboat's.
var unheld = []phase.Outcome{phase.OutcomeAbandoned, phase.OutcomeMovedByOthers}

func (ms *migrations) finished(r activities.MigrationReport, m workflows.Migration, known bool) {
	ms.draining.banned(r.Result.Banned)
	if r.FailoverID != ms.st.FailoverID {
		ms.finishedElsewhere(r)
		return
	}
	switch {
	case !known && r.Result.Outcome == phase.OutcomeBlocked:
	case m.Named && slices.Contains(unheld, r.Result.Outcome):
		// Nothing of Lifeboat's stood: what became of it before stays on record.
	case r.Result.Outcome == phase.OutcomeBlocked:
		ms.blocked(r, m)
	default:
		ms.outcomes.keepIn(r.Attempt, *r.Result)
	}
	if m.Again {
		ms.st.ListDirty = true
	}
}

// finishedElsewhere takes the end of an older failover's migration: it is no outcome
// of this one, and its binding may be affected again. What it still owes is Lifeboat's to see.
func (ms *migrations) finishedElsewhere(r activities.MigrationReport) {
	ms.st.ListDirty = true
	ms.outcomes.owe(r.Result.PendingPurge)
}

// blocked takes the end of a migration in which nothing was written: its binding goes back to
// the queue, unless an operator called it off or the queue is closed.
func (ms *migrations) blocked(r activities.MigrationReport, m workflows.Migration) {
	switch {
	case m.Ordered.CallsOff():
		ms.outcomes.keepIn(r.Attempt, m.Ordered.End(*r.Result))
	case r.Attempt == ms.st.Attempt && !ms.closing():
		if m.Ordered != nil {
			r.Result.Message = m.Ordered.Verb + " ordered by " + m.Ordered.Who + " came to nothing, for nothing of it is written; " + r.Result.Message
		}
		ms.requeue(*r.Result, m)
	case ms.st.Stopped != nil:
		r.Result.Outcome, r.Result.Reason, r.Result.Cause = phase.OutcomeAbandoned, reason.Cancelled, "cancelled by "+ms.st.Stopped.Line()
		ms.outcomes.keepIn(r.Attempt, *r.Result)
	default:
		r.Result.Outcome, r.Result.Cause = phase.OutcomeAbandoned, record.CauseRecovery
		ms.outcomes.keepIn(r.Attempt, *r.Result)
	}
}

// requeue puts a binding back that was refused at the write.
func (ms *migrations) requeue(r record.Result, m workflows.Migration) {
	i := queue.Item{Key: m.Key, UID: m.UID, Resource: m.Resource, Policy: m.Policy, Tries: m.Tries, Affected: true, Queued: m.Queued, To: r.To, Purge: m.Purge, Fence: m.Fence}
	if ms.st.Queue.PolicyOf(&i) == nil {
		ms.st.ListDirty = true // adopted without a policy: the list freezes one
		return
	}
	ms.waiting.block(&i, r.Reason, r.Message)
	if r.Fence != nil {
		i.Fence = r.Fence
	}
	if r.Reason == reason.Fenced {
		i.State, i.Reason, i.RetryAt, i.Tries = queue.Due, reason.Waiting, time.Time{}, m.Tries
	}
	ms.approvals.asked(&i, nil)
	if ms.st.Queue.Find(i.Key) < 0 {
		ms.st.Items = append(ms.st.Items, i)
	}
}

// outcomes are what became of bindings, one for each in an attempt; each is recorded in the audit trail.
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
			o.trail.AddOutcome(attempt, r)
		}
	}
	o.st.Ledger.Owe(r.PendingPurge)
}

// owes: one that no taint ever made move owes no outcome, and one that came back has its own.
func owes(i queue.Item) bool { return i.Affected && i.Reason != reason.SchedulerReturnsIt }

// abandon ends a queued binding without a write.
func (o *outcomes) abandon(i queue.Item, cancelled *workflows.Order) {
	if !owes(i) {
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
		o.trail.AddOutcome(o.st.Attempt, r)
	}
}
