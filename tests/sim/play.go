package sim

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/watch"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/registry"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

const (
	rootName = "root"
	// taintKey is what the rule of every story puts.
	taintKey = "failover.example.org/down"
	addAfter = 60 * time.Second
	wellFor  = 30 * time.Second
	// bound is within what virtual time everything ends once the world is quiet and well.
	bound = 45 * time.Minute
	// patience is for how long the wall clock may see nothing happen.
	patience = 20 * time.Second
)

// begins is when every story begins: its moments count from there.
var begins = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

var quiet = slog.New(slog.DiscardHandler)

// sim is one schedule being played.
type sim struct {
	schedule   Schedule
	env        *testsuite.TestWorkflowEnvironment
	world      *world.World
	dice       *dice
	judge      *judge
	router     *watch.Router
	cache      cache
	workers    *activities.Activities
	activities performed
	memory     activities.PacerMemory
	orders     workflows.Orders // as the pacer mirrors them
	updates    int
	unheard    map[string]int // updates on their way, by workflow id
	longest    map[string]int // history of a run, in events, by workflow type
	count      map[string]int
	// needs are the dependents of bindings.
	needs map[karmada.BindingKey][]karmada.BindingKey

	// state and kill are by workflow id.
	state map[string]string
	kill  map[string]bool
	// ran is since when each cluster's failover runs, and each move by its workflow id.
	ran map[string]time.Time
	// over ends every run as soon as it begins.
	over bool
	// mail waits for the postman.
	mail []letter
	// externally probed: the rule requires the external probe; words are what it says of a cluster
	// where that is not what the world shows.
	externallyProbed bool
	words            map[string]rules.ExternalProbe
	// softens: the rule puts a soft taint first; smudged are soft taints that cannot be read.
	softens bool
	smudged map[string][]corev1.Taint
	// standing are the rules as they stand.
	standing []rules.Rule
	// policed: the ClusterTaintPolicy is there.
	policed bool
	// add and remove are the windows of the rule, and spared whom it does not aim at.
	add, remove time.Duration
	spared      map[string]bool
	// watching is false while the controller is away.
	watching bool
	// leads is since when the controller has had its Lease.
	leads time.Time
	// applications are those that the controller follows, where the schedule has any.
	applications applications
	log          *slog.Logger
}

// Verdict is what became of a schedule.
type Verdict struct {
	// Violations are empty when all is well.
	Violations []string
	// Count is what was exercised, by class.
	Count map[string]int
	// Virtual is how long it took in virtual time.
	Virtual time.Duration
	// Longest is the longest history of a run, in events, by workflow type.
	Longest map[string]int
	// Writes are all writes, in order.
	Writes []world.Write
}

// Play plays a schedule to its end and judges it.
func Play(s Schedule, log *slog.Logger) (v Verdict) {
	m := &sim{
		schedule: s, dice: newDice(s), count: map[string]int{}, state: map[string]string{}, kill: map[string]bool{}, ran: map[string]time.Time{}, watching: true, log: log,
		unheard: map[string]int{}, longest: map[string]int{},
		smudged: map[string][]corev1.Taint{}, spared: map[string]bool{}, add: addAfter, remove: wellFor,
		words: map[string]rules.ExternalProbe{},
		needs: map[karmada.BindingKey][]karmada.BindingKey{}, applications: newApplications(s),
	}
	defer func() {
		if p := recover(); p != nil {
			m.judge.violates("crash: %v\n%s", p, debug.Stack())
		}
		v = m.verdict()
	}()
	m.set()
	m.env.ExecuteWorkflow(rootName)
	if !m.env.IsWorkflowCompleted() {
		m.judge.violates("liveness: the story does not end")
	} else if err := m.env.GetWorkflowError(); err != nil {
		m.judge.violates("the host of the story failed: %v", err)
	}
	return v
}

func (s *sim) verdict() Verdict {
	for fault, n := range s.dice.hits {
		s.count["fault "+fault] += n
	}
	for _, w := range s.world.Log("") {
		s.count["write "+w.Op]++
	}
	return Verdict{Violations: s.judge.violations, Count: s.count, Virtual: s.now().Sub(begins), Longest: s.longest, Writes: s.world.Log("")}
}

func (s *sim) now() time.Time { return s.env.Now() }

