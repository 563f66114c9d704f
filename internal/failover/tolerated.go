package failover

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TaintWord is what a policy says to one taint that moves bindings: the parts of
// [DueUnder], told one by one.
type TaintWord struct {
	Taint TaintRef `json:"taint"`
	// Toleration is the first that matches the taint; nil when none does, or when it is a soft one.
	Toleration *corev1.Toleration `json:"toleration,omitempty"`
	// Until is when the taint makes it move; zero when it never does.
	Until time.Time `json:"until,omitzero"`
	// Reason: TaintUntolerated, TolerationExpired (at Until), Tolerated, PolicyUnread, Malformed.
	Reason Reason `json:"reason"`
}

// TaintWords are what a policy says to each taint that moves bindings.
func TaintWords(p Policy, taints []corev1.Taint, now time.Time) []TaintWord {
	hard, soft := Triggering(taints)
	moving := slices.DeleteFunc(slices.Clone(hard), func(t corev1.Taint) bool { return !p.moves(t) })
	used, _ := usedTolerations(p.Tolerations, moving)
	var out []TaintWord
	for _, t := range hard {
		out = append(out, hardWord(p, t, used, now))
	}
	for _, t := range soft {
		due := dueUnderSoft(p, []corev1.Taint{t})
		out = append(out, TaintWord{Taint: refOf(t), Until: due.At, Reason: due.Reason})
	}
	return out
}

// hardWord: a toleration that another taint brought into use counts for this one, too.
func hardWord(p Policy, t corev1.Taint, used []corev1.Toleration, now time.Time) TaintWord {
	w := TaintWord{Taint: refOf(t), Reason: ReasonTolerated}
	if !p.moves(t) {
		return w // a drain's selector leaves it out
	}
	at := slices.IndexFunc(p.Tolerations, func(x corev1.Toleration) bool { return toleratedBy(x, t) })
	if at < 0 {
		w.Reason, w.Until = ReasonTaintUntolerated, since(t, now)
		return w
	}
	w.Toleration = &p.Tolerations[at]
	if due := dueUnderHardUsed(used, []corev1.Taint{t}); due.Affected {
		w.Reason, w.Until = due.Reason, due.At
	}
	return w
}
