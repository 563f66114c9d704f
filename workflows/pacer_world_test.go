package workflows_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/fleetpacer"
	"github.com/lifeboat-failover/lifeboat/workflows/registry"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
)

// pacing runs the real FleetPacer in virtual time; failovers are played by the test.
type pacing struct {
	activities.Pacer // asked only for what it remembers: the test asks and signals the real one
	orders
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	world   *world.World
	pace    pace.Config
	memory  activities.PacerMemory
	memo    any // the newest mirror of the orders
	state   *workflows.PacerState
	slow    map[string]time.Duration // how long an activity takes, by its name
	inForce map[string]string        // what the worker publishes
	unread  error                    // why the clusters cannot be read, nil when they can
	unlist  error                    // why the bindings cannot be listed, nil when they can
	// unlisted is how often they could not.
	unlisted int
	// onGrant plays the failover of a cluster.
	onGrant func(cluster string, g workflows.Grant)
	grants  []granted
	told    map[string][]pace.Pace
	wants   map[string]activities.PermitRequest // what each cluster wants now
	writes  []time.Time
	looks   int // at the fleet
	moves   int
	// underWay is how many evictions have begun and are not yet written.
	underWay int
}

type granted struct {
	workflows.Grant
	at      time.Time
	cluster string
}

func (p *pacing) Remember(context.Context, string) (activities.PacerMemory, error) {
	return p.memory, nil
}

// fleetReader reads the world, unless the test says that its clusters or its bindings cannot be read.
type fleetReader struct {
	*world.World
	p *pacing
}

func (r fleetReader) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	if r.p.unread != nil {
		return nil, r.p.unread
	}
	return r.World.Clusters(ctx)
}

func (r fleetReader) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	if r.p.unlist != nil {
		r.p.unlisted++
		return activities.BindingPage{}, r.p.unlist
	}
	return r.World.Bindings(ctx, page)
}

func newPacing(t *testing.T) *pacing {
	t.Helper()
	p := &pacing{t: t, env: flowtest.PatientEnv(), pace: world.Pace(), told: map[string][]pace.Pace{}, wants: map[string]activities.PermitRequest{}}
	p.env.SetStartTime(storyBegins)
	p.world = world.New(p.env.Now)
	for i := range 6 {
		p.world.AddCluster(fmt.Sprintf("m%d", i+1))
	}
	p.world.AddRule(notReady())
	p.onGrant = func(string, workflows.Grant) {}
	return p
}

func (p *pacing) at(d time.Duration, do func()) { p.env.RegisterDelayedCallback(do, d) }

// ask sends a request, as the failover of a cluster would, and again after each grant for what
// is left of it.
func (p *pacing) ask(cluster string, want int, more ...func(*activities.PermitRequest)) {
	r := activities.PermitRequest{Cluster: cluster, FailoverID: "e-" + cluster, Want: want, Open: true, Every: time.Hour, Seen: p.wants[cluster].Seen}
	for _, m := range more {
		m(&r)
	}
	p.wants[cluster] = r
	p.env.SignalWorkflow(workflows.SignalPermitRequest, r)
}

// used tells of evictions that stand.
func (p *pacing) used(number int64, binding string) {
	p.env.SignalWorkflow(workflows.SignalPermitsUsed, workflows.PermitsUsed{Used: []workflows.PermitUse{{Number: number, Binding: binding}}})
}

// askFor sends a request, as the failover of an application on m2 would.
func (p *pacing) askFor(key karmada.BindingKey) {
	p.ask("m2", 1, func(r *activities.PermitRequest) { r.Application, r.FailoverID = &key, key.Name })
}

// update sends an update; its answer comes later.
func (p *pacing) update(name string, arg any) *answer {
	a := &answer{}
	p.env.UpdateWorkflow(name, "", a, arg)
	return a
}

// claim asks whether the cluster may be removed again.
func (p *pacing) claim(cluster string) *answer {
	return p.update(workflows.UpdateClaim, workflows.Claim{Cluster: cluster, Binding: "shop/app"})
}

