package workflows

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ExplainRequest asks a ClusterFailover about one of its bindings. UID finds an outcome
// that was folded; it may be left out.
type ExplainRequest struct {
	Binding karmada.BindingKey `json:"binding"`
	UID     types.UID          `json:"uid,omitempty"`
}

// Explanation is the chain of reasons for one binding, from the conditions of its
// cluster to what it waits for. It answers the query explain.
type Explanation struct {
	Now        time.Time      `json:"now"`
	Cluster    string         `json:"cluster"`
	FailoverID string         `json:"failoverID"`
	Attempt    int            `json:"attempt"`
	Mode       string         `json:"mode"`
	Phase      phase.Failover `json:"phase"`
	Reason     reason.Reason  `json:"reason,omitempty"`
	// Ready and ReadyReason are the cluster's condition, as last judged.
	Ready       string `json:"ready,omitempty"`
	ReadyReason string `json:"readyReason,omitempty"`
	OptedOut    bool   `json:"optedOut,omitempty"`
	// Rules are the windows of every rule; Confirmed is when the attempt was.
	Rules     []view.WindowLine `json:"rules,omitempty"`
	Confirmed time.Time         `json:"confirmed,omitzero"`
	Drain     *karmada.Drain    `json:"drain,omitempty"`
	// Ordered are the taints that humans ordered on the cluster.
	Ordered []karmada.OrderedTaint `json:"ordered,omitempty"`
	// Taints are those that move bindings, and what this one's frozen policy says to each.
	Taints []rules.TaintWord `json:"taints,omitempty"`
	Policy *rules.Policy     `json:"policy,omitempty"`
	Why    rules.Due         `json:"why,omitzero"`
	// Priority is the one that counts. SnoozedBy and PausedBy are the orders of humans that
	// hold for it, nil without.
	Priority  int32        `json:"priority"`
	SnoozedBy *Snooze      `json:"snoozedBy,omitempty"`
	PausedBy  *ScopedPause `json:"pausedBy,omitempty"`
	// DueAt is when it is due, in time during which the clocks were not frozen, and not
	// before its snooze is over.
	DueAt  time.Time        `json:"dueAt,omitzero"`
	Frozen []rules.Interval `json:"frozen,omitempty"`
	// Item is its place in the queue; Ahead are those that have their turn before it.
	Item  *Item `json:"item,omitempty"`
	Ahead int   `json:"ahead,omitempty"`
	// Move is its migration, as that last said.
	Move *Move `json:"move,omitempty"`
	// Pace, Paused and Stopped are what holds the queue; Asked is what the pacer was told.
	Pace    pace.Pace     `json:"pace"`
	Paused  *Order        `json:"paused,omitempty"`
	Stopped *Order        `json:"stopped,omitempty"`
	Asked   PermitRequest `json:"asked,omitzero"`
	// Results are what became of it, by attempt.
	Results []AttemptResult `json:"results,omitempty"`
}

// AttemptResult is what became of a binding in one attempt.
type AttemptResult struct {
	Attempt int `json:"attempt"`
	record.Result
}

// Known tells whether the failover has anything to do with the binding.
func (x Explanation) Known() bool { return x.Item != nil || x.Move != nil || len(x.Results) > 0 }

func (e *clusterFailover) explain(r ExplainRequest) (Explanation, error) {
	x := Explanation{
		Now: e.now(), Cluster: e.cluster, FailoverID: e.st.FailoverID, Attempt: e.st.Attempt, Mode: string(e.st.Terms.Mode), Phase: e.st.Phase,
		Reason: e.st.Reason, Ready: e.st.Cluster.Ready, ReadyReason: e.st.Cluster.ReadyReason, OptedOut: e.st.Cluster.OptedOut,
		Rules: view.WindowLines(e.st.Windows, e.st.Cluster.Ours), Confirmed: e.st.Named, Drain: e.st.Cluster.Drain, Ordered: e.st.Cluster.Ordered,
		Frozen: e.st.Frozen, Pace: e.st.Pace, Paused: e.st.Paused, Stopped: e.st.Stopped, Asked: e.st.Asked,
	}
	policy := -1
	if at := slices.IndexFunc(e.st.Items, func(i Item) bool { return i.Key == r.Binding }); at >= 0 {
		item := e.st.Items[at]
		x.Item, x.Ahead, x.Priority, policy = &item, e.ahead(at), e.priorityOf(&item), item.Policy
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
func (e *clusterFailover) explainPolicy(x *Explanation, policy int) {
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
		x.DueAt, x.Why = e.policyDue(policy)
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

// ahead counts the queued bindings that have their turn before one. It remembers
// nothing: a query must leave no trace in the state of a run.
func (e *clusterFailover) ahead(of int) int {
	ranked := func(i *Item) queue.Item {
		out := queue.Item{Key: i.Key, Priority: e.priorityOf(i)}
		if i.Policy >= 0 && i.Policy < len(e.st.Dues) {
			due, _ := e.policyDue(i.Policy)
			out.Due = queue.Snoozed(due, queue.Latest(e.standing.snoozed, i.Key))
		}
		return out
	}
	mine, before := ranked(&e.st.Items[of]), 0
	for at := range e.st.Items {
		switch i := &e.st.Items[at]; i.State {
		case ItemTolerating, ItemDue, ItemReady, ItemHold:
			if at != of && queue.Compare(ranked(i), mine) < 0 {
				before++
			}
		case ItemIdle, ItemBlocked, ItemBehind, ItemFence, ItemPaused, itemEnded:
		}
	}
	return before
}

// resultsOf are the outcomes of a binding, the newest attempt last.
func (e *clusterFailover) resultsOf(r ExplainRequest) []AttemptResult {
	var out []AttemptResult
	take := func(attempt int, results []record.Result) {
		for _, x := range results {
			if x.Key == r.Binding && (r.UID == "" || x.UID == r.UID) {
				out = append(out, AttemptResult{Attempt: attempt, Result: x})
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
			out = append(out, AttemptResult{Attempt: e.st.Attempt, Result: record.Result{Key: r.Binding, UID: r.UID, Outcome: phase.Outcome(outcome)}})
		}
	}
	return out
}
