package applicationfailover

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// failover runs one ApplicationFailover.
type failover struct {
	ctx      workflow.Context // never cancelled: a cancellation is an order
	log      log.Logger
	instance string
	st       *workflows.ApplicationState
	dirty    bool // something was received since the last turn
	stale    bool // the application may have changed since the last look
	starting bool // the server has not answered for the start of the migration
	waited   bool // this run has waited at least once
	// cancelRequested: the server takes one cancellation request in a run; the next run takes another.
	cancelRequested bool
	beside          flow.Beside
	alarm           flow.Alarm
	poll            time.Time // when it looks at the latest
	inbox           flow.Messages
	held            flow.HeldOrders
	enforce         *flow.Enforcement // an order that waits for the next turn
	trail           flow.TrailWriter
	shown           string // as the search attributes have it
}

// lookEvery is the safety poll behind the signals.
const lookEvery = 10 * time.Minute

// Workflow watches an application that is Unhealthy: it is open for as long as a copy is. When that has
// lasted for as long as the binding tolerates, the binding moves by a migration under a permit.
func Workflow(ctx workflow.Context, p workflows.ApplicationFailoverParams) (workflows.ApplicationReport, error) {
	if err := flow.CheckID(ctx, workflows.ApplicationFailoverID(p.Instance, p.Binding)); err != nil {
		return workflows.ApplicationReport{}, err
	}
	f := begin(ctx, p)
	if err := f.serve(ctx); err != nil {
		return workflows.ApplicationReport{}, err
	}
	f.inbox.Drain() // the signal that started it says no more than the first look
	for !f.st.Phase.Terminal() {
		full := f.waited && (f.cancelRequested || flow.FullHistory(f.ctx, f.st.Look.Terms.HistoryEvents)) && workflow.AllHandlersFinished(f.ctx)
		if full {
			flow.Yield(f.ctx)
			_ = workflow.Await(f.ctx, f.beside.Idle)
		}
		if full && f.beside.MayEnd(f.ctx) {
			f.inbox.Drain()
			f.st.Audit = f.trail.Leave(flow.CarryNames)
			return workflows.ApplicationReport{}, workflow.NewContinueAsNewError(f.ctx, workflows.TypeApplicationFailover, workflows.ApplicationFailoverParams{Instance: p.Instance, Binding: p.Binding, State: f.st})
		}
		f.turn()
	}
	f.close()
	_ = workflow.Await(f.ctx, func() bool { return f.beside.MayEnd(f.ctx) })
	return workflows.ApplicationReport{
		Binding: f.st.Key, FailoverID: f.st.FailoverID, Ended: f.st.Phase, Began: f.st.Began, Until: f.now(),
		Last: f.st.Last, Attempt: f.st.Attempt, Cluster: f.st.Cluster, Arrivals: f.st.Arrivals,
		Left: left(f.st),
	}, nil
}

func begin(ctx workflow.Context, p workflows.ApplicationFailoverParams) *failover {
	live, _ := workflow.NewDisconnectedContext(ctx)
	info := workflow.GetInfo(ctx)
	f := &failover{ctx: live, instance: p.Instance, st: p.State, log: log.With(workflow.GetLogger(ctx), "binding", p.Binding.String()), stale: true}
	if f.st == nil {
		now := workflow.Now(ctx)
		f.st = &workflows.ApplicationState{Key: p.Binding, FailoverID: info.WorkflowExecution.RunID, Began: now, Entered: now, Phase: phase.ApplicationUnhealthy}
		f.st.Audit = &workflows.Trail{Sent: now} // its first records are not urgent
	}
	f.trail = flow.NewTrailWriter(live, &f.st.Audit, flow.TrailOptions{
		Dirty: &f.dirty, On: func() bool { return f.st.Look.Terms.Audit },
		Source: func() activities.AuditSource {
			return activities.AuditSource{
				Instance: p.Instance, Cluster: f.st.Cluster, FailoverID: f.st.FailoverID, Mode: cmp.Or(f.st.Mode, rules.ModeObserve),
				Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID, First: f.st.FailoverID,
			}
		},
	})
	return f
}

