package sim

import (
	"context"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"
)

// The controller's own router decides whom to tell. Its mail is carried here: late, twice,
// or not at all.

// letter is one signal of the controller.
type letter struct {
	id, kind string // kind is empty where nothing is started
	cluster  string
	binding  karmada.BindingKey // of an ApplicationFailover
	signal   string
	arg      any
	missing  func()
	arrived  func() // nil: nobody cares
}

// post implements watch.Signals.
type post struct{ s *sim }

// Cluster implements watch.Signals.
func (p post) Cluster(fact rules.ClusterFact, start bool) {
	l := p.failover(fact.Cluster, workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: fact})
	if start {
		l.kind = workflows.TypeClusterFailover
	}
	p.put(l)
}

// Changed implements watch.Signals.
func (p post) Changed(cluster string, fact proof.BindingFact) {
	p.put(p.failover(cluster, workflows.SignalBindingsChanged, workflows.BindingsChanged{Bindings: []proof.BindingFact{fact}}))
}

// Adopt implements watch.Signals.
func (p post) Adopt(cluster string, fact proof.BindingFact) {
	p.s.count["orphans seen by the controller"]++
	l := p.failover(cluster, workflows.SignalAdopt, workflows.Adopt{Cluster: cluster, Bindings: []proof.BindingFact{fact}})
	l.kind = workflows.TypeClusterFailover
	p.put(l)
}

func (p post) failover(cluster, signal string, arg any) letter {
	return letter{
		id: workflows.ClusterFailoverID("", cluster), cluster: cluster, signal: signal, arg: arg,
		missing: func() { p.s.router.Closed(cluster) },
	}
}

// Owner implements watch.Signals.
func (p post) Owner(owner string, fact proof.BindingFact) {
	p.put(letter{
		id: owner, signal: workflows.SignalBindingObserved, arg: fact,
		missing: func() { p.s.router.OwnerMissing(fact.Key) }, arrived: p.s.judge.told(owner, fact),
	})
}

// Application implements watch.Signals.
func (p post) Application(fact proof.BindingFact, start bool) {
	l := letter{
		id: workflows.ApplicationFailoverID("", fact.Key), binding: fact.Key, signal: workflows.SignalBindingObserved, arg: fact, missing: func() {},
	}
	if start {
		l.kind = workflows.TypeApplicationFailover
	}
	p.put(l)
}

// Fleet implements watch.Signals.
func (p post) Fleet(rules.Probed) {
	p.put(letter{
		id: workflows.FleetPacerID(""), kind: workflows.TypeFleetPacer, signal: workflows.SignalFleetObserved,
		arg: workflows.FleetObserved{}, missing: func() {},
	})
}

func (p post) put(l letter) {
	switch {
	case l.kind != workflows.TypeFleetPacer && p.s.dice.chance("signal-lost", l.signal):
		p.s.leads = p.s.now()
		return // the controller dies with it; its resync tells again
	case p.s.dice.chance("signal-twice", l.signal):
		p.s.mail = append(p.s.mail, l)
	}
	p.s.mail = append(p.s.mail, l)
}

// postman carries each letter on its own way.
func (s *sim) postman(ctx workflow.Context) {
	for {
		_ = workflow.Await(ctx, func() bool { return len(s.mail) > 0 })
		mail := s.mail
		s.mail = nil
		for _, l := range mail {
			workflow.Go(ctx, func(ctx workflow.Context) { s.carry(ctx, l) })
		}
	}
}

func (s *sim) carry(ctx workflow.Context, l letter) {
	if s.dice.chance("signal-late", l.signal) {
		_ = workflow.Sleep(ctx, s.dice.span("signal-late-for", l.signal, 20*time.Second))
	}
	if s.over {
		return
	}
	started := s.state[l.id] == gone && l.kind != ""
	if started {
		s.start(ctx, l)
	}
	err := workflow.SignalExternalWorkflow(ctx, l.id, "", l.signal, l.arg).Get(ctx, nil)
	if err == nil && l.arrived != nil {
		l.arrived()
	}
	switch {
	case err != nil && !started: // what starts is told with its start
		l.missing()
	case l.kind == workflows.TypeClusterFailover:
		s.router.Opened(l.cluster)
	}
}

