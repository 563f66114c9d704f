package bindingmigration

import (
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// settle is how long after a lost answer the binding is read again: by then no
// request of that attempt can still be on its way.
const settle = 5 * time.Second

// listener is what was received since the last look, and waits for more.
type listener struct {
	*reporter
	// dirty: something was received since the last look.
	dirty bool
	// news is the version of the binding that the newest signal carried.
	news string
	// verdict is that signal, where it carries a verdict that nothing has followed yet.
	verdict *proof.BindingFact
	// awaitsNews: nothing can have changed before the next signal.
	awaitsNews bool
	waited     bool // this run has waited at least once
}

// wait sleeps until something is received or d has passed. What lasts is reported meanwhile.
func (li *listener) wait(d time.Duration, summary string) {
	if in, due := li.reportIn(); due && in < d {
		if in > 0 {
			_ = flow.AwaitFor(li.ctx, in, summary, li.stirred)
			d -= max(in, flow.MinTimer)
		}
		if !li.stirred() {
			li.publish(string(li.st.Phase))
			li.report(nil)
		}
	}
	if d > 0 {
		_ = flow.AwaitFor(li.ctx, d, summary, li.stirred)
	}
	li.calm()
	li.waited = true
}

// stirred reports whether something was received since the last look: of a version of the binding
// other than the one that was read or written last, or of anything else.
func (li *listener) stirred() bool {
	return li.dirty || li.news != "" && li.news != li.st.Ref.Seen
}

func (li *listener) calm() { li.dirty, li.news = false, "" }

// heard wakes the next look. A fact about another uid is about another binding.
func (li *listener) heard(f proof.BindingFact) {
	if f.UID == "" || f.Key != li.st.Ref.Key {
		li.log.Warn("ignored a malformed signal", "signal", workflows.SignalBindingObserved, "key", f.Key.String())
		return
	}
	li.news, li.verdict = f.ResourceVersion, nil
	li.dirty = li.dirty || f.Deleted || f.ResourceVersion == ""
	if f.Verdict == nil || f.Deleted || f.UID != li.st.Ref.UID || workflows.Oversized(f) {
		return
	}
	li.verdict = &f
	if !li.st.RetainsReplicas() && f.Verdict.Breaks(li.st.Ref.Baseline) { // also where a newer version was read meanwhile: health had a break
		li.st.Proof.Breaks()
	}
}

// adoptedBy re-targets reports after its failover's next run or attempt took over. One
// that has dropped its task keeps the attempt that it belongs to: its end is no
// outcome of a failure that came after it.
func (li *listener) adoptedBy(a workflows.MigrationAdopted) {
	if a.FailoverID == "" || a.Attempt <= 0 || len(a.FailoverID) > workflows.MaxText {
		li.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationAdopted)
		return
	}
	if a.Suspected && li.st.Unhealthy != nil && a.Parent != li.st.Parent {
		li.beside.Go(li.ctx, func(ctx workflow.Context) { li.belongsElsewhere(ctx, a.Parent) })
		return
	}
	former := li.follow(a)
	li.dirty = true
	li.beside.Go(li.ctx, func(ctx workflow.Context) {
		result := li.st.Result
		if li.st.Dependents.Held && result != nil && workflow.Now(ctx).Sub(result.At) < letGoWithin {
			result = nil // its end is reported once it has let go of them
		}
		li.reportFrom(ctx, result)
		if former != "" {
			li.belongsElsewhere(ctx, former)
		}
	})
}

// follow has the migration belong to a failover from now on, and returns the former one if that is another.
func (li *listener) follow(a workflows.MigrationAdopted) (former string) {
	if a.Parent != "" {
		li.st.Paused = nil // its failover says again what is paused
	}
	if li.st.Over() {
		return ""
	}
	li.st.FailoverID, li.st.Attempt = a.FailoverID, a.Attempt
	if a.Parent != "" && a.Parent != li.st.Parent && len(a.Parent) <= workflows.MaxID {
		former, li.st.Parent = li.st.Parent, a.Parent
	}
	return former
}

// letGoWithin is for how long a failover is kept waiting for the end of a move that cannot let go of its dependents.
const letGoWithin = 20 * time.Minute

