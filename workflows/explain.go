package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
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
	Item  *queue.Item `json:"item,omitempty"`
	Ahead int         `json:"ahead,omitempty"`
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

// Known tells whether the failover has anything to do with the binding.
func (x Explanation) Known() bool { return x.Item != nil || x.Move != nil || len(x.Results) > 0 }

// AttemptResult is what became of a binding in one attempt.
type AttemptResult struct {
	Attempt int `json:"attempt"`
	record.Result
}
