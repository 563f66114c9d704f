package sim

import (
	"errors"
	"reflect"
	"time"
	"unsafe"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/fleetpacer"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// The states of a workflow id.
const (
	gone     = ""
	starting = "starting"
	running  = "running"
)

var (
	errNotRunning = errors.New("workflow does not run")
	errTerminated = errors.New("terminated")
)

const (
	// tick is the least time that anything takes here.
	tick = time.Millisecond
	// startTick is for how long somebody waits for a run that is being started. The
	// environment starts it beside its loop, and lets short timers win at times.
	startTick = 5 * time.Millisecond
)

// intercept stands between the workflows and the environment: it runs activities
// within virtual time, delivers signals as a server would, and cuts runs.
type intercept struct {
	interceptor.WorkerInterceptorBase
	s *sim
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (i *intercept) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, s: i.s}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	s   *sim
	out interceptor.WorkflowOutboundInterceptor
	run *history
	// over: its workflow has returned; again: it continues as new.
	over, again bool
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (i *inbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	i.out, i.run = out, &history{}
	return i.Next.Init(&outbound{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: out}, s: i.s, run: i.run})
}

// ExecuteWorkflow runs the workflow in a coroutine of its own, so that it can be
// terminated at any point.
func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	if workflow.GetInfo(ctx).WorkflowType.Name == rootName {
		return i.Next.ExecuteWorkflow(ctx, in)
	}
	s := i.s
	s.became(id, running)
	s.kill[id] = s.over
	kind := workflow.GetInfo(ctx).WorkflowType.Name
	s.count["runs of "+kind]++
	defer func() { s.longest[kind] = max(s.longest[kind], i.run.events) }()
	var out any
	var err error
	done := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		out, err = i.Next.ExecuteWorkflow(ctx, in)
		done, i.over, i.again = true, true, workflow.IsContinueAsNewError(err)
	})
	_ = workflow.Await(ctx, func() bool { return done || s.kill[id] })
	if !done {
		s.became(id, gone)
		s.hearOut(ctx, id)
		return nil, errTerminated
	}
	if workflow.IsContinueAsNewError(err) {
		s.count["continued as new: "+kind]++
		s.became(id, starting)
		s.hearOut(ctx, id)
		letGo(i.out)
	} else {
		s.became(id, gone)
		s.hearOut(ctx, id)
	}
	return out, err
}

// hearOut lets updates arrive that were sent to a run before it closed: the environment
// would leave their goroutines behind.
func (s *sim) hearOut(ctx workflow.Context, id string) {
	for n := 0; n < 10 && s.unheard[id] > 0; n++ {
		_ = workflow.Sleep(ctx, tick)
	}
	delete(s.unheard, id)
}

// letGo ends the goroutine that the environment leaves behind with every run that
// continues as new: it waits for a channel that nobody closes.
func letGo(out interceptor.WorkflowOutboundInterceptor) {
	env := reflect.ValueOf(out).Elem().FieldByName("env").Elem().Elem()
	channel := env.FieldByName("doneChannel")
	close(*(*chan struct{})(unsafe.Pointer(channel.UnsafeAddr())))
}

// room is how many callbacks the environment is given room for.
const room = 1 << 14

// widen gives the environment room for more callbacks than its thousand: whoever posts
// one too many from its own loop, as a large fleet that comes back at once does, blocks
// it for ever.
func widen(env *testsuite.TestWorkflowEnvironment) {
	channel := reflect.ValueOf(env).Elem().FieldByName("impl").Elem().FieldByName("callbackChannel")
	wide := reflect.NewAt(channel.Type(), unsafe.Pointer(channel.UnsafeAddr())).Elem()
	wide.Set(reflect.MakeChan(channel.Type(), room))
}

// HandleSignal implements interceptor.WorkflowInboundInterceptor. A server does not let a run
// close past a signal that it has taken: one that comes while its run continues as new is
// for the next run.
func (i *inbound) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	if i.over {
		if i.again {
			i.s.count["signals for the next run"]++
			i.s.mail = append(i.s.mail, letter{
				id: workflow.GetInfo(ctx).WorkflowExecution.ID, signal: in.SignalName,
				arg: converter.NewRawValue(in.Arg.GetPayloads()[0]), missing: func() {},
			})
		}
		return nil
	}
	i.run.add(1)
	return i.Next.HandleSignal(ctx, in)
}

// history is how long a run's would be with a server, which the environment does not count:
// never less, for each answer counts as if a workflow task of its own had seen it.
type history struct{ events int }

const (
	taskEvents = 3 // of a workflow task: scheduled, started, completed
	// suggests is how long a history makes a server suggest a new run.
	suggests = 4096
)

// add counts what comes of one thing: its own events, and the task that sees its end.
func (h *history) add(events int) { h.events += events + taskEvents }

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	s   *sim
	run *history
}

// NewTimerWithOptions counts a timer: started, and fired or cancelled.
func (o *outbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	o.run.add(2)
	return o.Next.NewTimerWithOptions(ctx, d, options)
}