// belongsElsewhere tells a failover that the migration belongs to another one.
func (li *listener) belongsElsewhere(ctx workflow.Context, failover string) {
	last := activities.MigrationReport{Key: li.st.Ref.Key, UID: li.st.Ref.UID, Phase: li.st.Phase, Placed: li.st.Placed, TakenBy: li.st.Parent}
	if err := handOver(ctx, failover, last); err != nil {
		li.log.Warn("could not report that another failover goes on", "failover", failover, "error", err)
	}
}

// letSettle waits until no request without an answer can be on its way any more.
func (li *listener) letSettle(summary string) {
	_ = workflow.NewTimerWithOptions(li.ctx, settle, workflow.TimerOptions{Summary: summary}).Get(li.ctx, nil)
}

// nothingNew reports, once, whether the eviction was written a moment ago and that the binding has
// not changed since: a look could only see what was written.
func (li *listener) nothingNew() bool {
	fresh := li.awaitsNews && !li.stirred()
	li.awaitsNews = false
	return fresh
}

// course is where the migration stands: Phase, Entered, Placed and Result are its own.
type course struct{ *listener }

// on moves the phase by an event. An illegal move is a Lifeboat bug: it is logged,
// and the phase stays, for a workflow never dies of it. It waits before it goes on: the
// same look would bring it here again at once.
func (co *course) on(e phase.MigrationEvent) {
	next, err := phase.NextMigration(co.st.Phase, e)
	if err != nil {
		co.log.Error("refused a transition", "error", err)
		co.wait(co.st.Terms.Recheck, "look again after a refused transition")
		return
	}
	co.log.Debug("phase changed", "from", co.st.Phase, "event", e, "to", next)
	co.st.Phase, co.st.Entered = next, workflow.Now(co.ctx)
	if next == phase.MigrationPlacing || next == phase.MigrationAwaitingHealth || next == phase.MigrationRestoring {
		co.st.Proof.Since = time.Time{}
	}
	co.enter(next)
}

// queue waits for a permit from now on, and reports to the failover that only that is missing.
func (co *course) queue(e phase.MigrationEvent) {
	co.on(e)
	if !co.st.Intent.CallsOff() { // then the next look obeys
		co.report(nil)
	}
}

// end records the outcome and closes: the event of an end is its outcome.
func (co *course) end(r record.Result) {
	if r.Outcome == phase.OutcomeBlocked && co.st.Intent.CallsOff() {
		r.Outcome, r.Reason = phase.OutcomeAbandoned, co.st.Intent.CallOffReason() // an order to stop keeps it out of the queue
	}
	co.endOn(phase.EventOf(r.Outcome), r)
}

func (co *course) endOn(e phase.MigrationEvent, r record.Result) {
	r.Key, r.UID, r.Resource, r.At = co.st.Ref.Key, co.st.Ref.UID, co.st.Resource, workflow.Now(co.ctx)
	r.Banned = co.st.Banned
	if r.Wrote = co.st.Wrote(); co.st.Directly() || len(co.st.Policy.State) > 0 {
		r.Fence = co.st.Ref.Fence
	}
	if r.To == nil && r.Outcome == phase.OutcomeMigrated {
		r.To = co.st.To
	}
	if r.Cause == "" {
		r.Cause = co.st.Cause()
	}
	co.st.Result, co.st.Reason, co.st.Message = &r, r.Reason, r.Message
	co.on(e)
}

// placed is the point from which a recovery no longer takes it back for want of a place.
func (co *course) placed(o activities.Observation) {
	co.st.Placed, co.st.To = true, o.Targets
	co.st.Reason, co.st.Message = o.Placed.Reason, o.Placed.Message
	if co.st.Carries() && len(o.Targets) > 1 {
		co.attention(reason.StateNotCarried, "it was placed on several clusters, "+strings.Join(o.Targets, ", ")+": Karmada hands its state on to none of them")
	}
	co.acted(record.AuditBindingPlaced, record.Audit{Reason: co.st.Reason, To: co.st.To})
	if co.st.Directly() {
		co.on(phase.EventFenceAsked)
	} else {
		co.on(phase.EventPlaced)
	}
	if co.st.Unhealthy != nil {
		co.reportLater() // nothing in the failover of an application depends on it at once
	} else {
		co.report(nil)
	}
}
