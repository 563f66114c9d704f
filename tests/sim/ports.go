package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// ports are the world as activities reach it: slow, at times unreachable, and with
// answers that get lost.
type ports struct {
	*world.World
	s *sim
	// atOnce: its reads take no time. Those are the ones that callers share, for one that waits for another's read waits
	// in the time of this machine, in which no workflow goes on.
	atOnce bool
}

// read lets a read take its time, or fail.
func (p ports) read(ctx context.Context, what string) error {
	if !p.atOnce && p.s.dice.chance("slow-read", what) {
		attemptOf(ctx).sleep(p.s.dice.span("slow-read-for", what, 2*time.Second))
	}
	if p.s.dice.chance("unreachable", what) {
		return karmada.ErrUnreachable
	}
	return nil
}

// Cluster implements activities.Reader.
func (p ports) Cluster(ctx context.Context, name string) (karmada.Cluster, error) {
	if err := p.read(ctx, "cluster"); err != nil {
		return karmada.Cluster{}, err
	}
	attemptOf(ctx).reads(p.s.now())
	return p.World.Cluster(ctx, name)
}

// Clusters implements activities.Reader.
func (p ports) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	if err := p.read(ctx, "clusters"); err != nil {
		return nil, err
	}
	attemptOf(ctx).reads(p.s.now())
	return p.World.Clusters(ctx)
}

// Binding implements activities.Reader.
func (p ports) Binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	if err := p.read(ctx, "binding"); err != nil {
		return karmada.Binding{}, err
	}
	b, err := p.World.Binding(ctx, key)
	if a := attemptOf(ctx); err == nil && a != nil && strings.HasSuffix(a.id, "/"+key.String()) {
		p.s.judge.saw[a.id] = b
		a.own, a.ownRead = &b, p.s.now()
	}
	return b, err
}

// Bindings implements activities.Reader.
func (p ports) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	if err := p.read(ctx, "bindings"); err != nil {
		return activities.BindingPage{}, err
	}
	all, err := p.World.Bindings(ctx, page)
	p.s.judge.reads(attemptOf(ctx), all.Bindings)
	return all, err
}

// errLate is what a client says of a request that its own deadline ended.
var errLate = fmt.Errorf("deadline exceeded: %w", karmada.ErrUnreachable)

// write is one write on its way: it may be slow, be thrown back, arrive although its
// sender has given up, stand without an answer or under a wrong one, or be its worker's last act.
func write[T any](ctx context.Context, p ports, what string, do func() (T, error)) (T, error) {
	var none T
	a := attemptOf(ctx)
	dice := p.s.dice
	act := do
	do = func() (T, error) {
		p.s.judge.readAt, p.s.judge.applications.writes, p.s.judge.applications.writer = a.read, a.application, a.id
		return act()
	}
	if dice.chance("slow-write", what) {
		a.sleep(dice.span("slow-write-for", what, 12*time.Second))
	}
	if p.s.pastDeadline(ctx) {
		p.s.count["write given up at its deadline"]++
		return none, errLate
	}
	switch {
	case dice.chance("throttled", what):
		return none, &karmada.ThrottledError{RetryAfter: time.Second, Err: errors.New("too many requests")}
	case dice.chance("write-unreachable", what):
		return none, karmada.ErrUnreachable
	case dice.chance("late-write", what):
		p.s.late(ctx, dice.span("late-write-for", what, 3*time.Second), func() { _, _ = do() })
		return none, karmada.ErrUnreachable
	case dice.chance("conflict", what):
		return none, karmada.ErrConflict
	}
	out, err := do()
	if errors.Is(err, karmada.ErrConflict) {
		p.s.count["true conflicts"]++
	}
	if err == nil {
		switch {
		case dice.chance("worker-dies", what):
			panic(workerDied{})
		case dice.chance("lost", what):
			return none, karmada.ErrUnreachable
		case dice.chance("echo", what): // the client sends it once more by itself
			return none, karmada.ErrConflict
		}
	}
	return out, err
}