func (f *failover) now() time.Time { return workflow.Now(f.ctx) }

// turn looks, decides and acts once, and waits for what is next.
func (f *failover) turn() {
	enforce := f.enforce
	f.dirty, f.enforce = false, nil
	looks := (f.stale || enforce != nil) && looksItself(f.st)
	f.stale = false
	if looks {
		f.look()
	}
	f.obeyEnforce(enforce)
	expireApproval(f.st, f.now())
	f.wakeSilent()
	next := f.decide()
	f.enter(next)
	if next.phase.Terminal() {
		return
	}
	if next.do != nil {
		next.do()
		return
	}
	f.trail.Flush()
	f.wait(next)
}

// wait waits for a message, for the moment at which the next step is due, or for the safety poll. Only the poll, and a
// moment that no controller watches, ask for another look. The trail has no timer: it is written with what comes.
func (f *failover) wait(next step) {
	if !f.poll.After(f.now()) {
		f.poll = f.now().Add(lookEvery)
	}
	at, fired := f.poll, &f.stale
	if !next.until.IsZero() && next.until.Before(at) {
		if at = next.until; !next.looks && f.st.Look.Terms.Watched {
			fired = &f.dirty
		}
	}
	f.alarm.Set(f.ctx, at, "look at "+f.st.Key.String()+" again: "+string(f.st.Reason), fired)
	_ = workflow.Await(f.ctx, func() bool { return f.dirty || f.stale })
	f.waited = true
}

// look reads how the application stands, and moves its clocks on.
func (f *failover) look() {
	request := activities.ApplicationRequest{Key: f.st.Key, UID: f.st.Look.UID, Moves: len(f.st.Before) > 0 || f.st.Left != nil}
	if f.st.Look.UID == "" {
		info := workflow.GetInfo(f.ctx).WorkflowExecution
		request.Recall, request.Run = info.ID, info.RunID
	}
	seen, err := flow.Run[activities.Application](flow.Doing(f.ctx, "see how "+f.st.Key.String()+" is"), activities.NameAssessApplication, request)
	if err != nil { // it is retried until it answers, unless that makes no sense
		f.log.Error("could not assess the application", "error", err)
		f.st.Look.Unfit = reason.Verdict{Reason: reason.Unreachable, Message: reason.Summary(err.Error())}
		return
	}
	if seen.Gone {
		f.st.Look.Gone = true
		return
	}
	if f.st.Look.UID == "" {
		f.st.Arrivals, f.st.Left = seen.Arrivals, seen.Left
	}
	f.st.Look, f.st.Mode = seen, cmp.Or(f.st.Mode, seen.Terms.Mode)
	if unknown(&seen) {
		f.st.Clocks = f.st.Clocks.Stopped(f.now())
	} else {
		followCopies(f.st, seen.Copies, f.now())
	}
}

// followCopies moves the clocks on, and keeps where copies arrived.
func followCopies(st *workflows.ApplicationState, copies []rules.CopyHealth, now time.Time) {
	st.Clocks = st.Clocks.Next(copies, now)
	st.Arrivals, st.Left = st.Left.Arrived(st.Arrivals.Without(copies), copies)
	if st.Move == nil || st.Move.Placed { // what comes before its write is not its doing
		arrive(st, copies)
	}
}

// step is what the failover does next: it waits in a phase, until a moment or a message, or acts.
type step struct {
	phase   phase.Application
	reason  reason.Reason
	message string
	until   time.Time // zero: until a message, or the safety poll
	looks   bool      // another look is due at that moment
	do      func()    // nil: wait
	// attention: an operator has to look.
	attention bool
}

// decide says what is next, as things stand.
func (f *failover) decide() step {
	st := f.st
	switch {
	case st.TakenBy != "":
		return step{phase: phase.ApplicationTakenOver, reason: reason.TakenOver, message: st.TakenBy + " goes on with the move"}
	case st.Move != nil:
		return f.decideMoving()
	case st.Look.Gone:
		return step{phase: phase.ApplicationGone, reason: reason.BindingGone}
	case over(st):
		return decideEnd(st)
	case st.Stopped != nil:
		return step{phase: phase.ApplicationStopped, reason: reason.Cancelled, message: "cancelled by " + st.Stopped.Line() + "; it stays so until it is healthy, or resumed"}
	case st.Look.Unfit.Reason != reason.None:
		return step{phase: phase.ApplicationBlocked, reason: st.Look.Unfit.Reason, message: st.Look.Unfit.Message, attention: true}
	}
	return f.decideUnhealthy()
}

