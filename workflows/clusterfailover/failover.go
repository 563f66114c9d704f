package clusterfailover

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// failover runs one ClusterFailover.
type failover struct {
	ctx      workflow.Context // never cancelled: cancellation is an order, handled in place
	log      log.Logger
	instance string
	cluster  string
	st       workflows.FailoverState

	dirty          bool                        // something was heard since the last turn
	clusterDirty   bool                        // the cluster wants a fresh judgement
	listDirty      bool                        // the affected set wants a fresh list
	listed         bool                        // this run has listed it
	adoptDirty     bool                        // somebody saw something of Lifeboat's without an owner
	adoptNow       bool                        // and said so; a run's own first look can wait while it only cordons
	unheld         bool                        // there were more last copies to hold beside a second evictor than may move at once
	lookedAt       map[string]bool             // bindings that a second evictor was told to evict, and that were looked at for it
	checks         *checking                   // the pre-check that runs, nil when none does
	starting       []starting                  // children that the server has not answered for
	formerChildren []workflows.MigrationReport // children of an earlier failover that wait for a permit of it
	nextAssess     time.Time
	notBefore      time.Time // no timer wakes earlier: an act was refused
	// judged is when the last judgement that was answered was asked for: of what came
	// after, it knows nothing, and so no window ends later.
	judged      time.Time
	orders      failoverOrders
	heldAsks    []*heldAsk    // orders about held copies that wait for theirs
	asks        []*clusterAsk // orders about what stands on the cluster that wait for their answer
	timers      map[string]flow.Armed
	alarm       flow.Alarm
	waited      bool // this run has waited at least once
	inbox       flow.Messages
	shown       phase.Failover // as last published in search attributes
	shownReason reason.Reason
	trail       trail
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
		e.assess()
		e.obey()
		e.obeyAsks()
		e.adoptOrphans()
		e.act()
		e.ask()
		e.attend()
		e.publish()
		if e.st.Phase.Terminal() {
			break
		}
		if e.full() {
			e.inbox.Drain()
			return workflows.FailoverReport{}, workflow.NewContinueAsNewError(e.ctx, workflows.TypeClusterFailover, e.carry())
		}
		e.trail.Flush()
		e.wait()
	}
	unaudited := e.trail.Finish()
	e.refuseAsks()
	_ = workflow.Await(e.ctx, func() bool { return workflow.AllHandlersFinished(e.ctx) })
	e.inbox.Drain()
	report := e.report()
	report.Unaudited = unaudited
	return report, nil
}

func newFailover(ctx workflow.Context, p workflows.ClusterFailoverParams) *failover {
	live, _ := workflow.NewDisconnectedContext(ctx)
	e := &failover{ctx: live, instance: p.Instance, cluster: p.Cluster, timers: map[string]flow.Armed{}, lookedAt: map[string]bool{}}
	e.log = log.With(workflow.GetLogger(ctx), "cluster", p.Cluster)
	switch {
	case len(p.Packed) > 0:
		e.st = *unpack(p.Packed)
	case p.State != nil:
		e.st = *p.State
	}
	e.trail = newTrail(e)
	if e.st.Moves == nil {
		e.st.Moves = map[string]workflows.Move{}
	}
	if e.st.Counts == nil {
		e.st.Counts = map[string]int{}
	}
	e.st.Standing = e.st.StandingOrders.Index()
	e.st.Runs++
	// Every run first looks for itself: a fact may have reached a run that had just closed.
	e.clusterDirty, e.adoptDirty, e.listDirty = true, true, true
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
	e.showMode()
}

func (e *failover) now() time.Time { return workflow.Now(e.ctx) }

func (e *failover) enforcing() bool { return e.st.Terms.Mode == rules.ModeEnforce }

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
	e.trail.phase(from, event, e.externalProbe())
	e.dirty = true
	return true
}

