package failover

import (
	"fmt"
	"strconv"
	"strings"

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

// SoftRead tells whether it is known how long soft taints are borne: always for a
// binding that they do not move.
func (p Policy) SoftRead() bool {
	return !p.ClusterFailover || p.SoftSeconds != nil || p.SoftMalformed != ""
}

func (p Policy) withSoft(whose, text string) Policy {
	seconds := DefaultSoftToleration
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			p.SoftMalformed = fmt.Sprintf("%s %s is %.40q, which is no number of seconds", whose, AnnotationTolerationSeconds, text)
			return p
		}
		seconds = n
	}
	p.SoftSeconds = &seconds
	return p
}

// softOf is what a binding says itself: the API's field, else its own annotation.
// Nothing is read for one that soft taints do not move.
func softOf(p Policy, b *Binding) Policy {
	if !p.ClusterFailover {
		return p
	}
	if b.SoftTolerationSeconds != nil {
		seconds := *b.SoftTolerationSeconds
		p.SoftSeconds = &seconds
		return p
	}
	if own := b.Annotations[AnnotationTolerationSeconds]; own != "" {
		return p.withSoft("its annotation", own)
	}
	return p
}

// dueUnderSoft: soft taints move only what has spec.failover.cluster, when its own
// seconds since timeAdded have run out; clusterTolerations play no part. A taint
// without timeAdded has no clock, and a policy that was not read yet is not guessed
// at: neither moves anything.
func dueUnderSoft(p Policy, soft []corev1.Taint) Due {
	switch {
	case len(soft) == 0:
		return Due{Reason: ReasonNoTaint}
	case !p.ClusterFailover:
		return Due{Reason: ReasonTolerated}
	case p.SoftMalformed != "":
		return Due{Reason: ReasonMalformed}
	case p.SoftSeconds == nil:
		return Due{Reason: ReasonPolicyUnread}
	}
	due := Due{Reason: ReasonTolerated}
	for _, taint := range soft {
		if taint.TimeAdded == nil {
			continue
		}
		end := taint.TimeAdded.Add(seconds(*p.SoftSeconds))
		if !due.Affected || end.Before(due.At) {
			due = Due{Affected: true, At: end, Taint: refOf(taint), Reason: ReasonTolerationExpired}
		}
	}
	return due
}

// earlier picks what moves a binding first when taints of both kinds stand; on a tie
// the hard one is named. Where nothing moves it, what needs a human's eyes is said.
func earlier(hard, soft Due) Due {
	switch {
	case hard.Affected && soft.Affected && soft.At.Before(hard.At):
		return soft
	case hard.Affected:
		return hard
	case soft.Affected, hard.Reason == ReasonNoTaint:
		return soft
	case soft.Reason == ReasonMalformed, soft.Reason == ReasonPolicyUnread:
		return soft
	default:
		return hard
	}
}

// ofPolicy is " of PropagationPolicy shop/cart", empty when none is known.
func (b *Binding) ofPolicy() string {
	namespace, name, ok := strings.Cut(b.PolicyID(), "/")
	switch {
	case !ok:
		return ""
	case namespace == "":
		return " of ClusterPropagationPolicy " + name
	default:
		return " of PropagationPolicy " + namespace + "/" + name
	}
}

// PolicyID names the policy that a binding comes from, empty when none is known.
func (b *Binding) PolicyID() string {
	if name := b.Annotations[AnnotationPolicyName]; name != "" {
		return b.Annotations[AnnotationPolicyNamespace] + "/" + name
	}
	if name := b.Annotations[AnnotationClusterPolicyName]; name != "" {
		return "/" + name
	}
	return ""
}