// set sets the stage: environment, world, workers and controller.
func (s *sim) set() {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(s.log))
	s.env = suite.NewTestWorkflowEnvironment()
	widen(s.env)
	s.env.SetTestTimeout(patience)
	s.env.SetDetachedChildWait(false)
	s.env.SetStartTime(begins)
	s.env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Minute,
		Interceptors:             []interceptor.WorkerInterceptor{&intercept{s: s}},
	})
	s.env.RegisterWorkflowWithOptions(s.root, workflow.RegisterOptions{Name: rootName})
	registry.Register(s.env)
	s.env.SetOnChildWorkflowCompletedListener(func(info *workflow.Info, _ converter.EncodedValue, err error) {
		if err != nil && !strings.Contains(err.Error(), errTerminated.Error()) {
			s.judge.violates("12: workflow %s failed: %v", info.WorkflowExecution.ID, err)
		}
	})
	s.world = world.New(s.env.Now)
	s.world.Restless = true
	s.world.OnLater = func(d time.Duration) { s.env.RegisterDelayedCallback(s.world.Advance, d) }
	s.judge = newJudge(s)
	s.router = watch.NewRouter(post{s})
	s.cache = cache{s: s, seen: map[karmada.BindingKey]karmada.Binding{}}
	s.router.UseProbe(externalProbe{s}, false)
	if s.applications.followed {
		s.router.FollowApplications()
	}
	s.follow()
	s.populate()
	terms := world.Terms()
	terms.Mode = rules.Mode(s.schedule.Mode)
	if n, is := s.schedule.Asks[askExpires]; is {
		terms.AskFor = time.Duration(n) * time.Second
	}
	terms.Plugins = s.plugins()
	if after := s.schedule.Times["unproven"]; after > 0 {
		terms.GracefulTimeout, terms.ReleaseUnproven = after, true
	}
	pace := world.Pace()
	pace.EvictionRate = s.schedule.Rate
	on, through := clock{world.Clock{W: s.world}, s}, ports{World: s.world, s: s}
	a := &activities.Activities{
		Reader: through, Recent: activities.NewRecent(ports{World: s.world, s: s, atOnce: true}, on), Writer: through, Events: s.world, Owners: through, Migrations: s.world, Pacer: through,
		Controller: world.Controller{W: s.world, Since: func() (time.Time, bool) { return s.leads, s.watching }}, Manager: s.world, Cached: s.cache, Applications: s.applications,
		Clock: on, Meter: meter{s: s}, Log: s.log,
		Settings: activities.Settings{Terms: terms, Pace: pace, RoomUnknownOK: true, RoomForStaticWeights: true, Approval: s.schedule.approvalRules(), Applications: s.applications.followed},
	}
	s.workers, s.activities = a, performed{}
	a.Register(s.activities)
	s.activities[endorser] = reflect.ValueOf(s.endorse)
}

// populate makes the fleet, the rule and the bindings.
func (s *sim) populate() {
	times := s.schedule.Times
	set := func(name string, to *time.Duration) {
		if d, ok := times[name]; ok {
			*to = d
		}
	}
	set("schedule", &s.world.ScheduleAfter)
	set("takes", &s.world.ScheduleTakes)
	set("healthy", &s.world.HealthyAfter)
	set("distribute", &s.world.DistributeAfter)
	set("delete", &s.world.DeleteAfter)
	for i := range s.schedule.Fleet {
		s.world.AddCluster(clusterName(i))
	}
	s.rules(true)
	for _, b := range s.schedule.Bindings {
		s.world.AddBinding(b.object())
		for _, cluster := range b.On {
			if b.Stateful {
				s.collect(nil, Step{Cluster: cluster, Binding: b.Name})
			}
		}
	}
	s.dependents()
}

// rules puts or removes the one rule of every story.
func (s *sim) rules(there bool) {
	s.world.ClearRules()
	var all []rules.Rule
	if there {
		one := rules.Rule{
			Name: "not-ready", RequireExternalProbe: s.externallyProbed,
			MatchConditions: []rules.MatchCondition{{
				ConditionType: karmada.ConditionReady, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
			}},
			Taints:         []karmada.RuleTaint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: s.add, RemoveOnMismatch: s.remove}},
			TargetClusters: s.aims(),
		}
		if s.softens {
			one.Taints = append(one.Taints, karmada.RuleTaint{
				Key: softRuleKey, Effect: karmada.EffectPreferNoExecute, AddOnMatch: s.add / 3, RemoveOnMismatch: s.remove,
			})
		}
		all = append(all, one)
	}
	if s.policed {
		all = append(all, policy())
	}
	for _, r := range all {
		s.world.AddRule(r)
	}
	s.judge.ruled(there)
	s.standing = all // two changes within a tick are told in any order: each tells what stands
	s.later(tick, func() { s.router.RulesChanged(s.standing) })
}

