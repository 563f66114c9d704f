package workflows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/registry"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// story runs the real workflows over the real activities against a world in
// virtual time. A host workflow stands in for the controller.
type story struct {
	orders
	t        *testing.T
	env      *testsuite.TestWorkflowEnvironment
	world    *world.World
	settings activities.Settings
	pacer    *fakePacer
	meter    activities.Meter
	prober   activities.Prober // nil: nobody can be probed
	report   workflows.FailoverReport
	looks    []func()                 // at the world, after every change of a binding
	acts     *activities.Activities   // from play on
	slow     map[string]time.Duration // how long an activity takes, by its name
	// host is the workflow that begins what the story is about, with its arguments.
	host any
	args []any
	// tainted is what happens once taints are written, before the answer comes; no list ahead of them succeeds then.
	tainted func()
	// refusal is why the first eviction is refused after a second, empty where it is not.
	refusal reason.Reason

	// application: the story is of the failover of the application shop/app, and not of m1's.
	application bool
	// recall is why what an earlier failover reported cannot be read, nil where it can.
	recall   error
	arrivals rules.Arrivals                      // of an earlier failover of it
	departed *rules.Departure                    // a move that was taken over from that
	params   workflows.ApplicationFailoverParams // that the failover of the application begins with
	// takesOver is when m1's own failover begins in such a story; 0 for none.
	takesOver time.Duration
	ended     workflows.ApplicationReport
	errors    bytes.Buffer                 // of the log
	trail     world.Trail                  // what was recorded
	reports   []activities.MigrationReport // in their order
	published []string                     // phases as search attributes, in their order, of every workflow
	// controller is the controller's Lease; nil: it cannot be read.
	controller activities.ManagerReader
	silent     bool                  // no migration is told of changes
	written    string                // version that an eviction left
	used       []workflows.PermitUse // the evictions that migrations told the pacer of
}

// fakePacer answers activities as the pacer of the same environment would: what that says by
// itself is tested in pacer_test.go, over the real update and query.
type fakePacer struct {
	// refuse makes it answer nothing, tooOften that everybody was moved too often.
	refuse   error
	tooOften bool
	// asked counts the questions about moves, used the evictions that it was told of.
	asked, used int
}

func (p *fakePacer) MayRemove(context.Context, string, string, bool) error { return p.refuse }

func (p *fakePacer) MigratedTooOften(_ context.Context, bindings []string) (map[string]time.Time, error) {
	p.asked++
	until := map[string]time.Time{}
	for _, b := range bindings {
		if p.tooOften {
			until[b] = storyBegins.Add(time.Hour)
		}
	}
	return until, p.refuse
}

func (p *fakePacer) Request(context.Context, activities.PermitRequest) error {
	return errors.New("it takes no signals: the failover requests")
}

func (p *fakePacer) Used(context.Context, int64, string) error {
	p.used++
	return errors.New("it takes no signals: the migration reports")
}

func (p *fakePacer) Remember(context.Context, string) (activities.PacerMemory, error) {
	return activities.PacerMemory{}, nil
}

const (
	taintKey = "failover.example.org/down"
	addAfter = 60 * time.Second
	wellFor  = 30 * time.Second
)

// storyBegins is when every story begins: its moments count from there.
var storyBegins = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func newStory(t *testing.T, metrics ...client.MetricsHandler) *story {
	t.Helper()
	s := &story{t: t, pacer: &fakePacer{}, meter: world.Meter{}, host: host, args: []any{"m1"}}
	var log slog.Handler = slog.NewTextHandler(&s.errors, &slog.HandlerOptions{Level: slog.LevelError})
	if testing.Verbose() {
		log = slog.NewMultiHandler(log, slog.NewTextHandler(os.Stderr, nil))
	}
	s.env = flowtest.Watched(log, metrics...)
	s.env.SetTestTimeout(2 * time.Minute)
	s.intercept()
	s.env.SetDetachedChildWait(false)
	s.env.SetStartTime(storyBegins)
	s.world = world.New(s.env.Now)
	s.settings = activities.Settings{Terms: world.Terms(), Pace: world.Pace()}
	s.settings.Terms.Mode = rules.ModeEnforce
	for i := range 6 {
		s.world.AddCluster(fmt.Sprintf("m%d", i+1))
	}
	s.world.AddRule(notReady())
	return s
}

// bind adds a Duplicated deployment of namespace shop on clusters, which may run on those named.
func (s *story) bind(name string, on []string, may ...string) karmada.BindingKey {
	return s.bindIn("shop", name, on, may...)
}