// late lets a request arrive after its sender has given up, but inside its deadline:
// a server ends what runs longer.
func (s *sim) late(ctx context.Context, d time.Duration, do func()) {
	if until, has := s.deadline(ctx); has {
		d = min(d, until.Sub(s.now()))
	}
	s.env.RegisterDelayedCallback(do, max(d, tick))
}

func (s *sim) pastDeadline(ctx context.Context) bool {
	until, has := s.deadline(ctx)
	return has && s.now().After(until)
}

// deadline is the activity's own. It runs by the wall clock, which stands still here:
// what is left of it counts from the claim.
func (s *sim) deadline(ctx context.Context) (time.Time, bool) {
	a := attemptOf(ctx)
	until, has := ctx.Deadline()
	if !has || a == nil || a.claimed.IsZero() {
		return time.Time{}, false
	}
	return a.claimed.Add(time.Until(until).Round(50 * time.Millisecond)), true
}

// Taint implements activities.Writer.
func (p ports) Taint(ctx context.Context, w activities.TaintWrite) (karmada.Cluster, error) {
	return write(ctx, p, "taint", func() (karmada.Cluster, error) { return p.World.Taint(ctx, w) })
}

// Evict implements activities.Writer.
func (p ports) Evict(ctx context.Context, w activities.EvictWrite) (karmada.Binding, error) {
	until := attemptOf(ctx).until
	return write(ctx, p, "evict", func() (karmada.Binding, error) {
		p.s.judge.late(w.Binding.Key, until)
		return p.World.Evict(ctx, w)
	})
}

// Restore implements activities.Writer.
func (p ports) Restore(ctx context.Context, w activities.RestoreWrite) (karmada.Binding, error) {
	return write(ctx, p, "restore", func() (karmada.Binding, error) { return p.World.Restore(ctx, w) })
}

// Hold implements activities.Writer.
func (p ports) Hold(ctx context.Context, w activities.HoldWrite) (karmada.Binding, error) {
	return write(ctx, p, "hold", func() (karmada.Binding, error) { return p.World.Hold(ctx, w) })
}

// Release implements activities.Writer.
func (p ports) Release(ctx context.Context, w activities.ReleaseWrite) (karmada.Binding, error) {
	return write(ctx, p, "release", func() (karmada.Binding, error) { return p.World.Release(ctx, w) })
}

// Mark implements activities.Writer.
func (p ports) Mark(ctx context.Context, w activities.MarkWrite) (karmada.Binding, error) {
	return write(ctx, p, "mark", func() (karmada.Binding, error) { return p.World.Mark(ctx, w) })
}

// Holders implements activities.Writer.
func (p ports) Holders(ctx context.Context, w activities.HoldersWrite) (karmada.Binding, error) {
	return write(ctx, p, "holders", func() (karmada.Binding, error) { return p.World.Holders(ctx, w) })
}

// Running implements activities.Owners.
func (p ports) Running(_ context.Context, id string) (bool, error) {
	return p.s.state[id] != gone, nil
}

// Remember implements activities.Pacer.
func (p ports) Remember(context.Context, string) (activities.PacerMemory, error) {
	return p.s.memory, nil
}

// Request implements activities.Pacer: the signal arrives, though not at once.
func (p ports) Request(ctx context.Context, r activities.PermitRequest) error {
	attemptOf(ctx).sleep(tick)
	if p.s.dice.chance("report-lost", r.From()) {
		return errNotRunning
	}
	p.s.mail = append(p.s.mail, letter{id: workflows.FleetPacerID(""), signal: workflows.SignalPermitRequest, arg: r, missing: func() {}})
	return nil
}

