package activities_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	corev1 "k8s.io/api/core/v1"
)

const downKey = "failover.example.org/down"

// bench runs single activities over a world in memory, on a clock that tests move.
type bench struct {
	t     *testing.T
	world *world.World
	now   time.Time
	acts  *activities.Activities
	env   *testsuite.TestActivityEnvironment
	// early is how long the permit of an eviction may not be used yet, skew by how much this
	// worker's clock is ahead of the server's.
	early, skew time.Duration
	// mayRemove is the pacer's answer about a repeated removal; nil is yes.
	mayRemove func() error
	removals  int // questions about them
	moved     map[string]time.Time
	unmoved   error // of the pacer, to questions about moves
	used      []use
	deaf      error // of the pacer, to reports
	memory    activities.PacerMemory
	lost      error
	optedOut  string
	requests  []activities.PermitRequest
	purge     karmada.PurgeMode
}

func (b *bench) MayRemove(context.Context, string, string, bool) error {
	b.removals++
	if b.mayRemove == nil {
		return nil
	}
	return b.mayRemove()
}

func (b *bench) Request(_ context.Context, r activities.PermitRequest) error {
	b.requests = append(b.requests, r)
	return b.deaf
}

func (b *bench) Used(_ context.Context, permit int64, binding string) error {
	b.used = append(b.used, use{permit, binding})
	return b.deaf
}

func (b *bench) MigratedTooOften(context.Context, []string) (map[string]time.Time, error) {
	return b.moved, b.unmoved
}

func (b *bench) Remember(context.Context, string) (activities.PacerMemory, error) {
	return b.memory, b.lost
}

// use is an eviction that the pacer was told of.
type use struct {
	permit  int64
	binding string
}

// around is the world, with what surrounds bindings said by the bench.
type around struct {
	*world.World
	b *bench
}

func (a around) OptedOut(context.Context, *karmada.Binding) (string, error) {
	return a.b.optedOut, nil
}

func (a around) PolicyAnnotation(ctx context.Context, b *karmada.Binding, name string) (string, error) {
	if name == karmada.AnnotationPurgeMode {
		return string(a.b.purge), nil
	}
	return a.World.PolicyAnnotation(ctx, b, name)
}

// newBench has clusters m1 (failing, tainted by us), m2 and m3, and one binding on m1.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)}
	b.world = world.New(func() time.Time { return b.now })
	for _, name := range []string{"m1", "m2", "m3"} {
		b.world.AddCluster(name)
	}
	rule := downWhile("not-ready", corev1.ConditionFalse)
	rule.Taints[0].AddOnMatch, rule.Taints[0].RemoveOnMismatch = time.Minute, time.Minute
	b.world.AddRule(rule)
	b.bind("app")
	settings := activities.Settings{Terms: world.Terms(), Pace: world.Pace()}
	settings.Terms.Mode = rules.ModeEnforce
	b.acts = &activities.Activities{
		Reader: around{b.world, b}, Writer: b.world, Events: b.world, Owners: b.world, Migrations: b.world, Pacer: b, Manager: b.world,
		Clock: serverClock{world.Clock{W: b.world}, b}, Meter: world.Meter{}, Log: slog.New(slog.DiscardHandler), Settings: settings,
	}
	suite := &testsuite.WorkflowTestSuite{}
	b.env = suite.NewTestActivityEnvironment()
	b.acts.Register(b.env)
	return b
}

// downWhile is a rule that asks for a hard taint while the condition Ready has a status.
func downWhile(name string, status corev1.ConditionStatus) rules.Rule {
	return rules.Rule{
		Name:            name,
		MatchConditions: []rules.MatchCondition{{ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{status}}},
		Taints:          []karmada.RuleTaint{{Key: downKey, Effect: corev1.TaintEffectNoExecute}},
	}
}

func appKey(name string) karmada.BindingKey {
	return karmada.BindingKey{Namespace: "shop", Name: name}
}

func (b *bench) bind(name string, edit ...func(*karmada.Binding)) {
	x := karmada.Binding{
		Key: appKey(name), Replicas: 2, SchedulerName: karmada.DefaultSchedulerName,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name},
		Placement: &karmada.Placement{
			ClusterAffinity:   &karmada.ClusterAffinity{ClusterNames: []string{"m1", "m2"}},
			SpreadConstraints: []karmada.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 1}},
			ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDuplicated},
		},
		Clusters: on("m1"),
	}
	for _, e := range edit {
		e(&x)
	}
	b.world.AddBinding(x)
}