// bindIn is bind in a namespace.
func (s *story) bindIn(namespace, name string, on []string, may ...string) karmada.BindingKey {
	key := karmada.BindingKey{Namespace: namespace, Name: name}
	b := karmada.Binding{
		Key: key, Replicas: 2, SchedulerName: karmada.DefaultSchedulerName,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name},
		Placement: &karmada.Placement{
			ClusterAffinity:   &karmada.ClusterAffinity{ClusterNames: may},
			SpreadConstraints: []karmada.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: len(on)}},
			ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDuplicated},
		},
	}
	for _, c := range on {
		b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: c, Replicas: 2})
	}
	s.world.AddBinding(b)
	return key
}

// bindAll binds several names alike.
func (s *story) bindAll(names []string, may ...string) {
	for _, name := range names {
		s.bind(name, []string{"m1"}, may...)
	}
}

// task is a binding's task for m1, nil for none.
func (s *story) task(key karmada.BindingKey) *karmada.Task {
	b := s.world.Peek(key)
	task, _ := b.TaskFor("m1")
	return task
}

// withApp is a story of app, which is on m1 and may go to m2.
func withApp(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s := newStory(t)
	return s, s.bind("app", []string{"m1"}, "m1", "m2")
}

// failing is withApp while m1 is not Ready.
func failing(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := withApp(t)
	s.world.SetReady("m1", false)
	return s, key
}

// outage is failing until m1 is back.
func outage(t *testing.T, back time.Duration) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := withApp(t)
	s.outage(back)
	return s, key
}

// outage has m1 not Ready until it is back.
func (s *story) outage(back time.Duration) {
	s.world.SetReady("m1", false)
	s.at(back, func() { s.world.SetReady("m1", true) })
}

// fails has every write of a kind fail.
func (s *story) fails(operation string, err error) {
	s.world.Fail = func(op, _ string) error {
		if op == operation {
			return err
		}
		return nil
	}
}

// failsFirst has the first n writes of a kind fail, and gives their moments.
func (s *story) failsFirst(n int, operation string, err error) *[]time.Time {
	failed := &[]time.Time{}
	s.world.Fail = func(op, _ string) error {
		if op != operation || len(*failed) == n {
			return nil
		}
		*failed = append(*failed, s.env.Now())
		return err
	}
	return failed
}

// blocked is the item of app, which must be blocked for a reason.
func (s *story) blocked(why reason.Reason) queue.Item {
	s.t.Helper()
	item, queued := s.queued()
	require.True(s.t, queued)
	require.Equal(s.t, []any{queue.Blocked, why}, []any{item.State, item.Reason}, item.Message)
	return item
}

// cordon keeps new work away from a cluster.
func (s *story) cordon(cluster, key string) {
	s.world.PutTaint(cluster, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
}

// hard are the taints on m1 that move bindings.
func (s *story) hard() []corev1.Taint {
	hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
	return hard
}

// held gives a binding one hold task for m1, as a migration leaves it that was terminated.
func (s *story) held(key karmada.BindingKey, changes ...func(*karmada.Task)) {
	task := fixtures.Held("m1", 2)
	task.Message, task.ClustersBeforeFailover, task.CreationTimestamp = s.migration(key), []string{"m1"}, nil
	for _, change := range changes {
		change(&task)
	}
	s.world.Change(key, func(b *karmada.Binding) { b.Tasks = []karmada.Task{task} })
}

// whileFalse is a rule that taints a cluster while one of its conditions is False.
func whileFalse(name, condition string, taint karmada.RuleTaint) rules.Rule {
	return rules.Rule{
		Name: name, Taints: []karmada.RuleTaint{taint},
		MatchConditions: []rules.MatchCondition{{ConditionType: condition, Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse}}},
	}
}

// notReady is the rule of every story.
func notReady() rules.Rule {
	return whileFalse("not-ready", "Ready", karmada.RuleTaint{Key: taintKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: addAfter, RemoveOnMismatch: wellFor})
}

// at runs do at a moment of the story.
func (s *story) at(d time.Duration, do func()) { s.env.RegisterDelayedCallback(do, d) }

// order gives an order that must be accepted; the story's end checks that it was.
func (s *story) order(update, why string) {
	s.accept(s.orderAs(update, workflows.Order{Who: "jane", Reason: why}))
}

// orderAs gives an order; its answer comes later.
func (s *story) orderAs(update string, o workflows.Order) *answer {
	id := workflows.ClusterFailoverID("", "m1")
	return s.update(id, update, update+"|"+o.Who+"|"+o.Reason, o)
}

