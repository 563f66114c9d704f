package failover

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// OrderedTaint is a human's order that a taint which moves bindings stand on a cluster
// (one item of AnnotationOrderedTaints). As with a [Drain] the annotation is the order's
// one home, and the taint follows from it: a run that died forgets nothing.
type OrderedTaint struct {
	Key     string             `json:"key"`
	Value   string             `json:"value,omitempty"`
	Effect  corev1.TaintEffect `json:"effect"` // NoExecute or PreferNoExecute
	Who     string             `json:"who"`
	Why     string             `json:"why"`
	Episode string             `json:"episode,omitempty"`
}

// TaintRule stands in for the name of a rule where a taint follows from a human's
// order. No rule can be called so.
const TaintRule = "lifeboat/taint"

// ParseTaint reads a taint as kubectl writes it: <key>[=<value>]:<effect>. What is wrong
// with it is said in wrong, empty when nothing is.
func ParseTaint(text string) (t OrderedTaint, wrong string) {
	id, effect, found := strings.Cut(text, ":")
	if !found {
		return t, fmt.Sprintf("%q is no taint: want <key>[=<value>]:<effect>, as in maintenance:NoExecute", text)
	}
	t.Key, t.Value, _ = strings.Cut(id, "=")
	t.Effect = corev1.TaintEffect(effect)
	if !Triggers(t.Effect) {
		return t, fmt.Sprintf("effect %q is neither NoExecute nor PreferNoExecute; what moves nothing is put with karmadactl taint", effect)
	}
	return t, t.RuleTaint().validate()
}

// Validate says what is wrong with the order, empty when nothing is.
func (o OrderedTaint) Validate() string {
	switch wrong := o.RuleTaint().validate(); {
	case o.Who == "" || o.Why == "":
		return "who or why is missing"
	case wrong != "":
		return wrong
	case !Triggers(o.Effect):
		return fmt.Sprintf("effect %q is neither NoExecute nor PreferNoExecute", o.Effect)
	}
	return ""
}

// RuleTaint is the taint that follows from the order: at once, and gone at once when it ends.
func (o OrderedTaint) RuleTaint() RuleTaint {
	return RuleTaint{Key: o.Key, Value: o.Value, Effect: o.Effect}
}

// Name is "<key>:<effect>", by which a taint is told from the others of its cluster.
func (o OrderedTaint) Name() string { return o.Key + ":" + string(o.Effect) }

// String is the taint as kubectl writes it.
func (o OrderedTaint) String() string {
	if o.Value == "" {
		return o.Name()
	}
	return o.Key + "=" + o.Value + ":" + string(o.Effect)
}

// OrderedOn finds the order of a taint among those of a cluster, nil when there is none.
func OrderedOn(orders []OrderedTaint, name string) *OrderedTaint {
	at := slices.IndexFunc(orders, func(o OrderedTaint) bool { return o.Name() == name })
	if at < 0 {
		return nil
	}
	return &orders[at]
}

// observeOrdered is each order as a rule without windows: it matches while the order
// stands on the cluster, and mismatches while its taint outlives it. Of a cluster that
// cannot be understood nothing is known for certain: all stays as it is.
func observeOrdered(c Cluster) []RuleObservation {
	var out []RuleObservation
	for _, o := range c.Ordered {
		if o.Validate() != "" || c.Malformed != "" {
			return []RuleObservation{{Rule: TaintRule, Match: Undecided, Reason: ReasonMalformed}}
		}
		out = append(out, RuleObservation{Rule: TaintRule, Taint: o.RuleTaint(), Match: Matches, Reason: ReasonTaintOrdered})
	}
	for _, a := range c.Added {
		if a.Rule != TaintRule || OrderedOn(c.Ordered, a.Key+":"+string(a.Effect)) != nil {
			continue
		}
		if c.Malformed != "" {
			return []RuleObservation{{Rule: TaintRule, Match: Undecided, Reason: ReasonMalformed}}
		}
		out = append(out, RuleObservation{Rule: TaintRule, Taint: RuleTaint{Key: a.Key, Effect: a.Effect}, Match: Mismatches})
	}
	return out
}