// Used implements activities.Pacer: the signal arrives, though not at once.
func (p ports) Used(ctx context.Context, permit int64, binding string) error {
	attemptOf(ctx).sleep(tick)
	if p.s.dice.chance("report-lost", binding) {
		return errNotRunning
	}
	p.s.mail = append(p.s.mail, letter{
		id: workflows.FleetPacerID(""), signal: workflows.SignalPermitsUsed,
		arg: workflows.PermitsUsed{Used: []workflows.PermitUse{{Number: permit, Binding: binding}}}, missing: func() {},
	})
	return nil
}

// MigratedTooOften implements activities.Pacer: it queries the pacer of this environment. A server has a query wait for a
// run that is being started.
func (p ports) MigratedTooOften(ctx context.Context, bindings []string) (map[string]time.Time, error) {
	for p.s.state[workflows.FleetPacerID("")] == starting {
		attemptOf(ctx).sleep(startTick)
	}
	if p.s.state[workflows.FleetPacerID("")] != running {
		return nil, errNotRunning
	}
	until, err := query[map[string]time.Time](p.s, workflows.FleetPacerID(""), workflows.QueryMigratedTooOften, workflows.MigratedTooOften{Bindings: bindings, At: p.s.now()})
	if err != nil {
		return nil, errNotRunning
	}
	p.s.count["bindings moved too often"] += len(until)
	return until, nil
}

// claimTries is how often a claim is sent anew that reached a run which just closed.
const claimTries = 4

// MayRemove implements activities.Pacer: it asks the pacer of this environment by its update.
func (p ports) MayRemove(ctx context.Context, cluster, binding string, application bool) error {
	a := attemptOf(ctx)
	for range claimTries {
		wait := tick
		if p.s.dice.chance("slow-claim", cluster) {
			wait = p.s.dice.span("slow-claim-for", cluster, 12*time.Second)
		}
		said := p.s.update(workflows.FleetPacerID(""), workflows.UpdateClaim, workflows.Claim{Cluster: cluster, Binding: binding, Application: application}, nil)
		a.sleep(wait)
		switch {
		case !said.done:
			p.s.count["claim without an answer"]++
		case said.err != nil:
			p.s.count["claim refused: "+said.err.Error()]++
			return said.err
		default:
			a.claimed = p.s.now()
			return nil
		}
	}
	return errNotRunning
}

// answer is what an update says.
type answer struct {
	value any
	err   error
	// sent and done: it reached a run, and that answered.
	sent, done bool
	// taken: it counts as answered once it is accepted. A put-back and a release wait for what
	// their migration says, and are obeyed meanwhile.
	taken bool
	// then is called once it is accepted and done, heard once it has arrived.
	then, heard func()
}

// Accept implements the SDK's update callbacks.
func (a *answer) Accept() {
	a.heard()
	if a.taken {
		a.Complete(nil, nil)
	}
}

// Reject implements the SDK's update callbacks.
func (a *answer) Reject(err error) {
	a.err, a.done = err, true
	a.heard()
}

// Complete implements the SDK's update callbacks.
func (a *answer) Complete(value any, err error) {
	if a.taken && a.done {
		return
	}
	a.value, a.err, a.done = value, err, true
	if err == nil && a.then != nil {
		a.then()
	}
}

// query is what a workflow answers.
func query[T any](s *sim, id, name string, args ...any) (out T, err error) {
	value, err := s.env.QueryWorkflowByID(id, name, args...)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// update sends an update; its answer is there a tick later, or the run closed.
func (s *sim) update(id, name string, arg any, then func()) *answer {
	a := &answer{then: then, taken: name == workflows.UpdatePutBack || name == workflows.UpdateRelease}
	if s.state[id] != running {
		return a
	}
	a.sent = true
	s.unheard[id]++
	a.heard = sync.OnceFunc(func() { s.unheard[id] = max(0, s.unheard[id]-1) })
	s.updates++
	if err := s.env.UpdateWorkflowByID(id, name, fmt.Sprintf("%s-%d", name, s.updates), a, arg); err != nil {
		a.Reject(err)
	}
	return a
}