type answer struct {
	value any
	err   error
	done  bool
}

func (a *answer) Accept() {}

func (a *answer) Reject(err error) { a.err, a.done = err, true }

func (a *answer) Complete(v any, err error) { a.value, a.err, a.done = v, err, true }

// orders are what was ordered, with what each order must be answered.
type orders struct{ given []givenOrder }

type givenOrder struct {
	*answer
	refusal string // what its refusal says; empty: it must be accepted
}

// accept is an order that must be accepted; the end checks that it was.
func (o *orders) accept(a *answer) *answer {
	o.given = append(o.given, givenOrder{answer: a})
	return a
}

// refuse is an order that must be refused for a reason; the end checks that it was.
func (o *orders) refuse(why string, a *answer) {
	o.given = append(o.given, givenOrder{answer: a, refusal: why})
}

// answered checks the answer to each order.
func (o *orders) answered(t *testing.T) {
	t.Helper()
	for _, g := range o.given {
		require.True(t, g.done, "no answer: %s", g.refusal)
		if g.refusal == "" {
			require.NoError(t, g.err)
		} else {
			require.ErrorContains(t, g.err, g.refusal, "%v", g.value)
		}
	}
}

// host starts pacer and failover and waits for the failover's end.
func host(ctx workflow.Context, cluster string) (workflows.FailoverReport, error) {
	pacer := begin(ctx, workflows.FleetPacerID(""), workflows.TypeFleetPacer, workflows.FleetPacerParams{})
	if err := pacer.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return workflows.FailoverReport{}, err
	}
	var r workflows.FailoverReport
	err := failover(ctx, cluster).Get(ctx, &r)
	return r, err
}

// begin starts a child that outlives its parent, as the controller starts workflows.
func begin(ctx workflow.Context, id, kind string, args any) workflow.ChildWorkflowFuture {
	c := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON})
	return workflow.ExecuteChildWorkflow(c, kind, args)
}

func failover(ctx workflow.Context, cluster string) workflow.ChildWorkflowFuture {
	return begin(ctx, workflows.ClusterFailoverID("", cluster), workflows.TypeClusterFailover, workflows.ClusterFailoverParams{Cluster: cluster})
}

// lookSoon takes the story's looks, though not under the world's own lock.
func (s *story) lookSoon() {
	if len(s.looks) == 0 {
		return
	}
	s.env.RegisterDelayedCallback(func() {
		for _, look := range s.looks {
			look()
		}
	}, 0)
}

// play runs the story of m1's failover until it has recovered.
func (s *story) play() workflows.FailoverReport {
	s.t.Helper()
	return s.playTo(phase.FailoverRecovered)
}

// playTo runs the story of m1's failover to its end, at which nothing of Lifeboat's is left.
func (s *story) playTo(end phase.Failover) workflows.FailoverReport {
	s.t.Helper()
	s.run()
	require.Equal(s.t, end, s.report.Ended)
	require.Empty(s.t, s.world.Leftovers())
	return s.report
}

// run runs the story to its end.
func (s *story) run() {
	s.t.Helper()
	s.settings.Applications = true
	s.acts = &activities.Activities{
		Reader: s.world, Writer: s.world, Events: s.world, Owners: s.world, Migrations: s.world, Applications: s, Pacer: s.pacer, Prober: s.prober, Manager: s.world, Controller: s.controller,
		Clock: world.Clock{W: s.world}, Meter: s.meter, Log: slog.New(slog.DiscardHandler), Settings: s.settings, Audit: &s.trail,
	}
	s.acts.Register(s.env)
	registry.Register(s.env)
	s.mockActivities()
	s.world.OnLater = func(d time.Duration) { s.env.RegisterDelayedCallback(s.world.Advance, d) }
	s.world.OnCluster = func(f rules.ClusterFact) {
		s.hint(workflows.ClusterFailoverID("", f.Cluster), workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: f})
	}
	s.world.OnBinding = func(f proof.BindingFact, b karmada.Binding) {
		for _, task := range b.Tasks {
			if task.Owned() && !s.silent {
				f.Verdict = proof.JudgeHold(&b, task.FromCluster, s.world.Standing)
				s.hint(task.Owner(), workflows.SignalBindingObserved, f)
			}
		}
		if s.application {
			s.hint(workflows.ApplicationFailoverID("", f.Key), workflows.SignalBindingObserved, f)
		}
		s.lookSoon()
	}
	s.env.RegisterWorkflow(s.host)
	s.env.ExecuteWorkflow(s.host, s.args...)
	require.True(s.t, s.env.IsWorkflowCompleted())
	require.NoError(s.t, s.env.GetWorkflowError())
	if s.application {
		require.NoError(s.t, s.env.GetWorkflowResult(&s.ended))
	} else {
		require.NoError(s.t, s.env.GetWorkflowResult(&s.report))
	}
	require.NotContains(s.t, s.errors.String(), "refused a transition", "that the tables of phases do not have")
	s.answered(s.t)
}

