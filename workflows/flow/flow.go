package flow

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// activityTimeout bounds one attempt of an ordinary activity.
const activityTimeout = 30 * time.Second

// Doing are the options of an ordinary activity: it is retried until it answers,
// never hot, and says in the UI what it is about.
func Doing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: activityTimeout,
		Summary:             reason.Summary(summary),
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

// Acting are the options of an act that an order may call off: it is tried a few times.
func Acting(ctx workflow.Context, summary string) workflow.Context {
	retry := *workflow.GetActivityOptions(Doing(ctx, summary)).RetryPolicy
	retry.MaximumAttempts = actTries
	return workflow.WithRetryPolicy(Doing(ctx, summary), retry)
}

// Once are the options of an activity that must not be retried under its permit.
func Once(ctx workflow.Context, summary string, limit time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    limit,
		ScheduleToCloseTimeout: 2 * limit,
		Summary:                reason.Summary(summary),
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}

// Run runs an activity under the options of a context and returns its result.
func Run[R any](ctx workflow.Context, activity string, request any) (R, error) {
	var result R
	err := workflow.ExecuteActivity(ctx, activity, request).Get(ctx, &result)
	return result, err
}

// OnCancel takes a cancellation request as an order. The server ignores a second request in one run.
func OnCancel(ctx workflow.Context, take func(workflows.Order)) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		if ctx.Done().Receive(ctx, nil); ctx.Err() != nil {
			take(workflows.Order{Who: "cancellation request", Reason: "requested in Temporal"})
		}
	})
}

// Beside are acts that wait for the server in coroutines of their own. A run that ends or continues as new waits for them
// first: the server drops what a closed run has sent.
type Beside struct{ running int }

// Go begins one.
func (b *Beside) Go(ctx workflow.Context, act func(workflow.Context)) {
	b.running++
	workflow.Go(ctx, func(ctx workflow.Context) {
		act(ctx)
		b.running--
	})
}

// Idle reports whether none runs.
func (b *Beside) Idle() bool { return b.running == 0 }

// MayEnd reports whether the run may end: every order is answered, and no act runs.
func (b *Beside) MayEnd(ctx workflow.Context) bool {
	return workflow.AllHandlersFinished(ctx) && b.Idle()
}

// SignalsAtOnce is how many signals wait for their answer at a time: the server takes 2,000 at most.
const SignalsAtOnce = 500

// MinTimer is the shortest timer that Temporal keeps.
const MinTimer = time.Second

// AwaitFor waits until cond holds or d has passed; it cancels its timer, which
// AwaitWithTimeout does not. It returns the context's error when that was cancelled.
func AwaitFor(ctx workflow.Context, d time.Duration, summary string, cond func() bool) error {
	if cond() {
		return nil
	}
	tctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(tctx, max(d, MinTimer), workflow.TimerOptions{Summary: reason.Summary(summary)})
	return workflow.Await(ctx, func() bool { return cond() || timer.IsReady() })
}

// Armed is a durable timer that can be cancelled.
type Armed struct {
	At     time.Time
	Cancel workflow.CancelFunc
}

// StartTimer starts a durable timer that calls fire, unless it is cancelled before.
func StartTimer(ctx workflow.Context, at time.Time, summary string, fire func()) Armed {
	tctx, cancel := workflow.WithCancel(ctx)
	d := max(at.Sub(workflow.Now(ctx)), MinTimer)
	timer := workflow.NewTimerWithOptions(tctx, d, workflow.TimerOptions{Summary: reason.Summary(summary)})
	workflow.Go(tctx, func(ctx workflow.Context) {
		if timer.Get(ctx, nil) == nil {
			fire()
		}
	})
	return Armed{At: at, Cancel: cancel}
}

// Alarm is the one timer of a main loop, for the next thing that is due.
type Alarm struct{ Armed }

