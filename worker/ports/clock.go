package ports

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// Clock measures time on this machine.
type Clock struct{ skew *skew }

// NewClock is a clock that estimates its difference from the Temporal server's clock.
func NewClock() Clock { return Clock{new(skew)} }

// ServerNow subtracts the skew from this machine's time. A single attempt cannot separate its
// delivery time from a clock that is ahead, but the fastest delivery of the last minutes took
// almost no time.
func (c Clock) ServerNow(ctx context.Context) (now time.Time, ahead time.Duration) {
	now = time.Now()
	if activity.IsActivity(ctx) {
		ahead = c.skew.of(now.Sub(activity.GetInfo(ctx).StartedTime), now)
	}
	return now.Add(-ahead), ahead
}

// skewWindow is how long the smallest difference is kept.
const skewWindow = 5 * time.Minute

// skew is the smallest difference between the two clocks of the last five to ten minutes.
type skew struct {
	mu              sync.Mutex
	since           time.Time
	least, previous time.Duration // of this window and of the one before
}

func (s *skew) of(lag time.Duration, now time.Time) time.Duration {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.since.IsZero():
		s.since, s.least, s.previous = now, lag, lag
	case now.Sub(s.since) > skewWindow:
		s.since, s.previous, s.least = now, s.least, lag
	default:
		s.least = min(s.least, lag)
	}
	return min(s.least, s.previous)
}

// Start begins a measurement. The result is the longer of wall clock and monotonic clock, because
// the monotonic clock stops while a machine is suspended. A wall clock that jumps forward only
// makes a permit expire early.
func (Clock) Start() (since func() time.Duration) {
	begun := time.Now()
	return func() time.Duration { return elapsed(begun, time.Now()) }
}

// elapsed is the longer of the two. d.Round(0) strips the monotonic reading.
func elapsed(begun, now time.Time) time.Duration {
	return max(now.Sub(begun), now.Round(0).Sub(begun.Round(0)))
}

// Wait waits for d on the monotonic clock.
func (Clock) Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Now is the wall clock.
func (Clock) Now() time.Time { return time.Now() }
