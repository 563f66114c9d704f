package ports

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// Clock measures time on this machine.
type Clock struct{}

// Began is when this attempt was handed out, by the Temporal server's clock. It is the worker's
// own time outside of an activity.
func (Clock) Began(ctx context.Context) time.Time {
	if !activity.IsActivity(ctx) {
		return time.Now()
	}
	return activity.GetInfo(ctx).StartedTime
}

// Start begins a measurement. The result never understates: where the wall clock
// says that more time passed than the monotonic one does, it counts, because the
// monotonic clock stands still while a machine is suspended. A wall clock that
// jumps forward only makes a permit pass early.
func (Clock) Start() (since func() time.Duration) {
	begun := time.Now()
	return func() time.Duration { return elapsed(begun, time.Now()) }
}

// elapsed is the longer of the two: Round strips the monotonic reading.
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
