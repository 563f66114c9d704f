package workflows

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"
)

// ExplainRequest queries a ClusterFailover about one of its bindings. UID finds an outcome
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
	// Ordered are the taints that operators ordered on the cluster.
	Ordered []karmada.OrderedTaint `json:"ordered,omitempty"`
	// Taints are those that move bindings, and what this one's frozen policy says to each.
	Taints []rules.TaintWord `json:"taints,omitempty"`
	Policy *rules.Policy     `json:"policy,omitempty"`
	Why    rules.Due         `json:"why,omitzero"`
	// Priority is the one that counts. SnoozedBy and PausedBy are the orders of operators that
	// hold for it, nil without.
	Priority  int32        `json:"priority"`
	SnoozedBy *Snooze      `json:"snoozedBy,omitempty"`
	PausedBy  *ScopedPause `json:"pausedBy,omitempty"`
	// DueAt is when it is due, in time during which the clocks were not frozen, and not
	// before its snooze is over.
	DueAt  time.Time        `json:"dueAt,omitzero"`
	Frozen []rules.Interval `json:"frozen,omitempty"`
	// Item is its place in the queue; Ahead are those that have their turn before it.
	Item  *queue.Item `json:"item,omitempty"`
	Ahead int         `json:"ahead,omitempty"`
	// Unlisted: bindings of the cluster may be missing here, and are still to be listed.
	Unlisted bool `json:"unlisted,omitempty"`
	// Move is its migration, as that last said.
	Move *Migration `json:"migration,omitempty"`
	// Pace, Paused and Stopped are what holds the queue; Asked is what was requested of the pacer.
	Pace    pace.Pace                `json:"pace"`
	Paused  *Order                   `json:"paused,omitempty"`
	Stopped *Order                   `json:"stopped,omitempty"`
	Asked   activities.PermitRequest `json:"asked,omitzero"`
	// Results are what became of it, by attempt.
	Results []AttemptResult `json:"results,omitempty"`
}

// Known reports whether the failover has anything to do with the binding.
func (x Explanation) Known() bool { return x.Item != nil || x.Move != nil || len(x.Results) > 0 }

// AttemptResult is what became of a binding in one attempt.
type AttemptResult struct {
	Attempt int `json:"attempt"`
	record.Result
}

// Explain is the chain of reasons for one binding.
func (s *FailoverState) Explain(cluster string, r ExplainRequest, now time.Time) Explanation {
	x := Explanation{
		Now: now, Cluster: cluster, FailoverID: s.FailoverID, Attempt: s.Attempt, Mode: string(s.Terms.Mode), Phase: s.Phase,
		Reason: s.Reason, Ready: s.Cluster.Ready, ReadyReason: s.Cluster.ReadyReason, OptedOut: s.Cluster.OptedOut,
		Rules: view.WindowLines(s.Evidence(now)), Confirmed: s.Confirmed, Drain: s.Cluster.Drain, Ordered: s.Cluster.Ordered,
		Frozen: s.Frozen, Pace: s.Pace, Paused: s.Paused, Stopped: s.Stopped, Asked: s.Asked,
		Unlisted: s.unlisted(),
	}
	policy := -1
	if at := s.Queue.Find(r.Binding); at >= 0 {
		item := s.Items[at]
		x.Item, x.Ahead, x.Priority, policy = &item, s.Queue.Ahead(x.Now, at), s.Queue.Priority(&item), item.Policy
	}
	if m, moving := s.Migrations[r.Binding.String()]; moving {
		x.Move, policy = &m, m.Policy
		x.Priority = s.Queue.Priority(&queue.Item{Key: m.Key, Policy: m.Policy})
	}
	if x.Item != nil || x.Move != nil && x.Move.WantsPermit {
		x.SnoozedBy, x.PausedBy = s.SnoozedBy(r.Binding), s.PausedBy(r.Binding)
	}
	s.explainPolicy(&x, policy)
	x.Results = s.resultsOf(r)
	return x
}

// unlisted reports whether the failover does not know all its bindings, and goes on to list them. One that only cordons
// moves none, nor does one that abandons and restores.
func (s *FailoverState) unlisted() bool {
	moves := s.Phase != phase.FailoverCordoned && s.Phase != phase.FailoverStopped && s.ClosedAt.IsZero() && !s.Phase.Terminal()
	return moves && (s.Listed.IsZero() || len(s.Later)+len(s.LaterIdle) > 0)
}

// explainPolicy adds how the frozen policy tolerates the taints that stand.
func (s *FailoverState) explainPolicy(x *Explanation, policy int) {
	taints := slices.Concat(s.Cluster.Hard, s.Cluster.Soft, s.Virtual)
	frozen := s.Queue.PolicyOf(&queue.Item{Policy: policy})
	if frozen == nil {
		for _, t := range taints {
			x.Taints = append(x.Taints, rules.TaintWord{Taint: rules.RefOf(t)})
		}
		return
	}
	x.Policy, x.Taints = frozen, rules.TaintWords(*frozen, taints, x.Now)
	if policy < len(s.Dues) {
		x.DueAt, x.Why = s.Queue.PolicyDue(x.Now, policy)
		if x.SnoozedBy != nil {
			x.DueAt = pace.Later(x.DueAt, x.SnoozedBy.Until)
		}
	}
}

// resultsOf are the outcomes of a binding, the newest attempt last.
func (s *FailoverState) resultsOf(r ExplainRequest) []AttemptResult {
	var out []AttemptResult
	take := func(attempt int, results []record.Result) {
		for _, x := range results {
			if x.Key == r.Binding && (r.UID == "" || x.UID == r.UID) {
				out = append(out, AttemptResult{Attempt: attempt, Result: x})
			}
		}
	}
	for _, past := range s.Past {
		take(past.Attempt, past.Results)
	}
	take(s.Attempt, s.Results)
	if r.UID == "" {
		return out
	}
	for _, outcome := range workflow.DeterministicKeys(s.Folded) {
		if s.Folded[outcome].Has(r.Binding, r.UID) {
			out = append(out, AttemptResult{Attempt: s.Attempt, Result: record.Result{Key: r.Binding, UID: r.UID, Outcome: phase.Outcome(outcome)}})
		}
	}
	return out
}
