package fleetpacer

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

// pacer runs the FleetPacer.
type pacer struct {
	ctx      workflow.Context
	log      log.Logger
	instance string
	st       workflows.PacerState
	dirty    bool
	alarm    flow.Alarm
	lull     flow.Lull
	waited   bool // this run has waited at least once
	claims   int  // since this run began: updates are bounded per run
	counted  bool // the newest judgement of the fleet was to count the Unhealthy applications
	inbox    flow.Messages
	trail    trail
	// recalling: the orders before this pacer are not known yet, and those that come wait.
	recalling bool
}

// MemoOrders is the memo field in which the pacer mirrors its orders.
const MemoOrders = "lifeboatOrders"

// How old a judgement of the fleet gets while the controller reports no change: while a
// failover waits for permits, while failovers only follow the pace or a release was suspected, and else. The
// last two are for a controller that is away.
const (
	reassess = 5 * time.Second
	followed = time.Minute
	unasked  = 24 * time.Hour
)

// judgeWithin is how long the pacer tries to judge the fleet, and lookAgain how long it waits after it could not.
const (
	judgeWithin = 30 * time.Second
	lookAgain   = 10 * time.Second
)

// forget is after how many missed repetitions a request is void.
const forget = 4

// maxClaims keeps a run below the server's bound on updates.
const maxClaims = 1000

// Workflow paces all failovers of a fleet: it gives each eviction its moment, a few seconds
// ahead and 1/rate after the one before, under a judgement of the whole fleet made for it.
// It never closes by itself.
func Workflow(ctx workflow.Context, params workflows.FleetPacerParams) error {
	p := &pacer{ctx: ctx, log: workflow.GetLogger(ctx), instance: params.Instance, recalling: params.State == nil}
	if params.State != nil {
		p.st = *params.State
	}
	if p.st.Requests == nil {
		p.st.Requests = map[string]workflows.Request{}
	}
	p.trail = newTrail(ctx, p.instance, &p.st, &p.dirty)
	if err := p.serve(); err != nil {
		return err
	}
	if p.recalling {
		p.recall()
	}
	for ctx.Err() == nil {
		p.lull.See(ctx)
		p.expire()
		p.forgetSilent()
		if err := p.look(); err != nil {
			return err
		}
		p.grant()
		p.page()
		p.trail.flush()
		full := p.full()
		if full {
			flow.Yield(ctx)
		}
		if full && workflow.AllHandlersFinished(ctx) {
			p.inbox.Drain()
			p.trail.leave()
			return workflow.NewContinueAsNewError(ctx, workflows.TypeFleetPacer, workflows.FleetPacerParams{Instance: p.instance, State: &p.st})
		}
		p.setAlarm()
		if err := workflow.Await(ctx, func() bool { return p.dirty }); err != nil {
			return err
		}
		p.dirty, p.waited = false, true
	}
	return ctx.Err()
}

// setAlarm has it wake for the next look, or to write its trail.
func (p *pacer) setAlarm() {
	at, why := p.nextLook()
	if write := p.trail.Wake(); !write.IsZero() && write.Before(at) {
		at, why = write, "write the audit trail"
	}
	p.alarm.Set(p.ctx, at, why, &p.dirty)
}

func (p *pacer) full() bool {
	return p.waited && p.lull.Comes(p.ctx, 0) && (flow.FullHistory(p.ctx, 0) || p.claims >= maxClaims) && workflow.AllHandlersFinished(p.ctx)
}

func (p *pacer) now() time.Time { return workflow.Now(p.ctx) }

