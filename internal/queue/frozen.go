package queue

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// maxHalts bounds how many halts are remembered one by one.
const maxHalts = 100

// Halt stops the clocks of tolerations, or lets them go on.
func (q *Queue) Halt(now time.Time, halted bool) {
	q.dues = nil
	open := q.Frozen.open()
	switch {
	case halted && !open:
		q.Frozen = append(q.Frozen, rules.Interval{From: now}).bounded()
	case !halted && open:
		q.Frozen[len(q.Frozen)-1].To = now
	}
}

// open reports whether the newest halt goes on.
func (h Halts) open() bool { return len(h) > 0 && h[len(h)-1].To.IsZero() }

// Since drops the halts that ended before the oldest taint that stands was put: no clock ran
// then. A taint may be older than the attempt, so the others stay.
func (h Halts) Since(taints []corev1.Taint) Halts {
	return slices.DeleteFunc(h, func(f rules.Interval) bool {
		return !f.To.IsZero() && !slices.ContainsFunc(taints, func(t corev1.Taint) bool {
			return t.TimeAdded != nil && t.TimeAdded.Time.Before(f.To)
		})
	})
}

// bounded joins the two halts with the least time between them when there are too many. That
// time counts as frozen, too: an eviction comes later by it, never earlier.
func (h Halts) bounded() Halts {
	if len(h) <= maxHalts {
		return h
	}
	at := 1
	for n := 2; n < len(h); n++ {
		if h[n].From.Sub(h[n-1].To) < h[at].From.Sub(h[at-1].To) {
			at = n
		}
	}
	h[at-1].To = h[at].To
	return slices.Delete(h, at, at+1)
}