// unknown reports whether a look found no copy because the binding is malformed.
func unknown(look *activities.Application) bool {
	return look.Unfit.Reason != reason.None && len(look.Copies) == 0
}

// over reports whether no copy is Unhealthy; after a cancel, which holds until then, whether every copy is Healthy.
func over(st *workflows.ApplicationState) bool {
	look := &st.Look
	if len(st.Clocks) > 0 || unknown(look) {
		return false
	}
	open := func(c rules.CopyHealth) bool { return c.Health == karmada.HealthUnhealthy } // on a cluster that fails, too
	if st.Stopped != nil {
		open = func(c rules.CopyHealth) bool { return c.Health != karmada.HealthHealthy }
	}
	return !slices.ContainsFunc(look.Copies, open) && (st.Stopped == nil || len(look.Copies) > 0)
}

// decideEnd: every copy is healthy again.
func decideEnd(st *workflows.ApplicationState) step {
	switch {
	case st.Stopped != nil:
		return step{phase: phase.ApplicationCancelled, reason: reason.Cancelled, message: "cancelled by " + st.Stopped.Line()}
	case st.Last != nil && st.Last.Wrote:
		return step{phase: phase.ApplicationMigrated, reason: st.Last.Reason, message: st.Last.Message}
	default:
		return step{phase: phase.ApplicationHealed, reason: reason.Healed}
	}
}

// decideMoving: a migration runs. Where its new copy, or that of an earlier one, is Unhealthy for as long as well, no other
// cluster would help: every copy stays until an operator says what becomes of them.
func (f *failover) decideMoving() step {
	m := f.st.Move
	moving := step{phase: phase.ApplicationMoving, reason: m.Reason, message: m.Message}
	if !m.Placed && !m.WantsPermit {
		return moving
	}
	sick, ends := sickCopy(f.st, f.now())
	switch {
	case m.WantsPermit && healed(f.st):
		moving.do = func() { callOff(f) }
	case sick != nil && (m.Placed || !approved(f.st, f.st.Cluster, f.st.Attempt)):
		return sameRevision(*sick, f.st.Look.Tolerated)
	case m.WantsPermit && f.st.Suspected != nil:
		moving = suspected(moving, f.st)
	}
	if sick == nil && !ends.IsZero() {
		moving.until, moving.looks = ends, true // while it moves, no signal says how the new copy is
	}
	return moving
}

// suspected says in a step that a release is.
func suspected(s step, st *workflows.ApplicationState) step {
	s.reason, s.attention = reason.ReleaseSuspected, true
	s.message = st.Suspected.String() + ": it is the release, and not the place. All the same: lifeboat resume fleet --reason ..."
	return s
}

func sameRevision(clock rules.UnhealthyClock, tolerated time.Duration) step {
	return step{
		phase: phase.ApplicationNeedsOperator, reason: reason.SameRevision, attention: true,
		message: "the revision that was moved to " + clock.Cluster + " is Unhealthy there, too, for longer than " + tolerated.String(),
	}
}

