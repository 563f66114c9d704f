package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Activities run on the coroutine of the workflow that called them: whatever a port
// waits for is a timer of that workflow, so that every call takes virtual time, other
// writers come in between, and one seed always plays the same.

// attempt is one attempt of an activity, found by the ports in its context.
type attempt struct {
	ctx  workflow.Context
	name string
	id   string // of the workflow
	info activity.Info
	// claimed is when it had a permit, or the pacer's word: the activity's own deadline began then.
	claimed time.Time
	// application: it evicts because the application is Unhealthy, and not because its cluster fails.
	application bool
	// until is when its permit passes.
	until time.Time
	// read is when the first cluster was read after the migration's own binding, where that came
	// first, or the last one: what is written follows from that.
	read time.Time
	// own is the migration's own binding as it was read last, and ownRead when that was.
	own     *karmada.Binding
	ownRead time.Time
}

type attemptKey struct{}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// sleep lets virtual time pass for the caller.
func (a *attempt) sleep(d time.Duration) {
	if a != nil && d > 0 {
		_ = workflow.Sleep(a.ctx, d)
	}
}

func (a *attempt) reads(now time.Time) {
	if a != nil && (a.ownRead.IsZero() || a.read.Before(a.ownRead)) {
		a.read = now
	}
}

// workerDied is what ends an attempt whose worker was killed.
type workerDied struct{}

// performed are the activities by name.
type performed map[string]reflect.Value

// RegisterActivity implements worker.ActivityRegistry.
func (p performed) RegisterActivity(any) { panic("an activity without a name") }

// RegisterActivityWithOptions implements worker.ActivityRegistry.
func (p performed) RegisterActivityWithOptions(fn any, o activity.RegisterOptions) {
	p[o.Name] = reflect.ValueOf(fn)
}

// RegisterDynamicActivity implements worker.ActivityRegistry.
func (p performed) RegisterDynamicActivity(any, activity.DynamicRegisterOptions) {
	panic("a dynamic activity")
}

// perform runs an activity to its end, retries included, as a server would.
func (s *sim) perform(ctx workflow.Context, name string, args []any) (any, error) {
	options := workflow.GetActivityOptions(ctx)
	began := workflow.Now(ctx)
	policy := options.RetryPolicy
	if policy == nil {
		policy = &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2}
	}
	wait := policy.InitialInterval
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	s.judge.requests(id, name)
	for n := int32(1); ; n++ {
		tried := workflow.Now(ctx)
		out, err := s.try(ctx, name, args, n)
		if err == nil {
			s.judge.listed(id, name)
			return out, nil
		}
		s.count["activity failed"]++
		next, lost, final := afterwards(err, wait)
		if final {
			return nil, err
		}
		late := options.ScheduleToCloseTimeout > 0 && workflow.Now(ctx).Add(next).Sub(began) > options.ScheduleToCloseTimeout
		if late || (policy.MaximumAttempts > 0 && n >= policy.MaximumAttempts) {
			return nil, err
		}
		_ = workflow.Sleep(ctx, max(next, tick))
		if lost {
			s.judge.listLost(id, name, workflow.Now(ctx).Sub(tried))
		}
		wait = time.Duration(float64(wait) * policy.BackoffCoefficient)
		if policy.MaximumInterval > 0 {
			wait = min(wait, policy.MaximumInterval)
		}
	}
}

