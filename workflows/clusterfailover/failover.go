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

// failover runs one ClusterFailover: its turn, and what each phase asks for.
type failover struct {
	*run
	judgement     *judgement     // does the cluster fail, has it recovered
	outcomes      *outcomes      // what became of bindings
	standing      *standing      // snoozes, pauses, priorities
	approvals     *approvals     // who agreed, who is asked
	waiting       *waiting       // the queue as time passes
	draining      *draining      // a drain's own rate, and its bans
	taints        *taints        // what Lifeboat writes on the cluster
	children      *children      // the migrations that run
	evictor       *evictor       // Karmada's own taint manager beside it
	orphans       *orphans       // hold tasks without an owner
	oldCopies     *oldCopies     // pending purges
	fences        *fences        // who vouches that old copies are dead
	preCheck      *preCheck      // is there somewhere to go
	affected      *affected      // whom the taints move
	grants        *grants        // the permits in hand
	dispatcher    *dispatcher    // who gets the next permit
	bindingOrders *bindingOrders // orders about one binding
	clusterOrders *clusterOrders // drain, taint, and their ends
	wholeOrders   *wholeOrders   // cancel, resume, enforce
	publisher     *publisher     // page, search attributes, attention
	alarm         flow.Alarm
	waited        bool // this run has waited at least once
	// cancelRequested: the server takes one cancellation request in a run; the next run takes another.
	cancelRequested bool
	inbox           flow.Messages
}

// Workflow is the failover of one cluster, from first suspicion to last
// purge. Its turn is always the same: look at the cluster, obey humans, do what
// the phase asks for, tell the pacer, wait.
func Workflow(ctx workflow.Context, p workflows.ClusterFailoverParams) (workflows.FailoverReport, error) {
	if err := flow.Named(ctx, workflows.ClusterFailoverID(p.Instance, p.Cluster)); err != nil {
		return workflows.FailoverReport{}, err
	}
	e := newFailover(ctx, p)
	if err := e.serve(ctx); err != nil {
		return workflows.FailoverReport{}, err
	}
	e.begin()
	for !e.st.Phase.Terminal() {
		e.children.takeStarts()
		e.judgement.assess()
		e.obey()
		e.clusterOrders.obey()
		e.orphans.search()
		e.act()
		e.dispatcher.requestPermits()
		e.publisher.attend()
		e.publisher.publish()
		if e.st.Phase.Terminal() {
			break
		}
		if e.full() {
			e.children.awaitStarts()
		}
		if e.full() {
			e.inbox.Drain()
			return workflows.FailoverReport{}, workflow.NewContinueAsNewError(e.ctx, workflows.TypeClusterFailover, e.carry())
		}
		e.trail.Flush()
		e.wait()
	}
	unaudited := e.trail.Finish()
	e.clusterOrders.refuseAsks()
	e.bindingOrders.refuseHeld()
	_ = workflow.Await(e.ctx, func() bool { return workflow.AllHandlersFinished(e.ctx) })
	e.inbox.Drain()
	report := e.st.Report(e.cluster, e.now())
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
	if r.st.Moves == nil {
		r.st.Moves = map[string]workflows.Move{}
	}
	if r.st.Counts == nil {
		r.st.Counts = map[string]int{}
	}
	r.st.Standing = r.st.StandingOrders.Index()
	r.st.Runs++
	// Every run first looks for itself: a fact may have reached a run that had just closed.
	r.clusterDirty, r.adoptDirty, r.listDirty = true, true, true
	return newParts(r)
}

