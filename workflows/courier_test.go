package workflows_test

import (
	"reflect"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// beginning reports whether a run of a workflow is being started and does not listen yet. The
// environment has it begin beside its loop, and falls over what arrives before that; a
// server keeps it. Only within the environment's loop.
func beginning(env *testsuite.TestWorkflowEnvironment, id string) bool {
	runs := reflect.ValueOf(env).Elem().FieldByName("impl").Elem().FieldByName("runningWorkflows")
	run := runs.MapIndex(reflect.ValueOf(id))
	return run.IsValid() && run.Elem().FieldByName("env").Elem().FieldByName("signalHandler").IsNil()
}

// post sends something to a workflow once its run listens. From any goroutine.
func (s *story) post(id string, send func() error, done func(error)) {
	s.env.RegisterDelayedCallback(func() {
		if beginning(s.env, id) {
			s.post(id, send, done)
			return
		}
		done(send())
	}, 0)
}

// signal sends a signal to a workflow that must be there.
func (s *story) signal(id, name string, arg any) {
	s.post(id, func() error { return s.env.SignalWorkflowByID(id, name, arg) }, func(err error) {
		require.NoError(s.t, err, "signal %s to %s", name, id)
	})
}

// hint sends a signal to a workflow that may have ended, or never have begun.
func (s *story) hint(id, name string, arg any) {
	s.post(id, func() error { return s.env.SignalWorkflowByID(id, name, arg) }, func(error) {})
}

// update sends an update to a workflow that must be there; its answer comes later.
func (s *story) update(id, name, update string, arg any) *answer {
	a := &answer{}
	s.post(id, func() error { return s.env.UpdateWorkflowByID(id, name, update, a, arg) }, func(err error) {
		require.NoError(s.t, err, "update %s to %s", name, id)
	})
	return a
}

// intercept has workflows intercepted, on top of what every story does.
func (s *story) intercept(with ...interceptor.WorkerInterceptor) {
	s.env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: flowtest.Patience,
		Interceptors:             append([]interceptor.WorkerInterceptor{&courier{s: s}}, with...),
	})
}

// courier keeps what workflows tell each other until whom they tell it listens, and has
// the story take note of the permits that were used.
type courier struct {
	interceptor.WorkerInterceptorBase
	s *story
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (c *courier) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &courierInbound{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, s: c.s}
}

type courierInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	s    *story
	over bool
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor.
func (i *courierInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	defer func() { i.over = true }()
	return i.Next.ExecuteWorkflow(ctx, in)
}

// HandleSignal implements interceptor.WorkflowInboundInterceptor. The environment takes an
// ended run's coroutines down beside its loop: a signal in that moment would find its channel
// half gone.
func (i *courierInbound) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	if i.over {
		return nil
	}
	return i.Next.HandleSignal(ctx, in)
}

func (i *courierInbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&courierOutbound{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: out}, s: i.s})
}

type courierOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	s *story
}

func (o *courierOutbound) UpsertTypedSearchAttributes(ctx workflow.Context, with ...temporal.SearchAttributeUpdate) error {
	if value, is := temporal.NewSearchAttributes(with...).GetKeyword(workflows.SearchPhase); is {
		o.s.published = append(o.s.published, value)
	}
	return o.Next.UpsertTypedSearchAttributes(ctx, with...)
}

func (o *courierOutbound) SignalExternalWorkflow(ctx workflow.Context, id, run, name string, arg any) workflow.Future {
	if m, ok := arg.(workflows.MigrationReports); ok {
		o.s.reports = append(o.s.reports, m.Reports...)
	}
	if report, ok := arg.(workflows.PermitsUsed); ok {
		o.s.used = append(o.s.used, report.Used...)
	}
	if !beginning(o.s.env, id) {
		return o.Next.SignalExternalWorkflow(ctx, id, run, name, arg)
	}
	sent, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for beginning(o.s.env, id) {
			_ = workflow.Sleep(ctx, time.Millisecond)
		}
		settle.Set(nil, o.Next.SignalExternalWorkflow(ctx, id, run, name, arg).Get(ctx, nil))
	})
	return sent
}

// ExecuteLocalActivity is of reports alone.
func (o *courierOutbound) ExecuteLocalActivity(ctx workflow.Context, kind string, args ...any) workflow.Future {
	return o.ExecuteActivity(ctx, kind, args...)
}

// ExecuteActivity lets the time until a permit's moment pass before its activity begins: within
// an activity of this environment no time passes.
func (o *courierOutbound) ExecuteActivity(ctx workflow.Context, kind string, args ...any) workflow.Future {
	if reported, is := flowtest.Reported(ctx, kind, args, o.SignalExternalWorkflow); is {
		return reported
	}
	if started, is := flowtest.Started(ctx, kind, args, o.Next.ExecuteChildWorkflow); is {
		return started
	}
	var wait time.Duration
	if kind == activities.NameEvict {
		if r, ok := args[0].(activities.EvictRequest); ok {
			wait = r.Permit.Earliest.Sub(workflow.Now(ctx))
		}
	}
	if wait <= 0 {
		return o.Next.ExecuteActivity(ctx, kind, args...)
	}
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, wait)
		settle.Chain(o.Next.ExecuteActivity(ctx, kind, args...))
	})
	return done
}

// The environment ends a child that somebody cancels, whatever the child says to it. So
// the stories cancel the context that a workflow was started with, as the server does.
const cancelSignal = "cancelled-by-the-test"

// around runs every workflow of a story within a function.
type around struct {
	interceptor.WorkerInterceptorBase
	run func(ctx workflow.Context, execute func(workflow.Context) (any, error)) (any, error)
}

func (a *around) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &aroundInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, a}
}

type aroundInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	by *around
}

func (i *aroundInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	return i.by.run(ctx, func(ctx workflow.Context) (any, error) { return i.Next.ExecuteWorkflow(ctx, in) })
}

// cancellable lets a story cancel workflows as the UI does.
func (s *story) cancellable() {
	s.intercept(&around{run: func(ctx workflow.Context, execute func(workflow.Context) (any, error)) (any, error) {
		cancelled, cancel := workflow.WithCancel(ctx)
		workflow.Go(ctx, func(ctx workflow.Context) {
			workflow.GetSignalChannel(ctx, cancelSignal).Receive(ctx, nil)
			cancel()
		})
		return execute(cancelled)
	}})
}

func (s *story) cancelInTheUI(id string) {
	s.t.Helper()
	s.signal(id, cancelSignal, nil)
}
