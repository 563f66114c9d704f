package clusterfailover

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// failover runs one ClusterFailover: its turn, and what each phase does.
type failover struct {
	*run
	judgement     *judgement     // does the cluster fail, has it recovered
	outcomes      *outcomes      // what became of bindings
	standing      *standing      // snoozes, pauses, priorities
	approvals     *approvals     // approvals given, approvals awaited
	waiting       *waiting       // the queue as time passes
	draining      *draining      // a drain's own rate, and its bans
	taints        *taints        // what Lifeboat writes on the cluster
	migrations    *migrations    // starts, signals and reports of migrations
	secondEvictor *secondEvictor // Karmada's own taint manager beside it
	orphans       *orphans       // hold tasks without an owner
	oldCopies     *oldCopies     // pending purges
	fences        *fences        // proofs that old copies are dead
	preCheck      *preCheck      // is there somewhere to go
	affected      *affected      // the bindings that the taints move
	grants        *grants        // the permits in hand
	dispatcher    *dispatcher    // permits for the most urgent bindings
	bindingOrders *bindingOrders // orders about one binding
	clusterOrders *clusterOrders // drain, taint, and their ends
	wholeOrders   *wholeOrders   // cancel, resume, enforce
	publisher     *publisher     // page, search attributes, attention
	alarm         flow.Alarm
	lull          flow.Lull
	waited        bool // this run has waited at least once
	// cancelRequested: the server takes one cancellation request in a run; the next run takes another.
	cancelRequested bool
	inbox           flow.Messages
}

// Workflow is the failover of one cluster, from first suspicion to last
// purge. Its turn is always the same: look at the cluster, obey operators, do what
// the phase requires, report to the pacer, wait.
func Workflow(ctx workflow.Context, p workflows.ClusterFailoverParams) (workflows.FailoverReport, error) {
	if err := flow.CheckID(ctx, workflows.ClusterFailoverID(p.Instance, p.Cluster)); err != nil {
		return workflows.FailoverReport{}, err
	}
	f := newFailover(ctx, p)
	if err := f.serve(ctx); err != nil {
		return workflows.FailoverReport{}, err
	}
	f.begin()
	for !f.st.Phase.Terminal() {
		f.lull.See(f.ctx)
		f.migrations.takeStarts()
		f.judgement.assess()
		f.obey()
		f.clusterOrders.obey()
		f.orphans.search()
		f.act()
		f.migrations.begin()
		f.dispatcher.requestPermits()
		f.publisher.attend()
		f.publisher.publish()
		if f.st.Phase.Terminal() {
			break
		}
		if f.full() {
			f.migrations.awaitStarts() // a start without an answer is lost when the run ends
			flow.Yield(f.ctx)
			if f.full() {
				f.inbox.Drain()
				return workflows.FailoverReport{}, workflow.NewContinueAsNewError(f.ctx, workflows.TypeClusterFailover, f.carry())
			}
		}
		f.trail.Flush()
		f.wait()
	}
	unaudited := f.trail.Finish()
	f.clusterOrders.refuseAsks()
	f.bindingOrders.refuseHeld()
	_ = workflow.Await(f.ctx, func() bool { return workflow.AllHandlersFinished(f.ctx) })
	f.inbox.Drain()
	report := f.st.Report(f.cluster, f.now())
	report.Unaudited = unaudited
	return report, nil
}

func newFailover(ctx workflow.Context, p workflows.ClusterFailoverParams) *failover {
	live, _ := workflow.NewDisconnectedContext(ctx)
	r := &run{ctx: live, log: log.With(workflow.GetLogger(ctx), "cluster", p.Cluster), instance: p.Instance, cluster: p.Cluster, st: &workflows.FailoverState{}}
	switch {
	case len(p.Packed) > 0:
		r.st = unpack(p.Packed)
	case p.State != nil:
		*r.st = *p.State
	}
	p.State = r.st
	r.trail = newTrail(live, p, &r.dirty)
	if r.st.Migrations == nil {
		r.st.Migrations = map[string]workflows.Migration{}
	}
	if r.st.Counts == nil {
		r.st.Counts = map[string]int{}
	}
	r.st.Standing = r.st.StandingOrders.Index()
	r.st.Runs++
	first, left := r.st.FailoverID == "", len(r.st.Later)+len(r.st.LaterIdle) > 0
	r.st.AdoptDirty = r.st.AdoptDirty || first
	r.st.ListDirty = r.st.ListDirty || first || left // a list brings back what was left for later
	r.clusterDirty = true                            // and the timers of the windows with it
	return newParts(r)
}

