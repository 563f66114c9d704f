package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

func (e *failover) explain(r workflows.ExplainRequest) (workflows.Explanation, error) {
	x := workflows.Explanation{
		Now: e.now(), Cluster: e.cluster, FailoverID: e.st.FailoverID, Attempt: e.st.Attempt, Mode: string(e.st.Terms.Mode), Phase: e.st.Phase,
		Reason: e.st.Reason, Ready: e.st.Cluster.Ready, ReadyReason: e.st.Cluster.ReadyReason, OptedOut: e.st.Cluster.OptedOut,
		Rules: view.WindowLines(e.st.Windows, e.st.Cluster.Ours), Confirmed: e.st.Named, Drain: e.st.Cluster.Drain, Ordered: e.st.Cluster.Ordered,
		Frozen: e.st.Frozen, Pace: e.st.Pace, Paused: e.st.Paused, Stopped: e.st.Stopped, Asked: e.st.Asked,
	}
	policy := -1
	if at := e.st.Queue.Find(r.Binding); at >= 0 {
		item := e.st.Items[at]
		x.Item, x.Ahead, x.Priority, policy = &item, e.st.Queue.Ahead(e.now(), at), e.st.Queue.Priority(&item), item.Policy
		x.SnoozedBy, x.PausedBy = e.st.SnoozedBy(item.Key), e.st.PausedBy(item.Key)
	}
	if m, moving := e.st.Moves[r.Binding.String()]; moving {
		x.Move, policy = &m, m.Policy
	}
	e.explainPolicy(&x, policy)
	x.Results = e.resultsOf(r)
	return x, nil
}

// explainPolicy tells what the frozen policy says to the taints that stand.
func (e *failover) explainPolicy(x *workflows.Explanation, policy int) {
	taints := slices.Concat(e.st.Cluster.Hard, e.st.Cluster.Soft, e.st.Virtual)
	if policy < 0 || policy >= len(e.st.Policy) {
		for _, t := range taints {
			x.Taints = append(x.Taints, rules.TaintWord{Taint: taintRef(t)})
		}
		return
	}
	frozen := e.st.Policy[policy]
	x.Policy, x.Taints = &frozen, rules.TaintWords(frozen, taints, e.now())
	if policy < len(e.st.Dues) {
		x.DueAt, x.Why = e.st.Queue.PolicyDue(e.now(), policy)
		if x.SnoozedBy != nil {
			x.DueAt = queue.Snoozed(x.DueAt, x.SnoozedBy.Until)
		}
	}
}

func taintRef(t corev1.Taint) rules.TaintRef {
	ref := rules.TaintRef{Key: t.Key, Value: t.Value, Effect: t.Effect}
	if t.TimeAdded != nil {
		ref.TimeAdded = t.TimeAdded.Time
	}
	return ref
}

// resultsOf are the outcomes of a binding, the newest attempt last.
func (e *failover) resultsOf(r workflows.ExplainRequest) []workflows.AttemptResult {
	var out []workflows.AttemptResult
	take := func(attempt int, results []record.Result) {
		for _, x := range results {
			if x.Key == r.Binding && (r.UID == "" || x.UID == r.UID) {
				out = append(out, workflows.AttemptResult{Attempt: attempt, Result: x})
			}
		}
	}
	for _, past := range e.st.Past {
		take(past.Attempt, past.Results)
	}
	take(e.st.Attempt, e.st.Results)
	if r.UID == "" {
		return out
	}
	for _, outcome := range workflow.DeterministicKeys(e.st.Folded) {
		if e.st.Folded[outcome].Has(r.Binding, r.UID) {
			out = append(out, workflows.AttemptResult{Attempt: e.st.Attempt, Result: record.Result{Key: r.Binding, UID: r.UID, Outcome: phase.Outcome(outcome)}})
		}
	}
	return out
}