func (p *pacing) halt() *answer { return p.accept(p.update(workflows.UpdateHalt, jane)) }

func (p *pacing) resume() *answer { return p.accept(p.update(workflows.UpdateResume, jane)) }

func (p *pacing) setRate(rate float64) *answer {
	return p.accept(p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: rate}))
}

// turn has clusters be Ready, or not any more, from one number to another.
func (p *pacing) turn(ready bool, from, to int) {
	for i := from; i <= to; i++ {
		p.world.SetReady(fmt.Sprintf("m%d", i), ready)
	}
}

// written are the evictions between two moments, counted from the begin.
func (p *pacing) written(from, to time.Duration) (out []time.Time) {
	for _, w := range p.writes {
		if at := w.Sub(storyBegins); at > from && at < to {
			out = append(out, w)
		}
	}
	return out
}

// mover is a binding of its own each time, for one alone may not move so often.
func (p *pacing) mover() string {
	p.moves++
	return fmt.Sprintf("shop/app%d", p.moves)
}

// evict plays an evict activity: it writes late after its permit's moment, unless that has
// passed, and reports later still; negative means never.
func (p *pacing) evict(permit pace.Permit, late, report time.Duration) {
	at := permit.Earliest
	if now := p.env.Now(); now.After(at) {
		at = now
	}
	at = at.Add(late)
	if late < 0 || at.After(permit.Latest) {
		return
	}
	p.underWay++
	p.at(at.Sub(p.env.Now()), func() {
		p.underWay--
		p.writes = append(p.writes, p.env.Now())
		if report >= 0 {
			p.at(report, func() { p.used(permit.Number, p.mover()) })
		}
	})
}

// evictAll plays a quick evict activity of each permit.
func (p *pacing) evictAll() func(string, workflows.Grant) {
	return func(_ string, g workflows.Grant) {
		for _, permit := range permitsOf(g) {
			p.evict(permit, time.Millisecond, time.Millisecond)
		}
	}
}

func permitsOf(g workflows.Grant) (permits []pace.Permit) {
	for rest := g.Permits; rest.Size > 0; {
		var one pace.Permit
		one, rest = rest.Take()
		permits = append(permits, one)
	}
	return permits
}

// run plays the pacer for a while.
func (p *pacing) run(d time.Duration) workflows.PacerStatus {
	p.t.Helper()
	p.at(d, p.env.CancelWorkflow)
	p.start()
	return p.status()
}

func (p *pacing) status() (status workflows.PacerStatus) {
	p.t.Helper()
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
		Settings: activities.Settings{Terms: world.Terms(), Pace: p.pace, InForce: p.inForce},
	}
	a.Register(p.env)
	registry.Register(p.env)
	for name, act := range a.ByName() {
		if p.slow[name] > 0 {
			p.env.OnActivity(name, mock.Anything, mock.Anything).After(p.slow[name]).Return(act)
		}
	}
	p.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(p.signalled)
	p.env.OnUpsertMemo(mock.Anything).Run(func(args mock.Arguments) {
		memo, ok := args.Get(0).(map[string]any)
		require.True(p.t, ok, "%T", args.Get(0))
		p.memo = memo[fleetpacer.MemoOrders]
	}).Return(nil)
	p.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == activities.NameAssessFleet {
			p.looks++
		}
	})
	p.env.ExecuteWorkflow(workflows.TypeFleetPacer, workflows.FleetPacerParams{State: p.state})
	require.True(p.t, p.env.IsWorkflowCompleted())
	p.answered(p.t)
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
		if r := p.wants[cluster]; r.Cluster != "" {
			r.Want, r.Seen = max(0, r.Want-m.Size), m.Number+int64(m.Size)-1
			p.wants[cluster] = r
			p.env.SignalWorkflow(workflows.SignalPermitRequest, r)
		}
	case workflows.PaceChanged:
		p.told[cluster] = append(p.told[cluster], m.Pace)
	default:
		p.t.Errorf("unexpected signal %s: %T", name, arg)
	}
}
