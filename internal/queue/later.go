package queue

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/types"
)

// LeaveForLater keeps the most urgent items, and of the others only by which policy each is frozen
// and whether it owes an outcome: a run hands only so much on to the next. What is blocked is
// blocked again when the list brings it back.
func (q *Queue) LeaveForLater(now time.Time, most int) {
	if len(q.Items) <= most {
		return
	}
	top := Top{Most: most}
	for at := range q.Items {
		if i := &q.Items[at]; !i.Permanent {
			top.Offer(q.RankOf(now, i), at)
		}
	}
	keep := make([]bool, len(q.Items))
	for _, at := range top.Sorted() {
		keep[at] = true
	}
	var kept []Item
	told := 0
	for at, i := range q.Items {
		switch {
		case keep[at] || i.Policy < 0:
			kept = append(kept, i)
		case i.told() && told < mostTold:
			kept, told = append(kept, i), told+1
		case i.Reason == reason.SchedulerReturnsIt: // it has its outcome, by which the list knows it again
		case i.Affected:
			q.Later = fileUnder(q.Later, i)
		default:
			q.LaterIdle = fileUnder(q.LaterIdle, i)
		}
	}
	q.Items = kept
}

// mostTold bounds how many items are kept for that alone.
const mostTold = 200

// told reports whether the list does not bring back what an operator said of an item, or did not say in time.
func (i *Item) told() bool { return i.Fence != nil || i.Reason == reason.ApprovalExpired }

// fileUnder files an item under its frozen policy.
func fileUnder(sets []*BindingSet, i Item) []*BindingSet {
	for len(sets) <= i.Policy {
		sets = append(sets, &BindingSet{})
	}
	sets[i.Policy].Add(i.Key, i.UID)
	return sets
}

// Left is what is remembered of a binding that was left for later.
type Left struct {
	Policy int  // under which it is frozen
	Owes   bool // an outcome
}

// Remembered is what an earlier run remembered of a binding that it could not hand on.
func (q *Queue) Remembered(key karmada.BindingKey, uid types.UID) (Left, bool) {
	for n, sets := range [][]*BindingSet{q.Later, q.LaterIdle} {
		for policy, set := range sets {
			if set.Has(key, uid) {
				return Left{Policy: policy, Owes: n == 0}, policy < len(q.Policy)
			}
		}
	}
	return Left{}, false
}

// Rejoined takes a binding that is known otherwise again out of what was left for later.
func (q *Queue) Rejoined(key karmada.BindingKey, uid types.UID) {
	for _, set := range slices.Concat(q.Later, q.LaterIdle) {
		set.Remove(key, uid)
	}
}

// Owing is how many of them owe an outcome.
func (q *Queue) Owing() int {
	n := 0
	for _, set := range q.Later {
		n += set.Len()
	}
	return n
}
