package bindingmigration

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// reportAfter is how long a state lasts before it is reported to the failover, where nothing there
// depends on it: each report costs the migration an event.
const reportAfter = 15 * time.Second

// reporter keeps what the failover, the page and the search attributes show: Reason, Message
// and Attention are its own.
type reporter struct {
	*auditor
	// unreported is since when the page shows what was not reported to the failover; zero when it does.
	unreported time.Time
	// mustHold is for how long health must hold by the last look, zero before it.
	mustHold time.Duration
}

// enter publishes a phase; at the end the outcome stands in its place, so that a
// list of closed migrations says what became of them.
func (re *reporter) enter(phase phase.Migration) {
	shown := string(phase)
	if re.st.Result != nil {
		shown = string(re.st.Result.Outcome)
	}
	re.page()
	if re.st.Result == nil && passes(phase) {
		re.reportLater()
		return
	}
	re.publish(shown)
}

func (re *reporter) publish(shown string) {
	_ = workflow.UpsertTypedSearchAttributes(re.ctx, workflows.SearchPhase.ValueSet(shown), workflows.SearchReason.ValueSet(string(re.st.Reason)))
}

// passes reports whether a phase lasts only as long as one activity: it is published where it
// lasts longer.
func passes(current phase.Migration) bool {
	return current == phase.MigrationChecking || current == phase.MigrationPlacing || current == phase.MigrationReleasing || current == phase.MigrationPurging
}

// note publishes why it stands where it stands, when that is news: "1 of 3 ready"
// must not stay on the failover's page when it is 2.
func (re *reporter) note(reason reason.Reason, message string) {
	another, news := reason != re.st.Reason, message != re.st.Message
	re.st.Reason, re.st.Message = reason, message
	re.page()
	switch {
	case !another && !news:
	case re.progresses():
		re.reportLater()
	default:
		if another {
			re.publish(string(re.st.Phase))
		}
		re.report(nil)
	}
}

// progresses reports whether the phase soon ends by itself, and nothing in the failover depends
// on its reason.
func (re *reporter) progresses() bool {
	return slices.Contains([]phase.Migration{
		phase.MigrationPlacing, phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging,
	}, re.st.Phase)
}

func (re *reporter) reportLater() {
	if re.unreported.IsZero() {
		re.unreported = workflow.Now(re.ctx)
	}
}

// reportIn is how long the migration may wait before it reports, false without anything to report.
func (re *reporter) reportIn() (time.Duration, bool) {
	return reportAfter - workflow.Now(re.ctx).Sub(re.unreported), !re.unreported.IsZero()
}

// attention raises the flag; it changes no behaviour.
func (re *reporter) attention(why reason.Reason, message string) {
	if re.st.Attention == why {
		return
	}
	re.st.Attention = why
	tags := map[string]string{"cluster": re.st.Ref.Cluster, "reason": string(why)}
	workflow.GetMetricsHandler(re.ctx).WithTags(tags).Counter("lifeboat_needs_attention").Inc(1)
	re.log.Warn("needs attention", "reason", why, "message", message)
	re.acted(record.AuditBindingAttention, record.Audit{Reason: why, Message: reason.Summary(message)})
	known := why == re.st.Reason && message == re.st.Message // then a note is no news, but the flag is
	re.note(why, message)
	if known || !re.unreported.IsZero() {
		re.publish(string(re.st.Phase))
		re.report(nil)
	}
}

// withRefusal is how it stands, with an order that was refused: that stays beside what came since.
func (re *reporter) withRefusal() string {
	if re.st.Intent.Refusal == "" || strings.Contains(re.st.Message, re.st.Intent.Refusal) {
		return re.st.Message
	}
	return re.st.Intent.Refusal + "; now: " + re.st.Message
}

// report sends a report to its failover. One that is not running gets
// nothing: its next run adopts.
func (re *reporter) report(result *record.Result) (heard bool) { return re.reportFrom(re.ctx, result) }

// reportBeside reports from a handler, which does not wait.
func (re *reporter) reportBeside() {
	re.beside.Go(re.ctx, func(ctx workflow.Context) { re.reportFrom(ctx, nil) })
}