// decideUnhealthy: a copy is, and no migration runs.
func (f *failover) decideUnhealthy() step {
	st, now := f.st, f.now()
	clock := nextCopy(st, now)
	if clock == nil {
		return step{phase: phase.ApplicationUnhealthy, reason: reason.ClockStopped, message: "on " + stoppedOn(st)}
	}
	if waits := tolerating(st, *clock, now); waits != nil {
		return *waits
	}
	switch {
	case needsApproval(st, *clock):
		s := sameRevision(*clock, st.Look.Tolerated)
		s.message += "; an approval of it alone moves it once more"
		return s
	case st.Expired.Reason != reason.None:
		return step{phase: phase.ApplicationBlocked, reason: st.Expired.Reason, message: st.Expired.Message}
	case st.Paused != nil:
		return step{phase: phase.ApplicationBlocked, reason: reason.Paused, message: "paused by " + st.Paused.Line()}
	case isTried(st, clock.Cluster, now):
		return step{phase: phase.ApplicationBlocked, reason: st.Blocked.Reason, message: st.Blocked.Message, until: retry(st, now), looks: true}
	case st.Mode == rules.ModeEnforce && st.Look.Terms.Mode == rules.ModeObserve:
		return step{phase: phase.ApplicationBlocked, reason: reason.ModeObserve, message: "the workers' own configuration says observe: nothing new is evicted"}
	case st.Check == nil || st.Checked != clock.Cluster:
		return step{phase: st.Phase, reason: st.Reason, message: st.Message, do: func() { f.check(*clock) }}
	case st.Mode != rules.ModeEnforce:
		return step{phase: phase.ApplicationBlocked, reason: reason.WouldMove, message: "observe: it would leave " + clock.Cluster}
	}
	return f.decideMove(*clock)
}

// decideMove: the pre-check has said yes. A suspected release, and then a permit, decide.
func (f *failover) decideMove(clock rules.UnhealthyClock) step {
	st, now := f.st, f.now()
	asked := st.AskedAt.Add(askEvery)
	as := phase.ApplicationQueued
	if st.Suspected != nil { // also while a permit is asked for again: the answer to the last request stands
		as = phase.ApplicationBlocked
	}
	switch {
	case st.Permit.Number > 0 && now.Before(st.Permit.Latest), st.Check.Dependents && st.Suspected == nil: // they are held before it asks
		return step{phase: phase.ApplicationQueued, reason: reason.AwaitingPermit, do: func() { f.move(clock) }}
	case st.AskedAt.IsZero() || !asked.After(now):
		return step{phase: as, reason: reason.AwaitingPermit, message: "to leave " + clock.Cluster, do: func() { f.request(f.ctx, 1) }}
	case st.Suspected != nil:
		return suspected(step{phase: as, until: asked}, st)
	}
	return step{phase: phase.ApplicationQueued, reason: reason.AwaitingPermit, message: "to leave " + clock.Cluster, until: asked}
}

// enter publishes what is next.
func (f *failover) enter(next step) {
	st := f.st
	if st.Phase != next.phase {
		st.Entered = f.now()
		add := f.trail.Add
		if next.attention {
			add = f.trail.AddUrgent
		}
		add(phaseRecord(st, next))
	}
	st.Phase, st.Reason, st.Message, st.Next = next.phase, next.reason, next.message, next.until
	st.Attention = reason.None
	switch {
	case next.attention:
		st.Attention = next.reason
	case st.Move != nil: // no other failover says so
		st.Attention = st.Move.Attention
	}
	f.page()
}

// page shows where the failover stands, in the Temporal UI and in search attributes.
func (f *failover) page() {
	workflow.SetCurrentDetails(f.ctx, view.ApplicationPage(f.st.View(f.now())))
	shown := fmt.Sprint(f.st.Phase, f.st.Attention)
	if f.st.Phase != phase.ApplicationMoving { // the migration shows its own reason
		shown += string(f.st.Reason)
	}
	if shown != f.shown {
		f.shown = shown
		_ = workflow.UpsertTypedSearchAttributes(f.ctx, workflows.SearchPhase.ValueSet(string(f.st.Phase)), workflows.SearchReason.ValueSet(string(f.st.Reason)))
		if f.st.Attention != reason.None {
			tags := map[string]string{"cluster": f.st.Cluster, "reason": string(f.st.Attention)}
			workflow.GetMetricsHandler(f.ctx).WithTags(tags).Counter("lifeboat_needs_attention").Inc(1)
		}
	}
}

// close withdraws the request, and has the last records written.
func (f *failover) close() {
	if !f.st.AskedAt.IsZero() {
		f.request(f.ctx, 0)
	}
	if lost := f.trail.Finish(); lost > 0 {
		f.log.Error("the audit trail lacks records of this failover", "records", lost)
	}
}
