package failover

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Drain is the order that a cluster be emptied (AnnotationDrain on the Cluster).
// The annotation is the order's one home: whoever wants to know whether it still
// holds reads the cluster, so that a run that died forgets nothing.
type Drain struct {
	Who string `json:"who"`
	Why string `json:"why"`
	// Selector limits it to workloads whose labels match; empty means all of them.
	Selector string `json:"selector,omitempty"`
	// Rate bounds its own evictions per second, below the fleet's pace; 0 leaves it to that.
	Rate float64 `json:"rate,omitempty"`
	// HonourTolerations lets bindings that tolerate the drain's taint stay.
	HonourTolerations bool   `json:"honourTolerations,omitempty"`
	Episode           string `json:"episode,omitempty"`
	// Deletion tells that nobody ordered it: the cluster is being deleted.
	Deletion bool `json:"deletion,omitempty"`
}

const (
	// DrainRule stands in for the name of a rule where a taint follows from a drain.
	// No rule can be called so.
	DrainRule = "lifeboat/drain"
	// honoursTolerations is the value of the drain's taint when tolerations count.
	honoursTolerations = "honours-tolerations"
)

// MaxDrainRate bounds Drain.Rate: beyond it the fleet's own pace is what counts.
const MaxDrainRate = 1000

// Validate says what is wrong with the order, empty when nothing is.
func (d Drain) Validate() string {
	if d.Who == "" || d.Why == "" {
		return "who or why is missing"
	}
	if d.Rate < 0 || d.Rate > MaxDrainRate || d.Rate != d.Rate {
		return fmt.Sprintf("rate %g is not from 0 to %d", d.Rate, MaxDrainRate)
	}
	if _, err := labels.Parse(d.Selector); err != nil {
		return fmt.Sprintf("selector %q: %v", d.Selector, err)
	}
	return ""
}

// Same tells whether two orders ask for the same, whoever gave them.
func (d Drain) Same(o Drain) bool {
	return d.Selector == o.Selector && d.Rate == o.Rate && d.HonourTolerations == o.HonourTolerations
}

// Selective tells whether the order concerns only some of the bindings: which of them, the
// labels of their workloads say.
func (d *Drain) Selective() bool { return d != nil && d.Selector != "" }

// Selects tells whether the order concerns a binding. A selector that cannot be read
// concerns none, and none concerns a workload whose labels are not known.
func (d *Drain) Selects(b *Binding) bool {
	if !d.Selective() {
		return true
	}
	selector, err := labels.Parse(d.Selector)
	return err == nil && b.WorkloadLabels != nil && selector.Matches(b.selectable())
}

// selectable are the labels that a selector reads: those of the workload, and beside them
// those of the binding itself, such as Karmada's permanent ids. The workload's win.
func (b *Binding) selectable() labels.Set { return labels.Merge(b.Labels, b.WorkloadLabels) }

// RuleTaint is the hard taint that follows from the order: at once, and gone at
// once when it ends.
func (d Drain) RuleTaint() RuleTaint {
	t := RuleTaint{Key: DrainTaintKey, Effect: corev1.TaintEffectNoExecute}
	if d.HonourTolerations {
		t.Value = honoursTolerations
	}
	return t
}

// observeDrain is the drain as a rule without windows: it matches while the order
// stands on the cluster, and mismatches while its taint outlives it.
func observeDrain(c Cluster) []RuleObservation {
	o := RuleObservation{Rule: DrainRule, Match: Mismatches}
	switch {
	case c.Drain != nil && (c.Malformed != "" || c.Drain.Validate() != ""):
		return []RuleObservation{{Rule: DrainRule, Match: Undecided, Reason: ReasonMalformed}}
	case c.Drain != nil:
		o.Taint, o.Match, o.Reason = c.Drain.RuleTaint(), Matches, ReasonDrained
	case OursAdded(c, corev1.Taint{Key: DrainTaintKey, Effect: corev1.TaintEffectNoExecute}):
		o.Taint = Drain{}.RuleTaint()
	default:
		return nil
	}
	return []RuleObservation{o}
}

