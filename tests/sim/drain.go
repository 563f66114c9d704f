package sim

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// drain orders that a cluster be emptied, at so many thousandths of an eviction per
// second where the step says so.
func (s *sim) drain(ctx workflow.Context, x Step) {
	rate := float64(x.N) / 1000
	x.N = drainTries
	s.insist(ctx, x, func(ctx workflow.Context) *answer {
		if s.there(x.Cluster) {
			s.open(ctx, x.Cluster)
		}
		o := workflows.DrainOrder{Order: operator, Rate: rate}
		return s.update(workflows.ClusterFailoverID("", x.Cluster), workflows.UpdateDrain, o, func() { s.count["order drain"]++ })
	})
}

// drainTries is how often a drain, or its end, is ordered that is refused.
const drainTries = 4

func (s *sim) undrain(ctx workflow.Context, x Step) {
	x.N = drainTries
	s.insist(ctx, x, func(workflow.Context) *answer { return s.endDrain(x.Cluster) })
}

func (s *sim) endDrain(cluster string) *answer {
	return s.update(workflows.ClusterFailoverID("", cluster), workflows.UpdateUndrain, operator, func() { s.count["order undrain"]++ })
}

// undrainAll ends every drain that stands, as somebody would who does not give up: also one
// whose order was on its way, and waited for the failover's first judgement.
func (s *sim) undrainAll(ctx workflow.Context) {
	for n := range 60 {
		stands := false
		for c := range s.schedule.Fleet {
			if c, there := s.world.Standing(clusterName(c)); there && c.Drain != nil {
				stands = true
				s.endDrain(c.Name)
			}
		}
		if !stands && n >= 6 {
			return
		}
		_ = workflow.Sleep(ctx, 10*time.Second)
	}
}

// drained judges the pace of a drain that has a rate of its own.
func (j *judge) drained(w world.Write) {
	now, last := j.s.now(), j.drains[w.Cluster]
	j.drains[w.Cluster] = now
	c, _ := j.s.world.Standing(w.Cluster)
	if c.Drain == nil {
		return
	}
	j.s.count["drained"]++
	if last.IsZero() || c.Drain.Rate == 0 || j.s.count["terminated"] > 0 {
		return
	}
	// The signal that another reason to go is over may be lost, until the next resync.
	if slices.ContainsFunc(j.between(w.Cluster, now.Add(-resyncEvery)), func(x sight) bool { return !x.there || !isReady(x.c) || otherwise(x.c) }) {
		return
	}
	if slices.ContainsFunc(j.between(w.Cluster, last), func(x sight) bool { return x.c.Drain == nil || x.c.Drain.Rate != c.Drain.Rate }) {
		return // it had another order meanwhile
	}
	if gap := time.Duration(float64(time.Second) / c.Drain.Rate); now.Sub(last) < gap-tick {
		j.violates("4: %s is drained from %s %s after the one before, at %g a second", w.Binding, w.Cluster, now.Sub(last), c.Drain.Rate)
	}
}

// between are the sights from a moment on, the one that held then included.
func (j *judge) between(cluster string, from time.Time) []sight {
	list := j.sights[cluster]
	for n := len(list) - 1; n >= 0; n-- {
		if !list[n].from.After(from) {
			return list[n:]
		}
	}
	return list
}

// otherwise: somebody else's taint moves bindings off it as well, or a rule's still does.
func otherwise(c karmada.Cluster) bool {
	for _, t := range c.Taints {
		if karmada.EffectPreferNoExecute == t.Effect || t.Key == foreignTaint || t.Key == taintKey || t.Key == policyTaint {
			return true
		}
	}
	return false
}

// banned tells that a write turned Lifeboat's hold into a ban: the old copy goes, as with a release.
func banned(before, after *karmada.Task) bool {
	return before != nil && after != nil && before.Reason == karmada.TaskReason && after.Reason == karmada.TaskReasonBanned
}

// bans judges that a hold becomes a ban: Karmada deletes the old copy first, and creates
// nothing until that is gone, which it never is on a cluster that does not answer.
func (j *judge) bans(w world.Write) {
	if !j.departed(w.Cluster) && !j.everSeen(w.Cluster, isReady) {
		j.violates("1: %s is banned from %s, which does not answer", w.Binding, w.Cluster)
	}
}