// start starts a failover, or the pacer, as a child that outlives everything.
func (s *sim) start(ctx workflow.Context, l letter) {
	var params any = workflows.ClusterFailoverParams{Cluster: l.cluster}
	switch l.kind {
	case workflows.TypeFleetPacer:
		params = workflows.FleetPacerParams{}
	case workflows.TypeApplicationFailover:
		params = workflows.ApplicationFailoverParams{Binding: l.binding}
	}
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: l.id, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON,
	}), l.kind, params)
	switch l.kind {
	case workflows.TypeFleetPacer:
		return
	case workflows.TypeApplicationFailover:
		s.followApplication(ctx, l.binding, child)
		return
	}
	s.count["failovers"]++
	s.ran[l.cluster] = s.now()
	s.judge.started(l.cluster)
	workflow.Go(ctx, func(ctx workflow.Context) {
		var r workflows.FailoverReport
		if err := child.Get(ctx, &r); err == nil {
			s.judge.closed(r)
		}
	})
}

// resyncEvery is the controller's resync interval.
const resyncEvery = time.Minute

func (s *sim) resync(ctx workflow.Context) {
	for {
		if s.watching {
			_ = s.router.Resync(context.Background(), ports{World: s.world, s: s}, "")
		}
		_ = workflow.Sleep(ctx, resyncEvery)
	}
}

// watchLag is how late a watch is at most.
const watchLag = 50 * tick

// follow has the router hear of every change, a moment later; of an object's older version never
// after a newer one, as a watch does.
func (s *sim) follow() {
	lag := func() time.Duration { return s.dice.span("watch", "", watchLag) }
	changes, newest, cached := 0, map[karmada.BindingKey]int{}, map[karmada.BindingKey]int{}
	s.world.Watch = world.Watch{
		Cluster: func(old, now *karmada.Cluster) {
			s.judge.counted(old, now)
			s.later(lag(), func() {
				switch {
				case !s.watching:
				case now == nil && old != nil:
					s.router.ClusterDeleted(old)
				case now != nil:
					s.router.ClusterChanged(old, now)
				}
			})
		},
		Binding: func(old, now *karmada.Binding) {
			s.judge.changed(now)
			s.judge.applications.changed(old, now)
			if now != nil {
				s.judge.versions[now.ResourceVersion] = now
			}
			s.show(now)
			changes++
			change, key := changes, keyOfEither(old, now)
			s.cache.changed(key, now, func() bool {
				late := change < cached[key]
				cached[key] = max(cached[key], change)
				return late
			})
			s.later(lag(), func() {
				late := change < newest[key]
				newest[key] = max(newest[key], change)
				switch {
				case !s.watching, late:
				case now == nil && old != nil:
					s.router.BindingDeleted(old)
				case now != nil:
					s.router.BindingChanged(old, now)
				}
			})
		},
	}
}

func keyOfEither(old, now *karmada.Binding) karmada.BindingKey {
	if now == nil {
		return old.Key
	}
	return now.Key
}

// show logs what a binding is like after a change, for whoever reads a story closely.
func (s *sim) show(b *karmada.Binding) {
	if b == nil {
		return
	}
	tasks := make([]string, 0, len(b.Tasks))
	for _, t := range b.Tasks {
		tasks = append(tasks, t.FromCluster+"/"+string(t.PurgeMode)+"/"+t.Reason)
	}
	s.log.Debug("binding", "at", s.now().Sub(begins), "binding", b.Key.Name, "clusters", b.Clusters, "tasks", tasks,
		"generation", b.Generation, "observed", b.Status.ObservedGeneration, "affinity", b.Status.ObservedAffinity)
}
