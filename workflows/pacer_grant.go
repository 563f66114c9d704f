package workflows

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// settleChunk closes the outstanding chunk once every lease of it was reported or
// it has expired. What was neither returned nor reported counts as spent, and the
// pace runs from the expiry.
func (p *pacer) settleChunk() {
	c := p.st.Chunk
	if c == nil {
		return
	}
	open := c.Size - c.Written - c.Returned
	expired := !p.now().Before(c.Expires)
	if open > 0 && !expired {
		return
	}
	p.st.Written += int64(c.Written)
	switch {
	case open > 0:
		p.st.Spent += int64(open)
		p.st.LastEnd, p.st.LastSize = c.Expires, c.Size
	case c.Written > 0:
		p.st.LastEnd, p.st.LastSize = c.LastAck, c.Size
	}
	p.st.Chunk = nil
}

// nextIssue is the earliest moment for the next chunk.
func (p *pacer) nextIssue() time.Time {
	if p.st.LastEnd.IsZero() {
		return p.now()
	}
	return failover.NextIssue(p.st.Pace, p.st.LastSize, p.st.LastEnd)
}

// issueAt is when the next chunk may be granted. Temporal keeps no timer below a
// second; where the pause between two chunks is no longer than that, the grant goes
// out at once and the claim's answer says how long it may not yet be used.
func (p *pacer) issueAt() time.Time {
	next := p.nextIssue()
	if wait := next.Sub(p.st.LastEnd); wait <= minTimer && 2*wait <= p.st.Config.LeaseDuration {
		return p.st.LastEnd
	}
	return next
}

// wanted tells whether anybody wants a lease.
func (p *pacer) wanted() bool {
	_, ok := p.choose()
	return ok
}

// choose is the cluster with the most urgent binding; ties go round, from the one
// that was served last.
func (p *pacer) choose() (Request, bool) {
	var best Request
	found := false
	for _, cluster := range workflow.DeterministicKeys(p.st.Requests) {
		r := p.st.Requests[cluster]
		if r.Want <= 0 {
			continue
		}
		switch {
		case !found || r.Priority > best.Priority:
			best, found = r, true
		case r.Priority == best.Priority && best.Cluster <= p.st.Served && r.Cluster > p.st.Served:
			best = r
		}
	}
	return best, found
}

// issue grants the next chunk if the pace allows one now.
func (p *pacer) issue() {
	if p.st.Chunk != nil || p.halted() || p.now().Before(p.issueAt()) || !p.fresh() {
		return
	}
	r, ok := p.choose()
	if !ok {
		return
	}
	size := failover.Chunk(p.st.Pace, p.st.Config, r.Want)
	if size <= 0 {
		return
	}
	now := p.now()
	p.st.Number++
	p.st.Served = r.Cluster
	p.st.Granted += int64(size)
	p.st.Chunk = &Chunk{
		Number: p.st.Number, Cluster: r.Cluster, Size: size, Issued: now, NotBefore: p.nextIssue(), Expires: now.Add(p.st.Config.LeaseDuration),
	}
	granted := p.arrived(r.Cluster, SignalGrant, p.send(r.Cluster, SignalGrant, Grant{
		Number: p.st.Number, Size: size, Expires: p.st.Config.LeaseDuration, Episode: r.Episode,
	}))
	if !granted && p.st.Chunk != nil && p.st.Chunk.Claimed == 0 {
		// Nobody heard of it: the lease was never out.
		p.st.Granted -= int64(size)
		p.st.Chunk = nil
		return
	}
	workflow.GetMetricsHandler(p.ctx).WithTags(map[string]string{"cluster": r.Cluster}).Counter("lifeboat_grants").Inc(int64(size))
	r, still := p.st.Requests[r.Cluster]
	if still {
		r.Want = max(0, r.Want-size)
		p.st.Requests[r.Cluster] = r
	}
}

// fresh: the judgement in hand is good for a grant. It may be a second old, so that
// a quick pace does not mean as many looks at the fleet, but it knows of every change.
func (p *pacer) fresh() bool {
	return !p.st.Assessed.IsZero() && !p.st.Changed && p.now().Sub(p.st.Assessed) <= time.Second
}

// forgetSilent drops requests that were not repeated: their episode is gone.
func (p *pacer) forgetSilent() {
	for _, cluster := range workflow.DeterministicKeys(p.st.Requests) {
		r := p.st.Requests[cluster]
		if p.now().Sub(r.Heard) > forget*max(r.Every, time.Second) {
			delete(p.st.Requests, cluster)
		}
	}
}

