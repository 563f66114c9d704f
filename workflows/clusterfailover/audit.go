package clusterfailover

import (
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// audit begins this run's part of the trail, with what the run before left to be written.
func (e *failover) audit() {
	info := workflow.GetInfo(e.ctx).WorkflowExecution
	e.trailWriter = flow.NewTrailWriter(e.ctx, flow.TrailOptions{
		Left: e.st.Audit, Dirty: &e.dirty,
		// Before the terms are known an order may come that they would have recorded.
		On: func() bool { return e.st.Terms.Audit || e.st.Terms.Mode == "" },
		Source: func() activities.AuditSource {
			return activities.AuditSource{
				Instance: e.instance, Cluster: e.cluster, FailoverID: e.st.FailoverID, Mode: e.st.Terms.Mode,
				Workflow: info.ID, Run: info.RunID, First: e.st.FailoverID,
			}
		},
	})
	e.st.Audit = nil
}

// leaveTrail carries over what is not known to be written.
func (e *failover) leaveTrail() {
	if e.st.Terms.Audit {
		e.st.Audit = e.trailWriter.Leave(2 * flow.CarryNames)
	}
}

func (e *failover) auditBegun() {
	if !e.st.Terms.Audit {
		e.trailWriter.Forget()
		return
	}
	e.trailWriter.Tell(record.Audit{
		Kind: record.AuditFailoverBegun, Time: e.st.Began, Attempt: e.st.Attempt, Phase: string(e.st.Phase),
	})
}

// auditPhase tells of a transition with what speaks for it.
func (e *failover) auditPhase(from phase.Failover, event phase.FailoverEvent) {
	r := record.Audit{
		Kind: record.AuditPhaseEntered, Attempt: e.st.Attempt, Phase: string(e.st.Phase), Reason: e.st.Reason,
		Evidence: map[string]string{"event": string(event), "from": string(from)},
	}
	switch {
	case event == phase.EventConfirmed:
		r.Kind = record.AuditFailureConfirmed
		e.evidence(r.Evidence)
	case event == phase.EventRecoveryConfirmed:
		r.Kind = record.AuditRecoveryConfirmed
		e.evidence(r.Evidence)
		r.Evidence["wellSince"] = moment(e.st.Well)
	case e.st.Phase.Terminal():
		r.Kind, r.Counts = record.AuditFailoverClosed, e.totals()
		if owed := len(e.st.PendingPurges) + e.st.PendingPurgesBeyond; owed > 0 {
			r.Evidence["pendingPurge"] = strconv.Itoa(owed)
		}
	}
	e.trailWriter.Tell(r)
}

// auditAttempt tells the totals of an attempt that is over.
func (e *failover) auditAttempt(attempt workflows.AttemptReport) {
	e.trailWriter.Tell(record.Audit{Kind: record.AuditAttemptClosed, Attempt: attempt.Attempt, Phase: string(attempt.Ended), Counts: sum(nil, attempt.Counts)})
}

// totals are the outcomes of all attempts.
func (e *failover) totals() map[string]int {
	total := sum(nil, e.st.Counts)
	for _, past := range e.st.Past {
		total = sum(total, past.Counts)
	}
	return total
}

// sum adds counts to a total, which is made where there is none.
func sum(total, counts map[string]int) map[string]int {
	if total == nil {
		total = map[string]int{}
	}
	for _, outcome := range workflow.DeterministicKeys(counts) {
		total[outcome] += counts[outcome]
	}
	return total
}

// evidence adds what is known of the cluster: Karmada's own word, the external probe's, every rule
// that matches and since when, and the taints that others put.
func (e *failover) evidence(out map[string]string) {
	out["ready"] = e.st.Cluster.Ready + " (" + e.st.Cluster.ReadyReason + ")"
	if says := e.externalProbe(); says != "" {
		out["externalProbe"] = string(says)
	}
	for _, k := range e.st.Windows.SortedKeys() {
		if w := e.st.Windows[k]; w.Matching {
			out["rule "+w.Rule] = w.Taint.Key + ":" + string(w.Taint.Effect) + ", matches since " + moment(w.Since)
		}
	}
	for _, t := range e.st.Cluster.Foreign {
		out["taint "+t.Key+":"+string(t.Effect)] = "put by others, " + t.Value
	}
	if d := e.st.Cluster.Drain; d != nil {
		out["drain"] = d.Who + ": " + d.Why
	}
	for _, o := range e.st.Cluster.Ordered {
		out["taint "+o.Name()] = "ordered by " + o.Who + ": " + o.Why
	}
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// auditTaints tells what a write changed about Lifeboat's taints.
func (e *failover) auditTaints(was []karmada.AddedTaint) {
	same := func(t karmada.AddedTaint) func(karmada.AddedTaint) bool {
		return func(x karmada.AddedTaint) bool { return x.Key == t.Key && x.Effect == t.Effect }
	}
	for _, t := range e.st.Cluster.Ours {
		if !slices.ContainsFunc(was, same(t)) {
			e.auditTaint(record.AuditTaintAdded, t, "")
		}
	}
	for _, t := range was {
		if !slices.ContainsFunc(e.st.Cluster.Ours, same(t)) {
			e.auditTaint(record.AuditTaintRemoved, t, "")
		}
	}
}

func (e *failover) auditTaint(kind record.Kind, t karmada.AddedTaint, message string) {
	e.trailWriter.Tell(record.Audit{
		Kind: kind, Attempt: e.st.Attempt, Phase: string(e.st.Phase), Reason: e.st.Reason, Message: message,
		Evidence: map[string]string{"taint": t.Key + ":" + string(t.Effect), "rule": t.Rule},
	})
}

// auditVirtual is auditTaints for observe, where the taint would stand.
func (e *failover) auditVirtual(t corev1.Taint, rule string) {
	e.trailWriter.Tell(record.Audit{
		Kind: record.AuditTaintAdded, Attempt: e.st.Attempt, Phase: string(e.st.Phase), Reason: e.st.Reason, Message: "observed: nothing is written",
		Evidence: map[string]string{"taint": t.Key + ":" + string(t.Effect), "rule": rule},
	})
}

// auditQueued tells that a taint makes a binding move, and when.
func (e *failover) auditQueued(i *queue.Item, due time.Time, d rules.Due) {
	e.trailWriter.Add(record.Audit{
		Kind: record.AuditBindingQueued, Attempt: e.st.Attempt, Bindings: flow.About(i.Key), Resource: i.Resource, Reason: i.Reason,
		Evidence: map[string]string{"taint": d.Taint.Key + ":" + string(d.Taint.Effect), "due": moment(due)},
	})
}

// auditBlocked tells why a binding may not move for now, where that is news.
func (e *failover) auditBlocked(i *queue.Item) {
	if i.Said == i.Reason {
		return
	}
	if e.trailWriter.Active() {
		i.Said = i.Reason
	}
	e.trailWriter.Add(record.Audit{
		Kind: record.AuditBindingBlocked, Attempt: e.st.Attempt, Bindings: flow.About(i.Key), Resource: i.Resource, Reason: i.Reason, Message: i.Message,
	})
}

// auditMove tells that a migration of a binding began.
func (e *failover) auditMove(i queue.Item, st workflows.MigrationState) {
	r := record.Audit{
		Kind: record.AuditBindingBegun, Attempt: e.st.Attempt, Bindings: flow.About(i.Key), Resource: i.Resource, To: i.To,
		Message: moveSummary(i, e.cluster, st), Evidence: map[string]string{"permit": strconv.FormatInt(st.Permit.Number, 10)},
	}
	if !st.DueAt.IsZero() {
		r.Evidence["due"] = moment(st.DueAt)
	}
	e.trailWriter.Add(r)
}

// auditActs passes on what a migration did, under its own name, failover and attempt.
func (e *failover) auditActs(r workflows.MigrationReport) {
	for _, act := range r.Acts {
		act.Bindings, act.Attempt, act.Workflow = flow.About(r.Key), r.Attempt, workflows.BindingMigrationID(e.instance, e.cluster, r.Key)
		if r.FailoverID != e.st.FailoverID {
			act.FailoverID = r.FailoverID
		}
		e.trailWriter.Add(act)
	}
}

// auditOutcome tells what became of a binding in an attempt.
func (e *failover) auditOutcome(attempt int, x record.Result) {
	r := record.Audit{
		Kind: record.AuditBindingOutcome, Attempt: attempt, Bindings: flow.About(x.Key), Resource: x.Resource, Time: x.At,
		Outcome: x.Outcome, Reason: x.Reason, Message: x.Message, Cause: x.Cause, To: x.To,
	}
	if x.Fence != nil || x.PendingPurge != nil {
		r.Evidence = map[string]string{}
	}
	if x.Fence != nil {
		r.Evidence["fence"] = x.Fence.String()
	}
	if x.PendingPurge != nil {
		r.Evidence["pendingPurge"] = x.PendingPurge.Namespace + "/" + x.PendingPurge.Work
	}
	e.trailWriter.Add(r)
}

// auditOrder tells of a human's order; details come in pairs of a name and what it says.
func (e *failover) auditOrder(verb string, o workflows.Order, scope queue.Scope, details ...string) {
	r := record.Audit{
		Kind: record.AuditOrderGiven, Attempt: e.st.Attempt, Phase: string(e.st.Phase), Order: verb, Who: o.Who, Why: o.Reason,
		Evidence: map[string]string{"scope": scope.String()},
	}
	if scope == (queue.Scope{}) {
		r.Evidence["scope"] = "the failover"
	}
	if scope.One() {
		r.Bindings = flow.About(scope.Binding)
	}
	flow.AddEvidence(r.Evidence, details...)
	e.trailWriter.Tell(r)
}

// auditDrain tells of a drain that is recorded on the cluster, or of the end of one.
func (e *failover) auditDrain(ask *clusterAsk) {
	if d := ask.drain; d != nil {
		e.auditOrder(ask.verb, ask.by, queue.Scope{}, "selector", d.Selector, "rate", flow.RateOf(d.Rate), "honourTolerations", flow.Yes(d.HonourTolerations))
		return
	}
	e.auditOrder(ask.verb, ask.by, queue.Scope{})
}

// auditUnnamed tells the outcome of bindings whose names are not known any more.
func (e *failover) auditUnnamed(outcome phase.Outcome, n int) {
	e.trailWriter.Add(record.Audit{
		Kind: record.AuditBindingOutcome, Attempt: e.st.Attempt, Outcome: outcome, Message: "they were too many to be carried over by name",
		Counts: map[string]int{string(outcome): n},
	})
}
