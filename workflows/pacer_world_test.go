package workflows_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	corev1 "k8s.io/api/core/v1"
)

// pacing runs the real FleetPacer in virtual time; episodes are played by the test.
type pacing struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	world   *world.World
	pace    failover.PaceConfig
	memory  activities.PacerMemory
	memo    any // the newest mirror of the orders
	state   *workflows.PacerState
	slow    map[string]time.Duration // how long an activity takes, by its name
	inForce map[string]string        // what the worker publishes
	unread  error                    // why the clusters cannot be read, nil when they can
	// onGrant plays the episode of a cluster.
	onGrant func(cluster string, g workflows.Grant)
	grants  []granted
	told    map[string][]failover.Pace
	writes  []time.Time
	ahead   time.Duration // by how much leases were granted ahead of their time, in all
	looks   int           // at the fleet
	claims  int
	// underWay are claimed and not yet written.
	underWay []underWay
}

type underWay struct {
	number  int64
	binding string
	at      time.Time
}

type granted struct {
	workflows.Grant
	at      time.Time
	cluster string
}

// Claim is not asked: the test claims over the real update.
func (p *pacing) Claim(context.Context, activities.LeaseClaim) (activities.Lease, error) {
	return activities.Lease{}, nil
}

// Used is not told either.
func (p *pacing) Used(context.Context, activities.LeaseClaim) error { return nil }

func (p *pacing) Remember(context.Context, string) (activities.PacerMemory, error) {
	return p.memory, nil
}

// fleetReader reads the world, unless the test says that its clusters cannot be read.
type fleetReader struct {
	*world.World
	p *pacing
}

func (r fleetReader) Clusters(ctx context.Context) ([]failover.Cluster, error) {
	if r.p.unread != nil {
		return nil, r.p.unread
	}
	return r.World.Clusters(ctx)
}

func newPacing(t *testing.T) *pacing {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	p := &pacing{t: t, env: suite.NewTestWorkflowEnvironment(), pace: activities.DefaultPace(), told: map[string][]failover.Pace{}}
	p.env.SetTestTimeout(2 * time.Minute)
	p.env.SetWorkerOptions(patient)
	p.env.SetStartTime(time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC))
	p.world = world.New(p.env.Now)
	for _, name := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		p.world.AddCluster(name)
	}
	p.world.AddRule(failover.Rule{
		Name: "not-ready",
		MatchConditions: []failover.MatchCondition{{
			ConditionType: "Ready", Operator: failover.OperatorIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionFalse},
		}},
		Taints: []failover.RuleTaint{{Key: taintKey, Effect: corev1.TaintEffectNoExecute, AddOnMatch: addAfter, RemoveOnMismatch: wellFor}},
	})
	p.onGrant = func(string, workflows.Grant) {}
	return p
}

func (p *pacing) at(d time.Duration, do func()) { p.env.RegisterDelayedCallback(do, d) }

// ask sends a request, as the episode of a cluster would.
func (p *pacing) ask(cluster string, want int, more ...func(*workflows.GrantRequest)) {
	r := workflows.GrantRequest{Cluster: cluster, Episode: "e-" + cluster, Want: want, Open: true, Every: time.Hour}
	for _, m := range more {
		m(&r)
	}
	p.env.SignalWorkflow(workflows.SignalGrantRequest, r)
}

// report says how leases ended: that of the binding which claimed it, or without one those
// that nobody claimed.
func (p *pacing) report(number int64, binding string, written, returned int) {
	p.env.SignalWorkflow(workflows.SignalLeaseReport, workflows.LeaseReport{Number: number, Written: written, Returned: returned, Binding: binding})
}

// update sends an update; its answer comes later.
func (p *pacing) update(name string, arg any) *answer {
	a := &answer{}
	p.env.UpdateWorkflow(name, "", a, arg)
	return a
}

func (p *pacing) claim(number int64, cluster string) *answer {
	a, _ := p.claimed(number, cluster)
	return a
}

