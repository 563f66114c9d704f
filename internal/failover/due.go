package failover

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// Policy is what a round freezes of a binding: later edits change nothing in it.
type Policy struct {
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	PurgeMode   PurgeMode           `json:"purgeMode,omitempty"`
	// PurgeBySpec: the mode stands in spec.failover.cluster, so that an annotation of
	// the policy still wins over it.
	PurgeBySpec bool  `json:"purgeBySpec,omitempty"`
	Priority    int32 `json:"priority,omitempty"`
	// ClusterFailover tells whether spec.failover.cluster is set (soft taints move only those).
	ClusterFailover bool `json:"clusterFailover,omitempty"`
	// NotDrained tells that a drain's selector leaves it out.
	NotDrained bool `json:"notDrained,omitempty"`
	// SoftSeconds is how long soft taints are borne; nil while that is not read.
	SoftSeconds *int64 `json:"softSeconds,omitempty"`
	// SoftMalformed says why that cannot be understood: then soft taints move nothing.
	SoftMalformed string `json:"softMalformed,omitempty"`
	// State says what of the old copy's status goes along.
	State []StateRule `json:"state,omitempty"`
}

// TaintRef names a taint and when its clock began.
type TaintRef struct {
	Key       string             `json:"key"`
	Value     string             `json:"value,omitempty"`
	Effect    corev1.TaintEffect `json:"effect"`
	TimeAdded time.Time          `json:"timeAdded,omitzero"`
}

// Due says whether a policy moves under a set of taints, and from when on.
type Due struct {
	Affected bool      `json:"affected"`
	At       time.Time `json:"at,omitzero"`
	Taint    TaintRef  `json:"taint,omitzero"` // the taint that makes it due
	Reason   Reason    `json:"reason"`
}

// Interval is a span of frozen time; a zero To is still open.
type Interval struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// PolicyOf reads what a round freezes of a binding. The defaults stand in only
// for a placement without any toleration.
func PolicyOf(b *Binding, defaults []corev1.Toleration) Policy {
	p := Policy{Priority: b.Priority, ClusterFailover: b.HasClusterFailover, PurgeMode: b.PurgeMode, PurgeBySpec: b.PurgeMode != "", State: b.StateRules}
	if mode := b.Annotations[AnnotationPurgeMode]; mode != "" {
		p.PurgeMode, p.PurgeBySpec = PurgeMode(mode), false
	}
	p.PurgeMode = p.PurgeMode.bounded()
	if b.Placement != nil {
		p.Tolerations = slices.Clone(b.Placement.ClusterTolerations)
	}
	if len(p.Tolerations) == 0 {
		p.Tolerations = slices.Clone(defaults)
	}
	return softOf(p, b)
}

// DueUnder tells whether a policy moves under a cluster's taints, and from when on.
// Matching is Kubernetes', arithmetic is Karmada's taint manager's to the second:
// any NoExecute taint untolerated makes it due at once; all tolerated, it is due at
// the earliest end over the tolerations in use, or never. Soft taints have a clock
// of their own, and of both kinds the one that ends first counts and is named.
func DueUnder(p Policy, taints []corev1.Taint, now time.Time) Due {
	hard, soft := Triggering(taints)
	hard = slices.DeleteFunc(hard, func(t corev1.Taint) bool { return !p.moves(t) })
	due := Due{Reason: ReasonNoTaint}
	if len(hard) > 0 {
		due = dueUnderHard(p.Tolerations, hard, now)
	}
	return earlier(due, dueUnderSoft(p, soft))
}

func dueUnderHard(tolerations []corev1.Toleration, hard []corev1.Taint, now time.Time) Due {
	used, untolerated := usedTolerations(tolerations, hard)
	if len(untolerated) > 0 {
		first := slices.MinFunc(untolerated, func(a, b corev1.Taint) int { return since(a, now).Compare(since(b, now)) })
		return Due{Affected: true, At: since(first, now), Taint: refOf(first), Reason: ReasonTaintUntolerated}
	}
	return dueUnderHardUsed(used, hard)
}

// dueUnderHardUsed is the earliest end of the tolerations in use.
func dueUnderHardUsed(used []corev1.Toleration, hard []corev1.Taint) Due {
	due := Due{Reason: ReasonTolerated}
	for _, t := range used {
		if t.TolerationSeconds == nil {
			continue
		}
		// Karmada lets a toleration in use count for every taint it matches, also
		// for one that another, unlimited toleration matched first.
		for _, taint := range hard {
			if taint.TimeAdded == nil || !toleratedBy(t, taint) {
				continue
			}
			end := taint.TimeAdded.Add(seconds(*t.TolerationSeconds))
			if !due.Affected || end.Before(due.At) {
				due = Due{Affected: true, At: end, Taint: refOf(taint), Reason: ReasonTolerationExpired}
			}
		}
	}
	return due
}

// usedTolerations takes, for each taint, the first toleration that matches it.
func usedTolerations(tolerations []corev1.Toleration, taints []corev1.Taint) (used []corev1.Toleration, untolerated []corev1.Taint) {
	for _, taint := range taints {
		i := slices.IndexFunc(tolerations, func(t corev1.Toleration) bool { return toleratedBy(t, taint) })
		if i < 0 {
			untolerated = append(untolerated, taint)
			continue
		}
		used = append(used, tolerations[i])
	}
	return used, untolerated
}

// tolerates is Kubernetes' own matching; Karmada keeps the operators Lt and Gt off.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	return t.ToleratesTaint(klog.Logger{}, &taint, false)
}

// since is when a taint began to move what does not tolerate it: never later than now.
func since(t corev1.Taint, now time.Time) time.Time {
	if t.TimeAdded == nil || t.TimeAdded.After(now) {
		return now
	}
	return t.TimeAdded.Time
}

// seconds saturates: whoever tolerates for longer than a Duration holds means for
// ever, and must not be moved at once by an overflow.
func seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(max(-most, min(most, n))) * time.Second
}

func refOf(t corev1.Taint) TaintRef {
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