// newParts are the parts of a run. Each calls only those that stand before it.
func newParts(r *run) *failover {
	e := &failover{run: r}
	e.judgement = &judgement{run: r, timers: map[string]flow.Armed{}}
	e.outcomes = &outcomes{r}
	e.standing = &standing{r}
	e.approvals = &approvals{r, e.standing}
	e.waiting = &waiting{r, e.standing}
	e.draining = &draining{r, e.judgement}
	e.taints = &taints{r, e.judgement, e.standing}
	e.children = &children{run: r, outcomes: e.outcomes, approvals: e.approvals, waiting: e.waiting, draining: e.draining}
	e.evictor = &evictor{run: r, standing: e.standing, children: e.children, lookedAt: map[string]bool{}}
	e.orphans = &orphans{r, e.draining, e.judgement, e.children, e.evictor}
	e.oldCopies = &oldCopies{r}
	e.fences = &fences{r, e.waiting, e.children}
	e.preCheck = &preCheck{run: r, outcomes: e.outcomes, waiting: e.waiting, approvals: e.approvals, fences: e.fences}
	e.affected = &affected{run: r, judgement: e.judgement, outcomes: e.outcomes, waiting: e.waiting, children: e.children, evictor: e.evictor, policies: &policies{r, e.judgement}}
	e.grants = &grants{r}
	e.dispatcher = &dispatcher{r, e.judgement, e.outcomes, e.waiting, e.children, e.draining, e.grants}
	e.bindingOrders = &bindingOrders{run: r, outcomes: e.outcomes, children: e.children}
	e.clusterOrders = &clusterOrders{r, e.draining, e.judgement, e.taints}
	e.wholeOrders = &wholeOrders{r, e.standing, e.taints, e.evictor, e.bindingOrders}
	e.publisher = &publisher{run: r, judgement: e.judgement, taints: e.taints, children: e.children, oldCopies: e.oldCopies}
	return e
}

// begin opens the failover in its first run.
func (e *failover) begin() {
	if e.st.FailoverID != "" {
		return
	}
	now := e.now()
	info := workflow.GetInfo(e.ctx)
	e.st.FailoverID = cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
	e.st.Attempt, e.st.Phase = 1, phase.FailoverSuspected
	e.st.Began, e.st.Since, e.st.Entered = now, now, now
	var b activities.Begin
	ctx := flow.Doing(e.ctx, "take the terms of this failover from the worker's config")
	ask := func() error {
		return workflow.ExecuteActivity(ctx, activities.NameBeginFailover, activities.BeginRequest{Cluster: e.cluster}).Get(ctx, &b)
	}
	for err := ask(); err != nil; err = ask() {
		_ = flow.AwaitFor(e.ctx, time.Minute, "try again to begin", func() bool { return false })
	}
	e.st.Terms = b.Terms
	e.trail.begun()
	e.publisher.showMode()
}

// on moves the phase by an event. An illegal move is a Lifeboat bug: it is logged
// and changes nothing.
func (e *failover) on(event phase.FailoverEvent, reason reason.Reason) bool {
	next, err := phase.NextFailover(e.st.Phase, event)
	if err != nil {
		e.log.Error("refused a transition", "error", err)
		return false
	}
	e.log.Info("entered phase", "from", e.st.Phase, "to", next, "event", event, "reason", reason)
	from := e.st.Phase
	e.st.Phase, e.st.Entered, e.st.Reason = next, e.now(), reason
	e.trail.entered(from, event, e.judgement.externalProbe())
	e.dirty = true
	return true
}

// newAttempt begins the next attempt. A halt outlasts the one that is over.
func (e *failover) newAttempt() {
	e.trail.attempt(e.st.NextAttempt(e.now()))
	e.waiting.freeze(e.st.Pace.Tier == pace.TierHalted)
	e.st.Frozen = e.st.Frozen.Since(slices.Concat(e.st.Cluster.Hard, e.st.Cluster.Soft, e.st.Cluster.Foreign))
	e.listDirty, e.clusterDirty = true, true
}

