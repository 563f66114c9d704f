package fleetpacer

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// messages are the signals, updates and queries of the pacer.
func (p *pacer) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{
			{Name: workflows.QueryStatus, Description: "Tier, rate, permits that are out, and who waits", Answer: func() (workflows.PacerStatus, error) {
				return workflows.PacerStatus{PacerState: p.st, Now: workflow.Now(p.ctx)}, nil
			}},
			{Name: workflows.QueryMigratedTooOften, Description: "Which of some bindings were moved as often as may be within an hour", Answer: p.migratedTooOften},
		},
		Updates: []flow.Update{
			{
				Name: workflows.UpdateClaim, Description: "Whether a cluster that the scheduler put back may be removed again", Refuse: p.refuseClaim,
				Answer: func(workflow.Context, workflows.Claim) error { p.claims++; return nil },
			},
			onceRecalled(p, workflows.UpdateHalt, "Stop every eviction of the fleet, within four seconds", flow.RefuseOrder, p.halt),
			onceRecalled(p, workflows.UpdateResume, "End a halt, or go on after the state was lost", p.refuseResume, p.resume),
			onceRecalled(p, workflows.UpdateSetRate, "Replace the configured eviction rate (per second), or end that", p.refuseRate, p.setRate),
		},
		Signals: []flow.Signal{
			flow.OnSignal(workflows.SignalFleetObserved, p.fleetObserved),
			flow.OnSignal(workflows.SignalPermitRequest, p.requested),
			flow.OnSignal(workflows.SignalPermitsUsed, p.used),
		},
	}
}

func (p *pacer) serve() error {
	p.inbox = p.messages()
	return p.inbox.Serve(p.ctx, p.ctx)
}

// onceRecalled is an order that is carried out once those before this pacer are known: it stands beside them.
func onceRecalled[O any](p *pacer, name, description string, refuse func(O) error, take func(O) string) flow.Update {
	return flow.Awaited(name, description, refuse, func(ctx workflow.Context, o O) (string, error) {
		if err := workflow.Await(ctx, func() bool { return !p.recalling }); err != nil {
			return "", err
		}
		if err := refuse(o); err != nil {
			return "", err
		}
		return take(o), nil
	})
}

// fleetObserved looks at the fleet again, and keeps the results of the external probe.
func (p *pacer) fleetObserved(m workflows.FleetObserved) {
	p.st.Changed, p.dirty = true, true
	if m.Probed != nil && !m.Probed.Oversized() {
		p.st.Probed = m.Probed
	}
}

// requested takes what a cluster wants now; a new failover gets the pace.
func (p *pacer) requested(r activities.PermitRequest) {
	old, known := p.st.Requests[r.From()]
	if why := ignored(r, !known && len(p.st.Requests) >= maxRequests); why != "" {
		p.log.Warn(why, "signal", workflows.SignalPermitRequest, "cluster", r.Cluster)
		return
	}
	if !r.Open {
		delete(p.st.Requests, r.From())
		p.dirty = true
		return
	}
	next := workflows.Request{PermitRequest: r, Heard: p.now()}
	if known && old.FailoverID == r.FailoverID {
		follow(&next, old)
	}
	// A new failover gets the pace with the next judgement, which is due now; an application needs one that counts.
	knows := next.Told || r.Application != nil && (p.counted && p.holds(next) == nil || p.now().Before(p.st.Recount))
	p.st.Changed = p.st.Changed || !knows
	p.st.Requests[r.From()] = next
	p.dirty = true
}

// ignored says why a request is left out, empty where it is not.
func ignored(r activities.PermitRequest, full bool) string {
	switch {
	case r.Cluster == "" || r.FailoverID == "" || r.Want < 0 || max(len(r.Cluster), len(r.FailoverID), len(r.Policy), len(r.From())) > workflows.MaxText:
		return "ignored a malformed signal"
	case r.Application != nil && r.Open && full:
		return "left an application out: it requests again"
	}
	return ""
}

// maxRequests bounds the requests of applications: one has about 500 bytes, and the state of a run may have 2 MB.
const maxRequests = 2000

