package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// maxFrozen bounds how many halts are remembered one by one.
const maxFrozen = 100

// forgetFrozen drops the halts that ended before the oldest taint that stands was put:
// no clock ran then. A taint may be older than the attempt, so the others stay.
func (e *failover) forgetFrozen() {
	taints := slices.Concat(e.st.Cluster.Hard, e.st.Cluster.Soft, e.st.Cluster.Foreign)
	e.st.Frozen = slices.DeleteFunc(e.st.Frozen, func(f rules.Interval) bool {
		if f.To.IsZero() {
			return false
		}
		for _, t := range taints {
			if t.TimeAdded != nil && t.TimeAdded.Time.Before(f.To) {
				return false
			}
		}
		return true
	})
}

// boundFrozen joins the two halts with the least time between them when there are too
// many. That time counts as frozen, too: an eviction comes later by it, never earlier.
func (e *failover) boundFrozen() {
	f := e.st.Frozen
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
	e.st.Frozen = slices.Delete(f, at, at+1)
}