// act does what the phase asks for, once.
func (e *failover) act() {
	if !e.evacuating() {
		e.children.awaitStarts() // only dispatch goes on meanwhile
	}
	if !e.st.GoneAt.IsZero() {
		e.actGone()
		return
	}
	switch e.st.Phase {
	case phase.FailoverSuspected, phase.FailoverCordoned:
		e.actSuspected()
	case phase.FailoverConfirmed:
		e.actConfirmed()
	case phase.FailoverEvacuating, phase.FailoverEvacuated:
		e.actEvacuating()
	case phase.FailoverRecovering:
		e.actRecovering()
	case phase.FailoverSettling:
		e.actSettling()
	case phase.FailoverStopped:
		e.actStopped()
	case phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
}

// maxHistory is how many bytes of history a run with a long queue may have: its list
// alone can be more than what makes the server suggest a new run, and each run lists.
const maxHistory = 20_000_000

// longRun is how many events make the server suggest a new run.
const longRun = 4000

// full tells that this run should continue as new. The next turn of a fresh run
// looks at everything anew, so any moment between two turns will do; one that has
// not waited yet has done nothing else, and would only be followed by its like.
func (e *failover) full() bool {
	return e.waited && (e.cancelRequested || e.fullHistory()) && e.trail.Settled() && workflow.AllHandlersFinished(e.ctx) && e.orders.none() && len(e.asks) == 0
}

func (e *failover) fullHistory() bool {
	info := workflow.GetInfo(e.ctx)
	if e.affected.targeting() >= longList && info.GetCurrentHistoryLength() < longRun && info.GetCurrentHistorySize() > 0 {
		return info.GetCurrentHistorySize() > maxHistory || e.st.Terms.HistoryEvents > 0 && info.GetCurrentHistoryLength() >= e.st.Terms.HistoryEvents
	}
	return flow.FullHistory(e.ctx, e.st.Terms.HistoryEvents)
}

// wait sleeps until something is heard or the next thing is due.
func (e *failover) wait() {
	if e.dirty {
		e.dirty = false
		return
	}
	at, why := e.nextWake()
	e.alarm.Set(e.ctx, at, why, &e.dirty)
	_ = workflow.Await(e.ctx, func() bool { return e.dirty || e.children.startsAnswered() })
	e.dirty, e.waited = false, true
}

// nextWake is when to wake up without being told, and what for.
func (e *failover) nextWake() (time.Time, string) {
	at, why := e.nextAssess, "safety look at "+e.cluster
	sooner := func(t time.Time, what string) {
		if !t.IsZero() && t.Before(at) {
			at, why = t, what
		}
	}
	switch e.st.Phase {
	case phase.FailoverEvacuating, phase.FailoverEvacuated:
		if e.st.GoneAt.IsZero() {
			e.nextInQueue(sooner)
		}
	case phase.FailoverSettling, phase.FailoverStopped:
		if e.st.Settled.IsZero() {
			sooner(e.st.ClosedAt.Add(e.st.Terms.RestoreWait+time.Second), "restores have had their time: untaint")
		} else if len(e.st.PendingPurges) > 0 {
			sooner(e.st.Settled.Add(pendingPurgeLate), "old copies are late")
			sooner(e.st.Settled.Add(e.st.Terms.PendingPurgeWait+time.Second), "old copies have had their time")
		}
	case phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverConfirmed, phase.FailoverRecovering,
		phase.FailoverFalseAlarm, phase.FailoverUncordoned, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone:
	}
	if e.enforcing() && !e.judgement.onlyCordons() {
		sooner(e.st.AskedAt.Add(e.st.Terms.AskAgain), "tell the pacer again what is wanted")
	}
	sooner(e.trail.Wake(), "write the audit trail")
	if at.Before(e.notBefore) {
		at = e.notBefore
	}
	return at, why
}

func (e *failover) nextInQueue(sooner func(time.Time, string)) {
	sooner(e.affected.nextList(), "list the bindings on "+e.cluster+" again")
	if !e.enforcing() && e.st.Paused == nil && e.st.Queue.Count(queue.Ready) > 0 {
		sooner(e.st.NextSim, "the next move would begin")
	}
	if e.now().Before(e.st.NextDrain) && (e.st.Queue.Count(queue.Ready) > 0 || len(e.dispatcher.waitForPermit()) > 0) {
		sooner(e.st.NextDrain, "the drain's own rate lets the next move begin")
	}
	of, at := e.st.Queue.Next(e.now())
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