// follow keeps what the request before was granted and told. One that crossed a grant asks for nothing.
func follow(r *workflows.Request, old workflows.Request) {
	r.Newest, r.Until, r.Told = old.Newest, old.Until, old.Told
	if r.Seen < r.Newest && r.Heard.Before(r.Until) {
		r.Want = 0
	}
}

func (p *pacer) halt(o workflows.Order) string {
	p.trail.order(workflows.UpdateHalt, o, "")
	p.st.Orders.Halted, p.st.Orders.HaltReason, p.st.HaltedAt = &o, reason.HaltedByOperator, p.now()
	p.ordersChanged()
	return "halted: no eviction begins any more; permits that are out pass within four seconds"
}

func (p *pacer) resume(o workflows.Order) string {
	p.st.Orders.Halted, p.st.Orders.HaltReason, p.st.HaltedAt = nil, "", time.Time{}
	p.st.Waived = p.st.Waived || len(p.st.Suspicions.Holding()) > 0
	p.st.Suspicions = p.st.Suspicions.Waive()
	p.trail.order(workflows.UpdateResume, o, "")
	p.log.Info("resumed", "who", o.Who, "reason", o.Reason)
	p.ordersChanged()
	return "resumed: the pace is what the fleet's health allows"
}

func (p *pacer) refuseResume(o workflows.Order) error {
	switch {
	case p.recalling: // an order that waits would end a halt that nobody has seen
		return flow.Refused("this pacer has yet to read the orders before it: see lifeboat status, then repeat this")
	case p.st.Orders.Halted != nil, len(p.st.Suspicions.Holding()) > 0:
		return flow.RefuseOrder(o)
	case !p.st.Config.With(p.st.Orders.Rate).Flows():
		return flow.Refused("nobody halted: pace.evictionRate is 0; lifeboat rate fleet sets another")
	}
	return flow.Refused("nobody halted: the tier is " + string(p.st.Pace.Tier) + " (" + string(p.st.Pace.Reason) + ")")
}

func (p *pacer) setRate(r workflows.SetRate) string {
	if r.Configured {
		p.trail.order(workflows.UpdateSetRate, r.Order, "as configured")
		p.st.Orders.Rate, p.st.Orders.RateBy = nil, nil
		p.ordersChanged()
		return "the configured rate counts again, at once"
	}
	p.trail.order(workflows.UpdateSetRate, r.Order, flow.RateOf(r.Rate))
	p.st.Orders.Rate, p.st.Orders.RateBy = &r.Rate, &r.Order
	p.ordersChanged()
	if halt := p.st.Orders.Halted; halt != nil {
		return "the rate is set; nothing moves before a resume: the fleet was halted by " + halt.Who
	}
	switch next := pace.Judge(p.st.Pace.FleetHealth, p.st.Config.With(&r.Rate)); {
	case p.st.Pace.Tier == "":
		return "the rate is set; it takes effect once the fleet is judged"
	case next.Rate < r.Rate:
		return "the rate is set; it counts once the fleet is well enough again: the tier is " + string(next.Tier) + " (" + string(next.Reason) + ")"
	default:
		return "the rate is set; it takes effect at once"
	}
}

func (p *pacer) refuseRate(r workflows.SetRate) error {
	switch {
	case r.Configured && r.Rate != 0:
		return flow.Refused(`field "configured": it is either a rate or the configured one`)
	case r.Configured && !p.recalling && p.st.Orders.Rate == nil:
		return flow.Refused("nobody set a rate: the configured one counts")
	}
	if r.Rate < 0 || r.Rate > workflows.MaxRate {
		return flow.Refused(`field "rate": must be above 0 and at most 1000 evictions per second`)
	}
	if r.Rate == 0 && !r.Configured {
		return flow.Refused(`field "rate": 0 is a pause: lifeboat pause fleet`)
	}
	return flow.RefuseOrder(r.Order)
}

func (p *pacer) ordersChanged() {
	p.mirror()
	p.st.Changed, p.dirty = true, true // no grant under a judgement made before it
}
