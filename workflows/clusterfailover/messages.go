package clusterfailover

import (
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// failoverOrders are human orders that the main loop carries out.
type failoverOrders struct {
	cancel, resume *workflows.Order
	putBack        bool // of the cancel
	bindings       []bindingVerb
	scoped         []scopedVerb
	fences         []fenceWord
	enforce        *enforcement
}

func (o failoverOrders) none() bool {
	return o.cancel == nil && o.resume == nil && len(o.bindings) == 0 && len(o.scoped) == 0 && len(o.fences) == 0 && o.enforce == nil
}

// maxFacts bounds the cluster facts kept between two judgements.
const maxFacts = 50

// messages are all that this failover is told, ordered and asked.
func (e *failover) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{
			{Name: workflows.QueryStatus, Description: "The whole state of this failover", Answer: func() (workflows.FailoverStatus, error) { return e.status(), nil }},
			{Name: workflows.QueryExplain, Description: "The chain of reasons for one binding", Answer: e.explain},
		},
		Updates: append(e.bindingUpdates(), e.clusterUpdates()...),
		Signals: []flow.Signal{
			flow.Told(workflows.SignalClusterObserved, e.observed),
			flow.Told(workflows.SignalBindingsChanged, e.bindingsChanged),
			flow.Told(workflows.SignalAdopt, e.adoptAsked),
			flow.Told(workflows.SignalGrant, e.granted),
			flow.Told(workflows.SignalPaceChanged, e.paced),
			flow.Told(workflows.SignalMigrationReport, e.reported),
			flow.Told(workflows.SignalPause, e.pauseBySignal),
			flow.Told(workflows.SignalClusterRecovered, func(workflows.Order) { e.clusterDirty, e.dirty = true, true }),
		},
	}
}

// bindingUpdates are the orders about one binding, a namespace or all.
func (e *failover) bindingUpdates() []flow.Update {
	return []flow.Update{
		flow.Ordered(workflows.UpdatePause, "Dispatch nothing more, of the whole failover, a namespace or one binding; what has begun goes on", e.refusePause, e.pause),
		flow.Awaited(workflows.UpdateResume, "Dispatch again after a pause of the whole, a namespace or a binding, or re-open a stopped failover as a new attempt; with enforce, act on what was only observed so far", e.refuseResume, e.resumeOrEnforce),
		flow.Ordered(workflows.UpdateSnooze, "Leave one binding, a namespace or all where they are for a while: a due time moves later, never earlier", e.refuseSnooze, e.snooze),
		flow.Ordered(workflows.UpdateApprove, "Agree to the move of one binding, a namespace or all that wait now, in this attempt; every other check stays", e.refuseApprove, e.approve),
		flow.Ordered(workflows.UpdatePrioritise, "Give one binding, a namespace or all another priority for the rest of this failover: higher goes first", e.refusePrioritise, e.prioritise),
		e.orderOf(workflows.UpdateSkip, "Leave one binding alone in this attempt, before anything of it is written"),
		e.orderOf(workflows.UpdatePutBack, "Restore the former clusters of one binding in one write, as long as its old copy is held"),
		e.orderOf(workflows.UpdateRelease, "Drop the hold of one binding now, proven healthy or not"),
	}
}

// clusterUpdates are the orders about the whole cluster.
func (e *failover) clusterUpdates() []flow.Update {
	return []flow.Update{
		flow.Ordered(workflows.UpdateCancel, "Stop this failover: abandon what is queued, restore what is unplaced, keep both copies of what is placed, untaint. With a binding: the same for that one alone", e.refuseCancel, e.cancel),
		flow.Ordered(workflows.UpdateConfirmFenced, "Vouch that the cluster is dead: its copies cannot run any more; Directly moves go on. With a binding: that one alone", e.refuseFenced, e.confirmFenced),
		flow.Awaited(workflows.UpdateDrain, "Empty this cluster: taint it and move every binding off it, the old copies held until the new ones are healthy", refuseDrain, e.drain),
		flow.Awaited(workflows.UpdateUndrain, "End the drain: what has not moved stays, what is unplaced is put back, what moved stays moved, Lifeboat's taints go", flow.RefuseOrder, e.undrain),
		e.taintOf(workflows.UpdateTaint, "Put a taint that moves bindings on this cluster; it stands, and is Lifeboat's, until untaint", begunTaint),
		e.taintOf(workflows.UpdateUntaint, "Take a taint away again that was put by order, or all of them; what others or a rule put stays", endedTaint),
	}
}

// serve takes messages, and a cancellation as an order.
func (e *failover) serve(ctx workflow.Context) error {
	e.inbox = e.messages()
	if err := e.inbox.Serve(ctx, e.ctx); err != nil {
		return err
	}
	workflow.Go(e.ctx, e.endOldCopies)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if ctx.Done().Receive(ctx, nil); ctx.Err() != nil {
			e.orders.cancel = &workflows.Order{Who: "cancellation request", Reason: "requested in Temporal"}
			e.trail.order(workflows.UpdateCancel, *e.orders.cancel, queue.Scope{})
			e.dirty = true
		}
	})
	return nil
}

