package workflows

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
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// episode runs one ClusterFailover.
type episode struct {
	ctx      workflow.Context // never cancelled: cancellation is an order, handled in place
	log      log.Logger
	instance string
	cluster  string
	st       EpisodeState

	dirty        bool              // something was heard since the last turn
	clusterDirty bool              // the cluster wants a fresh judgement
	listDirty    bool              // the affected set wants a fresh list
	listed       bool              // this run has listed it
	adoptDirty   bool              // somebody saw something of ours without an owner
	adoptNow     bool              // and said so; a run's own first look can wait while it only cordons
	unheld       bool              // there were more last copies to hold beside a second evictor than may move at once
	lookedAt     map[string]bool   // bindings that a second evictor was told to evict, and that were looked at for it
	checks       *checking         // the pre-check that runs, nil when none does
	starting     []starting        // children that the server has not answered for
	strangers    []MigrationReport // children of an earlier failover that wait for a permit of it
	nextAssess   time.Time
	notBefore    time.Time // no timer wakes earlier: an act was refused
	// judged is when the last judgement that was answered was asked for: of what came
	// after, it knows nothing, and so no window ends later.
	judged      time.Time
	orders      episodeOrders
	heldAsks    []*heldAsk    // orders about held copies that wait for theirs
	asks        []*clusterAsk // orders about what stands on the cluster that wait for their answer
	timers      map[string]armed
	alarm       alarm
	order       order
	standing    standing // by scope, as the standing orders say
	waited      bool     // this run has waited at least once
	inbox       episodeInbox
	shown       phase.Episode // as last published in search attributes
	shownReason reason.Reason
	scribe      scribe
}

// EpisodeReport is what a ClusterFailover closes with.
type EpisodeReport struct {
	Cluster string `json:"cluster"`
	// UID is the cluster's: another one under its name knows nothing of the old copies.
	UID     types.UID     `json:"uid,omitempty"`
	Episode string        `json:"episode"`
	Ended   phase.Episode `json:"ended"`
	Began   time.Time     `json:"began"`
	Until   time.Time     `json:"until"`
	Rounds  []RoundReport `json:"rounds"`
	Debts   []record.Debt `json:"debts,omitempty"` // purge debt, handed over
	// DebtsBeyond counts those for which Debts had no room.
	DebtsBeyond int `json:"debtsBeyond,omitempty"`
	// Unaudited counts audit records that its trail lacks, the sink having been away.
	Unaudited int `json:"unaudited,omitempty"`
}

// Paid has outcomes tell that their old copy is purged where it has gone since: the
// report hands over what is still owed.
func (r *EpisodeReport) Paid() {
	if r.DebtsBeyond > 0 {
		return // nobody knows of which
	}
	for n := range r.Rounds {
		for i := range r.Rounds[n].Results {
			x := &r.Rounds[n].Results[i]
			if x.Reason == reason.PurgeDebt && x.Debt != nil && !slices.Contains(r.Debts, *x.Debt) {
				x.Reason, x.Debt = reason.Purged, nil
			}
		}
	}
}

// ClusterFailover is the failover of one cluster, from first suspicion to last
// purge. Its turn is always the same: look at the cluster, obey humans, do what
// the phase asks for, tell the pacer, wait.
func ClusterFailover(ctx workflow.Context, p ClusterFailoverParams) (EpisodeReport, error) {
	if err := named(ctx, ClusterFailoverID(p.Instance, p.Cluster)); err != nil {
		return EpisodeReport{}, err
	}
	e := newEpisode(ctx, p)
	if err := e.serve(ctx); err != nil {
		return EpisodeReport{}, err
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
			e.inbox.drain(e)
			return EpisodeReport{}, workflow.NewContinueAsNewError(e.ctx, TypeClusterFailover, e.carry())
		}
		e.scribe.flush()
		e.wait()
	}
	unaudited := e.scribe.finish()
	e.refuseAsks()
	_ = workflow.Await(e.ctx, func() bool { return workflow.AllHandlersFinished(e.ctx) })
	e.inbox.drain(e)
	report := e.report()
	report.Unaudited = unaudited
	return report, nil
}

func newEpisode(ctx workflow.Context, p ClusterFailoverParams) *episode {
	live, _ := workflow.NewDisconnectedContext(ctx)
	e := &episode{ctx: live, instance: p.Instance, cluster: p.Cluster, timers: map[string]armed{}, lookedAt: map[string]bool{}}
	e.log = log.With(workflow.GetLogger(ctx), "cluster", p.Cluster)
	switch {
	case len(p.Packed) > 0:
		e.st = *unpack(p.Packed)
	case p.State != nil:
		e.st = *p.State
	}
	e.audit()
	if e.st.Moves == nil {
		e.st.Moves = map[string]Move{}
	}
	if e.st.Counts == nil {
		e.st.Counts = map[string]int{}
	}
	e.standing = e.st.index()
	e.st.Runs++
	// Every run first looks for itself: a fact may have reached a run that had just closed.
	e.clusterDirty, e.adoptDirty, e.listDirty = true, true, true
	return e
}

// begin opens the episode in its first run.
func (e *episode) begin() {
	if e.st.Episode != "" {
		return
	}
	now := e.now()
	info := workflow.GetInfo(e.ctx)
	e.st.Episode = cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
	e.st.Round, e.st.Phase = 1, phase.EpisodeSuspected
	e.st.Began, e.st.Since, e.st.Entered = now, now, now
	var b activities.Begin
	ctx := doing(e.ctx, "take the terms of this episode from the worker's config")
	for workflow.ExecuteActivity(ctx, activities.NameBeginEpisode, activities.BeginRequest{Cluster: e.cluster}).Get(ctx, &b) != nil {
		_ = awaitFor(e.ctx, time.Minute, "try again to begin", func() bool { return false })
	}
	e.st.Terms = b.Terms
	e.auditBegun()
	e.showMode()
}