// recall starts a pacer without carried state: it assumes nothing. One that is ended meanwhile leaves no orders: the
// next one reads those before it.
func (p *pacer) recall() {
	ctx := flow.Doing(p.ctx, "recall what the previous pacer left behind")
	r, err := flow.Run[activities.Recall](ctx, activities.NameRecallPacer, activities.RecallRequest{RunID: workflow.GetInfo(p.ctx).WorkflowExecution.RunID})
	if p.ctx.Err() != nil {
		return
	}
	if err != nil {
		r = activities.Recall{Lost: true, Why: reason.StateLost}
		p.log.Error("could not recall the previous pacer", "error", err)
	}
	p.log.Info("started the pacer", "reason", r.Why, "halted", r.Lost)
	if len(r.Memo) > 0 && json.Unmarshal(r.Memo, &p.st.Orders) != nil {
		r.Lost, p.st.Orders = true, workflows.Orders{}
	}
	p.recalling = false
	if r.Lost {
		p.st.Orders.HaltReason, p.st.HaltedAt = reason.StateLost, p.now()
		if p.st.Orders.Halted == nil {
			p.st.Orders.Halted = &workflows.Order{Who: "lifeboat", Reason: "the pacer's state was lost: check what moves, then resume"}
		}
	}
	if r.Why != reason.FirstStart {
		passed := p.now().Add(pace.PermitsEnd) // what an earlier pacer granted has passed by then
		p.st.Schedule.NotBefore, p.st.Applications.NotBefore = passed, passed
	}
	p.mirror()
}

// mirror keeps the orders where the next pacer finds them, whatever happens to this one.
func (p *pacer) mirror() {
	if err := workflow.UpsertMemo(p.ctx, map[string]any{MemoOrders: p.st.Orders}); err != nil {
		p.log.Error("could not mirror the orders in the memo", "error", err)
	}
}

// look judges the fleet when it changed or a failover waits for an answer, and sends the pace to every
// open failover.
func (p *pacer) look() error {
	if !p.lookIsDue() {
		return nil
	}
	waived := p.st.Waived
	p.st.Changed, p.st.Waived = false, false // what changes from here on needs another look
	r, err := p.judge()
	if err != nil {
		return err
	}
	if r.Config.UnlimitedChunk > 0 {
		p.st.Config, p.st.Audited, p.st.Runbook, p.st.InForce = r.Config, r.Audit, r.Runbook, r.InForce
	}
	next := p.ordered(r.Pace)
	changed := next.Tier != p.st.Pace.Tier || next.Rate != p.st.Pace.Rate || next.Reason != p.st.Pace.Reason ||
		next.Total != p.st.Pace.Total || !slices.Equal(next.Faulty, p.st.Pace.Faulty)
	p.trail.pace(p.st.Pace, next)
	p.st.Pace, p.st.Assessed = next, p.now()
	held := p.st.Suspicions.Holding()
	if p.st.Unknown != "" { // what was not counted is not lower
		r.Suspected = p.st.Suspicions.Shares()
	}
	p.st.Suspicions = p.st.Suspicions.Next(r.Suspected, p.now(), p.st.Config.BreakerWindow)
	p.broadcast(changed, waived || !slices.EqualFunc(held, p.st.Suspicions.Holding(), pace.Suspicion.Same))
	if changed {
		_ = workflow.UpsertTypedSearchAttributes(p.ctx, workflows.SearchPhase.ValueSet(string(next.Tier)), workflows.SearchReason.ValueSet(string(next.Reason)))
	}
	return nil
}

// judge has the health of the fleet judged, and the pace that follows. A rate that an operator
// set meanwhile takes effect at once: the judgement is made again for it.
func (p *pacer) judge() (activities.FleetResult, error) {
	for {
		rate := p.st.Orders.Rate
		waits := p.applicationsWait() || len(p.st.Suspicions) > 0 // one ends only by a count
		p.counted = waits && !p.now().Before(p.st.Recount)
		ctx := workflow.WithScheduleToCloseTimeout(flow.Doing(p.ctx, "judge the health of the fleet"), judgeWithin)
		r, err := flow.Run[activities.FleetResult](ctx, activities.NameAssessFleet, activities.FleetRequest{Rate: rate, Applications: p.counted})
		if err != nil {
			if p.ctx.Err() != nil {
				return r, p.ctx.Err()
			}
			r.Pace = pace.Pace{Tier: pace.TierHalted, Reason: reason.FleetUnknown}
			r.Uncounted = reason.Summary(err.Error())
		}
		p.uncounted(r, waits)
		if rate == p.st.Orders.Rate {
			return r, nil
		}
	}
}