// do runs one activity and returns its typed result.
func do[R any](b *bench, name string, request any) (R, error) {
	b.t.Helper()
	var out R
	value, err := b.env.ExecuteActivity(name, request)
	if err != nil {
		return out, err
	}
	require.NoError(b.t, value.Get(&out))
	return out, nil
}

func must[R any](b *bench, name string, request any) R {
	b.t.Helper()
	out, err := do[R](b, name, request)
	require.NoError(b.t, err)
	return out
}

// The activities of the bench, by what they do.
func (b *bench) taint(r activities.TaintRequest) activities.TaintResult {
	return must[activities.TaintResult](b, activities.NameWriteTaints, r)
}

func (b *bench) assess(r activities.AssessRequest) activities.Assessment {
	return must[activities.Assessment](b, activities.NameAssessCluster, r)
}

func (b *bench) list(r activities.ListRequest) activities.TargetingPage {
	return must[activities.TargetingPage](b, activities.NameListTargeting, r)
}

func (b *bench) listed() activities.TargetingPage {
	return b.list(activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce})
}

func (b *bench) preChecks(r activities.PreCheckRequest) activities.PreCheckResult {
	return must[activities.PreCheckResult](b, activities.NamePreCheck, r)
}

func (b *bench) evicts(r activities.EvictRequest) activities.EvictResult {
	return must[activities.EvictResult](b, activities.NameEvict, r)
}

func (b *bench) look(r activities.MigrationRef) activities.Observation {
	return must[activities.Observation](b, activities.NameObserve, r)
}

func (b *bench) work(r activities.WorkRequest) activities.WorkState {
	return must[activities.WorkState](b, activities.NameObserveWork, r)
}

func (b *bench) release(r activities.ReleaseRequest) activities.ActResult {
	return must[activities.ActResult](b, activities.NameRelease, r)
}

func (b *bench) restore(r activities.RestoreRequest) activities.ActResult {
	return must[activities.ActResult](b, activities.NameRestore, r)
}

func (b *bench) holdAgain(r activities.MigrationRef) activities.ActResult {
	return must[activities.ActResult](b, activities.NameHoldAgain, r)
}

func (b *bench) orphans(cluster string) activities.OrphanPage {
	return must[activities.OrphanPage](b, activities.NameFindOrphans, activities.OrphanRequest{Cluster: cluster})
}

func (b *bench) holdDependents(r activities.DependentsRequest) activities.DependentsResult {
	return must[activities.DependentsResult](b, activities.NameHoldDependents, r)
}

func (b *bench) dropDependents(r activities.DependentsRequest) activities.DependentsResult {
	return must[activities.DependentsResult](b, activities.NameDropDependents, r)
}

func (b *bench) policies(r activities.PoliciesRequest) activities.PoliciesResult {
	return must[activities.PoliciesResult](b, activities.NameAssessPolicies, r)
}

// healthy is the release of a migration whose copies have been healthy for long.
func healthy(ref activities.MigrationRef) activities.ReleaseRequest {
	return activities.ReleaseRequest{MigrationRef: ref, HealthyFor: time.Hour}
}

// does changes the bench as the row of a table says.
func (b *bench) does(changes ...func(*bench)) *bench {
	for _, change := range changes {
		if change != nil {
			change(b)
		}
	}
	return b
}

// asked is a request as the row of a table changes it.
func asked[R any](b *bench, r R, change func(*bench, *R)) R {
	if change != nil {
		change(b, &r)
	}
	return r
}

// app changes the binding of app.
func app(edit func(*karmada.Binding)) func(*bench) {
	return func(b *bench) { b.world.Change(appKey("app"), edit) }
}

// m1Is changes the cluster m1.
func m1Is(edit func(*karmada.Cluster)) func(*bench) {
	return func(b *bench) { b.world.ChangeCluster("m1", edit) }
}

// notReady and recovered change what Karmada says of a cluster.
func notReady(cluster string) func(*bench) {
	return func(b *bench) { b.world.SetReady(cluster, false) }
}

