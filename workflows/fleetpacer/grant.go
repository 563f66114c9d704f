package fleetpacer

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// lane is the pace of one class of failovers: of clusters, or of applications. Each has permits of its
// own, so that neither delays the other.
type lane struct {
	*pacer
	applications bool
	schedule     *pace.Schedule
	pace         pace.Pace
	served       *string
}

// lanes are both classes.
func (p *pacer) lanes() []lane {
	return []lane{
		{pacer: p, schedule: &p.st.Schedule, pace: p.st.Pace, served: &p.st.Served},
		{pacer: p, applications: true, schedule: &p.st.Applications, pace: p.st.Pace.ForApplications(p.st.Config), served: &p.st.ServedApplication},
	}
}

// expire counts the permits that have passed.
func (p *pacer) expire() {
	for _, l := range p.lanes() {
		p.st.Unused += int64(l.schedule.Expire(p.now()))
	}
}

// grantAt is when the next permits may be granted to a class.
func (l lane) grantAt() time.Time { return l.schedule.GrantAt(l.pace, l.now()) }

// wants reports whether a failover of a class wants a permit that it may have: none of an application, where the
// Unhealthy ones could not be counted.
func (l lane) wants() bool {
	_, equals := l.choose()
	return equals > 0 && (!l.applications || l.st.Unknown == "")
}

// wanted reports whether a failover wants a permit.
func (p *pacer) wanted() bool { return slices.ContainsFunc(p.lanes(), lane.wants) }

// choose is the request with the most urgent binding of a class, and how many want permits with that
// priority; of equals the one after the one that was served last: names ascend, so that is the first one above it,
// else the first of all.
func (l lane) choose() (best workflows.Request, equals int) {
	for _, from := range workflow.DeterministicKeys(l.st.Requests) {
		r := l.st.Requests[from]
		switch {
		case r.Want <= 0 || (r.Application != nil) != l.applications || l.holds(r) != nil:
		case equals == 0 || r.Priority > best.Priority:
			best, equals = r, 1
		case r.Priority == best.Priority:
			if equals++; best.From() <= *l.served && r.From() > *l.served {
				best = r
			}
		}
	}
	return best, equals
}

// holds is the suspicion that holds an application, nil when none does.
func (p *pacer) holds(r workflows.Request) *pace.Suspicion {
	if r.Application == nil {
		return nil
	}
	return p.st.Suspicions.Holds(pace.ApplicationScopes(r.Policy, r.Cluster))
}

// mayGrant reports whether permits may be granted now to a class, under a judgement that is fresh.
func (l lane) mayGrant() bool {
	return l.wants() && !l.halted() && l.st.Orders.Halted == nil && !l.now().Before(l.grantAt()) && l.fresh()
}

// grant gives the permits of the next seconds to the failovers that request them: the most urgent first,
// equals in equal parts.
func (p *pacer) grant() {
	var sent []grant
	for _, l := range p.lanes() {
		if l.mayGrant() {
			sent = append(sent, l.grant()...)
		}
	}
	for _, g := range slices.Backward(sent) { // of what is taken back, the newest is first
		g.received()
	}
}

func (l lane) grant() (sent []grant) {
	for room := l.schedule.Room(l.pace, l.st.Config, l.now()); room > 0; {
		r, equals := l.choose()
		if equals == 0 {
			break
		}
		size := min(r.Want, (room+equals-1)/equals)
		room -= size
		sent = append(sent, l.grantTo(r, size))
	}
	return sent
}

// grant is one grant on its way.
type grant struct {
	lane
	to      workflows.Request
	permits pace.Permits
	sent    workflow.Future
}

// grantTo sends one grant. A request is good for one: a failover that needs more requests again after
// it, so that a failover that receives no signals any more wastes no more than that.
func (l lane) grantTo(r workflows.Request, size int) grant {
	l.schedule.Number = max(l.st.Schedule.Number, l.st.Applications.Number)
	permits := l.schedule.Grant(l.pace, l.now(), r.Cluster, size)
	*l.served = r.From()
	r.Want, r.Newest, r.Until = 0, l.schedule.Number, permits.Ends()
	l.st.Requests[r.From()] = r
	l.st.Granted += int64(size)
	sent := l.send(r, workflows.SignalGrant, workflows.Grant{Permits: permits, FailoverID: r.FailoverID})
	return grant{lane: l, to: r, permits: permits, sent: sent}
}