// uncounted notes what could not be counted. Where applications could not, the clusters' next judgements do not wait for
// another attempt.
func (p *pacer) uncounted(r activities.FleetResult, waits bool) {
	switch {
	case r.Uncounted != "":
		p.st.Unknown, p.st.Recount = r.Uncounted, p.now().Add(lookAgain)
		p.log.Error("could not count the fleet, or its Unhealthy applications", "reason", r.Pace.Reason, "error", r.Uncounted)
	case p.counted || !waits:
		p.st.Unknown, p.st.Recount = "", time.Time{}
	}
}

// lookIsDue: a grant is only ever issued under a fresh judgement; a change of the fleet and
// an order show at once, whether or not a failover waits for permits.
func (p *pacer) lookIsDue() bool {
	if p.st.Assessed.IsZero() || p.st.Changed || unshown(&p.st) {
		return true
	}
	granting := slices.ContainsFunc(p.lanes(), func(l lane) bool { return l.wants() && !p.now().Before(l.grantAt()) })
	return granting && !p.fresh() || !p.now().Before(p.st.Assessed.Add(p.lasts()))
}

// lasts is for how long a judgement holds while the controller reports no change.
func (p *pacer) lasts() time.Duration {
	switch {
	case p.st.Unknown != "":
		return lookAgain
	case p.wanted() || len(p.st.Suspicions.Holding()) > 0 && p.applicationsWait():
		return reassess
	case len(p.st.Requests) > 0, len(p.st.Suspicions) > 0:
		return followed
	default:
		return unasked
	}
}

// unshown reports whether an order came that the published pace does not show yet.
func unshown(st *workflows.PacerState) bool {
	halted := st.Orders.Halted != nil
	shown := st.Pace.Reason == reason.HaltedByOperator || st.Pace.Reason == reason.StateLost
	if st.Orders.Rate == nil && st.Pace.Reason == reason.RateSetByOperator {
		return true
	}
	if !halted && shown {
		return st.Config.With(st.Orders.Rate).Flows() // else the configuration halts
	}
	return halted != shown || (st.Orders.Rate != nil && !halted && st.Pace.Tier == pace.TierNormal && st.Pace.Rate != *st.Orders.Rate)
}

// ordered lays the operators' orders over the fleet's pace: a halt always wins.
func (p *pacer) ordered(rate pace.Pace) pace.Pace {
	switch {
	case p.st.Orders.Halted != nil:
		rate.Tier, rate.Rate, rate.Unlimited, rate.Reason = pace.TierHalted, 0, false, p.st.Orders.HaltReason
	case p.st.Orders.Rate != nil && rate.Tier == pace.TierNormal:
		rate.Reason = reason.RateSetByOperator
	}
	return rate
}

func (p *pacer) halted() bool { return p.st.Pace.Tier == pace.TierHalted }

// applicationsWait reports whether an application failover waits for a permit.
func (p *pacer) applicationsWait() bool {
	for _, from := range workflow.DeterministicKeys(p.st.Requests) {
		if r := p.st.Requests[from]; r.Application != nil && r.Want > 0 {
			return true
		}
	}
	return false
}

// broadcast sends the pace to every open failover of a cluster where it has changed, and to every application
// failover where what is suspected has; or only to those that have never received it: halts freeze toleration clocks.
func (p *pacer) broadcast(pace, suspected bool) {
	news := slices.DeleteFunc(workflow.DeterministicKeys(p.st.Requests), func(from string) bool {
		r := p.st.Requests[from]
		changed := pace && r.Application == nil || suspected && r.Application != nil
		return !changed && (r.Told || r.Application != nil && p.holds(r) == nil)
	})
	for froms := range slices.Chunk(news, flow.SignalsAtOnce) {
		p.tell(froms)
	}
}

