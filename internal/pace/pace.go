package pace

import (
	"math"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Judge turns fleet health into a pace. Everything faulty is probably Lifeboat's own
// blindness, so it halts before any rate is looked at; a fault rate equal to the
// threshold is still normal; above it the rate of a large fleet is reduced, a small one is halted;
// a fleet that cannot be counted is halted.
func Judge(h FleetHealth, c Config) Pace {
	p := Pace{Tier: TierHalted, FleetHealth: h}
	if h.Total > 0 {
		p.FaultRate = float64(len(h.Faulty)) / float64(h.Total)
	}
	switch {
	case h.Total <= 0:
		p.Reason = reason.FleetUnknown
	case len(h.Faulty) >= h.Total:
		p.Reason = reason.AllFaulty
	case !c.Flows():
		p.Reason = reason.HaltedByOperator
	case p.FaultRate > c.UnhealthyThreshold:
		p.Reason = reason.FleetUnhealthy
		if reduced := c.ReducedRate(); h.Total > c.LargeFleet && reduced > 0 {
			p.Tier, p.Rate = TierReduced, reduced
		}
	default:
		p.Tier, p.Reason, p.Unlimited = TierNormal, reason.FleetHealthy, c.Unlimited
		if !c.Unlimited {
			p.Rate = c.EvictionRate
		}
	}
	return p
}

// With are the limits with a rate that an operator ordered, nil for none.
func (c Config) With(ordered *float64) Config {
	if ordered != nil {
		c.EvictionRate, c.Unlimited = *ordered, false
	}
	return c
}

// Flows reports whether anything is evicted at all, however healthy the fleet is.
func (c Config) Flows() bool { return c.Unlimited || c.EvictionRate > 0 }

// ReducedRate is never above the normal one: an operator who sets a lower rate means it.
func (c Config) ReducedRate() float64 {
	if c.Unlimited {
		return c.SecondaryRate
	}
	return min(c.SecondaryRate, c.EvictionRate)
}

// After is when one more eviction may follow one at the given time.
func After(p Pace, at time.Time) time.Time {
	if p.Unlimited || !(p.Rate > 0) {
		return at
	}
	return at.Add(Apart(p.Rate))
}

// Later is the later one of two moments.
func Later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// ETA estimates when the last of a failover's evictions is written: those in flight
// first, then the queue by due time, one at a time at the pace. There is no
// estimate while nothing is issued.
func ETA(now time.Time, due []time.Time, inFlight int, p Pace) (time.Time, bool) {
	if !p.Flows() || !p.Unlimited && !(p.Rate > 0) {
		return time.Time{}, false
	}
	at := now
	for range inFlight {
		at = After(p, at)
	}
	for _, d := range slices.SortedFunc(slices.Values(due), time.Time.Compare) {
		at = After(p, Later(at, d))
	}
	return at, true
}

// AtMost is the pace of what has a rate of its own below the fleet's; 0 is none.
func (p Pace) AtMost(rate float64) Pace {
	if rate > 0 && p.Flows() && (p.Unlimited || p.Rate > rate) {
		p.Rate, p.Unlimited = rate, false
	}
	return p
}

// Config are the limits of one fleet.
type Config struct {
	// EvictionRate is evictions per second; ignored when Unlimited.
	EvictionRate float64 `json:"evictionRate"`
	Unlimited    bool    `json:"unlimited,omitempty"`
	// UnhealthyThreshold is the fault rate (0..1] above which the rate is reduced or 0.
	UnhealthyThreshold float64 `json:"unhealthyThreshold"`
	// SecondaryRate is evictions per second above the threshold, in a fleet of more
	// than LargeFleet clusters; a smaller one halts there.
	SecondaryRate float64 `json:"secondaryEvictionRate"`
	LargeFleet    int     `json:"largeFleetThreshold"`
	// MigrationsPerHour is how often one binding may be moved within an hour; 0 does not count.
	MigrationsPerHour int `json:"migrationsPerHour,omitempty"`
	// ApplicationRate is evictions per second of application failovers, beside EvictionRate; 0 is a
	// quarter of that.
	ApplicationRate float64 `json:"applicationRate,omitempty"`
	// BreakerShare is the share (0..1] of Unhealthy applications above which a release is suspected,
	// and BreakerWindow for how long it has to be below that; a share of 0 suspects none.
	BreakerShare  float64       `json:"breakerShare,omitempty"`
	BreakerWindow time.Duration `json:"breakerWindow,omitempty"`
	// UnlimitedChunk bounds the permits that are out when Unlimited.
	UnlimitedChunk int `json:"unlimitedChunk"`
}

// FleetHealth counts clusters.
type FleetHealth struct {
	Total  int      `json:"total"`
	Faulty []string `json:"faulty,omitempty"` // sorted
}

// Tier is the pace that the fleet's health allows.
type Tier string

// The tiers.
const (
	TierNormal  Tier = "normal"
	TierReduced Tier = "reduced"
	TierHalted  Tier = "halted"
)

// Pace is the pacer's judgement of one moment.
type Pace struct {
	Tier      Tier          `json:"tier"`
	Rate      float64       `json:"rate"` // evictions per second, 0 when halted or unlimited
	Unlimited bool          `json:"unlimited,omitempty"`
	Reason    reason.Reason `json:"reason"`
	FaultRate float64       `json:"faultRate"`
	FleetHealth
}

// Flows reports whether anything is evicted at all: not while halted, and not before
// the first judgement.
func (p Pace) Flows() bool { return p.Tier == TierNormal || p.Tier == TierReduced }

// maxWait keeps the slowest rate from overflowing; nothing waits for a century.
const maxWait = 100 * 365 * 24 * time.Hour

// Apart is how far apart the evictions of a rate above 0 are, in evictions per second. It is
// bounded: the slowest rates are slower than a duration can say, and must not be none. It is
// rounded up: a nanosecond early is above the pace.
func Apart(rate float64) time.Duration {
	return time.Duration(min(math.Ceil(float64(time.Second)/rate), float64(maxWait)))
}
