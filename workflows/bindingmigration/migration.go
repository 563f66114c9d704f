package bindingmigration

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// migration runs one BindingMigration.
type migration struct {
	ctx      workflow.Context // never cancelled: cancellation is an order, handled in place
	log      log.Logger
	instance string
	st       workflows.MigrationState
	// dirty tells that something was heard since the last look.
	dirty  bool
	waited bool // this run has waited at least once
	inbox  flow.Messages
	// answers of plug-ins, by name.
	answers map[string]pluginMemo
	// builtInDecides: a built-in plug-in passed the last look, and that is enough.
	builtInDecides bool
	// mustHold is for how long the last look wants health to hold, zero before it.
	mustHold time.Duration
	// unreported is since when the failover does not know what the page shows; zero when it does.
	unreported time.Time
	// away tells that the source did not answer at the release.
	away bool
	// justReleased tells that the old Work cannot be gone yet.
	justReleased bool
	// reported tells that the pacer knows of the eviction.
	reported bool
	// carried is the look that found the binding placed, nil once it is used.
	carried *activities.Observation
	// news is the version of the binding that the newest signal told of.
	news string
	// verdict is that signal, where it carries a verdict that nothing has followed yet.
	verdict *proof.BindingFact
	// distrusts: a release was refused, so that the next verdict is preceded by a look.
	distrusts bool
	// awaitsNews tells that nothing can have changed before the next signal.
	awaitsNews bool
}

// Workflow moves one binding off one cluster: check and evict in one
// activity under one permit, wait for the scheduler, wait for health, look once
// more and release, see the old copy go. It ends in exactly one outcome.
func Workflow(ctx workflow.Context, p workflows.BindingMigrationParams) (record.Result, error) {
	m := newMigration(ctx, p)
	if wrong := malformedState(&m.st); wrong != "" {
		return record.Result{}, temporal.NewNonRetryableApplicationError("started with what makes no sense: "+wrong, "Malformed", nil)
	}
	if err := flow.Named(ctx, workflows.BindingMigrationID(m.instance, m.st.Ref.Cluster, m.st.Ref.Key)); err != nil {
		return record.Result{}, err
	}
	if err := m.serve(ctx); err != nil {
		return record.Result{}, err
	}
	m.enter(m.st.Phase)
	for m.st.Phase != phase.MigrationDone || m.holding() {
		if m.waited && flow.FullHistory(m.ctx, m.st.Terms.HistoryEvents) && workflow.AllHandlersFinished(m.ctx) {
			m.inbox.Drain()
			return record.Result{}, workflow.NewContinueAsNewError(m.ctx, workflows.TypeBindingMigration, workflows.BindingMigrationParams{Instance: m.instance, State: m.st})
		}
		m.step()
	}
	m.tell(m.st.Result)
	m.lastActs()
	_ = workflow.Await(m.ctx, func() bool { return workflow.AllHandlersFinished(m.ctx) })
	return *m.st.Result, nil
}

func newMigration(ctx workflow.Context, p workflows.BindingMigrationParams) *migration {
	live, _ := workflow.NewDisconnectedContext(ctx)
	m := &migration{ctx: live, instance: p.Instance, st: p.State}
	m.log = log.With(workflow.GetLogger(ctx), "cluster", m.st.Ref.Cluster, "binding", m.st.Ref.Key.String())
	if m.st.Began.IsZero() {
		m.st.Began = workflow.Now(ctx)
		m.st.Phase = phase.MigrationChecking
		m.st.Ref.Owner = workflow.GetInfo(ctx).WorkflowExecution.ID
	} else {
		m.unreported = workflow.Now(ctx) // what the run before has not reported
	}
	return m
}

// step does what the phase asks for, once.
func (m *migration) step() {
	switch m.st.Phase {
	case phase.MigrationChecking:
		m.check()
	case phase.MigrationAwaitingFence:
		m.awaitFence()
	case phase.MigrationEvicting:
		m.verify()
	case phase.MigrationPlacing:
		m.place()
	case phase.MigrationAwaitingHealth:
		m.awaitHealth()
	case phase.MigrationReleasing:
		m.release()
	case phase.MigrationPurging:
		m.purge()
	case phase.MigrationRestoring:
		m.restore()
	case phase.MigrationDone:
		m.letGoOfDependents()
	}
}

