package failover

import (
	"math"
	"slices"
	"time"
)

// chunkAbove is the rate, per second, above which more than one lease is granted at once.
const chunkAbove = 5

// JudgePace turns fleet health into a pace. Everything faulty is probably our own
// blindness, so it halts before any rate is looked at; a fault rate equal to the
// threshold is still normal; above it a large fleet is slowed, a small one halted;
// a fleet that nobody can count is halted.
func JudgePace(h FleetHealth, c PaceConfig) Pace {
	p := Pace{Tier: TierHalted, FleetHealth: h}
	if h.Total > 0 {
		p.FaultRate = float64(len(h.Faulty)) / float64(h.Total)
	}
	switch {
	case h.Total <= 0:
		p.Reason = ReasonFleetUnknown
	case len(h.Faulty) >= h.Total:
		p.Reason = ReasonAllFaulty
	case !c.Unlimited && !(c.EvictionRate > 0):
		p.Reason = ReasonHaltedByHuman
	case p.FaultRate > c.UnhealthyThreshold:
		p.Reason = ReasonFleetUnhealthy
		if slow := c.slowRate(); h.Total > c.LargeFleet && slow > 0 {
			p.Tier, p.Rate = TierSlow, slow
		}
	default:
		p.Tier, p.Reason, p.Unlimited = TierNormal, ReasonFleetHealthy, c.Unlimited
		if !c.Unlimited {
			p.Rate = c.EvictionRate
		}
	}
	return p
}

// slowRate is never above the normal one: whoever sets a lower rate means it.
func (c PaceConfig) slowRate() float64 {
	if c.Unlimited {
		return c.SecondaryRate
	}
	return min(c.SecondaryRate, c.EvictionRate)
}

// Chunk is how many leases may be granted at once to one that wants some: one up to
// five a second, above that what one second allows.
func Chunk(p Pace, c PaceConfig, want int) int {
	if !p.Flows() || want <= 0 {
		return 0
	}
	size := 1
	switch {
	case p.Unlimited:
		size = max(1, c.UnlimitedChunk)
	case p.Rate > chunkAbove:
		size = int(math.Floor(min(p.Rate, math.MaxInt32)))
	}
	return min(size, want)
}

// NextIssue is when the next chunk may be issued: a chunk of size evictions that
// ended at lastEnd (its last acknowledged write, or its expiry) takes size/rate.
func NextIssue(p Pace, size int, lastEnd time.Time) time.Time {
	if p.Unlimited || size <= 0 || !(p.Rate > 0) {
		return lastEnd
	}
	// Rounded up: a nanosecond early is above the pace.
	wait := math.Ceil(float64(size) / p.Rate * float64(time.Second))
	return lastEnd.Add(time.Duration(min(wait, float64(maxWait))))
}

// maxWait keeps the slowest rate from overflowing; nothing waits for a century.
const maxWait = 100 * 365 * 24 * time.Hour

// Apart is how far apart the evictions of a rate above 0 are, in evictions per second. It is
// bounded: the slowest rates are slower than a duration can say, and must not be none.
func Apart(rate float64) time.Duration {
	return time.Duration(min(float64(time.Second)/rate, float64(maxWait)))
}

// ETA estimates when the last of an episode's evictions is written: those in flight
// first, then the queue by due time, one at a time at the pace. There is no
// estimate while nothing is issued.
func ETA(now time.Time, due []time.Time, inFlight int, p Pace) (time.Time, bool) {
	if !p.Flows() || !p.Unlimited && !(p.Rate > 0) {
		return time.Time{}, false
	}
	at := NextIssue(p, inFlight, now)
	for _, d := range sortedTimes(due) {
		if d.After(at) {
			at = d
		}
		at = NextIssue(p, 1, at)
	}
	return at, true
}

func sortedTimes(times []time.Time) []time.Time {
	return slices.SortedFunc(slices.Values(times), time.Time.Compare)
}