// tell sends the pace to those of some failovers that are still open.
func (p *pacer) tell(froms []string) {
	to, sent := map[string]workflows.Request{}, map[string]workflow.Future{}
	for _, from := range froms {
		if r, open := p.st.Requests[from]; open {
			to[from], sent[from] = r, p.send(r, workflows.SignalPaceChanged, workflows.PaceChanged{Pace: p.st.Pace, Suspected: p.holds(r)})
		}
	}
	for _, from := range workflow.DeterministicKeys(sent) {
		if !p.arrived(to[from], workflows.SignalPaceChanged, sent[from]) {
			continue
		}
		if r, open := current(p, to[from]); open {
			r.Told = true
			p.st.Requests[from] = r
		}
	}
}

func (p *pacer) send(r workflows.Request, name string, message any) workflow.Future {
	id := workflows.ClusterFailoverID(p.instance, r.Cluster)
	if r.Application != nil {
		id = workflows.ApplicationFailoverID(p.instance, *r.Application)
	}
	return workflow.SignalExternalWorkflow(p.ctx, id, "", name, message)
}

// arrived waits until a signal has reached a failover; one that does not run any
// more wants nothing.
func (p *pacer) arrived(r workflows.Request, name string, sent workflow.Future) bool {
	err := sent.Get(p.ctx, nil)
	if err != nil {
		p.log.Warn("could not reach a failover", "failover", r.From(), "signal", name, "error", err)
		if _, open := current(p, r); open {
			delete(p.st.Requests, r.From())
		}
	}
	return err == nil
}

// current is a request as it stands by now; not open where it was withdrawn, or where another failover makes it.
func current(p *pacer, r workflows.Request) (now workflows.Request, open bool) {
	now, open = p.st.Requests[r.From()]
	return now, open && now.FailoverID == r.FailoverID
}

// nextGrant is when permits can be granted again to a class: where too many are out, when they have passed.
func (l lane) nextGrant() time.Time {
	at := l.grantAt()
	if at.After(l.now()) || l.schedule.Room(l.pace, l.st.Config, l.now()) > 0 {
		return at
	}
	if out := l.schedule.Out; len(out) > 0 {
		return out[0].Ends()
	}
	return at
}

// nextLook is when to wake up without a signal, and what for.
func (p *pacer) nextLook() (at time.Time, why string) {
	at, why = p.st.Assessed.Add(p.lasts()), "look at the fleet again: "+string(p.st.Pace.Reason)
	last := time.Time{}
	granted := false
	for _, l := range p.lanes() {
		if l.wants() && !p.halted() {
			if next := l.nextGrant(); !granted || next.Before(at) {
				at, why, granted = next, "give the evictions of the next seconds their moments", true
			}
		}
		if out := l.schedule.Out; len(out) > 0 {
			last = pace.Later(last, out[len(out)-1].Ends())
		}
	}
	if !granted && !last.IsZero() {
		at, why = last, "the last permits have passed"
	}
	return at, why
}

// page shows the fleet's pace and the failovers that wait for it.
func (p *pacer) page() {
	v := view.Pacer{
		Now: p.now(), Pace: p.st.Pace, Config: p.st.Config.With(p.st.Orders.Rate), HaltedBy: p.st.Orders.Halted.Line(), RateBy: p.st.Orders.RateBy.Line(),
		Next: p.st.Schedule.Next(p.st.Pace, p.now()), Out: p.st.Schedule.Out,
		Granted: p.st.Granted, Written: p.st.Written, Unused: p.st.Unused, Assessed: p.st.Assessed,
		HaltedAt: p.st.HaltedAt, Unknown: p.st.Unknown, Runbook: p.st.Runbook,
	}
	for _, x := range p.st.Suspicions.Holding() {
		v.Suspected = append(v.Suspected, x.String())
	}
	for _, from := range workflow.DeterministicKeys(p.st.Requests) {
		r := p.st.Requests[from]
		v.Requests = append(v.Requests, view.RequestLine{Cluster: from, Want: r.Want, Priority: r.Priority, Paused: r.Paused})
	}
	workflow.SetCurrentDetails(p.ctx, view.PacerPage(v))
}
