package rules

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
)

// DefaultSoftToleration is how long a binding stays under a soft taint, in seconds,
// when neither it nor its policy says so.
const DefaultSoftToleration int64 = 300

// ReadSoft freezes how long a binding stays under a soft taint. What the binding
// says itself has been read by PolicyOf and wins; else its policy's annotation
// counts, else the default. A value that is no number of seconds is kept as a
// problem: soft taints then move nothing of it.
func (p Policy) ReadSoft(policyAnnotation string) Policy {
	if p.SoftRead() {
		return p
	}
	return p.withSoft("its policy's annotation", policyAnnotation)
}

// SoftRead reports whether it is known how long the binding stays under soft taints: always for a
// binding that they do not move.
func (p Policy) SoftRead() bool {
	return !p.ClusterFailover || p.SoftSeconds != nil || p.SoftMalformed != ""
}

func (p Policy) withSoft(whose, text string) Policy {
	soft := DefaultSoftToleration
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			p.SoftMalformed = fmt.Sprintf("%s %s is %.40q, which is no number of seconds", whose, karmada.AnnotationTolerationSeconds, text)
			return p
		}
		soft = n
	}
	p.SoftSeconds = &soft
	return p
}

// softOf is what a binding says itself: the API's field, else its own annotation.
// Nothing is read for one that soft taints do not move.
func softOf(p Policy, b *karmada.Binding) Policy {
	if !p.ClusterFailover {
		return p
	}
	if b.SoftTolerationSeconds != nil {
		p.SoftSeconds = b.SoftTolerationSeconds
		return p
	}
	if own := b.Annotations[karmada.AnnotationTolerationSeconds]; own != "" {
		return p.withSoft("its annotation", own)
	}
	return p
}

// Policy is what an attempt freezes of a binding: later edits change nothing in it.
type Policy struct {
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	PurgeMode   karmada.PurgeMode   `json:"purgeMode,omitempty"`
	// PurgeBySpec: the mode stands in spec.failover, so that an annotation of
	// the policy still wins over it.
	PurgeBySpec bool  `json:"purgeBySpec,omitempty"`
	Priority    int32 `json:"priority,omitempty"`
	// ClusterFailover reports whether spec.failover.cluster is set (soft taints move only those).
	ClusterFailover bool `json:"clusterFailover,omitempty"`
	// NotDrained reports that a drain's selector leaves it out.
	NotDrained bool `json:"notDrained,omitempty"`
	// SoftSeconds is how long it stays under soft taints; nil while that is not read.
	SoftSeconds *int64 `json:"softSeconds,omitempty"`
	// SoftMalformed says why that cannot be understood: then soft taints move nothing.
	SoftMalformed string `json:"softMalformed,omitempty"`
	// State says what of the old copy's status goes along.
	State []karmada.StateRule `json:"state,omitempty"`
}

// PolicyOf reads what an attempt freezes of a binding. The defaults stand in only
// for a placement without any toleration.
func PolicyOf(b *karmada.Binding, defaults []corev1.Toleration) Policy {
	p := Policy{Priority: b.Priority, ClusterFailover: b.HasClusterFailover, State: b.StateRules}
	p.PurgeMode, p.PurgeBySpec = purgeOf(b, b.PurgeMode)
	if b.Placement != nil {
		p.Tolerations = slices.Clone(b.Placement.ClusterTolerations)
	}
	if len(p.Tolerations) == 0 {
		p.Tolerations = slices.Clone(defaults)
	}
	return softOf(p, b)
}

// purgeOf reads the purge mode of a binding from its annotation. Without one it is the mode in the given field of its spec.
func purgeOf(b *karmada.Binding, field karmada.PurgeMode) (mode karmada.PurgeMode, bySpec bool) {
	if own := b.Annotations[karmada.AnnotationPurgeMode]; own != "" {
		return karmada.PurgeMode(own).Bounded(), false
	}
	return field.Bounded(), field != ""
}

// moves reports whether a hard taint makes a policy move at all: a drain's concerns
// those alone that it selects.
func (p Policy) moves(t corev1.Taint) bool { return t.Key != karmada.DrainTaintKey || !p.NotDrained }

// aliases are the words that Karmada up to v1.18 used for the same modes.
var aliases = map[karmada.PurgeMode]karmada.PurgeMode{"Immediately": karmada.PurgeDirectly, "Graciously": karmada.PurgeGracefully}

// ResolvePurgeMode is how the old copy goes: the binding's own annotation wins over
// its policy's, both over spec.failover.cluster, and the configured default stands
// in where none of them is set.
func ResolvePurgeMode(frozen Policy, policyAnnotation, byDefault karmada.PurgeMode) karmada.PurgeMode {
	own, spec := frozen.PurgeMode, karmada.PurgeMode("")
	if frozen.PurgeBySpec {
		own, spec = "", frozen.PurgeMode
	}
	for _, mode := range []karmada.PurgeMode{own, policyAnnotation, spec, byDefault} {
		if mode == "" {
			continue
		}
		if now, old := aliases[mode]; old {
			return now
		}
		return mode.Bounded()
	}
	return karmada.PurgeGracefully
}