// newParts are the parts of a run. Each calls only those that stand before it.
func newParts(r *run) *failover {
	f := &failover{run: r}
	f.judgement = &judgement{run: r, timers: map[string]flow.Armed{}}
	f.outcomes = &outcomes{r}
	f.standing = &standing{r}
	f.approvals = &approvals{r, f.standing}
	f.waiting = &waiting{r, f.standing}
	f.draining = &draining{r, f.judgement}
	policies := &policies{r, f.judgement}
	f.taints = &taints{r, f.judgement, f.standing, policies}
	f.migrations = &migrations{run: r, outcomes: f.outcomes, approvals: f.approvals, waiting: f.waiting, draining: f.draining}
	f.secondEvictor = &secondEvictor{run: r, standing: f.standing, migrations: f.migrations, lookedAt: map[string]bool{}}
	f.orphans = &orphans{r, f.draining, f.judgement, f.migrations, f.secondEvictor}
	f.oldCopies = &oldCopies{r}
	f.fences = &fences{r, f.waiting, f.migrations}
	f.preCheck = &preCheck{run: r, outcomes: f.outcomes, waiting: f.waiting, approvals: f.approvals, fences: f.fences}
	f.affected = &affected{run: r, judgement: f.judgement, outcomes: f.outcomes, waiting: f.waiting, migrations: f.migrations, secondEvictor: f.secondEvictor, policies: policies}
	f.grants = &grants{r}
	f.dispatcher = &dispatcher{run: r, judgement: f.judgement, outcomes: f.outcomes, waiting: f.waiting, migrations: f.migrations, draining: f.draining, grants: f.grants}
	f.bindingOrders = &bindingOrders{run: r, outcomes: f.outcomes, migrations: f.migrations}
	f.clusterOrders = &clusterOrders{r, f.draining, f.judgement, f.taints, f.appeared}
	f.wholeOrders = &wholeOrders{r, f.standing, f.taints, f.secondEvictor, f.bindingOrders}
	f.publisher = &publisher{run: r, judgement: f.judgement, taints: f.taints, migrations: f.migrations, oldCopies: f.oldCopies}
	return f
}

// begin opens the failover in its first run.
func (f *failover) begin() {
	if f.st.FailoverID != "" {
		return
	}
	now := f.now()
	info := workflow.GetInfo(f.ctx)
	f.st.FailoverID = cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
	f.st.Attempt, f.st.Phase = 1, phase.FailoverSuspected
	f.st.Began, f.st.Since, f.st.Entered = now, now, now
	ctx := flow.Doing(f.ctx, "take the terms of this failover from the worker's config")
	for {
		b, err := flow.Run[activities.Begin](ctx, activities.NameBeginFailover, activities.BeginRequest{Cluster: f.cluster})
		if err == nil {
			f.st.Terms = b.Terms
			break
		}
		_ = flow.AwaitFor(f.ctx, time.Minute, "try again to begin", func() bool { return false })
	}
	f.trail.begun()
	f.publisher.showMode()
}

// on moves the phase by an event. An illegal move is a Lifeboat bug: it is logged
// and changes nothing.
func (f *failover) on(event phase.FailoverEvent, reason reason.Reason) bool {
	next, err := phase.NextFailover(f.st.Phase, event)
	if err != nil {
		f.log.Error("refused a transition", "error", err)
		return false
	}
	f.log.Info("entered phase", "from", f.st.Phase, "to", next, "event", event, "reason", reason)
	from := f.st.Phase
	f.st.Phase, f.st.Entered, f.st.Reason = next, f.now(), reason
	f.trail.entered(from, event, f.judgement.externalProbe())
	f.dirty = true
	return true
}

// newAttempt begins the next attempt. A halt outlasts the one that is over.
func (f *failover) newAttempt() {
	f.trail.attempt(f.st.NextAttempt(f.now()))
	f.waiting.freeze(f.st.Pace.Tier == pace.TierHalted)
	f.st.Frozen = f.st.Frozen.Since(slices.Concat(f.st.Cluster.Hard, f.st.Cluster.Soft, f.st.Cluster.Foreign))
	f.st.ListDirty, f.clusterDirty = true, true
}