// Set arms the alarm. It is left alone while the moment stays the same: most turns
// change nothing about it, and a timer begun again would never be shorter than minTimer.
func (a *Alarm) Set(ctx workflow.Context, at time.Time, why string, fired *bool) {
	switch {
	case a.Cancel != nil && a.At.Equal(at):
		return
	case a.Cancel != nil:
		a.Cancel()
	}
	a.Armed = StartTimer(ctx, at, why, func() { a.Cancel, *fired = nil, true })
}

// FullHistory reports whether a run should continue as new.
func FullHistory(ctx workflow.Context, events int) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || (events > 0 && info.GetCurrentHistoryLength() >= events)
}

// Lull finds a workflow task in which a run may continue as new. The server refuses that where events came while the
// task ran; the worker then reads the whole history again, and as long as that takes still more come. A task that brought
// few events is a moment in which little happens, and is not one that was begun again.
type Lull struct{ length, brought int }

// fewEvents are at most as many as a task of a lull brings.
const fewEvents = 12

// LongRun is how many events make the server suggest a new run.
const LongRun = 4000

// See notes where the current task begins. It is called at the beginning of each turn.
func (l *Lull) See(ctx workflow.Context) {
	if length := workflow.GetInfo(ctx).GetCurrentHistoryLength(); length != l.length {
		l.brought, l.length = length-l.length, length
	}
}

// Comes reports whether the current task brought few events, or no lull came until the history was twice as long as it
// should be; events is what FullHistory takes.
func (l *Lull) Comes(ctx workflow.Context, events int) bool {
	l.See(ctx)
	return l.brought <= fewEvents || l.length >= 2*cmp.Or(events, LongRun)
}

// CheckID is nil where a workflow runs under the one id that what it is about has. Under
// another one, given by hand, there would be two of it, and both would write.
func CheckID(ctx workflow.Context, id string) error {
	if is := workflow.GetInfo(ctx).WorkflowExecution.ID; is != id {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
			"started as %.*q, but the one for this has the id %q: nothing is done under another", workflows.MaxID, is, id), "Misnamed", nil)
	}
	return nil
}

const (
	// startTimeout bounds one attempt to start migrations, and startAgain the pause before the next: permits pass meanwhile.
	startTimeout = 10 * time.Second
	startAgain   = 5 * time.Second
	// mostStarts and bytesOfStarts bound one request for starts, well below what the server takes as one payload.
	mostStarts    = 30
	bytesOfStarts = 500_000
)

// Start is a migration to be started.
type Start = activities.MigrationStart[workflows.BindingMigrationParams]

// Starting is one request for starts, which the server has not answered yet.
type Starting struct {
	Starts []Start
	Answer workflow.Future // activities.StartAnswer
}

// StartMigrations has migrations started that outlive this run, in as few requests as may be. It waits for nothing.
func StartMigrations(ctx workflow.Context, starts []Start) (all []Starting) {
	for len(starts) > 0 {
		n, bytes := 1, workflows.SizeOf(starts[0])
		for ; n < min(len(starts), mostStarts); n++ {
			if bytes += workflows.SizeOf(starts[n]); bytes > bytesOfStarts {
				break
			}
		}
		st := starts[0].Params.State
		summary := fmt.Sprintf("start %s off %s", reason.Count(n, "migration"), st.Ref.Cluster)
		doing := workflow.WithStartToCloseTimeout(Doing(ctx, summary), startTimeout)
		retry := *workflow.GetActivityOptions(doing).RetryPolicy
		retry.MaximumInterval = startAgain
		doing = workflow.WithRetryPolicy(doing, retry)
		request := activities.StartRequest[workflows.BindingMigrationParams]{Starts: starts[:n]}
		all = append(all, Starting{request.Starts, workflow.ExecuteActivity(doing, activities.NameStartMigrations, request)})
		starts = starts[n:]
	}
	return all
}

// StartMigration has one migration started, and waits for the answer: nil, [activities.ErrRuns] or why it was not.
func StartMigration(ctx workflow.Context, s Start) error {
	var answer activities.StartAnswer
	if err := StartMigrations(ctx, []Start{s})[0].Answer.Get(ctx, &answer); err != nil {
		return err
	}
	return answer.Of(0)
}