// reportFrom is report for a coroutine of its own, which may block on its own context only.
func (re *reporter) reportFrom(ctx workflow.Context, result *record.Result) (heard bool) {
	report := activities.MigrationReport{
		FailoverID: re.st.FailoverID, Attempt: re.st.Attempt, Key: re.st.Ref.Key, UID: re.st.Ref.UID, Asked: re.st.Asked,
		Phase: re.st.Phase, Reason: re.st.Reason, Message: reason.Summary(re.withRefusal()), Refused: re.st.Intent.Refusal, RefusedID: re.st.Intent.RefusedID, Placed: re.st.Placed,
		Attention: re.st.Attention, To: re.st.To, Result: result,
		Late:   re.restoreLate(),
		GoesOn: re.st.Wrote() && re.st.Directly(), WantsPermit: result == nil && re.st.WantsPermit(), Acts: slices.Clone(re.st.Acts),
	}
	asOf := re.unreported
	if err := handOver(ctx, re.st.Parent, report); err != nil {
		re.log.Warn("could not report", "parent", re.st.Parent, "error", err)
		return false
	}
	if asOf.Equal(re.unreported) {
		re.unreported = time.Time{}
	}
	re.dropReported(report.Acts)
	return true
}

// handOverWithin bounds for how long the current workflow task is kept open for a report.
const handOverWithin = 3 * time.Second

// handOver has the worker hand a report to a failover, with those of other migrations. An error means that it does not
// run. Progress goes within the current workflow task: it costs one event instead of six, and may be reported
// twice, should that task be lost. An end is reported once it is in the history.
func handOver(ctx workflow.Context, failover string, r activities.MigrationReport) error {
	request := activities.ReportRequest{Failover: failover, Report: r}
	if r.Result == nil {
		local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			StartToCloseTimeout: handOverWithin, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		err := workflow.ExecuteLocalActivity(local, activities.NameReportMigration, request).Get(local, nil)
		var missing *temporal.ApplicationError
		if err == nil || errors.As(err, &missing) && missing.Type() == activities.ErrorNotRunning {
			return err
		}
	}
	return workflow.ExecuteActivity(flow.Doing(ctx, "report to "+failover), activities.NameReportMigration, request).Get(ctx, nil)
}

// reportUsed reports to the pacer that the eviction stands, where the activity could not.
func (re *reporter) reportUsed() {
	used := workflows.PermitsUsed{Used: []workflows.PermitUse{{Number: re.st.Permit.Number, Binding: re.st.Ref.Key.String()}}}
	if err := workflow.SignalExternalWorkflow(re.ctx, workflows.FleetPacerID(re.instance), "", workflows.SignalPermitsUsed, used).Get(re.ctx, nil); err != nil {
		re.log.Warn("could not report an eviction: it does not count as a move", "permit", re.st.Permit.Number, "error", err)
	}
}

// expectUntil: until due the state lasts as long as it should, and is not reported for lasting.
func (re *reporter) expectUntil(due time.Time) {
	if re.st.Proof.Followed && !re.unreported.IsZero() && due.After(re.unreported) {
		re.unreported = due
	}
}

// restoreLate reports whether this restore has lasted longer than restoreWait.
func (re *reporter) restoreLate() bool {
	return re.st.Phase == phase.MigrationRestoring && workflow.Now(re.ctx).Sub(re.st.Entered) > re.st.Terms.RestoreWait
}

// late reports whether gracefulTimeout has passed since the eviction.
func (re *reporter) late() bool {
	return workflow.Now(re.ctx).Sub(re.st.Ref.Written) > re.st.Terms.GracefulTimeout
}

// overdue raises attention once gracefulTimeout has passed; it deletes nothing.
func (re *reporter) overdue(what string) {
	if re.late() {
		kept := "the old copy is held"
		if re.st.Directly() {
			kept = "nothing is forced"
		}
		re.attention(reason.GracefulTimeout, what+" within gracefulTimeout ("+re.st.Terms.GracefulTimeout.String()+"); "+kept)
	}
}

// page shows where this migration stands.
func (re *reporter) page() {
	v := re.st.View(workflow.Now(re.ctx))
	v.Message, v.MustHold = re.withRefusal(), max(re.mustHold, v.MustHold)
	if re.st.Intent.Stops() {
		v.Ordered = re.st.Cause()
	}
	workflow.SetCurrentDetails(re.ctx, view.MigrationPage(v))
}
