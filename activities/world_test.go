package activities_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
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
	b.world.AddRule(rules.Rule{
		Name: "not-ready",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: "Ready", Operator: rules.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []karmada.RuleTaint{{Key: downKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: time.Minute, RemoveOnMismatch: time.Minute}},
	})
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
		Clusters: []karmada.TargetCluster{{Name: "m1", Replicas: 2}},
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

// fail lets m1 fail and has it tainted by us, as a failover would.
func (b *bench) fail() {
	b.t.Helper()
	b.world.SetReady("m1", false)
	r := must[activities.TaintResult](b, activities.NameWriteTaints, activities.TaintRequest{
		AssessRequest: m1, FailoverID: "e1", Mode: rules.ModeEnforce, Add: b.ripe(), EvacuationTaint: activities.EvacuationTaintPut,
	})
	require.Len(b.t, r.Ours, 2)
}

func (b *bench) ripe() []rules.RuleObservation {
	return []rules.RuleObservation{{
		Rule: "not-ready", Match: rules.Matches, Taint: karmada.RuleTaint{Key: downKey, Effect: corev1.TaintEffectNoExecute},
	}}
}

// permit may be used from early on, for four seconds.
func (b *bench) permit() pace.Permit {
	at := b.now.Add(b.early)
	return pace.Permit{Number: 7, Earliest: at, Latest: at.Add(pace.PermitsEnd)}
}

// meanwhile has something happen while an eviction waits for its moment.
func (b *bench) meanwhile(do func()) {
	b.early = time.Millisecond
	b.world.OnWait = func(time.Duration) { do() }
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
	return must[activities.EvictResult](b, activities.NameEvict, b.evictRequest())
}

// ref is the migration after a written eviction.
func (b *bench) ref(out activities.EvictResult) activities.MigrationRef {
	return activities.MigrationRef{
		Cluster: "m1", ClusterUID: "uid-m1", Key: appKey("app"), UID: "uid-shop/app", Mode: rules.ModeEnforce, Owner: "owner-1",
		Baseline: out.Baseline, Generation: out.Generation, Written: b.now,
	}
}

// pass moves the clock and lets the world follow.
func (b *bench) pass(d time.Duration) {
	b.now = b.now.Add(d)
	b.world.Advance()
}