// try makes one attempt. An answer that the dice lose is a timeout for the
// workflow, although the activity has done what it did.
func (s *sim) try(ctx workflow.Context, name string, args []any, n int32) (any, error) {
	fn, known := s.activities[name]
	if !known {
		return nil, temporal.NewNonRetryableApplicationError("no activity "+name, "Unknown", nil)
	}
	info := workflow.GetInfo(ctx)
	id := info.WorkflowExecution.ID
	a := &attempt{ctx: ctx, name: name, id: id}
	a.info = activity.Info{Attempt: n, WorkflowExecution: info.WorkflowExecution}
	limit := workflow.GetActivityOptions(ctx).StartToCloseTimeout
	if s.dice.chance("slow-worker", name) {
		_ = workflow.Sleep(ctx, s.dice.span("slow-worker-for", name, 8*time.Second))
	}
	began := workflow.Now(ctx)
	if r, is := args[0].(activities.EvictRequest); is {
		a.application = r.Unhealthy != nil
		if name == activities.NameEvict {
			a.until = r.Permit.Latest
		}
	}
	s.meddle(id, name)
	out, err := s.call(a, fn, args)
	lost := errors.Is(err, errWorkerDied) || s.dice.chance("answer-lost", name)
	if spent := workflow.Now(ctx).Sub(began); lost || spent > limit {
		_ = workflow.Sleep(ctx, max(limit-spent, tick))
		return nil, temporal.NewApplicationError("the worker's answer never came", timedOut)
	}
	if err != nil {
		return nil, err
	}
	s.judge.looked(a)
	return converter.GetDefaultDataConverter().ToPayloads(out)
}

// afterwards is what follows the error of an attempt: in what time the next begins, whether an answer was lost, and
// whether there is no other.
func afterwards(err error, wait time.Duration) (next time.Duration, lost, final bool) {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return wait, false, false
	}
	if app.NextRetryDelay() > 0 {
		wait = app.NextRetryDelay()
	}
	return wait, app.Type() == timedOut, app.NonRetryable()
}

// timedOut is the type of the error for an answer that never came.
const timedOut = "Timeout"

var errWorkerDied = errors.New("the worker died")

// call calls the activity with what its arguments are after a trip through history.
func (s *sim) call(a *attempt, fn reflect.Value, args []any) (out any, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case workerDied:
			err = errWorkerDied
		default:
			panic(p)
		}
	}()
	kind := fn.Type()
	in := []reflect.Value{reflect.ValueOf(context.WithValue(activityContext(), attemptKey{}, a))}
	for n, arg := range args {
		raw, err := json.Marshal(arg)
		if err != nil {
			return nil, fmt.Errorf("argument of %s: %w", a.name, err)
		}
		fresh := reflect.New(kind.In(n + 1))
		if err := json.Unmarshal(raw, fresh.Interface()); err != nil {
			return nil, fmt.Errorf("argument of %s: %w", a.name, err)
		}
		in = append(in, fresh.Elem())
	}
	results := fn.Call(in)
	if failed, is := results[len(results)-1].Interface().(error); is && failed != nil {
		return nil, failed
	}
	if len(results) == 1 {
		return nil, nil
	}
	return results[0].Interface(), nil
}

// activityContext is a context that activities take for their own. It is had once
// from the SDK's own environment; what it says of its caller is the attempt's word.
var activityContext = sync.OnceValue(func() context.Context {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(quiet))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&told{}}})
	var had context.Context
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		had = context.WithoutCancel(ctx)
		return nil
	}, activity.RegisterOptions{Name: "lend"})
	if _, err := env.ExecuteActivity("lend"); err != nil {
		panic(err)
	}
	return bare{had}
})

// bare is a context without the deadline of the one that it was lent from.
type bare struct{ context.Context }

// Deadline implements context.Context.
func (bare) Deadline() (time.Time, bool) { return time.Time{}, false }

// told answers activity.GetInfo from the attempt.
type told struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (*told) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &toldInbound{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type toldInbound struct {
	interceptor.ActivityInboundInterceptorBase
}

// Init implements interceptor.ActivityInboundInterceptor.
func (t *toldInbound) Init(out interceptor.ActivityOutboundInterceptor) error {
	return t.Next.Init(&toldOutbound{interceptor.ActivityOutboundInterceptorBase{Next: out}})
}

type toldOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
}

// GetInfo implements interceptor.ActivityOutboundInterceptor.
func (t *toldOutbound) GetInfo(ctx context.Context) activity.Info {
	if a := attemptOf(ctx); a != nil {
		return a.info
	}
	return t.Next.GetInfo(ctx)
}