// claimed is claim, and says for which binding: one of its own each time, for one alone
// may not move so often.
func (p *pacing) claimed(number int64, cluster string) (*answer, string) {
	p.claims++
	binding := fmt.Sprintf("shop/app%d", p.claims)
	return p.update(workflows.UpdateClaim, workflows.Claim{Number: number, Cluster: cluster, Binding: binding}), binding
}

// write plays an evict activity: it claims, writes after a while but not before it
// may, and reports later still; a negative time means never.
func (p *pacing) write(number int64, cluster string, claimAfter, writeAfter, reportAfter time.Duration) {
	p.at(claimAfter, func() {
		a, binding := p.claimed(number, cluster)
		p.at(time.Microsecond, func() {
			if !a.done || a.err != nil {
				return
			}
			claimed, ok := a.value.(workflows.Claimed)
			require.True(p.t, ok, "%T", a.value)
			p.ahead += claimed.NotBefore
			wait := max(writeAfter, claimed.NotBefore)
			if writeAfter < 0 || wait >= claimed.Remaining {
				return
			}
			mine := underWay{number, binding, p.env.Now().Add(wait)}
			p.underWay = append(p.underWay, mine)
			p.at(wait, func() {
				p.underWay = slices.DeleteFunc(p.underWay, func(u underWay) bool { return u == mine })
				p.writes = append(p.writes, p.env.Now())
				if reportAfter >= 0 {
					p.at(reportAfter, func() { p.report(number, binding, 1, 0) })
				}
			})
		})
	})
}

// run plays the pacer for a while.
func (p *pacing) run(d time.Duration) workflows.PacerStatus {
	p.t.Helper()
	p.at(d, p.env.CancelWorkflow)
	p.start()
	var status workflows.PacerStatus
	value, err := p.env.QueryWorkflow(workflows.QueryStatus)
	require.NoError(p.t, err)
	require.NoError(p.t, value.Get(&status))
	return status
}

func (p *pacing) start() {
	p.t.Helper()
	a := &activities.Activities{
		Reader: fleetReader{p.world, p}, Writer: p.world, Events: p.world, Owners: p.world, Pacer: p,
		Clock: world.Clock{W: p.world}, Meter: world.Meter{}, Log: slog.New(slog.DiscardHandler),
		Settings: activities.Settings{Terms: activities.DefaultTerms(), Pace: p.pace, InForce: p.inForce},
	}
	a.Register(p.env)
	workflows.Register(p.env)
	for name, act := range map[string]any{activities.NameRecallPacer: a.RecallPacer, activities.NameAssessFleet: a.AssessFleet} {
		if p.slow[name] > 0 {
			p.env.OnActivity(name, mock.Anything, mock.Anything).After(p.slow[name]).Return(act)
		}
	}
	p.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(p.signalled)
	p.env.OnUpsertMemo(mock.Anything).Run(func(args mock.Arguments) {
		memo, ok := args.Get(0).(map[string]any)
		require.True(p.t, ok, "%T", args.Get(0))
		p.memo = memo[workflows.MemoOrders]
	}).Return(nil)
	p.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == activities.NameAssessFleet {
			p.looks++
		}
	})
	p.env.ExecuteWorkflow(workflows.TypeFleetPacer, workflows.FleetPacerParams{State: p.state})
	require.True(p.t, p.env.IsWorkflowCompleted())
}

// signalled hands what the pacer sends to the environment's loop: each signal comes on a
// goroutine of its own.
func (p *pacing) signalled(_, id, _, name string, arg any) error {
	p.at(0, func() { p.heard(strings.TrimPrefix(id, "cluster-failover/"), name, arg) })
	return nil
}

func (p *pacing) heard(cluster, name string, arg any) {
	switch m := arg.(type) {
	case workflows.Grant:
		p.grants = append(p.grants, granted{Grant: m, at: p.env.Now(), cluster: cluster})
		p.onGrant(cluster, m)
	case workflows.PaceChanged:
		p.told[cluster] = append(p.told[cluster], m.Pace)
	default:
		p.t.Errorf("unexpected signal %s: %T", name, arg)
	}
}
