package bindingmigration

import (
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// migration runs one BindingMigration: its story, and the steps that write and end. Each part below
// has a state of its own.
type migration struct {
	*course
	inbox      flow.Messages
	orders     *orders
	looks      *looks
	proofs     *proofs
	fences     *fences
	dependents *dependents
	restorer   *restorer
	releaser   *releaser
	// cancelRequested: the server takes one cancellation request in a run; the next run takes another.
	cancelRequested bool
}

// core is what every part of a migration shares. What is in the state is written by its owner alone.
type core struct {
	ctx      workflow.Context // never cancelled: cancellation is an order, handled in place
	log      log.Logger
	instance string
	st       *workflows.MigrationState
	beside   flow.Beside
}

// step is what a migration does in a phase, once.
type step struct {
	in phase.Migration
	do func()
}

// story is what a migration does, in order. A step ends it, waits, or lets the next one begin.
func (m *migration) story() []step {
	return []step{
		{phase.MigrationChecking, m.begin},                    // with what it begins: a task that stands, its dependents, or the eviction
		{phase.MigrationQueued, m.awaitPermit},                // it waits for its permit, and evicts
		{phase.MigrationEvicting, m.verify},                   // one write: the cluster out, the hold task in; without an answer it looks
		{phase.MigrationPlacing, m.place},                     // the scheduler has chosen, and Works exist there
		{phase.MigrationAwaitingFence, m.awaitFence},          // Directly: the old copy is proven dead, or deleted
		{phase.MigrationAwaitingHealth, m.awaitHealth},        // healthy for minHealthy, on evidence that is fresh
		{phase.MigrationReleasing, m.releaser.release},        // one write: the hold task out
		{phase.MigrationPurging, m.releaser.purge},            // the old copy is gone, or the cluster is
		{phase.MigrationRestoring, m.restorer.restore},        // or one write puts the cluster back, and the scheduler leaves it in
		{phase.MigrationDone, m.dependents.letGoOfDependents}, // at every end
	}
}

// next runs the step of the phase, once.
func (m *migration) next() {
	for _, s := range m.story() {
		if s.in == m.st.Phase {
			s.do()
			return
		}
	}
}

// Workflow moves one binding off one cluster: check and evict in one
// activity under one permit, wait for the scheduler, wait for health, look once
// more and release, see the old copy go. It ends in exactly one outcome.
func Workflow(ctx workflow.Context, p workflows.BindingMigrationParams) (record.Result, error) {
	m := newMigration(ctx, p)
	if wrong := malformedState(m.st); wrong != "" {
		return record.Result{}, temporal.NewNonRetryableApplicationError("started with what makes no sense: "+wrong, "Malformed", nil)
	}
	if err := flow.CheckID(ctx, workflows.BindingMigrationID(m.instance, m.st.Ref.Cluster, m.st.Ref.Key)); err != nil {
		return record.Result{}, err
	}
	if err := m.serve(ctx); err != nil {
		return record.Result{}, err
	}
	m.enter(m.st.Phase)
	for m.st.Phase != phase.MigrationDone || m.st.Dependents.Held {
		full := m.full()
		if full {
			flow.Yield(m.ctx)
			_ = workflow.Await(m.ctx, m.beside.Idle)
		}
		if full && m.beside.MayEnd(m.ctx) {
			m.inbox.Drain()
			return record.Result{}, workflow.NewContinueAsNewError(m.ctx, workflows.TypeBindingMigration, workflows.BindingMigrationParams{Instance: m.instance, State: *m.st})
		}
		m.next()
	}
	m.report(m.st.Result)
	m.lastActs()
	_ = workflow.Await(m.ctx, func() bool { return m.beside.MayEnd(m.ctx) })
	return *m.st.Result, nil
}

// full reports whether this run should continue as new.
func (m *migration) full() bool {
	return m.waited && (m.cancelRequested || flow.FullHistory(m.ctx, m.st.Terms.HistoryEvents)) && workflow.AllHandlersFinished(m.ctx)
}

func newMigration(ctx workflow.Context, p workflows.BindingMigrationParams) *migration {
	live, _ := workflow.NewDisconnectedContext(ctx)
	st := &p.State
	m := assemble(&core{
		ctx: live, instance: p.Instance, st: st, log: log.With(workflow.GetLogger(ctx), "cluster", st.Ref.Cluster, "binding", st.Ref.Key.String()),
	})
	if st.Began.IsZero() {
		st.Began = workflow.Now(ctx)
		st.Phase = phase.MigrationChecking
		st.Dependents.Held = st.Adopts() // until a look shows otherwise
		st.Ref.Owner = workflow.GetInfo(ctx).WorkflowExecution.ID
	} else {
		m.unreported = workflow.Now(ctx) // what the run before has not reported
	}
	return m
}

// assemble puts the parts together: each has the parts that it calls.
func assemble(shared *core) *migration {
	way := &course{&listener{reporter: &reporter{auditor: &auditor{shared}}}}
	m := &migration{
		course: way, orders: &orders{course: way, intent: &shared.st.Intent}, looks: &looks{course: way}, proofs: &proofs{course: way},
		dependents: &dependents{course: way, keys: &shared.st.Dependents},
	}
	m.fences = &fences{course: way, proofs: m.proofs}
	m.restorer = &restorer{course: way, orders: m.orders, looks: m.looks}
	m.releaser = &releaser{course: way, looks: m.looks, proofs: m.proofs}
	return m
}

// malformedState says why no run can go on from a state, empty when one can. A user who may
// start workflows can make one up, and one in an unknown phase would turn in
// its loop without ever waiting, at the cost of every other workflow of the worker.
func malformedState(s *workflows.MigrationState) string {
	switch {
	case s.Ref.Cluster == "" || s.Ref.Key.Name == "":
		return "it names no cluster or no binding"
	case !s.Phase.Known():
		return fmt.Sprintf("phase %.40q is none", s.Phase)
	case s.Phase == phase.MigrationDone && s.Result == nil:
		return "it has ended without an outcome"
	}
	return ""
}

// messages are the signals, updates and queries of this migration.
func (m *migration) messages() flow.Messages {
	return flow.Messages{
		Queries: []flow.Query{{
			Name: workflows.QueryStatus, Description: "Where this binding's move stands", Answer: func() (workflows.MigrationStatus, error) {
				return workflows.MigrationStatus{Now: workflow.Now(m.ctx), MigrationState: *m.st}, nil
			},
		}},
		Updates: []flow.Update{
			flow.Ordered(workflows.UpdateCancel, "Stop this one move: before the write it is abandoned, unplaced it is restored, placed both copies stay", m.orders.refuseCancel, m.orders.orderCancel),
			m.orders.heldOrder(workflows.UpdatePutBack, "Restore the former clusters in one write, as long as the old copy is held",
				"the former clusters are put back if the old copy can take over; see the status", workflows.IntentPutBack),
			m.orders.heldOrder(workflows.UpdateRelease, "Drop the hold now, proven healthy or not: the old copy goes",
				"the hold is dropped as soon as there is a target", workflows.IntentRelease),
			flow.Ordered(workflows.UpdateConfirmFenced, "Vouch that the old copy of this binding is dead and cannot run any more", m.fences.refuseFenced, m.fences.confirmFenced),
		},
		Signals: []flow.Signal{
			flow.OnSignal(workflows.SignalBindingObserved, m.heard),
			flow.OnSignal(workflows.SignalRecover, m.orders.recovered),
			flow.OnSignal(workflows.SignalMigrationAdopted, m.adoptedBy),
			flow.OnSignal(workflows.SignalFenced, m.fences.fencedByAll),
			flow.OnSignal(workflows.SignalMigrationOrder, m.orders.takeOrder),
			flow.OnSignal(workflows.SignalPermit, m.takePermit),
		},
	}
}

// serve takes messages, and a cancellation as an order.
func (m *migration) serve(ctx workflow.Context) error {
	m.inbox = m.messages()
	if err := m.inbox.Serve(ctx, m.ctx); err != nil {
		return err
	}
	flow.OnCancel(ctx, func(o workflows.Order) {
		m.orderedBy(workflows.UpdateCancel, o)
		m.orders.cancel(o, false)
		m.cancelRequested = true
	})
	return nil
}

// takePermit takes the permit that its failover gives it, where it has use for one.
func (m *migration) takePermit(p pace.Permit) {
	switch {
	case !p.Valid():
		m.log.Warn("ignored a malformed signal", "signal", workflows.SignalPermit, "number", p.Number)
	case m.st.WantsPermit():
		m.st.Permit, m.dirty = p, true
	}
}
