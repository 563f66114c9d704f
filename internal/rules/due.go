package rules

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
)

// TaintRef names a taint and when its clock began.
type TaintRef struct {
	Key       string             `json:"key"`
	Value     string             `json:"value,omitempty"`
	Effect    corev1.TaintEffect `json:"effect"`
	TimeAdded time.Time          `json:"timeAdded,omitzero"`
}

// Due says whether a policy moves under a set of taints, and from when on.
type Due struct {
	Affected bool          `json:"affected"`
	At       time.Time     `json:"at,omitzero"`
	Taint    TaintRef      `json:"taint,omitzero"` // the taint that makes it due
	Reason   reason.Reason `json:"reason"`
}

// Interval is a span of frozen time; a zero To is still open.
type Interval struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// DueUnder reports whether a policy moves under a cluster's taints, and from when on.
// Matching is Kubernetes', arithmetic is Karmada's taint manager's to the second:
// any NoExecute taint untolerated makes it due at once; all tolerated, it is due at
// the earliest end over the tolerations in use, or never. Soft taints have a clock
// of their own, and of both kinds the one that ends first counts and is named.
func DueUnder(p Policy, taints []corev1.Taint, now time.Time) Due {
	hard, soft := karmada.Triggering(taints)
	hard = slices.DeleteFunc(hard, func(t corev1.Taint) bool { return !p.moves(t) })
	due := Due{Reason: reason.NoTaint}
	if len(hard) > 0 {
		due = dueUnderHard(p.Tolerations, hard, now)
	}
	return earlier(due, dueUnderSoft(p, soft))
}

func dueUnderHard(tolerations []corev1.Toleration, hard []corev1.Taint, now time.Time) Due {
	used, untolerated := usedTolerations(tolerations, hard)
	if len(untolerated) > 0 {
		first := slices.MinFunc(untolerated, func(a, b corev1.Taint) int { return since(a, now).Compare(since(b, now)) })
		return Due{Affected: true, At: since(first, now), Taint: RefOf(first), Reason: reason.TaintUntolerated}
	}
	return dueUnderHardUsed(used, hard)
}

// dueUnderHardUsed is the earliest end of the tolerations in use.
func dueUnderHardUsed(used []corev1.Toleration, hard []corev1.Taint) Due {
	due := Due{Reason: reason.Tolerated}
	for _, t := range used {
		if t.TolerationSeconds == nil {
			continue
		}
		// Karmada lets a toleration in use count for every taint it matches, also
		// for one that another, unlimited toleration matched first.
		for _, taint := range hard {
			if taint.TimeAdded == nil || !karmada.ToleratedBy(t, taint) {
				continue
			}
			due.expires(taint, *t.TolerationSeconds)
		}
	}
	return due
}

// expires counts the end of a toleration, if it is the earliest.
func (d *Due) expires(taint corev1.Taint, after int64) {
	if end := taint.TimeAdded.Add(seconds(after)); !d.Affected || end.Before(d.At) {
		*d = Due{Affected: true, At: end, Taint: RefOf(taint), Reason: reason.TolerationExpired}
	}
}

// usedTolerations takes, for each taint, the first toleration that matches it.
func usedTolerations(tolerations []corev1.Toleration, taints []corev1.Taint) (used []corev1.Toleration, untolerated []corev1.Taint) {
	for _, taint := range taints {
		i := slices.IndexFunc(tolerations, func(t corev1.Toleration) bool { return karmada.ToleratedBy(t, taint) })
		if i < 0 {
			untolerated = append(untolerated, taint)
			continue
		}
		used = append(used, tolerations[i])
	}
	return used, untolerated
}

// since is when a taint began to move what does not tolerate it: never later than now.
func since(t corev1.Taint, now time.Time) time.Time {
	if t.TimeAdded == nil || t.TimeAdded.After(now) {
		return now
	}
	return t.TimeAdded.Time
}

// seconds saturates: a toleration that is longer than a Duration holds is for
// ever, and its binding must not move at once by an overflow.
func seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(max(-most, min(most, n))) * time.Second
}

// RefOf is a taint as records name it.
func RefOf(t corev1.Taint) TaintRef {
	ref := TaintRef{Key: t.Key, Value: t.Value, Effect: t.Effect}
	if t.TimeAdded != nil {
		ref.TimeAdded = t.TimeAdded.Time
	}
	return ref
}