// CarriesOurs tells whether a taint or an annotation of ours stands on a cluster.
func (c Cluster) CarriesOurs() bool {
	return len(c.Added)+len(c.Ordered) > 0 || c.Stopped != nil || c.Drain != nil && !c.Drain.Deletion
}

// Faulty tells whether a cluster counts as failed for the fleet's pace: a rule whose taint
// moves bindings matches, or such a taint of a rule stands until its removal window has
// passed. A drain and a NoSchedule taint make a cluster unavailable, not faulty; a taint that
// a human put or ordered counts where the cluster is not Ready as well. A cluster that cannot
// be understood counts by its conditions: garbled data makes no fleet look healthier.
func Faulty(rules []Rule, c Cluster) (bool, Reason) {
	for _, t := range c.Added {
		if Triggers(t.Effect) && t.Key != DrainTaintKey && t.Rule != TaintRule {
			return true, ReasonOursStands
		}
	}
	if !c.Ready() && len(c.Ordered) > 0 {
		return true, ReasonTaintOrdered
	}
	if !c.Ready() && len(Foreign(c)) > 0 {
		return true, ReasonForeignTaint
	}
	c.Drain, c.Ordered, c.Malformed = nil, nil, ""
	for _, o := range Observe(rules, c, FactOf(c).Testified(WitnessDown)) {
		if o.Match == Matches && Triggers(o.Taint.Effect) {
			return true, o.Reason
		}
	}
	return false, ReasonNone
}

// moves tells whether a hard taint makes a policy move at all: a drain's concerns
// those alone that it selects.
func (p Policy) moves(t corev1.Taint) bool { return t.Key != DrainTaintKey || !p.NotDrained }

// toleratedBy tells whether a toleration counts against a taint: against a drain's
// only when it was ordered so.
func toleratedBy(t corev1.Toleration, taint corev1.Taint) bool {
	if taint.Key == DrainTaintKey && taint.Value != honoursTolerations {
		return false
	}
	return tolerates(t, taint)
}

// DrainedByDeletion is the drain of a cluster that is being deleted, for where the
// configuration asks for one; a human's order goes before it.
func DrainedByDeletion(c Cluster) *Drain {
	if c.Drain != nil || !c.Deleting {
		return c.Drain
	}
	return &Drain{Who: "Karmada", Why: "the cluster is being deleted", Deletion: true}
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

// ReturnsToDrained tells whether the scheduler would give a placed binding back to the
// cluster while it is drained: it tolerates every taint that keeps others away.
func ReturnsToDrained(b *Binding, c Cluster) bool {
	c.Added = nil // no taint goes with this release
	return TakesStraightBack(b, c)
}

// Ban says how a release in a drain keeps the scheduler away.
type Ban struct {
	// Wanted: without it the scheduler puts the binding back.
	Wanted bool
	// Reason is why that cannot be done now, none when it can.
	Reason  Reason
	Message string
}

// PlanBan decides whether a release must leave a ban: our task turned to Directly, so
// that the scheduler still keeps away and the old Work goes. Returned tells that the
// scheduler put the binding back after an earlier release of this drain. Where the
// source does not answer, the old Work could not go, and Karmada would update no copy
// of the binding until it had; and what parents hold is not to go at all.
func PlanBan(b *Binding, source Cluster, returned, sourceReady bool) Ban {
	task, _ := b.TaskFor(source.Name)
	if source.Drain == nil || !source.Drain.Selects(b) || task == nil || len(task.Others()) > 0 {
		return Ban{}
	}
	if !returned && !ReturnsToDrained(b, source) {
		return Ban{}
	}
	if !sourceReady {
		return Ban{Wanted: true, Reason: ReasonSchedulerReturnsIt, Message: "the scheduler would put it back, and " + source.Name + " does not answer: its old copy is held"}
	}
	return Ban{Wanted: true}
}
