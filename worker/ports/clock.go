package ports

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// Clock measures time on this machine.
type Clock struct{ skew *skew }

// NewClock is a clock that learns by how much it differs from the Temporal server's.
func NewClock() Clock { return Clock{new(skew)} }

// ServerNow takes the skew off this machine's time. How long an attempt took to get here nobody
// can tell from a clock that is ahead; but the shortest way of the last minutes took next to none.
func (c Clock) ServerNow(ctx context.Context) (now time.Time, ahead time.Duration) {
	now = time.Now()
	if activity.IsActivity(ctx) {
		ahead = c.skew.of(now.Sub(activity.GetInfo(ctx).StartedTime), now)
	}
	return now.Add(-ahead), ahead
}

// skewFor is for how long an attempt's way here is remembered.
const skewFor = 5 * time.Minute

// skew is the smallest difference between the two clocks of the last five to ten minutes.
type skew struct {
	mu         sync.Mutex
	since      time.Time
	least, was time.Duration
}

func (s *skew) of(lag time.Duration, now time.Time) time.Duration {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.since.IsZero():
		s.since, s.least, s.was = now, lag, lag
	case now.Sub(s.since) > skewFor:
		s.since, s.was, s.least = now, s.least, lag
	default:
		s.least = min(s.least, lag)
	}
	return min(s.least, s.was)
}

// Start begins a measurement. The result never understates: where the wall clock
// says that more time passed than the monotonic one does, it counts, because the
// monotonic clock stands still while a machine is suspended. A wall clock that
// jumps forward only makes a permit pass early.
func (Clock) Start() (since func() time.Duration) {
	begun := time.Now()
	return func() time.Duration { return elapsed(begun, time.Now()) }
}

// elapsed is the longer of the two: Attempt strips the monotonic reading.
func elapsed(begun, now time.Time) time.Duration {
	return max(now.Sub(begun), now.Round(0).Sub(begun.Round(0)))
}

// Wait lets d pass on the monotonic clock.
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