// GetInfo suggests to continue as new where a server would, and wherever the dice say so.
func (o *outbound) GetInfo(ctx workflow.Context) *workflow.Info {
	info := o.Next.GetInfo(ctx)
	if info.WorkflowType.Name != rootName && (o.run.events >= suggests || o.s.dice.chance("cut", info.WorkflowExecution.ID)) {
		field := reflect.ValueOf(info).Elem().FieldByName("continueAsNewSuggested")
		*(*bool)(unsafe.Pointer(field.UnsafeAddr())) = true
	}
	return info
}

// UpsertMemo keeps the orders of the pacer for the one that comes after it.
func (o *outbound) UpsertMemo(ctx workflow.Context, memo map[string]any) error {
	if orders, is := memo[fleetpacer.MemoOrders].(workflows.Orders); is {
		o.s.orders = orders
	}
	return o.Next.UpsertMemo(ctx, memo)
}

// ExecuteActivity runs the activity in virtual time.
func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o.run.add(3) // scheduled, started, completed
	if reported, is := flowtest.Reported(ctx, name, args, o.handOver); is {
		return reported
	}
	if started, is := flowtest.Started(ctx, name, args, o.ExecuteChildWorkflow); is {
		return o.startedAgain(ctx, started, name)
	}
	result, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		out, err := o.s.perform(ctx, name, args)
		settle.Set(out, err)
	})
	return result
}

// ExecuteLocalActivity hands a report over: the event of a marker, and no task.
func (o *outbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o.run.events++
	if reported, is := flowtest.Reported(ctx, name, args, o.handOver); is {
		return reported
	}
	return o.Next.ExecuteLocalActivity(ctx, name, args...)
}

// handOver delivers a report like any message. At times it arrives and its sender does not know that: it is sent again.
func (o *outbound) handOver(ctx workflow.Context, to, run, name string, arg any) workflow.Future {
	again := o.s.dice.chance("answer-lost", activities.NameReportMigration)
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if again {
			o.s.count["report handed over twice"]++
			_ = o.deliver(ctx, to, run, name, arg).Get(ctx, nil)
		}
		settle.Chain(o.deliver(ctx, to, run, name, arg))
	})
	return done
}

// startedAgain loses the answer of starts at times: they are tried again, and the server knows by their request that it has
// started them, also those that have ended by then.
func (o *outbound) startedAgain(ctx workflow.Context, started workflow.Future, name string) workflow.Future {
	if !o.s.dice.chance("answer-lost", name) {
		return started
	}
	o.s.count["started twice"]++
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = started.Get(ctx, nil)
		_ = workflow.Sleep(ctx, time.Second)
		settle.Chain(started)
	})
	return done
}

// ExecuteChildWorkflow notes which ids are taken.
func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, kind string, args ...any) workflow.ChildWorkflowFuture {
	id := workflow.GetChildWorkflowOptions(ctx).WorkflowID
	if o.s.state[id] == gone {
		o.s.became(id, starting)
		o.s.ran[id] = o.s.now()
		o.s.applications.began[id] = workflow.GetInfo(ctx).WorkflowType.Name == workflows.TypeApplicationFailover
	} else {
		o.s.count["child already running"]++
	}
	return o.Next.ExecuteChildWorkflow(ctx, kind, args...)
}

// SignalExternalWorkflow delivers after a while, to the run that runs then: a run
// that is just being started gets it when it listens, as with a server.
func (o *outbound) SignalExternalWorkflow(ctx workflow.Context, id, run, name string, arg any) workflow.Future {
	o.run.add(2) // initiated, done
	return o.deliver(ctx, id, run, name, arg)
}

// deliver sends to the workflow of an id, whichever run of it runs.
func (o *outbound) deliver(ctx workflow.Context, id, run, name string, arg any) workflow.Future {
	sent, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if o.s.dice.chance("slow-signal", name) {
			_ = workflow.Sleep(ctx, o.s.dice.span("slow-signal-for", name, 5*time.Second))
		}
		for o.s.state[id] == starting {
			_ = workflow.Sleep(ctx, startTick)
		}
		if o.s.state[id] == gone {
			settle.Set(nil, errNotRunning)
			return
		}
		o.s.heard(workflow.GetInfo(ctx).WorkflowExecution.ID, arg)
		settle.Set(nil, o.Next.SignalExternalWorkflow(ctx, id, run, name, arg).Get(ctx, nil))
	})
	return sent
}

// heard tells the judge what workflows told each other.
func (s *sim) heard(from string, arg any) {
	m, _ := arg.(workflows.MigrationReports)
	for _, r := range m.Reports {
		if r.TakenBy != "" && r.TakenBy != workflows.ApplicationFailoverID("", r.Key) {
			s.judge.applications.takenOver(r)
		}
		if r.Result == nil {
			continue
		}
		s.count["outcome "+string(r.Result.Outcome)]++
		s.judge.reports(from, r)
		if r.Result.Outcome == phase.OutcomeBlocked {
			s.count["blocked: "+string(r.Result.Reason)]++
		}
	}
}
