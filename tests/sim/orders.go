package sim

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

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

// orderOne gives a cluster's failover an order about one of its bindings. Where only
// what an ended one has left behind stands, it is opened for that.
func orderOne(verb string, putBack bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		o := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: operator, PutBack: putBack}, Binding: key}
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
func orderScoped(verb string, arg func(workflows.ScopedOrder) any) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		o := arg(workflows.ScopedOrder{Order: operator, Scope: queue.ScopeOf(key)})
		s.insist(ctx, x, func(workflow.Context) *answer {
			return s.update(workflows.ClusterFailoverID("", x.Cluster), verb, o, func() {
				s.count["order "+x.Do]++
				s.judge.orderedOne(x.Cluster, key, verb, false)
			})
		})
	}
}

// orderMove gives a migration an order itself.
func orderMove(verb string, arg any, putBack bool) func(*sim, workflow.Context, Step) {
	return func(s *sim, ctx workflow.Context, x Step) {
		key := Binding{Name: x.Binding}.key()
		s.insist(ctx, x, func(workflow.Context) *answer {
			return s.update(workflows.BindingMigrationID("", x.Cluster, key), verb, arg, func() {
				s.count["order "+x.Do]++
				s.judge.orderedOne(x.Cluster, key, verb, putBack)
			})
		})
	}
}

// confirmFenced vouches that a cluster is dead.
func (s *sim) confirmFenced(ctx workflow.Context, x Step) {
	s.insist(ctx, x, func(workflow.Context) *answer {
		return s.update(workflows.ClusterFailoverID("", x.Cluster), workflows.UpdateConfirmFenced, operator, func() {
			s.count["order "+x.Do]++
			s.judge.vouched(x.Cluster)
		})
	})
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