// root hosts everything: it plays the steps, carries the controller's mail, and sees that
// all of it ends.
func (s *sim) root(ctx workflow.Context) error {
	workflow.Go(ctx, s.postman)
	workflow.Go(ctx, s.resync)
	workflow.Go(ctx, s.testify)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			_ = workflow.Sleep(ctx, 30*time.Second)
			s.judge.owe()
			s.judge.overdue()
			s.judge.applications.owe()
			if s.count["step babble"] > 0 {
				s.sane()
			}
		}
	})
	s.router.RulesChanged(nil)
	steps := slices.Clone(s.schedule.Steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return int(a.At - b.At) })
	for _, x := range steps {
		s.sleepUntil(ctx, x.At)
		s.step(ctx, x)
	}
	s.sleepUntil(ctx, s.schedule.Quiet)
	s.settle(ctx)
	for end, idle := s.now().Add(bound), s.now(); s.now().Before(end) && s.now().Sub(idle) < 4*time.Minute; {
		_ = workflow.Sleep(ctx, 10*time.Second)
		if !s.idle() {
			idle = s.now()
		}
	}
	s.judge.end(s.idle(), s.stillRunning())
	s.dropAll(ctx)
	return nil
}

func (s *sim) sleepUntil(ctx workflow.Context, at time.Duration) {
	if d := begins.Add(at).Sub(s.now()); d > 0 {
		_ = workflow.Sleep(ctx, d)
	}
}

// idle: nothing runs but the pacer, and no letter is on its way.
func (s *sim) idle() bool { return len(s.mail) == 0 && len(s.stillRunning()) == 0 }

func (s *sim) stillRunning() []string {
	var out []string
	for id, state := range s.state {
		if state != gone && id != workflows.FleetPacerID("") {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// dropAll terminates whatever still runs, so that nothing of this story is left behind.
func (s *sim) dropAll(ctx workflow.Context) {
	s.over = true
	for range 20 {
		for _, id := range slices.Sorted(maps.Keys(s.state)) {
			s.kill[id] = true
			if s.state[id] == running {
				_ = workflow.SignalExternalWorkflow(ctx, id, "", "wake", nil).Get(ctx, nil)
			}
		}
		_ = workflow.Sleep(ctx, time.Second)
	}
}

func (s *sim) became(id, state string) {
	s.state[id] = state
	s.world.SetRunning(id, state != gone)
}

// later runs something on the main loop, and wakes the root.
func (s *sim) later(d time.Duration, do func()) { s.env.RegisterDelayedCallback(do, max(d, tick)) }

func clusterName(n int) string { return fmt.Sprintf("m%d", n+1) }

// clock is the world's, on which activities may wait.
type clock struct {
	world.Clock
	s *sim
}

// ServerNow implements activities.Monotonic: an attempt may take a while from the server to its
// worker. What is left of its permit counts from its arrival.
func (c clock) ServerNow(ctx context.Context) (now time.Time, skew time.Duration) {
	a := attemptOf(ctx)
	if a == nil {
		return c.s.now(), 0
	}
	if a.name == activities.NameEvict && c.s.dice.chance("slow-claim", a.id) {
		a.sleep(c.s.dice.span("slow-claim-for", a.id, 12*time.Second))
	}
	a.claimed = c.s.now()
	return a.claimed, 0
}

// pauseStep attempts pauses up: those after a lost race are random, and a story is not.
const pauseStep = 200 * time.Millisecond

// Wait implements activities.Monotonic.
func (c clock) Wait(ctx context.Context, d time.Duration) error {
	a := attemptOf(ctx)
	a.sleep((d + pauseStep - 1).Truncate(pauseStep))
	if _, has := ctx.Deadline(); !has && a != nil {
		a.claimed = c.s.now()
	}
	return ctx.Err()
}