// act runs the phase once.
func (f *failover) act() {
	if !f.evacuating() {
		f.migrations.awaitStarts() // only dispatch goes on meanwhile
		f.affected.leaveList()
	}
	if !f.st.GoneAt.IsZero() {
		f.actGone()
		return
	}
	switch f.st.Phase {
	case phase.FailoverSuspected, phase.FailoverCordoned:
		f.actSuspected()
	case phase.FailoverConfirmed:
		f.actConfirmed()
	case phase.FailoverEvacuating, phase.FailoverEvacuated:
		f.actEvacuating()
	case phase.FailoverRecovering:
		f.actRecovering()
	case phase.FailoverSettling:
		f.actSettling()
	case phase.FailoverStopped:
		f.actStopped()
	case phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
}

// maxHistory is how many bytes of history a run with a long queue may have: its list
// alone can be more than what makes the server suggest a new run.
const maxHistory = 20_000_000

// full reports whether this run should continue as new. The next one goes on with whatever is left, so any moment
// between two turns will do; one that has not waited yet has done nothing else, and would only be followed by its like.
func (f *failover) full() bool {
	return f.waited && f.lull.Comes(f.ctx, f.st.Terms.HistoryEvents) && (f.cancelRequested || f.fullHistory()) && f.trail.MayContinue() && workflow.AllHandlersFinished(f.ctx) && f.orders.none() && len(f.asks)+len(f.migrations.former) == 0 && f.affected.listing == nil
}

func (f *failover) fullHistory() bool {
	info := workflow.GetInfo(f.ctx)
	if f.affected.targeting() >= longList && info.GetCurrentHistoryLength() < flow.LongRun && info.GetCurrentHistorySize() > 0 {
		return info.GetCurrentHistorySize() > maxHistory || f.st.Terms.HistoryEvents > 0 && info.GetCurrentHistoryLength() >= f.st.Terms.HistoryEvents
	}
	return flow.FullHistory(f.ctx, f.st.Terms.HistoryEvents)
}

// wait sleeps until something is received or the next thing is due.
func (f *failover) wait() {
	if f.dirty {
		f.dirty = false
		return
	}
	at, why := f.nextWake()
	f.alarm.Set(f.ctx, at, why, &f.dirty)
	_ = workflow.Await(f.ctx, func() bool { return f.dirty || f.migrations.startsAnswered() })
	f.dirty, f.waited = false, true
}

// nextWake is when to wake up without a signal, and what for.
func (f *failover) nextWake() (time.Time, string) {
	at, why := f.nextAssess, "safety look at "+f.cluster
	sooner := func(t time.Time, what string) {
		if !t.IsZero() && t.Before(at) {
			at, why = t, what
		}
	}
	switch {
	case f.evacuating():
		f.nextInQueue(sooner)
	case f.ending() && f.st.Untainted.IsZero() && f.st.GoneAt.IsZero(): // a deleted cluster has no taint
		sooner(f.st.ClosedAt.Add(f.st.Terms.RestoreWait+time.Second), "restores have had their time: untaint")
	case f.ending() && len(f.st.PendingPurges) > 0:
		sooner(f.oldCopies.wake(), "old copies are late, or have had their time")
	}
	if f.enforcing() && !f.judgement.onlyCordons() {
		sooner(f.st.AskedAt.Add(f.st.Terms.AskAgain), "tell the pacer again what is wanted")
	}
	sooner(f.trail.Wake(), "write the audit trail")
	sooner(f.publisher.nextPage, "write the page again")
	if at.Before(f.notBefore) {
		at = f.notBefore
	}
	return at, why
}

func (f *failover) nextInQueue(sooner func(time.Time, string)) {
	sooner(f.affected.nextList(), "list the bindings on "+f.cluster+" again")
	if !f.enforcing() && f.st.Paused == nil && f.st.Queue.Count(queue.In(queue.Ready)) > 0 {
		sooner(f.st.NextSim, "the next move would begin")
	}
	if f.now().Before(f.st.NextDrain) && (f.st.Queue.Count(queue.In(queue.Ready)) > 0 || len(f.dispatcher.waitForPermit()) > 0) {
		sooner(f.st.NextDrain, "the drain's own rate lets the next move begin")
	}
	of, at := f.st.Queue.NextChange(f.now())
	switch {
	case of == nil:
	case of.State == queue.Blocked:
		sooner(at, "look at blocked "+of.Key.String()+" again")
	case of.Reason == reason.Snoozed:
		sooner(at, "the snooze of "+of.Key.String()+" ends")
	default:
		sooner(at, "the toleration of "+of.Key.String()+" runs out")
	}
}