func recovered(b *bench) { b.world.SetReady("m1", true) }

func workerObserves(b *bench) { b.acts.Settings.Terms.Mode = rules.ModeObserve }

// maintained has an operator put a hard taint on m1, which goes on to answer.
func maintained(b *bench) {
	b.world.PutTaint("m1", corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute})
}

func malformed(x *karmada.Binding) { x.Malformed = "spec.placement: a number" }

// on is a placement of two replicas on each cluster.
func on(clusters ...string) (targets []karmada.TargetCluster) {
	for _, name := range clusters {
		targets = append(targets, karmada.TargetCluster{Name: name, Replicas: 2})
	}
	return targets
}

// task is Lifeboat's task for m1.
func task(reason, owner string) []karmada.Task {
	return []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: reason, Message: owner}}
}

// needs are the dependents of a workload, as its annotation lists them.
func needs(list string) map[string]string {
	return map[string]string{karmada.AnnotationDependencies: list}
}

// endOf is how an act ends for a reason: every reason but written is a refusal.
func endOf(r reason.Reason) activities.ActEnd {
	if r == reason.Written {
		return activities.ActDone
	}
	return activities.ActRefused
}

// fail lets m1 fail and has it tainted by us, as a failover would.
func (b *bench) fail() {
	b.t.Helper()
	b.world.SetReady("m1", false)
	require.Len(b.t, b.taint(b.taints()).Added, 2)
}

// taints asks for the taint of the rule and the evacuation taint.
func (b *bench) taints() activities.TaintRequest {
	return activities.TaintRequest{
		AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, Add: b.ripe(), EvacuationTaint: activities.EvacuationTaintPut,
	}
}

// untaint asks for the removal of all of Lifeboat's taints.
var untaint = activities.TaintRequest{AssessRequest: m1, Mode: rules.ModeEnforce, RemoveAll: true}

// failing is a bench whose m1 fails and is tainted.
func failing(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.fail()
	return b
}

func (b *bench) ripe() []rules.RuleObservation {
	return []rules.RuleObservation{{
		Rule: "not-ready", Match: rules.Matches, Taint: karmada.RuleTaint{Key: downKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Minute},
	}}
}

// permit may be used from early on, for four seconds.
func (b *bench) permit() pace.Permit {
	at := b.now.Add(b.early)
	return pace.Permit{Number: 7, Earliest: at, Latest: at.Add(pace.PermitsEnd)}
}

// meanwhile has something happen while an eviction waits for its moment.
func (b *bench) meanwhile(do func(*bench)) {
	b.early = time.Millisecond
	b.world.OnWait = func(time.Duration) { b.does(do) }
}

// serverClock is the bench's, with what the server's clock says.
type serverClock struct {
	world.Clock
	b *bench
}

func (c serverClock) ServerNow(context.Context) (time.Time, time.Duration) { return c.b.now, c.b.skew }

// m1 names the cluster that fails.
var m1 = activities.AssessRequest{Cluster: "m1", UID: "uid-m1"}

func (b *bench) evictRequest() activities.EvictRequest {
	return activities.EvictRequest{MigrationRef: activities.MigrationRef{
		Cluster: "m1", ClusterUID: "uid-m1", Key: appKey("app"), UID: "uid-shop/app", Mode: rules.ModeEnforce, Owner: "owner-1",
	}, Permit: b.permit()}
}

func (b *bench) evict() activities.EvictResult {
	b.t.Helper()
	return b.evicts(b.evictRequest())
}

// ref is the migration after a written eviction.
func (b *bench) ref(out activities.EvictResult) activities.MigrationRef {
	ref := b.evictRequest().MigrationRef
	ref.Baseline, ref.Generation, ref.Written = out.Baseline, out.Generation, b.now
	return ref
}

// evicted is the migration of app, whose eviction was written, after some time.
func (b *bench) evicted(passed ...time.Duration) activities.MigrationRef {
	b.t.Helper()
	ref := b.ref(b.evict())
	for _, d := range passed {
		b.pass(d)
	}
	return ref
}

// pass moves the clock and lets the world follow.
func (b *bench) pass(d time.Duration) {
	b.now = b.now.Add(d)
	b.world.Advance()
}