func (e *episode) now() time.Time { return workflow.Now(e.ctx) }

func (e *episode) enforcing() bool { return e.st.Terms.Mode == rules.ModeEnforce }

// on moves the phase by an event. An illegal move is a bug of ours: it is logged
// and changes nothing.
func (e *episode) on(event phase.EpisodeEvent, reason reason.Reason) bool {
	next, err := phase.NextEpisode(e.st.Phase, event)
	if err != nil {
		e.log.Error("refused a transition", "error", err)
		return false
	}
	e.log.Info("entered phase", "from", e.st.Phase, "to", next, "event", event, "reason", reason)
	from := e.st.Phase
	e.st.Phase, e.st.Entered, e.st.Reason = next, e.now(), reason
	e.auditPhase(from, event)
	e.dirty = true
	return true
}

// act does what the phase asks for, once.
func (e *episode) act() {
	if !e.st.GoneAt.IsZero() {
		e.actGone()
		return
	}
	switch e.st.Phase {
	case phase.EpisodeSuspected, phase.EpisodeCordoned:
		e.actSuspected()
	case phase.EpisodeConfirmed:
		e.actConfirmed()
	case phase.EpisodeEvacuating, phase.EpisodeEvacuated:
		e.actEvacuating()
	case phase.EpisodeRecovering:
		e.actRecovering()
	case phase.EpisodeSettling:
		e.actSettling()
	case phase.EpisodeStopped:
		e.actStopped()
	case phase.EpisodeFalseAlarm, phase.EpisodeUncordoned, phase.EpisodeRecovered, phase.EpisodeCancelled, phase.EpisodeGone:
	}
}

// full tells that this run should continue as new. The next turn of a fresh run
// looks at everything anew, so any moment between two turns will do; one that has
// not waited yet has done nothing else, and would only be followed by its like.
func (e *episode) full() bool {
	return e.waited && e.fullHistory() && e.scribe.settled() && workflow.AllHandlersFinished(e.ctx) && e.orders.none() && len(e.asks) == 0
}

// maxHistory is how many bytes of history a run with a long queue may have: its list
// alone can be more than what makes the server suggest a new run, and each run lists.
const maxHistory = 20_000_000

func (e *episode) fullHistory() bool {
	info := workflow.GetInfo(e.ctx)
	if e.targeting() >= longList && info.GetCurrentHistoryLength() < longRun && info.GetCurrentHistorySize() > 0 {
		return info.GetCurrentHistorySize() > maxHistory || e.st.Terms.HistoryEvents > 0 && info.GetCurrentHistoryLength() >= e.st.Terms.HistoryEvents
	}
	return fullHistory(e.ctx, e.st.Terms.HistoryEvents)
}

// longRun is how many events make the server suggest a new run.
const longRun = 4000

// wait sleeps until something is heard or the next thing is due.
func (e *episode) wait() {
	if e.dirty {
		e.dirty = false
		return
	}
	at, why := e.nextWake()
	e.alarm.set(e.ctx, at, why, &e.dirty)
	_ = workflow.Await(e.ctx, func() bool { return e.dirty })
	e.dirty, e.waited = false, true
}

// report is the episode's end, in rounds.
func (e *episode) report() EpisodeReport {
	rounds := append(e.st.Past, e.roundReport())
	return EpisodeReport{
		Cluster: e.cluster, UID: e.st.UID, Episode: e.st.Episode, Ended: e.st.Phase, Began: e.st.Began, Until: e.now(),
		Rounds: rounds, Debts: e.st.Debts, DebtsBeyond: e.st.DebtsBeyond,
	}
}

func (e *episode) roundReport() RoundReport {
	return RoundReport{
		Round: e.st.Round, Since: e.st.Since, Until: e.now(), Counts: e.st.Counts, Results: e.st.Results, Folded: e.folded(), Ended: e.st.Phase,
	}
}

// fullRounds is how many closed rounds keep the result of every binding.
const fullRounds = 2

// newRound archives this round and begins the next. Children of older rounds go on.
func (e *episode) newRound() {
	e.st.Past = append(e.st.Past, e.roundReport())
	e.auditRound(e.st.Past[len(e.st.Past)-1])
	if last := &e.st.Past[len(e.st.Past)-1]; len(last.Results) > pastDetails {
		last.Folded += len(last.Results) - pastDetails
		last.Results = last.Results[len(last.Results)-pastDetails:]
	}
	for i := range len(e.st.Past) - fullRounds {
		// Older rounds keep their counts: a flapping cluster must not outgrow its workflow.
		e.st.Past[i].Results = nil
	}
	e.st.Round++
	e.st.Since = e.now()
	e.st.Folded, e.st.Later, e.st.LaterIdle = nil, nil, nil
	e.st.Results, e.st.Counts, e.order = nil, map[string]int{}, order{}
	e.st.Items, e.st.Policy, e.st.Dues, e.st.Judged = nil, nil, nil, ""
	e.st.Listed, e.st.Settled, e.st.ClosedAt, e.st.Named, e.st.Well = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	e.st.Virtual, e.st.Fenced = nil, nil
	e.st.Approvals, e.st.Asking = nil, nil      // an approval holds for one round
	e.freeze(e.st.Pace.Tier == pace.TierHalted) // a halt outlasts the round
	e.forgetFrozen()
	e.listDirty, e.clusterDirty = true, true
}
