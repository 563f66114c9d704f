package workflows

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// activityTimeout bounds one attempt of an ordinary activity.
const activityTimeout = 30 * time.Second

// doing are the options of an ordinary activity: it is retried until it answers,
// never hot, and says in the UI what it is about.
func doing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: activityTimeout,
		Summary:             cut(summary),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    time.Minute,
		},
	})
}

// actTries bounds the attempts of an act of a migration before the migration shows why it
// fails, and looks whether it was ordered otherwise meanwhile.
const actTries = 3

// acting are the options of an act that an order may call off: it is tried a few times.
func acting(ctx workflow.Context, summary string) workflow.Context {
	retry := *workflow.GetActivityOptions(doing(ctx, summary)).RetryPolicy
	retry.MaximumAttempts = actTries
	return workflow.WithRetryPolicy(doing(ctx, summary), retry)
}

// once are the options of an activity that must not be retried under its permit.
func once(ctx workflow.Context, summary string, limit time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    limit,
		ScheduleToCloseTimeout: 2 * limit,
		Summary:                cut(summary),
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}

// maxSummary is the server's limit for a summary, in bytes.
const maxSummary = 400

// cut keeps a text within a summary's limit.
func cut(s string) string { return reason.Shortened(s, maxSummary-3) }

// minTimer is the shortest timer that Temporal keeps.
const minTimer = time.Second

// awaitFor waits until cond holds or d has passed; it cancels its timer, which
// AwaitWithTimeout does not. It returns the context's error when that was cancelled.
func awaitFor(ctx workflow.Context, d time.Duration, summary string, cond func() bool) error {
	if cond() {
		return nil
	}
	tctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(tctx, max(d, minTimer), workflow.TimerOptions{Summary: cut(summary)})
	return workflow.Await(ctx, func() bool { return cond() || timer.IsReady() })
}

// armed is a durable timer that can be cancelled.
type armed struct {
	At     time.Time
	Cancel workflow.CancelFunc
}

// startTimer starts a durable timer that calls fire, unless it is cancelled before.
func startTimer(ctx workflow.Context, at time.Time, summary string, fire func()) armed {
	tctx, cancel := workflow.WithCancel(ctx)
	d := max(at.Sub(workflow.Now(ctx)), minTimer)
	timer := workflow.NewTimerWithOptions(tctx, d, workflow.TimerOptions{Summary: cut(summary)})
	workflow.Go(tctx, func(ctx workflow.Context) {
		if timer.Get(ctx, nil) == nil {
			fire()
		}
	})
	return armed{At: at, Cancel: cancel}
}

// alarm is the one timer of a main loop, for the next thing that is due.
type alarm struct{ armed }

// set arms the alarm. It is left alone while the moment stays the same: most turns
// change nothing about it, and a timer begun anew would never be shorter than minTimer.
func (a *alarm) set(ctx workflow.Context, at time.Time, why string, fired *bool) {
	switch {
	case a.Cancel != nil && a.At.Equal(at):
		return
	case a.Cancel != nil:
		a.Cancel()
	}
	a.armed = startTimer(ctx, at, why, func() { a.Cancel, *fired = nil, true })
}

// fullHistory tells that a run should continue as new.
func fullHistory(ctx workflow.Context, events int) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || (events > 0 && info.GetCurrentHistoryLength() >= events)
}

// refuseOrder is the validator of every update that takes an Order.
func refuseOrder(o Order) error {
	if bad := o.Malformed(); bad != "" {
		return temporal.NewApplicationError(bad, "InvalidOrder")
	}
	return nil
}

// receive hands every message of a channel to take, a fresh one each time. It never
// blocks: of a message that is not even of its kind the SDK says nothing, and a
// blocking receive would wait for the next one while every other channel starves.
func receive[T any](s workflow.Selector, c workflow.ReceiveChannel, take func(T)) {
	s.AddReceive(c, func(c workflow.ReceiveChannel, _ bool) {
		var v T
		if c.ReceiveAsync(&v) {
			take(v)
		}
	})
}

// drainChannel takes what is left without waiting.
func drainChannel[T any](c workflow.ReceiveChannel, take func(T)) {
	for {
		var v T
		if !c.ReceiveAsync(&v) {
			return
		}
		take(v)
	}
}

// refused is the answer to an order that cannot be carried out.
func refused(why string) error {
	return temporal.NewApplicationError(why, "Refused")
}

// named is nil where a workflow runs under the one id that what it is about has. Under
// another one, given by hand, there would be two of it, and both would write.
func named(ctx workflow.Context, id string) error {
	if is := workflow.GetInfo(ctx).WorkflowExecution.ID; is != id {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
			"started as %.*q, but the one for this has the id %q: nothing is done under another", maxID, is, id), "Misnamed", nil)
	}
	return nil
}
