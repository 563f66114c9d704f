package bindingmigration

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// reportAfter is how long a state lasts before it is reported to the failover, where nothing there
// depends on it: each report costs the migration five events.
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

// report sends a report to the ClusterFailover. A parent that is not running gets
// nothing: its next run adopts.
func (re *reporter) report(result *record.Result) (heard bool) { return re.reportFrom(re.ctx, result) }

// reportFrom is report for a coroutine of its own, which may block on its own context only.
func (re *reporter) reportFrom(ctx workflow.Context, result *record.Result) (heard bool) {
	report := workflows.MigrationReport{
		FailoverID: re.st.FailoverID, Attempt: re.st.Attempt, Key: re.st.Ref.Key, UID: re.st.Ref.UID,
		Phase: re.st.Phase, Reason: re.st.Reason, Message: reason.Summary(re.withRefusal()), Refused: re.st.Intent.Refusal, RefusedID: re.st.Intent.RefusedID, Placed: re.st.Placed,
		Attention: re.st.Attention, To: re.st.To, Result: result,
		Late:   re.restoreLate(),
		GoesOn: re.st.Wrote() && re.st.Directly(), WantsPermit: result == nil && re.st.WantsPermit(), Acts: slices.Clone(re.st.Acts),
	}
	asOf := re.unreported
	err := workflow.SignalExternalWorkflow(ctx, re.st.Parent, "", workflows.SignalMigrationReport, report).Get(ctx, nil)
	if err != nil {
		re.log.Warn("could not report", "parent", re.st.Parent, "error", err)
		return false
	}
	if asOf.Equal(re.unreported) {
		re.unreported = time.Time{}
	}
	re.dropReported(report.Acts)
	return true
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

// maxActs bounds what a migration keeps for a ClusterFailover that does not run.
const maxActs = 100

// auditor keeps what this migration did until a report has taken it along: Acts and ActSeq are its own.
type auditor struct{ *core }

// acted keeps what this migration did, or what was ordered of it, for the next report:
// its ClusterFailover writes it into the audit trail with everything else. Evidence comes
// in pairs of a name and what it says; what says nothing is left out.
func (au *auditor) acted(kind record.Kind, r record.Audit, evidence ...string) {
	if !au.st.Terms.Audit {
		return
	}
	au.st.ActSeq++
	r.Kind, r.ID, r.Time = kind, au.trailID()+"/"+strconv.FormatInt(au.st.ActSeq, 10), workflow.Now(au.ctx)
	r.Resource = au.st.Resource
	r.Evidence = flow.AddEvidence(r.Evidence, evidence...)
	au.st.Acts = append(au.st.Acts, r)
	if extra := len(au.st.Acts) - maxActs; extra > 0 {
		au.st.Acts = slices.Delete(au.st.Acts, 0, extra)
		au.lost(extra)
	}
}

// trailID is what the ids of this migration's records begin with.
func (au *auditor) trailID() string {
	info := workflow.GetInfo(au.ctx)
	return cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
}

func (au *auditor) lost(n int) {
	workflow.GetMetricsHandler(au.ctx).Counter("lifeboat_audit_lost").Inc(int64(n))
	au.log.Error("audit records are lost: nobody has taken them for too long", "records", n)
}

// orderedBy keeps an operator's order to this one migration.
func (au *auditor) orderedBy(verb string, o workflows.Order, details ...string) {
	au.acted(record.AuditOrderGiven, record.Audit{Order: verb, Who: o.Who, Why: o.Reason}, append(details, "scope", au.st.Ref.Key.String())...)
}

// dropReported drops the records that a report has taken along.
func (au *auditor) dropReported(acts []record.Audit) {
	au.st.Acts = slices.DeleteFunc(au.st.Acts, func(r record.Audit) bool {
		return slices.ContainsFunc(acts, func(x record.Audit) bool { return x.ID == r.ID })
	})
}

// lastActs writes down what no ClusterFailover has taken, within a moment.
func (au *auditor) lastActs() {
	if len(au.st.Acts) == 0 {
		return
	}
	info := workflow.GetInfo(au.ctx)
	request := activities.AuditRequest{
		Source: activities.AuditSource{
			Instance: au.instance, Cluster: au.st.Ref.Cluster, FailoverID: au.st.FailoverID, Mode: au.st.Ref.Mode,
			Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID, First: au.trailID(),
		},
		Records: slices.Clone(au.st.Acts),
	}
	for n := range request.Records {
		request.Records[n].Bindings, request.Records[n].Attempt = flow.About(au.st.Ref.Key), au.st.Attempt
	}
	ctx := workflow.WithActivityOptions(au.ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: 3 * flow.LastRecords, StartToCloseTimeout: flow.LastRecords,
		Summary:     reason.Summary("append what " + au.st.Parent + " has not taken to the audit trail"),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second},
	})
	if err := workflow.ExecuteActivity(ctx, activities.NameRecordAudit, request).Get(ctx, nil); err != nil {
		au.lost(len(au.st.Acts))
	}
	au.st.Acts = nil
}

// places is "member1 (2 replicas), member2", as evidence.
func places(on []karmada.TargetCluster) string {
	var out []string
	for _, t := range on {
		name := t.Name
		if t.Replicas > 0 {
			name += fmt.Sprintf(" (%d replicas)", t.Replicas)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// auditEvicted records an eviction that stands, with the clusters that the binding had.
func (au *auditor) auditEvicted() {
	old := ""
	if w := au.st.OldWork; w != nil {
		old = w.Namespace + "/" + w.Name + " " + string(w.UID)
	}
	permit := ""
	if au.st.Permit.Number > 0 {
		permit = strconv.FormatInt(au.st.Permit.Number, 10)
	}
	r := record.Audit{Reason: au.st.Reason, Message: au.st.Message}
	if au.st.Adopts() {
		r.Message = "found standing, and taken over"
	}
	au.acted(record.AuditBindingEvicted, r, "permit", permit, "from", places(au.st.Ref.Baseline.Clusters), "oldWork", old, "taint", taintOf(au.st.Why))
}

func taintOf(d rules.Due) string {
	if d.Taint.Key == "" {
		return ""
	}
	return d.Taint.Key + ":" + string(d.Taint.Effect)
}

// auditReleased records that a hold was dropped, and what proved the new copy.
func (au *auditor) auditReleased(r activities.ReleaseRequest) {
	var proof []string
	for _, p := range r.Proofs {
		proof = append(proof, p.Plugin+": "+p.Message)
	}
	held := ""
	if r.HealthyFor > 0 {
		held = r.HealthyFor.String()
	}
	au.acted(record.AuditBindingReleased, record.Audit{Reason: au.st.Reason, Message: au.st.Message, To: au.st.To},
		"healthyFor", held, "proof", strings.Join(proof, "; "), "banned", flow.Yes(au.st.Banned))
}

// auditHeld records that the dependents are held.
func (au *auditor) auditHeld() {
	if len(au.st.Dependents.Keys) == 0 {
		return
	}
	var names []string
	for _, d := range au.st.Dependents.Keys {
		names = append(names, d.String())
	}
	au.acted(record.AuditBindingHeld, record.Audit{Message: "its dependents are held first"}, "dependents", reason.Summary(strings.Join(names, ", ")))
}

// auditFenced records that a plug-in proves the old copy dead, once for the same message: a plug-in
// whose proof is void is asked again and again.
func (au *auditor) auditFenced(plugin, message string) {
	if f := au.st.Ref.Fence; f == nil || f.By != plugin || f.Message != message {
		au.acted(record.AuditBindingFenced, record.Audit{Message: message}, "plugin", plugin)
	}
}
