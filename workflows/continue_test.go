package workflows_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// continueOften makes every run of a failover and of a migration continue as new
// after its n-th question about its own history. The environment has no switch for children.
type continueOften struct {
	interceptor.WorkerInterceptorBase
	after int
	runs  map[string]int
	moved []string // the bindings whose migrations were started, each once, in that order
}

func (c *continueOften) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &continueInbound{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, c: c}
}

type continueInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	c *continueOften
}

func (i *continueInbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&continueOutbound{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: out}, c: i.c})
}

type continueOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	c     *continueOften
	asked int
}

func (o *continueOutbound) GetInfo(ctx workflow.Context) *workflow.Info {
	info := o.Next.GetInfo(ctx)
	if kind := info.WorkflowType.Name; kind == "host" || kind == workflows.TypeFleetPacer {
		return info
	}
	o.asked++
	if o.asked == 1 {
		o.c.runs[info.WorkflowType.Name]++
	}
	if o.asked >= o.c.after {
		field := reflect.ValueOf(info).Elem().FieldByName("continueAsNewSuggested")
		*(*bool)(unsafe.Pointer(field.UnsafeAddr())) = true
	}
	return info
}

// ExecuteActivity notes whose migrations are started.
func (o *continueOutbound) ExecuteActivity(ctx workflow.Context, kind string, args ...any) workflow.Future {
	if r, is := args[0].(activities.StartRequest[workflows.BindingMigrationParams]); is {
		for _, start := range r.Starts {
			if key := start.Params.State.Ref.Key.String(); !slices.Contains(o.c.moved, key) {
				o.c.moved = append(o.c.moved, key)
			}
		}
	}
	return o.Next.ExecuteActivity(ctx, kind, args...)
}

// scenarios are told with and without continuing as new.
var scenarios = map[string]func(*story){
	"evacuated, then recovered": func(s *story) {
		for i := range 4 {
			s.bind(fmt.Sprintf("app%d", i), []string{"m1"}, "m1", "m2", "m3")
		}
		s.bind("stays", []string{"m1"}, "m1")
		s.outage(5 * time.Minute)
	},
	"a blip": func(s *story) {
		s.settings.Terms.ClusterPoll = 5 * time.Second
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.outage(addAfter - 5*time.Second)
	},
	"unplaced, then restored": func(s *story) {
		unplaceable(s)
		s.outage(5 * time.Minute)
	},
	"a lost answer": func(s *story) {
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.world.Lost = func(op, _ string) bool { return op == "evict" }
		s.outage(5 * time.Minute)
	},
	"paused and resumed": func(s *story) {
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.outage(10 * time.Minute)
		s.at(13*time.Second, func() { s.order(workflows.UpdatePause, "look first") })
		s.at(307*time.Second, func() { s.order(workflows.UpdateResume, "looked") })
	},
	"snoozed, paused and prioritised": func(s *story) {
		key := s.in("shop", "app", time.Minute)
		s.in("bank", "first", time.Minute)
		s.in("bank", "last", time.Minute)
		s.outage(20 * time.Minute)
		s.at(13*time.Second, func() { s.ordered(workflows.UpdateSnooze, snooze(queue.Scope{Namespace: "shop"}, "5m")) })
		s.at(17*time.Second, func() { s.ordered(workflows.UpdatePause, by(queue.Scope{Namespace: "bank"})) })
		s.at(19*time.Second, func() { s.ordered(workflows.UpdatePrioritise, priority(queue.Scope{Namespace: "bank"}, -5)) })
		s.at(487*time.Second, func() {
			require.Len(s.t, s.world.Log("evict"), 1, "shop after its snooze, and nobody of bank")
			require.GreaterOrEqual(s.t, s.movedAt()[key.String()], 5*time.Minute+13*time.Second)
			s.ordered(workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.Scope{Namespace: "bank"})})
		})
	},
	"asked and approved": func(s *story) {
		s.settings.Approval = queue.ApprovalRules{Namespaces: []string{"shop"}}
		yes := s.in("shop", "app", time.Minute)
		s.in("shop", "no", time.Minute)
		s.in("bank", "free", time.Minute)
		s.outage(10 * time.Minute)
		s.at(187*time.Second, func() { s.ordered(workflows.UpdateApprove, by(queue.ScopeOf(yes))) })
	},
	"cancelled": func(s *story) {
		s.bind("tolerates", []string{"m1"}, "m1")
		unplaceable(s)
		s.outage(6 * time.Minute)
		// Beside the polls: the environment loses an update to a run that just closes.
		s.at(187*time.Second, func() { s.order(workflows.UpdateCancel, "it was us") })
	},
	"failed again while settling": func(s *story) {
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.world.HealthyAfter = 8 * time.Minute
		s.world.SetReady("m1", false)
		s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
		s.at(5*time.Minute, func() { s.world.SetReady("m1", false) })
		s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	},
	"the cluster deleted": func(s *story) {
		unplaceable(s)
		s.world.SetReady("m1", false)
		s.at(3*time.Minute, func() { s.world.DeleteCluster("m1") })
	},
	"cordoned": func(s *story) {
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.onlyCordonRule(2*time.Minute, time.Minute)
		s.outage(10 * time.Minute)
	},
	"cordoned beyond the recovery": func(s *story) {
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.cordonRule(10*time.Second, 10*time.Minute)
		s.outage(5 * time.Minute)
	},
	"observed": func(s *story) {
		s.settings.Terms.Mode = rules.ModeObserve
		s.bind("app", []string{"m1"}, "m1", "m2")
		s.outage(5 * time.Minute)
	},
}