// observed keeps a fact for the next judgement. Facts about other clusters, or
// without a uid, are no facts about this one.
func (e *failover) observed(m workflows.ClusterObserved) {
	f := m.Fact
	if f.Cluster != e.cluster || f.UID == "" {
		e.log.Warn("ignored a malformed signal", "signal", workflows.SignalClusterObserved, "about", f.Cluster, "uid", f.UID)
		return
	}
	if f.Oversized() { // it wakes, and the re-read tells what it would have
		e.clusterDirty, e.dirty = true, true
		return
	}
	e.testified(f)
	if e.st.Seen != "" && f.UID == e.st.UID && !f.Deleted && !rules.Newer(f.ResourceVersion, e.st.Seen) {
		return // older than what was judged
	}
	e.st.Facts = append(e.st.Facts, f)
	if extra := len(e.st.Facts) - maxFacts; extra > 0 {
		e.st.Facts = e.st.Facts[extra:]
	}
	e.clusterDirty, e.dirty = true, true
}

// bindingsChanged: the list is the one way into the queue. It is read again when
// somebody came, or went; what is queued or on its way is known already.
func (e *failover) bindingsChanged(m workflows.BindingsChanged) {
	e.st.Queue.Index()
	for _, b := range m.Bindings {
		key := b.Key.String()
		at := e.st.Queue.At(b.Key)
		known := at >= 0 && e.st.Items[at].UID == b.UID
		queued := known || e.st.Ledger.WouldMove(b.Key, b.UID)
		move, moving := e.st.Moves[key]
		if known {
			e.lookAgain(at)
		}
		if b.SecondEvictor {
			b.LastCopy = false // a search tells
			e.evictedByOthers(b)
		}
		if b.Deleted || (moving && move.Placed) || (!queued && !moving) {
			e.listDirty, e.dirty = true, true
		}
	}
}

func (e *failover) adoptAsked(m workflows.Adopt) {
	if m.Cluster != e.cluster {
		e.log.Warn("ignored a malformed signal", "signal", workflows.SignalAdopt, "about", m.Cluster)
		return
	}
	if m.By.Who != "" {
		m.By.Who, m.By.Reason = reason.Summary(m.By.Who), reason.Summary(m.By.Reason)
		e.trail.order(workflows.OrderAdopt, m.By, queue.Scope{}, "tasks", strconv.Itoa(len(m.Bindings)))
	}
	e.adoptDirty, e.adoptNow, e.clusterDirty, e.dirty = true, true, true, true
}

func (e *failover) granted(g workflows.Grant) {
	switch {
	case !g.Valid() || len(g.FailoverID) > workflows.MaxText:
		e.log.Warn("ignored a malformed signal", "signal", workflows.SignalGrant, "number", g.Number)
	case slices.ContainsFunc(e.st.Grants, func(x workflows.Grant) bool { return x.Number == g.Number }):
	default:
		e.st.Grants = append(e.st.Grants, g)
		e.st.Newest = g.Number + int64(g.Size) - 1
		e.st.Asked.Want = 0 // a request is good for one grant
		e.dirty = true
	}
}

// paced takes the fleet's pace. While the pacer is halted toleration clocks stand still.
func (e *failover) paced(m workflows.PaceChanged) {
	if m.Pace.Tier == "" || workflows.Oversized(m) {
		e.log.Warn("ignored a malformed signal", "signal", workflows.SignalPaceChanged)
		return
	}
	was := e.st.Pace
	e.st.Pace = m.Pace
	e.freeze(m.Pace.Tier == pace.TierHalted)
	if was.Total != m.Pace.Total || !slices.Equal(was.Faulty, m.Pace.Faulty) {
		e.unblock()
	}
	e.dirty = true
}

func (e *failover) freeze(halted bool) {
	if !e.st.Terms.FreezeWhenHalted {
		return
	}
	e.st.Queue.Halt(e.now(), halted)
}

// malformedReport tells a report that no migration sends: it is of nobody, its end is none or
// that of another binding, or it is too large to be carried.
func malformedReport(r workflows.MigrationReport) bool {
	nobodys := r.Key.Name == "" || r.FailoverID == "" || r.Attempt <= 0
	return nobodys || r.Result != nil && (r.Result.Key != r.Key || r.Result.Outcome == "") || workflows.Oversized(r)
}

// reported takes a child's word. The end of an older attempt never closes a binding
// of this one.
func (e *failover) reported(r workflows.MigrationReport) {
	if malformedReport(r) {
		e.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationReport, "binding", r.Key.String())
		return
	}
	key := r.Key.String()
	m, known := e.st.Moves[key]
	e.dirty = true
	e.trail.acts(r)
	e.answerHeld(r)
	switch {
	case r.Result != nil:
		e.drainWrote(m, r)
		delete(e.st.Moves, key)
		e.finished(r, m, known)
	case known:
		e.progressed(r, m)
	case r.WantsPermit && r.FailoverID != e.st.FailoverID:
		e.formerChildren = append(e.formerChildren, r)
	}
}

