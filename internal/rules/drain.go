package rules

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
)

// observeDrain is the drain as a rule without windows: it matches while the order
// stands on the cluster, and mismatches while its taint outlives it.
func observeDrain(c karmada.Cluster) []RuleObservation {
	o := RuleObservation{Rule: karmada.DrainRule, Match: Mismatches}
	switch {
	case c.Drain != nil && (c.Malformed != "" || c.Drain.Validate() != ""):
		return []RuleObservation{{Rule: karmada.DrainRule, Match: Undecided, Reason: reason.Malformed}}
	case c.Drain != nil:
		o.Taint, o.Match, o.Reason = c.Drain.RuleTaint(), Matches, reason.Drained
	case karmada.OursAdded(c, corev1.Taint{Key: karmada.DrainTaintKey, Effect: corev1.TaintEffectNoExecute}):
		o.Taint = karmada.Drain{}.RuleTaint()
	default:
		return nil
	}
	return []RuleObservation{o}
}

// Faulty reports whether a cluster counts as failed for the fleet's pace: a rule whose taint
// moves bindings matches, or such a taint of a rule stands until its removal window has
// passed. A drain and a NoSchedule taint make a cluster unavailable, not faulty; a taint that
// an operator put or ordered counts where the cluster is not Ready as well. A cluster that cannot
// be understood counts by its conditions: garbled data makes no fleet look healthier.
func Faulty(rules []Rule, c karmada.Cluster) (bool, reason.Reason) {
	for _, t := range c.Added {
		if karmada.Triggers(t.Effect) && t.Key != karmada.DrainTaintKey && t.Rule != karmada.TaintRule {
			return true, reason.OursStands
		}
	}
	if !c.Ready() && len(c.Ordered) > 0 {
		return true, reason.TaintOrdered
	}
	if !c.Ready() && len(karmada.Foreign(c)) > 0 {
		return true, reason.ForeignTaint
	}
	c.Drain, c.Ordered, c.Malformed = nil, nil, ""
	for _, o := range Observe(rules, c, FactOf(c).Testified(ExternalProbeDown)) {
		if o.Match == Matches && karmada.Triggers(o.Taint.Effect) {
			return true, o.Reason
		}
	}
	return false, reason.None
}

// DeletionPolicy says what a deletion timestamp on a cluster means.
type DeletionPolicy string

// The deletion policies.
const (
	// DeletionIgnore leaves it to Karmada.
	DeletionIgnore DeletionPolicy = "ignore"
	// DeletionDrain drains the cluster as if ordered to.
	DeletionDrain DeletionPolicy = "drain"
)

// observeOrdered is each order as a rule without windows: it matches while the order
// stands on the cluster, and mismatches while its taint outlives it. Of a cluster that
// cannot be understood nothing is known for certain: all stays as it is.
func observeOrdered(c karmada.Cluster) []RuleObservation {
	var out []RuleObservation
	for _, o := range c.Ordered {
		if o.Validate() != "" || c.Malformed != "" {
			return []RuleObservation{{Rule: karmada.TaintRule, Match: Undecided, Reason: reason.Malformed}}
		}
		out = append(out, RuleObservation{Rule: karmada.TaintRule, Taint: o.RuleTaint(), Match: Matches, Reason: reason.TaintOrdered})
	}
	for _, a := range c.Added {
		if a.Rule != karmada.TaintRule || karmada.OrderedOn(c.Ordered, a.Key+":"+string(a.Effect)) != nil {
			continue
		}
		if c.Malformed != "" {
			return []RuleObservation{{Rule: karmada.TaintRule, Match: Undecided, Reason: reason.Malformed}}
		}
		out = append(out, RuleObservation{Rule: karmada.TaintRule, Taint: karmada.RuleTaint{Key: a.Key, Effect: a.Effect}, Match: Mismatches})
	}
	return out
}
