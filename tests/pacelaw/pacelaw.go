// Package pacelaw measures evictions by the law of the pace, for tests on real servers and in virtual time.
package pacelaw

import (
	"fmt"
	"time"
)

const (
	// TakesEffect is within what a changed rate takes full effect: until then the old one may still be in force.
	TakesEffect = 4 * time.Second
	// window is for how long a permit is good: its eviction may be that late.
	window = time.Second
)

// Rate is what was ordered, in evictions per second. It became Then between two moments, by when that was ordered and
// had taken full effect; a Then of 0 is no change.
type Rate struct {
	First, Then      float64
	Ordered, InForce time.Time
}

// integral is over the highest or the lowest rate that may have been in force.
func (r Rate) integral(from, to time.Time, between func(a, b float64) float64) float64 {
	if r.Then == 0 {
		return r.First * to.Sub(from).Seconds()
	}
	clamped := func(at time.Time) time.Time {
		if at.Before(from) {
			return from
		}
		if at.After(to) {
			return to
		}
		return at
	}
	ordered, inForce := clamped(r.Ordered), clamped(r.InForce)
	return r.First*ordered.Sub(from).Seconds() + between(r.First, r.Then)*inForce.Sub(ordered).Seconds() + r.Then*to.Sub(inForce).Seconds()
}

// Broken says where evictions, in their order, break the upper bound; empty when nowhere. Over any time there are at
// most the integral of the rate, one, and one second's worth.
func (r Rate) Broken(evictions []time.Time) string {
	for i, from := range evictions {
		for j := i + 1; j < len(evictions); j++ {
			most := 1 + r.integral(from, evictions[j].Add(window), func(a, b float64) float64 { return max(a, b) })
			if count := j - i + 1; float64(count) > most+1e-6 {
				return fmt.Sprintf("%d evictions from %s to %s, at most %.4g are allowed", count, from, evictions[j], most)
			}
		}
	}
	return ""
}

// Share is which part of what the rate allows was evicted, from the first eviction to the last. 1 is exactly the rate.
func (r Rate) Share(evictions []time.Time) float64 {
	last := len(evictions) - 1
	least := r.integral(evictions[0], evictions[last], func(a, b float64) float64 { return min(a, b) })
	return float64(last) / least
}