// act does what the phase asks for, once.
func (e *failover) act() {
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

// full tells that this run should continue as new. The next turn of a fresh run
// looks at everything anew, so any moment between two turns will do; one that has
// not waited yet has done nothing else, and would only be followed by its like.
func (e *failover) full() bool {
	return e.waited && e.fullHistory() && e.trail.Settled() && workflow.AllHandlersFinished(e.ctx) && e.orders.none() && len(e.asks) == 0
}

// maxHistory is how many bytes of history a run with a long queue may have: its list
// alone can be more than what makes the server suggest a new run, and each run lists.
const maxHistory = 20_000_000

func (e *failover) fullHistory() bool {
	info := workflow.GetInfo(e.ctx)
	if e.targeting() >= longList && info.GetCurrentHistoryLength() < longRun && info.GetCurrentHistorySize() > 0 {
		return info.GetCurrentHistorySize() > maxHistory || e.st.Terms.HistoryEvents > 0 && info.GetCurrentHistoryLength() >= e.st.Terms.HistoryEvents
	}
	return flow.FullHistory(e.ctx, e.st.Terms.HistoryEvents)
}

// longRun is how many events make the server suggest a new run.
const longRun = 4000

// wait sleeps until something is heard or the next thing is due.
func (e *failover) wait() {
	if e.dirty {
		e.dirty = false
		return
	}
	at, why := e.nextWake()
	e.alarm.Set(e.ctx, at, why, &e.dirty)
	_ = workflow.Await(e.ctx, func() bool { return e.dirty })
	e.dirty, e.waited = false, true
}

// report is the failover's end, in attempts.
func (e *failover) report() workflows.FailoverReport {
	attempts := append(e.st.Past, e.attemptReport())
	return workflows.FailoverReport{
		Cluster: e.cluster, UID: e.st.UID, FailoverID: e.st.FailoverID, Ended: e.st.Phase, Began: e.st.Began, Until: e.now(),
		Attempts: attempts, PendingPurges: e.st.PendingPurges, PendingPurgesBeyond: e.st.PendingPurgesBeyond,
	}
}

func (e *failover) attemptReport() workflows.AttemptReport {
	return workflows.AttemptReport{
		Attempt: e.st.Attempt, Since: e.st.Since, Until: e.now(), Counts: e.st.Counts, Results: e.st.Results, Folded: e.st.Ledger.InCounts(), Ended: e.st.Phase,
	}
}

// fullAttempts is how many closed attempts keep the results of bindings, and pastDetails how many
// of them: a report must fit into 2 MB.
const (
	fullAttempts = 2
	pastDetails  = 500
)

// newAttempt archives this attempt and begins the next. Children of older attempts go on.
func (e *failover) newAttempt() {
	e.st.Past = append(e.st.Past, e.attemptReport())
	e.trail.attempt(e.st.Past[len(e.st.Past)-1])
	if last := &e.st.Past[len(e.st.Past)-1]; len(last.Results) > pastDetails {
		last.Folded += len(last.Results) - pastDetails
		last.Results = last.Results[len(last.Results)-pastDetails:]
	}
	for i := range len(e.st.Past) - fullAttempts {
		// Older attempts keep their counts: a flapping cluster must not outgrow its workflow.
		e.st.Past[i].Results = nil
	}
	e.st.Attempt++
	e.st.Since = e.now()
	e.st.Queue.Reset()
	e.st.Ledger.Reset()
	e.st.Judged = ""
	e.st.Listed, e.st.Settled, e.st.ClosedAt, e.st.Named, e.st.Well = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	e.st.Virtual, e.st.Fenced = nil, nil
	e.st.Approvals, e.st.Asking = nil, nil      // an approval holds for one attempt
	e.freeze(e.st.Pace.Tier == pace.TierHalted) // a halt outlasts the attempt
	e.st.Queue.ForgetHalts(slices.Concat(e.st.Cluster.Hard, e.st.Cluster.Soft, e.st.Cluster.Foreign))
	e.listDirty, e.clusterDirty = true, true
}

// file keeps the one outcome of a binding in an attempt that is over: a later word about
// it takes the place of an earlier one.
func file(p *workflows.AttemptReport, r record.Result) {
	at := slices.IndexFunc(p.Results, func(x record.Result) bool { return x.Key == r.Key && x.UID == r.UID })
	if at >= 0 {
		p.Counts[string(p.Results[at].Outcome)]--
		p.Results[at] = r
	} else {
		p.Results = append(p.Results, r)
	}
	p.Counts[string(r.Outcome)]++
}