// Thaw moves a due time past the frozen intervals: between since and due the
// clock of a toleration runs in unfrozen time only. An open interval ends at now,
// so the answer moves on while it stays open.
func Thaw(since, due time.Time, frozen []Interval, now time.Time) time.Time {
	left := due.Sub(since)
	if left <= 0 {
		return due
	}
	cursor := since
	for _, f := range closed(frozen, now) {
		if !f.To.After(cursor) || f.To.Before(f.From) {
			continue
		}
		if run := f.From.Sub(cursor); run > 0 {
			if run >= left {
				break
			}
			left -= run
		}
		cursor = f.To
	}
	return cursor.Add(left)
}

func closed(frozen []Interval, now time.Time) []Interval {
	out := slices.Clone(frozen)
	for i := range out {
		if out[i].To.IsZero() {
			out[i].To = now
		}
	}
	slices.SortFunc(out, func(a, b Interval) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To))
	})
	return out
}

// dueUnderSoft: soft taints move only what has spec.failover.cluster, when its own
// seconds since timeAdded have run out; clusterTolerations play no part. A taint
// without timeAdded has no clock, and a policy that was not read yet is not guessed
// at: neither moves anything.
func dueUnderSoft(p Policy, soft []corev1.Taint) Due {
	switch {
	case len(soft) == 0:
		return Due{Reason: reason.NoTaint}
	case !p.ClusterFailover:
		return Due{Reason: reason.Tolerated}
	case p.SoftMalformed != "":
		return Due{Reason: reason.Malformed}
	case p.SoftSeconds == nil:
		return Due{Reason: reason.PolicyUnread}
	}
	due := Due{Reason: reason.Tolerated}
	for _, taint := range soft {
		if taint.TimeAdded != nil {
			due.expires(taint, *p.SoftSeconds)
		}
	}
	return due
}

// earlier picks what moves a binding first when taints of both kinds stand; on a tie
// the hard one is named. Where nothing moves it, what needs an operator's eyes is said.
func earlier(hard, soft Due) Due {
	switch {
	case hard.Affected && soft.Affected && soft.At.Before(hard.At):
		return soft
	case hard.Affected:
		return hard
	case soft.Affected, hard.Reason == reason.NoTaint:
		return soft
	case soft.Reason == reason.Malformed, soft.Reason == reason.PolicyUnread:
		return soft
	default:
		return hard
	}
}

// TaintWord is what a policy says to one taint that moves bindings: a part of
// [DueUnder].
type TaintWord struct {
	Taint TaintRef `json:"taint"`
	// Toleration is the first that matches the taint; nil when none does, or when it is a soft one.
	Toleration *corev1.Toleration `json:"toleration,omitempty"`
	// Until is when the taint makes it move; zero when it never does.
	Until time.Time `json:"until,omitzero"`
	// Reason: TaintUntolerated, TolerationExpired (at Until), Tolerated, PolicyUnread, Malformed.
	Reason reason.Reason `json:"reason"`
}

// TaintWords are what a policy says to each taint that moves bindings.
func TaintWords(p Policy, taints []corev1.Taint, now time.Time) []TaintWord {
	hard, soft := karmada.Triggering(taints)
	moving := slices.DeleteFunc(slices.Clone(hard), func(t corev1.Taint) bool { return !p.moves(t) })
	used, _ := usedTolerations(p.Tolerations, moving)
	var out []TaintWord
	for _, t := range hard {
		out = append(out, hardWord(p, t, used, now))
	}
	for _, t := range soft {
		due := dueUnderSoft(p, []corev1.Taint{t})
		out = append(out, TaintWord{Taint: RefOf(t), Until: due.At, Reason: due.Reason})
	}
	return out
}

// hardWord: a toleration that another taint brought into use counts for this one, too.
func hardWord(p Policy, t corev1.Taint, used []corev1.Toleration, now time.Time) TaintWord {
	w := TaintWord{Taint: RefOf(t), Reason: reason.Tolerated}
	if !p.moves(t) {
		return w // a drain's selector leaves it out
	}
	at := slices.IndexFunc(p.Tolerations, func(x corev1.Toleration) bool { return karmada.ToleratedBy(x, t) })
	if at < 0 {
		w.Reason, w.Until = reason.TaintUntolerated, since(t, now)
		return w
	}
	w.Toleration = &p.Tolerations[at]
	if due := dueUnderHardUsed(used, []corev1.Taint{t}); due.Affected {
		w.Reason, w.Until = due.Reason, due.At
	}
	return w
}