// told is what must not depend on where a run was cut.
type told struct {
	Ended    phase.Failover
	Outcomes []map[string]phase.Outcome
	Writes   []string
	Leftover []string
}

// followChildren has the world know which workflows run.
func (s *story) followChildren() {
	s.env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		s.world.SetRunning(info.WorkflowExecution.ID, true)
	})
	s.env.SetOnChildWorkflowCompletedListener(func(info *workflow.Info, _ converter.EncodedValue, err error) {
		var p *temporal.PanicError
		if errors.As(err, &p) {
			s.t.Log("child panicked", info.WorkflowType.Name, p.StackTrace())
		}
		s.world.SetRunning(info.WorkflowExecution.ID, false)
	})
}

func tell(t *testing.T, tale func(*story), c *continueOften) told {
	t.Helper()
	s := newStory(t)
	if c != nil {
		s.intercept(c)
	}
	s.followChildren()
	tale(s)
	s.run()
	r := s.report
	out := told{Ended: r.Ended, Leftover: s.world.Leftovers()}
	for _, attempt := range r.Attempts {
		of := outcomesOf(attempt.Results)
		require.Len(t, of, len(attempt.Results), "one outcome per binding and attempt")
		out.Outcomes = append(out.Outcomes, of)
	}
	for _, w := range s.world.Log("") {
		out.Writes = append(out.Writes, w.Op+" "+w.Cluster+" "+w.Binding+" "+w.Detail)
	}
	return out
}

// Rules: R4.4-14, R4.9-52.
func TestContinuingAsNewAnywhereChangesNoOutcomeAndNoWrite(t *testing.T) {
	for name, tale := range scenarios {
		t.Run(name, func(t *testing.T) {
			want := tell(t, tale, nil)
			for _, after := range []int{2, 3, 5, 7, 11} {
				t.Run(fmt.Sprint(after), func(t *testing.T) {
					c := &continueOften{after: after, runs: map[string]int{}}
					got := tell(t, tale, c)
					require.Greater(t, c.runs[workflows.TypeClusterFailover], 1, "the failover must have continued at least once")
					require.ElementsMatch(t, want.Writes, got.Writes)
					require.Equal(t, want.Outcomes, got.Outcomes)
					require.Equal(t, want.Ended, got.Ended)
					require.Equal(t, want.Leftover, got.Leftover)
				})
			}
		})
	}
}
