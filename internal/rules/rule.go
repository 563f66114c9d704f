package rules

import (
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
)

// Rule says which taints a cluster gets while its conditions match: a
// ClusterTaintRule (failover.lifeboat.dev/v1alpha1), or one of Karmada's
// ClusterTaintPolicies (policy.karmada.io/v1alpha1).
type Rule struct {
	// Name is the object's own, for a ClusterTaintPolicy with PolicyPrefix.
	Name            string
	Generation      int64
	TargetClusters  *karmada.ClusterAffinity // nil = every cluster
	MatchConditions []MatchCondition         // ANDed; empty always matches
	Taints          []karmada.RuleTaint
	// Policy is set for a ClusterTaintPolicy: MatchConditions are its addOnConditions, which
	// match nothing when empty, and its taints go only when RemoveConditions match.
	Policy           bool
	RemoveConditions []MatchCondition
	// RequireExternalProbe lets the conditions match only while the external probe agrees.
	RequireExternalProbe bool
	// Malformed says why the rule is refused, empty when fine. A refused rule
	// matches nothing and removes nothing.
	Malformed string
}

// Kind is the kind of object that the rule is.
func (r Rule) Kind() string {
	if r.Policy {
		return "ClusterTaintPolicy"
	}
	return "ClusterTaintRule"
}

// RuleTitle is a rule as an observation names it, with the kind of object to look for.
func RuleTitle(rule string) string {
	switch rule {
	case karmada.TaintRule:
		return "ordered with lifeboat taint"
	case karmada.DrainRule:
		return "ordered with lifeboat drain"
	}
	if name, is := strings.CutPrefix(rule, PolicyPrefix); is {
		return "of ClusterTaintPolicy " + name
	}
	return "of ClusterTaintRule " + rule
}

// MatchCondition compares one of status.conditions.
type MatchCondition struct {
	ConditionType string                   `json:"conditionType"`
	Operator      string                   `json:"operator"` // In | NotIn
	StatusValues  []corev1.ConditionStatus `json:"statusValues"`
}

// The operators of MatchCondition.
const (
	OperatorIn    = "In"
	OperatorNotIn = "NotIn"
)

// Defaults of a RuleTaint's windows.
const (
	DefaultAddOnMatch       = 300 * time.Second
	DefaultRemoveOnMismatch = 180 * time.Second
)

// Match is what a rule says of a cluster at one moment.
type Match string

// The answers.
const (
	// Matches runs the add window.
	Matches Match = "Matches"
	// Mismatches runs the removal window and restarts the add window.
	Mismatches Match = "Mismatches"
	// Undecided does neither: an Unknown that In does not list, or evidence about
	// Lifeboat's own side. A window that runs goes on, but does not fire on it.
	Undecided Match = "Undecided"
	// Neither lets no window run. It is said of a ClusterTaintPolicy of which neither the
	// conditions that add nor those that remove match, and of a rule that the external probe
	// contradicts.
	Neither Match = "Neither"
	// Lapsed is Neither where those that remove cannot be decided: a removal window that
	// runs goes on, but does not fire on it.
	Lapsed Match = "Lapsed"
)

// PolicyPrefix begins the names of ClusterTaintPolicies among rules: no object of
// Kubernetes has a slash in its name, so it can be no ClusterTaintRule.
const PolicyPrefix = "ClusterTaintPolicy/"

// ExternalProbe is what the controller's own probe says of a member.
type ExternalProbe string

// The words of an external probe. An absent one agrees with nothing.
const (
	ExternalProbeAbsent ExternalProbe = ""
	ExternalProbeDown   ExternalProbe = "Down"
	ExternalProbeUp     ExternalProbe = "Up"
)

// RuleObservation is one (rule, taint) judged against one sight of a cluster.
type RuleObservation struct {
	Rule   string            `json:"rule"`
	Taint  karmada.RuleTaint `json:"taint"`
	Match  Match             `json:"match"`
	Reason reason.Reason     `json:"reason,omitempty"`
}