// on moves the phase by an event. An illegal move is a Lifeboat bug: it is logged,
// and the phase stays, for a workflow never dies of it. It waits before it goes on: the
// same look would bring it here again at once.
func (m *migration) on(e phase.MigrationEvent) {
	next, err := phase.NextMigration(m.st.Phase, e)
	if err != nil {
		m.log.Error("refused a transition", "error", err)
		m.wait(m.st.Terms.Recheck, "look again after a refused transition")
		return
	}
	if next == m.st.Phase {
		return
	}
	m.st.Phase, m.st.Entered = next, workflow.Now(m.ctx)
	if next == phase.MigrationPlacing || next == phase.MigrationAwaitingHealth {
		m.st.HealthySince = time.Time{}
	}
	m.enter(next)
}

// enter publishes a phase; at the end the outcome stands in its place, so that a
// list of closed migrations says what became of them.
func (m *migration) enter(phase phase.Migration) {
	shown := string(phase)
	if m.st.Result != nil {
		shown = string(m.st.Result.Outcome)
	}
	m.page()
	if m.st.Result == nil && passes(phase) {
		m.reportLater()
		return
	}
	m.publish(shown)
}

func (m *migration) publish(shown string) {
	_ = workflow.UpsertTypedSearchAttributes(m.ctx, workflows.SearchPhase.ValueSet(shown), workflows.SearchReason.ValueSet(string(m.st.Reason)))
}

// passes tells the phases that last as long as one activity: they are published where they
// last for longer.
func passes(current phase.Migration) bool {
	return current == phase.MigrationChecking || current == phase.MigrationPlacing || current == phase.MigrationReleasing || current == phase.MigrationPurging
}

// end records the outcome and closes.
func (m *migration) end(e phase.MigrationEvent, r record.Result) {
	r.Key, r.UID, r.Resource, r.At = m.st.Ref.Key, m.st.Ref.UID, m.st.Resource, workflow.Now(m.ctx)
	if r.Outcome == phase.OutcomeBlocked && m.ordered() {
		r.Outcome, r.Reason = phase.OutcomeAbandoned, m.orderReason() // whoever ordered wants it in no queue
	}
	r.Banned = m.st.Banned
	if r.Wrote = m.st.Wrote; m.direct() || len(m.st.Policy.State) > 0 {
		r.Fence = m.st.Ref.Fence
	}
	if r.To == nil && r.Outcome == phase.OutcomeMigrated {
		r.To = m.st.To
	}
	if r.Cause == "" {
		r.Cause = m.cause()
	}
	m.st.Result, m.st.Reason, m.st.Message = &r, r.Reason, r.Message
	m.on(e)
}

// cause says whose order ended it, empty when it took its own course.
func (m *migration) cause() string {
	switch {
	case m.st.PutBack != nil:
		return "put back by " + m.st.PutBack.Who + ": " + m.st.PutBack.Reason
	case m.st.Drop != nil:
		return "released by " + m.st.Drop.Who + ": " + m.st.Drop.Reason
	case m.st.Cancelled != nil:
		return "cancelled by " + m.st.Cancelled.Who + ": " + m.st.Cancelled.Reason
	case m.st.Unproven:
		return m.unprovenCause()
	case m.st.Recover != nil:
		return record.CauseRecovery
	default:
		return ""
	}
}

// note publishes why it stands where it stands, when that is news: "1 of 3 ready"
// must not stay on the failover's page when it is 2.
func (m *migration) note(reason reason.Reason, message string) {
	another, news := reason != m.st.Reason, message != m.st.Message
	m.st.Reason, m.st.Message = reason, message
	m.page()
	switch {
	case !another && !news:
	case m.progresses():
		m.reportLater()
	default:
		if another {
			m.publish(string(m.st.Phase))
		}
		m.tell(nil)
	}
}

// progresses tells the phases that soon end by themselves, and on whose reason nothing in the
// failover depends.
func (m *migration) progresses() bool {
	switch m.st.Phase {
	case phase.MigrationPlacing, phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging:
		return true
	case phase.MigrationChecking, phase.MigrationEvicting, phase.MigrationAwaitingFence, phase.MigrationRestoring,
		phase.MigrationDone:
	}
	return false
}

// reportAfter is how long a state lasts before the failover is told of it, where nothing there
// depends on it: each report costs the migration five events.
const reportAfter = 15 * time.Second

