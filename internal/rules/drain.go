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
	case karmada.IsLifeboatTaint(c, corev1.Taint{Key: karmada.DrainTaintKey, Effect: corev1.TaintEffectNoExecute}):
		o.Taint = karmada.Drain{}.RuleTaint()
	default:
		return nil
	}
	return []RuleObservation{o}
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
	undecided := []RuleObservation{{Rule: karmada.TaintRule, Match: Undecided, Reason: reason.Malformed}}
	for _, o := range c.Ordered {
		if o.Validate() != "" || c.Malformed != "" {
			return undecided
		}
		out = append(out, RuleObservation{Rule: karmada.TaintRule, Taint: o.RuleTaint(), Match: Matches, Reason: reason.TaintOrdered})
	}
	for _, a := range c.Added {
		if a.Rule != karmada.TaintRule || karmada.OrderedOn(c.Ordered, a.Key+":"+string(a.Effect)) != nil {
			continue
		}
		if c.Malformed != "" {
			return undecided
		}
		out = append(out, RuleObservation{Rule: karmada.TaintRule, Taint: karmada.RuleTaint{Key: a.Key, Effect: a.Effect}, Match: Mismatches})
	}
	return out
}
