package queue

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// maxFrozen bounds how many halts are remembered one by one.
const maxFrozen = 100

// Halt stops the clocks of tolerations, or lets them go on.
func (q *Queue) Halt(now time.Time, halted bool) {
	q.dues = nil
	n := len(q.Frozen)
	open := n > 0 && q.Frozen[n-1].To.IsZero()
	switch {
	case halted && !open:
		q.Frozen = append(q.Frozen, rules.Interval{From: now})
		q.boundFrozen()
	case !halted && open:
		q.Frozen[n-1].To = now
	}
}

// ForgetHalts drops the halts that ended before the oldest taint that stands was put: no clock ran
// then. A taint may be older than the attempt, so the others stay.
func (q *Queue) ForgetHalts(taints []corev1.Taint) {
	q.Frozen = slices.DeleteFunc(q.Frozen, func(f rules.Interval) bool {
		return !f.To.IsZero() && !slices.ContainsFunc(taints, func(t corev1.Taint) bool {
			return t.TimeAdded != nil && t.TimeAdded.Time.Before(f.To)
		})
	})
}

// boundFrozen joins the two halts with the least time between them when there are too many. That
// time counts as frozen, too: an eviction comes later by it, never earlier.
func (q *Queue) boundFrozen() {
	f := q.Frozen
	if len(f) <= maxFrozen {
		return
	}
	at := 1
	for n := 2; n < len(f); n++ {
		if f[n].From.Sub(f[n-1].To) < f[at].From.Sub(f[at-1].To) {
			at = n
		}
	}
	f[at-1].To = f[at].To
	q.Frozen = slices.Delete(f, at, at+1)
}