// received waits until a grant is received. One that is not was never out.
func (g grant) received() {
	arrived := g.arrived(g.to, workflows.SignalGrant, g.sent)
	if _, open := current(g.pacer, g.to); open && g.to.Application != nil {
		delete(g.st.Requests, g.to.From()) // it requests again when it needs another
	}
	if !arrived {
		g.schedule.TakeBack(g.permits)
		g.st.Granted -= int64(g.permits.Size)
		return
	}
	workflow.GetMetricsHandler(g.ctx).WithTags(map[string]string{"cluster": g.to.Cluster}).Counter("lifeboat_permits_granted").Inc(int64(g.permits.Size))
}

// fresh reports whether the judgement in hand is good for a grant: the controller has reported no change
// since, and it is not older than it may be while a failover waits (R4.5-35).
func (p *pacer) fresh() bool {
	return !p.st.Assessed.IsZero() && !p.st.Changed && p.now().Sub(p.st.Assessed) <= reassess
}

// forgetSilent drops requests that were not repeated: their failover is gone.
func (p *pacer) forgetSilent() {
	for _, cluster := range workflow.DeterministicKeys(p.st.Requests) {
		r := p.st.Requests[cluster]
		if p.now().Sub(r.Heard) > forget*max(r.Every, time.Second) {
			delete(p.st.Requests, cluster)
		}
	}
}

// refuseClaim is the validator of claim: it leaves nothing in history when it says no.
func (p *pacer) refuseClaim(c workflows.Claim) error {
	request, open := p.st.Requests[c.Cluster]
	open = open || c.Application // which has no request open once it has its permit
	switch {
	case c.Cluster == "" || c.Binding == "" || max(len(c.Cluster), len(c.Binding)) > workflows.MaxText:
		return flow.Refused(`fields "cluster" and "binding": both are required`)
	case p.st.Pace.Tier == "":
		return flow.Refused("this pacer has yet to look at the fleet")
	case p.halted() || p.st.Orders.Halted != nil:
		return flow.Refused("halted: " + string(p.st.Pace.Reason))
	case !open:
		// This pacer has just begun, or received nothing for long: whether it is paused is not known.
		return flow.Refused("this pacer has yet to hear from the failover of " + c.Cluster)
	case request.Paused:
		return flow.Refused("the failover of " + c.Cluster + " is paused")
	default:
		return nil
	}
}

// used takes what evictions stand: each is a migration, and its permit is not out any more.
func (p *pacer) used(r workflows.PermitsUsed) {
	if len(r.Used) > workflows.MaxUsed {
		p.log.Warn("ignored a malformed signal", "signal", workflows.SignalPermitsUsed, "evictions", len(r.Used))
		return
	}
	for _, u := range r.Used {
		if u.Number <= 0 || u.Number > max(p.st.Schedule.Number, p.st.Applications.Number) || u.Binding == "" || len(u.Binding) > workflows.MaxText {
			p.log.Warn("ignored a malformed signal", "signal", workflows.SignalPermitsUsed, "number", u.Number)
			continue
		}
		if p.scheduleOf(u.Number).Use(u.Number, p.now()) {
			p.st.Migrations.Add(u.Binding, p.now())
			p.st.Written++
		}
	}
	p.dirty = p.dirty || p.st.Pace.Unlimited // what ended makes room for others
}

// scheduleOf is the schedule in which a permit is out; of one that has passed, that of clusters.
func (p *pacer) scheduleOf(number int64) *pace.Schedule {
	if p.st.Applications.Has(number) {
		return &p.st.Applications
	}
	return &p.st.Schedule
}

// migratedTooOften answers the query of bindings that were moved as often as may be within an hour.
func (p *pacer) migratedTooOften(ask workflows.MigratedTooOften) (map[string]time.Time, error) {
	until, now := map[string]time.Time{}, pace.Later(p.now(), ask.At)
	if p.st.Config.MigrationsPerHour <= 0 {
		return until, nil
	}
	for _, binding := range ask.Bindings {
		if n, at := p.st.Migrations.Since(binding, now); n >= p.st.Config.MigrationsPerHour {
			until[binding] = at
		}
	}
	return until, nil
}
