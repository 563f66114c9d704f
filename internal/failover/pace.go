package failover

import (
	"slices"
	"time"
)

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
		if slow := c.SlowRate(); h.Total > c.LargeFleet && slow > 0 {
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

// SlowRate is never above the normal one: whoever sets a lower rate means it.
func (c PaceConfig) SlowRate() float64 {
	if c.Unlimited {
		return c.SecondaryRate
	}
	return min(c.SecondaryRate, c.EvictionRate)
}

// paced is when one more eviction may follow one at the given time.
func paced(p Pace, at time.Time) time.Time {
	if p.Unlimited || !(p.Rate > 0) {
		return at
	}
	return at.Add(Apart(p.Rate))
}

// ETA estimates when the last of an episode's evictions is written: those in flight
// first, then the queue by due time, one at a time at the pace. There is no
// estimate while nothing is issued.
func ETA(now time.Time, due []time.Time, inFlight int, p Pace) (time.Time, bool) {
	if !p.Flows() || !p.Unlimited && !(p.Rate > 0) {
		return time.Time{}, false
	}
	at := now
	for range inFlight {
		at = paced(p, at)
	}
	for _, d := range sortedTimes(due) {
		if d.After(at) {
			at = d
		}
		at = paced(p, at)
	}
	return at, true
}

func sortedTimes(times []time.Time) []time.Time {
	return slices.SortedFunc(slices.Values(times), time.Time.Compare)
}