// refuseClaim is the validator of claim: it leaves nothing in history when it says no.
func (p *pacer) refuseClaim(c Claim) error {
	request, open := p.st.Requests[c.Cluster]
	switch {
	case c.Cluster == "" || c.Binding == "" || max(len(c.Cluster), len(c.Binding)) > maxText:
		return refused(`fields "cluster" and "binding": both are required`)
	case p.st.Pace.Tier == "":
		return refused("this pacer has yet to look at the fleet")
	case p.halted() || p.st.Orders.Halted != nil:
		return refused("halted: " + string(p.st.Pace.Reason))
	case open && request.Paused:
		return refused("the failover of " + c.Cluster + " is paused")
	case c.Number == 0 && !open:
		// This pacer has just begun, or was told nothing for long: whether it is paused is not known.
		return refused("this pacer has yet to hear from the failover of " + c.Cluster)
	case c.Number == 0:
		return nil // a repeated removal: no lease, but halt and pause bind it
	}
	return p.refuseLease(c)
}

// refuseLease says why a numbered lease may not be used now.
func (p *pacer) refuseLease(c Claim) error {
	chunk := p.st.Chunk
	switch {
	case chunk == nil || chunk.Number != c.Number || chunk.Cluster != c.Cluster:
		return refused("this lease is not outstanding")
	case !p.now().Before(chunk.Expires):
		return refused("this lease has expired")
	case chunk.Claimed >= chunk.Size:
		return refused("every lease of this grant was claimed already")
	default:
		return p.refusePingPong(c)
	}
}

// RefusedPingPong is the type of the error that refuses a binding's claim because it
// was moved too often.
const RefusedPingPong = "PingPong"

// refusePingPong keeps a binding from being driven round the fleet. The claim is
// the one place that every move of every cluster passes.
func (p *pacer) refusePingPong(c Claim) error {
	n, until := p.st.Moves.Since(c.Binding, p.now())
	if most := p.st.Config.MovesPerHour; most <= 0 || n < most {
		return nil
	}
	return temporal.NewApplicationError(
		fmt.Sprintf("it was moved %d times within an hour; not again before %s", n, until.Format("15:04:05 MST")), RefusedPingPong)
}

func refused(why string) error {
	return temporal.NewApplicationError(why, "Refused")
}

// claim hands out what is left of a lease. Time between validation and this line
// only makes it less.
func (p *pacer) claim(c Claim) (Claimed, error) {
	p.claims++
	if c.Number == 0 {
		return Claimed{}, nil
	}
	p.st.Chunk.Claimed++
	p.st.Chunk.Claims = append(p.st.Chunk.Claims, c.Binding)
	return Claimed{Remaining: p.st.Chunk.Expires.Sub(p.now()), NotBefore: max(0, p.st.Chunk.NotBefore.Sub(p.now()))}, nil
}

// reported takes the end of leases. Whoever claimed one ends that one; anybody else ends
// no more than nobody claimed. The next chunk would come too early otherwise, beside
// leases that are in use.
func (p *pacer) reported(r LeaseReport) {
	c := p.st.Chunk
	if r.Number <= 0 || r.Written < 0 || r.Returned < 0 || len(r.Binding) > maxText {
		p.log.Warn("ignored a malformed signal", "signal", SignalLeaseReport, "number", r.Number)
		return
	}
	if c == nil || c.Number != r.Number {
		p.reportedLate(r)
		return
	}
	most := max(0, c.Size-c.Claimed-c.Idle)
	at := slices.Index(c.Claims, r.Binding)
	if at >= 0 {
		most = 1
	}
	written := min(most, r.Written)
	ended := min(most, written+min(most, r.Returned))
	c.Written, c.Returned = c.Written+written, c.Returned+ended-written
	if written > 0 {
		c.LastAck = p.now()
	}
	switch {
	case at < 0:
		c.Idle += ended
	case ended > 0:
		c.Claims = slices.Delete(c.Claims, at, at+1)
		if written > 0 {
			p.st.Moves.Add(r.Binding, p.now())
		}
	}
	p.dirty = true
}

// reportedLate takes a report on a lease that has expired. The pace has counted the lease as
// spent; the move counts now, because its eviction was seen to stand.
func (p *pacer) reportedLate(r LeaseReport) {
	if r.Written > 0 && r.Binding != "" && r.Number <= p.st.Number {
		p.st.Moves.Add(r.Binding, p.now())
	}
}