// progressed takes a child's word of how far it is.
func (e *failover) progressed(r workflows.MigrationReport, m workflows.Move) {
	e.drainWrote(m, r)
	if m.Phase != r.Phase {
		m.Entered = e.now()
	}
	m.Phase, m.Reason, m.Message, m.Placed, m.To, m.Heard = r.Phase, r.Reason, r.Message, r.Placed, r.To, e.now()
	m.Attention, m.GoesOn = r.Attention, r.GoesOn
	m.WantsPermit = r.WantsPermit
	m.Holds = m.Holds && unwritten(r.Phase) || m.WantsPermit
	// An answer that is not there yet excuses nobody: restoreWait is its time.
	m.Excused = m.Excused || r.Late || r.Reason == reason.RestoreUndone || r.Reason == reason.DependentsNotBack
	e.st.Moves[r.Key.String()] = m
}

// finishedElsewhere takes the end of an older failover's migration: it is no outcome
// of this one, and its binding may be affected anew. What it still owes is Lifeboat's to see.
func (e *failover) finishedElsewhere(r workflows.MigrationReport) {
	e.listDirty = true
	e.st.Ledger.Owe(r.Result.PendingPurge)
}

func (e *failover) finished(r workflows.MigrationReport, m workflows.Move, known bool) {
	e.st.Bans = e.st.Bans || r.Result.Banned
	if r.FailoverID != e.st.FailoverID {
		e.finishedElsewhere(r)
		return
	}
	switch {
	case !known && r.Result.Outcome == phase.OutcomeBlocked:
	case m.Named && r.Result.Outcome == phase.OutcomeAbandoned:
		// Nothing of Lifeboat's stood: what became of it before stays on record.
	case r.Result.Outcome == phase.OutcomeBlocked:
		e.blocked(r, m)
	default:
		e.recordIn(r.Attempt, *r.Result)
	}
	if m.Again {
		e.listDirty = true
	}
}

// blocked takes the end of a move in which nothing was written: its binding goes back to
// the queue, unless a human called it off or the queue is closed.
func (e *failover) blocked(r workflows.MigrationReport, m workflows.Move) {
	switch {
	case callsOff(m.Ordered):
		e.recordIn(r.Attempt, orderedEnd(m.Ordered, *r.Result))
	case r.Attempt == e.st.Attempt && !e.closing():
		if m.Ordered != nil {
			r.Result.Message = m.Ordered.Verb + " ordered by " + m.Ordered.Who + " came to nothing, for nothing of it is written; " + r.Result.Message
		}
		e.requeue(*r.Result, m)
	case e.st.Stopped != nil:
		r.Result.Outcome, r.Result.Reason, r.Result.Cause = phase.OutcomeAbandoned, reason.Cancelled, "cancelled by "+e.st.Stopped.Line()
		e.recordIn(r.Attempt, *r.Result)
	default:
		r.Result.Outcome, r.Result.Cause = phase.OutcomeAbandoned, record.CauseRecovery
		e.recordIn(r.Attempt, *r.Result)
	}
}

// recordIn files a result under its own attempt.
func (e *failover) recordIn(attempt int, r record.Result) {
	if attempt == e.st.Attempt {
		e.record(r)
		return
	}
	for n := range e.st.Past {
		if past := &e.st.Past[n]; past.Attempt == attempt {
			file(past, r)
			e.trail.outcome(attempt, r)
		}
	}
	e.st.Ledger.Owe(r.PendingPurge)
}

// requeue puts a binding back that was refused at the write.
func (e *failover) requeue(r record.Result, m workflows.Move) {
	i := queue.Item{Key: m.Key, UID: m.UID, Resource: m.Resource, Policy: m.Policy, Tries: m.Tries, Was: true, Queued: m.Queued, To: r.To, Purge: m.Purge, Fence: m.Fence}
	if m.Policy < 0 || m.Policy >= len(e.st.Policy) {
		e.listDirty = true // adopted without a policy: the list freezes one
		return
	}
	e.block(&i, r.Reason, r.Message)
	if r.Fence != nil {
		i.Fence = r.Fence
	}
	if r.Reason == reason.Fenced {
		i.State, i.Reason, i.RetryAt, i.Tries = queue.Due, reason.Waiting, time.Time{}, m.Tries
	}
	if r.Reason == reason.PermitPassed || r.Reason == reason.Halted {
		// It passed every check: ask anew soon, though never hot.
		i.RetryAt, i.Tries = e.now().Add(flow.MinTimer), m.Tries
	}
	e.asked(&i, nil)
	if e.st.Queue.Find(i.Key) < 0 {
		e.st.Items = append(e.st.Items, i)
	}
}