func (m *migration) reportLater() {
	if m.unreported.IsZero() {
		m.unreported = workflow.Now(m.ctx)
	}
}

// reportIn is how long the migration may wait before it reports, false without anything to report.
func (m *migration) reportIn() (time.Duration, bool) {
	return reportAfter - workflow.Now(m.ctx).Sub(m.unreported), !m.unreported.IsZero()
}

// attention raises the flag; it changes no behaviour.
func (m *migration) attention(why reason.Reason, message string) {
	if m.st.Attention == why {
		return
	}
	m.st.Attention = why
	tags := map[string]string{"cluster": m.st.Ref.Cluster, "reason": string(why)}
	workflow.GetMetricsHandler(m.ctx).WithTags(tags).Counter("lifeboat_needs_attention").Inc(1)
	m.log.Warn("needs attention", "reason", why, "message", message)
	m.acted(record.AuditBindingAttention, record.Audit{Reason: why, Message: reason.Summary(message)})
	known := why == m.st.Reason && message == m.st.Message // then a note is no news, but the flag is
	m.note(why, message)
	if known || !m.unreported.IsZero() {
		m.publish(string(m.st.Phase))
		m.tell(nil)
	}
}

// withRefusal is how it stands, with an order that was refused: that stays beside what came since.
func (m *migration) withRefusal() string {
	if m.st.Refusal == "" || strings.Contains(m.st.Message, m.st.Refusal) {
		return m.st.Message
	}
	return m.st.Refusal + "; now: " + m.st.Message
}

// tell reports to the ClusterFailover. A parent that is not running is told
// nothing: its next run adopts.
func (m *migration) tell(result *record.Result) (heard bool) { return m.tellFrom(m.ctx, result) }

// tellFrom is tell for a coroutine of its own, which may block on its own context only.
func (m *migration) tellFrom(ctx workflow.Context, result *record.Result) (heard bool) {
	report := workflows.MigrationReport{
		FailoverID: m.st.FailoverID, Attempt: m.st.Attempt, Key: m.st.Ref.Key, UID: m.st.Ref.UID,
		Phase: m.st.Phase, Reason: m.st.Reason, Message: reason.Summary(m.withRefusal()), Refused: m.st.Refusal, RefusedID: m.st.RefusedID, Placed: m.st.Placed,
		Attention: m.st.Attention, To: m.st.To, Result: result,
		Late:   m.st.Attention == reason.RestoreUnanswered,
		GoesOn: m.st.Wrote && m.direct(), WantsPermit: result == nil && m.wantsPermit(), Acts: slices.Clone(m.st.Acts),
	}
	asOf := m.unreported
	err := workflow.SignalExternalWorkflow(ctx, m.st.Parent, "", workflows.SignalMigrationReport, report).Get(ctx, nil)
	if err != nil {
		m.log.Warn("could not report", "parent", m.st.Parent, "error", err)
		return false
	}
	if asOf.Equal(m.unreported) {
		m.unreported = time.Time{}
	}
	m.told(report.Acts)
	return true
}

// wait sleeps until something is heard or d has passed. What lasts is reported meanwhile.
func (m *migration) wait(d time.Duration, summary string) {
	if in, due := m.reportIn(); due && in < d {
		if in > 0 {
			_ = flow.AwaitFor(m.ctx, in, summary, m.stirred)
			d -= max(in, flow.MinTimer)
		}
		if !m.stirred() {
			m.publish(string(m.st.Phase))
			m.tell(nil)
		}
	}
	if d > 0 {
		_ = flow.AwaitFor(m.ctx, d, summary, m.stirred)
	}
	m.calm()
	m.waited = true
}

// stirred tells that something was heard that nobody has looked at: of a version of the binding
// other than the one that was read or written last, or of anything else.
func (m *migration) stirred() bool {
	return m.dirty || m.news != "" && m.news != m.st.Ref.Seen
}

func (m *migration) calm() { m.dirty, m.news = false, "" }

// ordered tells that a recovery or a cancel stands.
func (m *migration) ordered() bool { return m.st.Recover != nil || m.st.Cancelled != nil }

// malformedState says why no run can go on from a state, empty when one can. Anybody who may
// start workflows can make one up, and one in a phase that nobody knows would turn in
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
