package fleetpacer

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// expire counts the permits that have passed.
func (p *pacer) expire() {
	p.st.Unused += int64(p.st.Schedule.Expire(p.now()))
}

// grantAt is when the next permits may be granted.
func (p *pacer) grantAt() time.Time { return p.st.Schedule.GrantAt(p.st.Pace, p.now()) }

// wanted reports whether a failover wants a permit.
func (p *pacer) wanted() bool {
	_, equals := p.choose()
	return equals > 0
}

// choose is the cluster with the most urgent binding, and how many want permits with that
// priority; of equals the one after the cluster that was served last.
func (p *pacer) choose() (best workflows.Request, equals int) {
	for _, cluster := range workflow.DeterministicKeys(p.st.Requests) {
		r := p.st.Requests[cluster]
		switch {
		case r.Want <= 0:
		case equals == 0 || r.Priority > best.Priority:
			best, equals = r, 1
		case r.Priority == best.Priority:
			if equals++; best.Cluster <= p.st.Served && r.Cluster > p.st.Served {
				best = r
			}
		}
	}
	return best, equals
}

// mayGrant reports whether permits may be granted now, under a judgement that is fresh.
func (p *pacer) mayGrant() bool {
	return !p.halted() && p.st.Orders.Halted == nil && !p.now().Before(p.grantAt()) && p.fresh()
}

// grant gives the permits of the next seconds to the failovers that request them: the most urgent first,
// equals in equal parts.
func (p *pacer) grant() {
	if !p.mayGrant() {
		return
	}
	for room := p.st.Schedule.Room(p.st.Pace, p.st.Config, p.now()); room > 0 && p.fresh(); {
		r, equals := p.choose()
		if equals == 0 {
			return
		}
		size := min(r.Want, (room+equals-1)/equals)
		room -= size
		p.grantTo(r, size)
	}
}

// grantTo sends one grant. A request is good for one: a failover that needs more requests again after
// it, so that a failover that receives no signals any more wastes no more than that.
func (p *pacer) grantTo(r workflows.Request, size int) {
	last := p.st.Schedule.Last
	permits := p.st.Schedule.Grant(p.st.Pace, p.now(), r.Cluster, size)
	p.st.Served = r.Cluster
	r.Want, r.Newest, r.Until = 0, p.st.Schedule.Number, permits.Ends()
	p.st.Requests[r.Cluster] = r
	p.st.Granted += int64(size)
	err := p.send(r.Cluster, workflows.SignalGrant, workflows.Grant{Permits: permits, FailoverID: r.FailoverID})
	if !p.arrived(r.Cluster, workflows.SignalGrant, err) {
		p.st.Schedule.TakeBack(last) // no failover received it: it was never out
		p.st.Granted -= int64(size)
		return
	}
	workflow.GetMetricsHandler(p.ctx).WithTags(map[string]string{"cluster": r.Cluster}).Counter("lifeboat_permits_granted").Inc(int64(size))
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
		if u.Number <= 0 || u.Number > p.st.Schedule.Number || u.Binding == "" || len(u.Binding) > workflows.MaxText {
			p.log.Warn("ignored a malformed signal", "signal", workflows.SignalPermitsUsed, "number", u.Number)
			continue
		}
		if p.st.Schedule.Use(u.Number, p.now()) {
			p.st.Migrations.Add(u.Binding, p.now())
			p.st.Written++
		}
	}
	p.dirty = p.dirty || p.st.Pace.Unlimited // what ended makes room for others
}

// migratedTooOften answers the query of bindings that were moved as often as may be within an hour.
func (p *pacer) migratedTooOften(ask workflows.MigratedTooOften) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	if p.st.Config.MigrationsPerHour <= 0 {
		return until, nil
	}
	for _, binding := range ask.Bindings {
		if n, at := p.st.Migrations.Since(binding, workflow.Now(p.ctx)); n >= p.st.Config.MigrationsPerHour {
			until[binding] = at
		}
	}
	return until, nil
}
