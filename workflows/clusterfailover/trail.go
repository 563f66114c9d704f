package clusterfailover

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
)

// trail records what a failover does, for the audit trail. What it says of the moment it reads off the
// state.
type trail struct {
	flow.TrailWriter
	st *workflows.FailoverState
}

// newTrail begins this run's part of the trail, with what the run before left to be written.
func newTrail(ctx workflow.Context, p workflows.ClusterFailoverParams, dirty *bool) trail {
	info := workflow.GetInfo(ctx).WorkflowExecution
	st := p.State
	return trail{st: st, TrailWriter: flow.NewTrailWriter(ctx, &st.Audit, flow.TrailOptions{
		Dirty: dirty,
		// Before the terms are known an order may come that they would have recorded.
		On: func() bool { return st.Terms.Audit || st.Terms.Mode == "" },
		Source: func() activities.AuditSource {
			return activities.AuditSource{
				Instance: p.Instance, Cluster: p.Cluster, FailoverID: st.FailoverID, Mode: st.Terms.Mode,
				Workflow: info.ID, Run: info.RunID, First: st.FailoverID,
			}
		},
	})}
}

// leave carries over what is not known to be written.
func (t *trail) leave() {
	if t.st.Terms.Audit {
		t.st.Audit = t.Leave(2 * flow.CarryNames)
	}
}

func (t *trail) begun() {
	if !t.st.Terms.Audit {
		t.Forget()
		return
	}
	t.AddUrgent(record.Audit{
		Kind: record.AuditFailoverBegun, Time: t.st.Began, Attempt: t.st.Attempt, Phase: string(t.st.Phase),
	})
}

// entered records a transition with its evidence.
func (t *trail) entered(from phase.Failover, event phase.FailoverEvent, says rules.ExternalProbe) {
	r := record.Audit{
		Kind: record.AuditPhaseEntered, Attempt: t.st.Attempt, Phase: string(t.st.Phase), Reason: t.st.Reason,
		Evidence: map[string]string{"event": string(event), "from": string(from)},
	}
	switch {
	case event == phase.EventConfirmed:
		r.Kind = record.AuditFailureConfirmed
		t.evidence(r.Evidence, says)
	case event == phase.EventRecoveryConfirmed:
		r.Kind = record.AuditRecoveryConfirmed
		t.evidence(r.Evidence, says)
		r.Evidence["wellSince"] = moment(t.st.WellSince)
	case t.st.Phase.Terminal():
		r.Kind, r.Counts = record.AuditFailoverClosed, t.totals()
		if owed := len(t.st.PendingPurges) + t.st.PendingPurgesBeyond; owed > 0 {
			r.Evidence["pendingPurge"] = strconv.Itoa(owed)
		}
	}
	t.AddUrgent(r)
}

// attempt records the totals of an attempt that is over.
func (t *trail) attempt(attempt workflows.AttemptReport) {
	t.AddUrgent(record.Audit{Kind: record.AuditAttemptClosed, Attempt: attempt.Attempt, Phase: string(attempt.Ended), Counts: maps.Clone(attempt.Counts)})
}

// totals are the outcomes of all attempts.
func (t *trail) totals() map[string]int {
	total := maps.Clone(t.st.Counts)
	for _, past := range t.st.Past {
		for _, outcome := range workflow.DeterministicKeys(past.Counts) {
			total[outcome] += past.Counts[outcome]
		}
	}
	return total
}

// evidence adds what is known of the cluster: Karmada's condition, the result of the external probe, every rule
// that matches and since when, and the taints that others put.
func (t *trail) evidence(out map[string]string, says rules.ExternalProbe) {
	out["ready"] = t.st.Cluster.Ready + " (" + t.st.Cluster.ReadyReason + ")"
	if says != "" {
		out["externalProbe"] = string(says)
	}
	for _, w := range t.st.Windows.Sorted() {
		if w.Matching {
			out["rule "+w.Rule] = w.Taint.Key + ":" + string(w.Taint.Effect) + ", matches since " + moment(w.Since)
		}
	}
	for _, x := range t.st.Cluster.Foreign {
		out["taint "+x.Key+":"+string(x.Effect)] = "put by others, " + x.Value
	}
	if d := t.st.Cluster.Drain; d != nil {
		out["drain"] = d.Who + ": " + d.Why
	}
	for _, o := range t.st.Cluster.Ordered {
		out["taint "+o.Name()] = "ordered by " + o.Who + ": " + o.Why
	}
}

