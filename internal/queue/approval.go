package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/labels"
)

// ApprovalRules say before which evictions an operator is asked. What no rule asks for is
// automatic, so the zero value never asks.
type ApprovalRules struct {
	// ClustersAbove asks while more clusters than this fail at once; nil does not ask.
	ClustersAbove *int
	// ReplicasAbove asks when more than this share of the fleet's replicas, in percent,
	// would move off the clusters that fail; nil does not ask.
	ReplicasAbove *float64
	// CapacityDeficit asks when the rest of the fleet has not enough room for all that
	// would have to move: then it matters who goes first.
	CapacityDeficit bool
	// Directly asks before every eviction in that purge mode.
	Directly bool
	// Namespaces and Selector (of labels of workloads) ask for what they select.
	Namespaces []string
	Selector   string
}

// ApprovalRule names one of them, as the configuration does.
type ApprovalRule string

// The rules.
const (
	AskClusters  ApprovalRule = "clustersAbove"
	AskReplicas  ApprovalRule = "replicasAbove"
	AskCapacity  ApprovalRule = "capacityDeficit"
	AskDirectly  ApprovalRule = "purgeDirectly"
	AskNamespace ApprovalRule = "namespaces"
	AskSelector  ApprovalRule = "selector"
	AskKind      ApprovalRule = "kinds"
)

// NeedsExtent reports whether a rule needs how far the failure goes, NeedsTally whether
// one needs every binding of the fleet: that is the dearest reading there is.
func (r ApprovalRules) NeedsExtent() bool { return r.ClustersAbove != nil || r.NeedsTally() }

// NeedsTally reports whether a rule needs the tally, see NeedsExtent.
func (r ApprovalRules) NeedsTally() bool { return r.ReplicasAbove != nil || r.CapacityDeficit }

// Approval is an operator's yes to evict one binding, in one attempt. It replaces the
// question and no other check.
type Approval struct {
	Who     string    `json:"who"`
	Why     string    `json:"why"`
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	// ForOne reports that the operator named this binding alone: then it lifts the cap on its moves, too.
	ForOne bool `json:"forOne,omitempty"`
	// Cluster has the copy of an application that was to move when it was given (R4.13-7); empty in the failover of a cluster.
	Cluster string `json:"cluster,omitempty"`
}

// Holds reports whether it was given, and in this attempt.
func (a *Approval) Holds(attempt int) bool { return a != nil && a.Who != "" && a.Attempt == attempt }

// ExpireApproval ends a request for approval that no operator has answered within askFor, 0 for ever: v is what blocks the
// binding, and asked since when a rule requests approval.
func ExpireApproval(v reason.Verdict, asked, now time.Time, askFor time.Duration) (reason.Verdict, bool) {
	if v.Reason != reason.AwaitingApproval || asked.IsZero() || askFor <= 0 || now.Before(asked.Add(askFor)) {
		return v, false
	}
	return reason.Verdict{Reason: reason.ApprovalExpired, Message: reason.Summary("it was not approved within " + askFor.String() + ": " + v.Message)}, true
}

// LiftsCap reports whether it lets a binding move that has moved as often as the cap allows.
func (a *Approval) LiftsCap(attempt int) bool { return a.Holds(attempt) && a.ForOne }

// AskInput is all that decides whether an operator is asked.
type AskInput struct {
	Binding *karmada.Binding
	Purge   karmada.PurgeMode
	// Extent is nil where it was not read: a rule that needs it asks then.
	Extent *placement.Extent
	// Kind says why the rule of the binding's kind asks; empty where it does not.
	Kind string
	// Standing are rules that asked before in this attempt, and ask for the rest of it.
	Standing []ApprovalRule
}

// Ask is the question to an operator; no rules means that there is none.
type Ask struct {
	Rules   []ApprovalRule
	Message string
}

// Automatic reports that no approval is needed.
func (a Ask) Automatic() bool { return len(a.Rules) == 0 }

// Judge says which rules ask before this eviction, and why in words.
func (r ApprovalRules) Judge(in AskInput) Ask {
	var ask Ask
	var why []string
	for _, rule := range []struct {
		name  ApprovalRule
		asks  bool
		words func() string
	}{
		{AskClusters, r.tooManyClusters(in), func() string { return in.clustersSay(*r.ClustersAbove) }},
		{AskReplicas, r.tooManyReplicas(in), func() string { return in.replicasSay(*r.ReplicasAbove) }},
		{AskCapacity, r.CapacityDeficit && (in.Extent == nil || in.Extent.Short != ""), in.capacitySays},
		{AskDirectly, r.Directly && in.Purge == karmada.PurgeDirectly, func() string { return "purge mode Directly: the old copy goes before the new one runs" }},
		{AskNamespace, slices.Contains(r.Namespaces, in.Binding.Key.Namespace), func() string { return "its namespace asks" }},
		{AskSelector, r.selects(in.Binding), in.selectorSays(r.Selector)},
		{AskKind, in.Kind != "", func() string { return in.Kind }},
	} {
		if rule.asks {
			ask.Rules, why = append(ask.Rules, rule.name), append(why, rule.words())
		}
	}
	ask.Message = strings.Join(why, "; ")
	return ask
}

func (r ApprovalRules) tooManyClusters(in AskInput) bool {
	return r.ClustersAbove != nil && (in.Extent == nil || len(in.Extent.Failing) > *r.ClustersAbove)
}

// tooManyReplicas stands for the rest of the attempt once it was so: what has moved and
// settled is not counted any more, and the last ones must not slip through for that.
func (r ApprovalRules) tooManyReplicas(in AskInput) bool {
	return r.ReplicasAbove != nil &&
		(in.Extent == nil || in.Extent.Share() > *r.ReplicasAbove || slices.Contains(in.Standing, AskReplicas))
}

// selects reports whether the labels of a workload match. Labels that are not known ask, and
// so does a selector that cannot be read, which the configuration refuses: the safe side.
func (r ApprovalRules) selects(b *karmada.Binding) bool {
	if r.Selector == "" {
		return false
	}
	selector, err := labels.Parse(r.Selector)
	return err != nil || b.WorkloadLabels == nil || selector.Matches(b.Selectable())
}

func (in AskInput) selectorSays(selector string) func() string {
	return func() string {
		if in.Binding.WorkloadLabels == nil {
			return "the labels of its workload are not known, and a selector asks"
		}
		return "its labels match " + selector
	}
}

const extentUnknown = "how far the failure goes is not known"

func (in AskInput) clustersSay(most int) string {
	if in.Extent == nil {
		return extentUnknown
	}
	return fmt.Sprintf("%s failing at once (%s), more than %d", reason.Count(len(in.Extent.Failing), "cluster"), reason.List(in.Extent.Failing), most)
}

func (in AskInput) replicasSay(most float64) string {
	switch {
	case in.Extent == nil:
		return extentUnknown
	case in.Extent.Share() <= most:
		return fmt.Sprintf("more than %.3g %% of the fleet's replicas were to move in this attempt", most)
	}
	return fmt.Sprintf("%.3g %% of the fleet's replicas would move (%d of %d), more than %.3g %%",
		in.Extent.Share(), in.Extent.Moving, in.Extent.All, most)
}

func (in AskInput) capacitySays() string {
	if in.Extent == nil {
		return extentUnknown
	}
	return fmt.Sprintf("the rest of the fleet has not enough %s for all that would move", in.Extent.Short)
}