// mockActivities lets some take their time, and end in another way.
func (s *story) mockActivities() {
	acts := s.acts.ByName()
	on := func(name string) *testsuite.MockCallWrapper {
		return s.env.OnActivity(name, mock.Anything, mock.Anything)
	}
	for name, takes := range s.slow {
		on(name).After(takes).Return(acts[name])
	}
	if s.refusal != "" {
		on(activities.NameEvict).After(time.Second).Return(activities.EvictResult{End: activities.EvictRefused, Reason: s.refusal}, nil).Once()
		on(activities.NameEvict).Return(acts[activities.NameEvict])
	}
	if s.tainted != nil {
		write, _ := acts[activities.NameWriteTaints].(func(context.Context, activities.TaintRequest) (activities.TaintResult, error))
		on(activities.NameWriteTaints).Return(func(ctx context.Context, r activities.TaintRequest) (activities.TaintResult, error) {
			out, err := write(ctx, r)
			s.tainted()
			on(activities.NameListTargeting).Return(acts[activities.NameListTargeting])
			return out, err
		})
		on(activities.NameListTargeting).Return(nil, temporal.NewNonRetryableApplicationError("no list", "Test", nil)).Once()
	}
}

// outcomes are the outcomes of the last attempt by binding name.
func outcomes(r workflows.FailoverReport) map[string]phase.Outcome {
	return outcomesOf(r.Attempts[len(r.Attempts)-1].Results)
}

func outcomesOf(results []record.Result) map[string]phase.Outcome {
	out := map[string]phase.Outcome{}
	for _, x := range results {
		out[x.Key.Name] = x.Outcome
	}
	return out
}

// Rules: R4.1-1, R4.1-16, R4.2-5, R4.9-8, R4.9-52.
func TestAFailedClusterIsEvacuatedAndRecovers(t *testing.T) {
	s := newStory(t)
	for i := range 5 {
		s.bind(fmt.Sprintf("app%d", i), []string{"m1"}, "m1", "m2", "m3")
	}
	stays := s.bind("stays", []string{"m1"}, "m1")
	s.outage(5 * time.Minute)
	r := s.play()

	require.Equal(t, map[string]phase.Outcome{
		"app0": "Migrated", "app1": "Migrated", "app2": "Migrated", "app3": "Migrated", "app4": "Migrated", "stays": "Abandoned",
	}, outcomes(r))
	b := s.world.Peek(stays)
	_, at := b.Target("m1")
	require.GreaterOrEqual(t, at, 0, "a binding with nowhere to go is never touched")

	s.evictedApart(5, 2*time.Second) // never above 0.5 a second
	evictions := s.world.Log("evict")
	taints := s.world.Log("taint")
	require.False(t, taints[0].At.Before(r.Began.Add(addAfter)), "never tainted before the window has run out")
	require.False(t, evictions[0].At.Before(taints[0].At), "the evacuation taint stands before the first eviction")
	for _, w := range s.world.Log("release") {
		require.GreaterOrEqual(t, w.At.Sub(evictions[0].At), s.settings.Terms.MinHealthy)
	}
}

// A pacer that finds something of Lifeboat's at its first start has lost its state and
// halts. What this very failover writes must not be what it finds.
func TestNothingIsWrittenBeforeThePacerHasSpoken(t *testing.T) {
	s, _ := withApp(t)
	s.slow = map[string]time.Duration{activities.NameRecallPacer: time.Minute}
	s.maintained(5 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.False(t, s.world.Log("taint")[0].At.Before(storyBegins.Add(time.Minute)))
}

// Rules: R4.1-18.
func TestKarmada3500AMismatchBetweenTwoLooksRestartsTheWindow(t *testing.T) {
	s, _ := outage(t, 3*time.Minute)
	s.at(50*time.Second, func() { s.world.SetReady("m1", true); s.world.SetReady("m1", false) })
	s.play()
	require.False(t, s.world.Log("taint")[0].At.Before(storyBegins.Add(50*time.Second+addAfter)))
}