// taints records what a write changed about Lifeboat's taints.
func (t *trail) taints(was []karmada.AddedTaint) {
	same := func(a karmada.AddedTaint) func(karmada.AddedTaint) bool {
		return func(b karmada.AddedTaint) bool { return a.Key == b.Key && a.Effect == b.Effect }
	}
	for _, stands := range t.st.Cluster.Added {
		switch at := slices.IndexFunc(was, same(stands)); {
		case at < 0:
			t.taintChanged(record.AuditTaintAdded, stands, "")
		case was[at].Rule != stands.Rule:
			t.taintChanged(record.AuditTaintAdded, stands, "taken over: it was the taint "+rules.RuleTitle(was[at].Rule))
		}
	}
	for _, stood := range was {
		if !slices.ContainsFunc(t.st.Cluster.Added, same(stood)) {
			t.taintChanged(record.AuditTaintRemoved, stood, "")
		}
	}
}

func (t *trail) taintChanged(kind record.Kind, about karmada.AddedTaint, message string) {
	t.AddUrgent(record.Audit{
		Kind: kind, Attempt: t.st.Attempt, Phase: string(t.st.Phase), Reason: t.st.Reason, Message: message,
		Evidence: map[string]string{"taint": about.Key + ":" + string(about.Effect), "rule": about.Rule},
	})
}

// queued records that a taint makes a binding move, and when.
func (t *trail) queued(i *queue.Item, due time.Time, d rules.Due) {
	t.Add(record.Audit{
		Kind: record.AuditBindingQueued, Attempt: t.st.Attempt, Bindings: flow.About(i.Key), Resource: i.Resource, Reason: i.Reason,
		Evidence: map[string]string{"taint": d.Taint.Key + ":" + string(d.Taint.Effect), "due": moment(due)},
	})
}

// blocked records why a binding may not move for now, once for each reason.
func (t *trail) blocked(i *queue.Item) {
	if i.Said == i.Reason {
		return
	}
	if t.Active() {
		i.Said = i.Reason
	}
	t.Add(record.Audit{
		Kind: record.AuditBindingBlocked, Attempt: t.st.Attempt, Bindings: flow.About(i.Key), Resource: i.Resource, Reason: i.Reason, Message: i.Message,
	})
}

// move records that a migration of a binding began.
func (t *trail) move(i queue.Item, st workflows.MigrationState, summary string) {
	r := record.Audit{
		Kind: record.AuditBindingBegun, Attempt: t.st.Attempt, Bindings: flow.About(i.Key), Resource: i.Resource, To: i.To,
		Message: summary, Evidence: map[string]string{"permit": strconv.FormatInt(st.Permit.Number, 10)},
	}
	if !st.DueAt.IsZero() {
		r.Evidence["due"] = moment(st.DueAt)
	}
	t.Add(r)
}

// ordered records an operator's order; details come in pairs of a name and what it says.
func (t *trail) ordered(verb string, o workflows.Order, scope queue.Scope, details ...string) {
	r := record.Audit{
		Kind: record.AuditOrderGiven, Attempt: t.st.Attempt, Phase: string(t.st.Phase), Order: verb, Who: o.Who, Why: o.Reason,
		Evidence: map[string]string{"scope": scope.String()},
	}
	if scope == (queue.Scope{}) {
		r.Evidence["scope"] = "the failover"
	}
	if scope.One() {
		r.Bindings = flow.About(scope.Binding)
	}
	flow.AddEvidence(r.Evidence, details...)
	t.AddUrgent(r)
}

// unnamed records the outcome of bindings whose names were not carried over.
func (t *trail) unnamed(outcome phase.Outcome, n int) {
	t.Add(record.Audit{
		Kind: record.AuditBindingOutcome, Attempt: t.st.Attempt, Outcome: outcome, Message: "they were too many to be carried over by name",
		Counts: map[string]int{string(outcome): n},
	})
}

func moment(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// migrationSummary names the binding as orders take it.
func migrationSummary(i queue.Item, cluster string, st workflows.MigrationState) string {
	switch {
	case st.Adopts():
		return fmt.Sprintf("take over the hold of %s on %s", i.Key, cluster)
	case st.Start == workflows.StartAwaitFence:
		return fmt.Sprintf("%s may only move once its copy on %s is proven dead", i.Key, cluster)
	}
	return fmt.Sprintf("move %s off %s to %s", i.Key, cluster, strings.Join(i.To, " or "))
}