// lifts judges that a ban goes: only once the drain has ended.
func (j *judge) lifts(w world.Write) {
	j.s.count["bans lifted"]++
	if !j.departed(w.Cluster) && !j.everSeen(w.Cluster, func(c karmada.Cluster) bool { return c.Drain == nil }) {
		j.violates("3: the ban of %s from %s is lifted while that is drained", w.Binding, w.Cluster)
	}
}

// insistsEvery is how soon somebody whose order was refused gives it again.
const insistsEvery = 8 * time.Second

// insist gives an order until it is accepted, n times at most: whoever orders something
// about one binding waits for the moment at which that makes sense.
func (s *sim) insist(ctx workflow.Context, x Step, give func(workflow.Context) *answer) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for n := 0; n < max(1, x.N) && !s.dice.calm && !s.over; n++ {
			said := give(ctx)
			_ = workflow.Sleep(ctx, startTick)
			for wait := 0; said.sent && !said.done && wait < 30; wait++ { // for the main loop's answer
				_ = workflow.Sleep(ctx, time.Second)
			}
			if said.done && said.err == nil {
				return
			}
			_ = workflow.Sleep(ctx, insistsEvery)
		}
	})
}

// request is an order to a workflow.
type request struct {
	id, verb string
	arg      any
}

// command gives an order until it is accepted; then the judge hears of it.
func (s *sim) command(ctx workflow.Context, x Step, r request, then func()) {
	s.insist(ctx, x, func(workflow.Context) *answer {
		return s.update(r.id, r.verb, r.arg, func() {
			s.count["order "+x.Do]++
			then()
		})
	})
}

// orderOne gives a cluster's failover an order about one of its bindings. Where only
// what an ended one has left behind stands, it is opened for that.
func orderOne(verb string, putBack bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		o := copiesOf(putBack)(key)
		s.insist(ctx, x, func(ctx workflow.Context) *answer {
			if b, there := s.world.StandingBinding(key); there && verb != workflows.UpdateSkip && held(&b, x.Cluster) != nil {
				s.open(ctx, x.Cluster)
			}
			return s.update(workflows.ClusterFailoverID("", x.Cluster), verb, o, func() {
				s.count["order "+x.Do]++
				s.judge.orderedOne(x.Cluster, key, verb, putBack)
			})
		})
	}
}

// snoozed is for how long a binding is left where it is by a snooze.
const snoozed = 2 * time.Minute

// orderScoped gives a cluster's failover an order whose scope is one of its bindings.
func orderScoped(verb string, arg func(karmada.BindingKey) any) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		r := request{workflows.ClusterFailoverID("", x.Cluster), verb, arg(key)}
		s.command(ctx, x, r, func() { s.judge.orderedOne(x.Cluster, key, verb, false) })
	}
}

// orderMigration gives a migration an order itself.
func orderMigration(verb string, arg any, putBack bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		r := request{workflows.BindingMigrationID("", x.Cluster, key), verb, arg}
		s.command(ctx, x, r, func() { s.judge.orderedOne(x.Cluster, key, verb, putBack) })
	}
}

// confirmFenced vouches that a cluster is dead.
func (s *sim) confirmFenced(ctx workflow.Context, x Step) {
	r := request{workflows.ClusterFailoverID("", x.Cluster), workflows.UpdateConfirmFenced, operator}
	s.command(ctx, x, r, func() { s.judge.vouched(x.Cluster) })
}

// open starts a cluster's failover where none runs, as the order that it is for would.
func (s *sim) open(ctx workflow.Context, cluster string) {
	id := workflows.ClusterFailoverID("", cluster)
	if s.state[id] != gone || s.over {
		return
	}
	s.start(ctx, letter{id: id, kind: workflows.TypeClusterFailover, cluster: cluster})
	s.router.Opened(cluster)
	for n := 0; s.state[id] == starting && n < 100; n++ {
		_ = workflow.Sleep(ctx, startTick)
	}
}
