package karmada

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// TaintRule stands in for the name of a rule where a taint follows from an operator's
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
	return t, t.RuleTaint().Validate()
}

// Validate says what is wrong with the order, empty when nothing is.
func (o OrderedTaint) Validate() string {
	switch wrong := o.RuleTaint().Validate(); {
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

// Name is "<key>:<effect>", which identifies a taint among those of its cluster.
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
	return find(orders, func(o OrderedTaint) bool { return o.Name() == name })
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

// Same reports whether two orders are for the same, apart from who gave them.
func (d Drain) Same(o Drain) bool {
	return d.Selector == o.Selector && d.Rate == o.Rate && d.HonourTolerations == o.HonourTolerations
}

// Selective reports whether the order concerns only some of the bindings: which of them, the
// labels of their workloads say.
func (d *Drain) Selective() bool { return d != nil && d.Selector != "" }

// Selects reports whether the order concerns a binding. A selector that cannot be read
// concerns none, and none concerns a workload whose labels are not known.
func (d *Drain) Selects(b *Binding) bool {
	if !d.Selective() {
		return true
	}
	selector, err := labels.Parse(d.Selector)
	return err == nil && b.WorkloadLabels != nil && selector.Matches(b.Selectable())
}

// RuleTaint is the hard taint that follows from the order: at once, and gone at
// once when it ends.
func (d Drain) RuleTaint() RuleTaint {
	t := RuleTaint{Key: DrainTaintKey, Effect: corev1.TaintEffectNoExecute}
	if d.HonourTolerations {
		t.Value = honoursTolerations
	}
	return t
}

// DrainedByDeletion is the drain of a cluster that is being deleted, for where the
// configuration says so; an operator's order wins over it.
func DrainedByDeletion(c Cluster) *Drain {
	if c.Drain != nil || !c.Deleting {
		return c.Drain
	}
	return &Drain{Who: "Karmada", Why: "the cluster is being deleted", Deletion: true}
}

// RuleTaint is a taint and its two windows.
type RuleTaint struct {
	Key              string             `json:"key"`
	Value            string             `json:"value,omitempty"`
	Effect           corev1.TaintEffect `json:"effect"`
	AddOnMatch       time.Duration      `json:"addOnMatch"`
	RemoveOnMismatch time.Duration      `json:"removeOnMismatch"`
}

// Validate says what is wrong with a taint and its windows, empty when nothing is.
func (t RuleTaint) Validate() string {
	if errs := validation.IsQualifiedName(t.Key); len(errs) > 0 {
		return fmt.Sprintf("key %q: %s", t.Key, strings.Join(errs, ", "))
	}
	if errs := validation.IsValidLabelValue(t.Value); len(errs) > 0 {
		return fmt.Sprintf("value %q: %s", t.Value, strings.Join(errs, ", "))
	}
	switch {
	case t.Effect != corev1.TaintEffectNoSchedule && !Triggers(t.Effect):
		return fmt.Sprintf("effect %q is none of NoSchedule, PreferNoExecute, NoExecute", t.Effect)
	case t.AddOnMatch < 0:
		return fmt.Sprintf("addOnMatchSeconds %s is negative", t.AddOnMatch)
	case t.RemoveOnMismatch < 0:
		return fmt.Sprintf("removeOnMismatchSeconds %s is negative", t.RemoveOnMismatch)
	case t.Key == EvacuatingTaintKey, t.Key == DrainTaintKey:
		return fmt.Sprintf("key %s is reserved", t.Key)
	case t.Effect == corev1.TaintEffectNoSchedule && slices.Contains(karmadaOwnTaints, t.Key):
		return fmt.Sprintf("%s:NoSchedule is Karmada's own", t.Key)
	}
	return ""
}

// karmadaOwnTaints are put and removed by Karmada's cluster controller with effect
// NoSchedule; a rule that fought over them would never come to rest.
var karmadaOwnTaints = []string{"cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"}

// IsLifeboatTaint reports whether a taint is Lifeboat's: only what AnnotationAddedTaints lists is.
func IsLifeboatTaint(c Cluster, t corev1.Taint) bool {
	return slices.ContainsFunc(c.Added, func(a AddedTaint) bool { return a.Key == t.Key && a.Effect == t.Effect })
}

// Foreign are the taints of both kinds that move bindings and that another actor
// put: they mean what they say for as long as they stand.
func Foreign(c Cluster) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(c.Taints), func(t corev1.Taint) bool {
		return !Triggers(t.Effect) || IsLifeboatTaint(c, t)
	})
}

// tolerates is Kubernetes' own matching; Karmada keeps the operators Lt and Gt off.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	return t.ToleratesTaint(klog.Logger{}, &taint, false)
}

// ToleratedBy reports whether a toleration counts against a taint: against a drain's
// only when it was ordered so.
func ToleratedBy(t corev1.Toleration, taint corev1.Taint) bool {
	if taint.Key == DrainTaintKey && taint.Value != honoursTolerations {
		return false
	}
	return tolerates(t, taint)
}

// Untolerated finds a taint that the scheduler minds: NoSchedule or NoExecute
// without a toleration, however long that toleration still runs.
func (b *Binding) Untolerated(taints []corev1.Taint) *corev1.Taint {
	return find(taints, func(taint corev1.Taint) bool {
		minded := taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
		return minded && !slices.ContainsFunc(b.Placement.ClusterTolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) })
	})
}
