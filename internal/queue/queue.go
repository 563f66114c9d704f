package queue

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Queue are the bindings that a failover may yet move, and what was frozen of them when they
// joined. All that it has to know is carried from run to run; what makes it quick is made again.
type Queue struct {
	Items     []Item         `json:"items,omitempty"`
	Policy    []rules.Policy `json:"policies,omitempty"` // frozen, deduplicated
	Kinds     []string       `json:"kinds,omitempty"`    // of resources, as in "apps/v1, Deployment"
	Dues      []rules.Due    `json:"dues,omitempty"`     // of each policy under the taints that stand
	Frozen    Halts          `json:"frozen,omitempty"`   // when toleration clocks stood still
	Later     []*BindingSet  `json:"later,omitempty"`    // left for a later list, by policy; they owe an outcome
	LaterIdle []*BindingSet  `json:"laterIdle,omitempty"`
	// Standing is what operators ordered about bindings.
	Standing Standing `json:"-"`

	index map[karmada.BindingKey]int // where an item stands, while a page is joined
	dues  []policyDue                // by policy, at the moment now
	now   time.Time
}

// Standing is what operators ordered that holds for longer, by scope: until when bindings are
// snoozed, which are paused, and which have another priority.
type Standing struct {
	Snoozed  Scoped[time.Time]
	Paused   Scoped[struct{}]
	Priority Scoped[int32]
}

type policyDue struct {
	at    time.Time
	due   rules.Due
	known bool
}

// Due is when an item's toleration runs out, in unfrozen time, and why. A snooze moves it later,
// by the wall clock: it is an operator's word, and a halt does not stretch it.
func (q *Queue) Due(now time.Time, i *Item) (time.Time, rules.Due) {
	if !q.now.Equal(now) || len(q.dues) != len(q.Dues) {
		q.dues, q.now = make([]policyDue, len(q.Dues)), now
	}
	if i.Policy < 0 || i.Policy >= len(q.dues) {
		return time.Time{}, rules.Due{Reason: reason.NoTaint}
	}
	p := &q.dues[i.Policy]
	if !p.known {
		p.at, p.due = q.PolicyDue(now, i.Policy)
		p.known = true
	}
	return pace.Later(p.at, Latest(q.Standing.Snoozed, i.Key)), p.due
}

// PolicyDue is when the toleration of a frozen policy runs out, in unfrozen time, and why.
func (q *Queue) PolicyDue(now time.Time, policy int) (time.Time, rules.Due) {
	d := q.Dues[policy]
	if !d.Affected {
		return time.Time{}, d
	}
	since := d.Taint.TimeAdded
	if since.IsZero() {
		since = d.At
	}
	return rules.Thaw(since, d.At, q.Frozen, now), d
}

// Judged takes when each policy is due under the taints that stand now.
func (q *Queue) Judged(dues []rules.Due) { q.Dues, q.dues = dues, nil }

// Priority is what an operator ordered, else the one that was frozen: higher goes first.
func (q *Queue) Priority(i *Item) int32 {
	if ordered, ok := q.Standing.Priority.Narrowest(i.Key); ok {
		return ordered
	}
	if policy := q.PolicyOf(i); policy != nil {
		return policy.Priority
	}
	return 0
}

// RankOf is an item's place among others.
func (q *Queue) RankOf(now time.Time, i *Item) Rank {
	due, _ := q.Due(now, i)
	return Rank{Key: i.Key, Priority: q.Priority(i), Due: due}
}

// In selects the items of a state.
func In(state State) func(*Item) bool { return func(i *Item) bool { return i.State == state } }

// First are the k most urgent of some items, the most urgent first: a heap of k over one pass,
// for k is small and the queue may be long.
func (q *Queue) First(now time.Time, k int, is func(*Item) bool) []int {
	if k <= 0 {
		return nil
	}
	top := Top{Most: k}
	for at := range q.Items {
		if i := &q.Items[at]; is(i) {
			top.Offer(q.RankOf(now, i), at)
		}
	}
	return top.Sorted()
}

// Count is how many such items there are.
func (q *Queue) Count(is func(*Item) bool) (n int) {
	for at := range q.Items {
		if is(&q.Items[at]) {
			n++
		}
	}
	return n
}

// Index remembers where each item stands, for [Queue.At] and [Queue.Add]. Others come and go while
// a page is read, so it is made again for each.
func (q *Queue) Index() {
	q.index = make(map[karmada.BindingKey]int, len(q.Items))
	for at := range q.Items {
		q.index[q.Items[at].Key] = at
	}
}

// At is where an item stands, -1 when it does not; right after [Queue.Index] alone.
func (q *Queue) At(key karmada.BindingKey) int {
	if at, ok := q.index[key]; ok {
		return at
	}
	return -1
}

// Find is where an item stands, -1 when it does not, at any time.
func (q *Queue) Find(key karmada.BindingKey) int {
	return slices.IndexFunc(q.Items, func(i Item) bool { return i.Key == key })
}

// Add appends an item; right after [Queue.Index] alone.
func (q *Queue) Add(i Item) {
	q.index[i.Key] = len(q.Items)
	q.Items = append(q.Items, i)
}

// Remove takes the item at a place out of the queue.
func (q *Queue) Remove(at int) Item {
	i := q.Items[at]
	q.Items = slices.Delete(q.Items, at, at+1)
	return i
}

// Sweep removes what has ended.
func (q *Queue) Sweep() {
	q.Items = slices.DeleteFunc(q.Items, func(i Item) bool { return i.State == Ended })
}

// Reset empties the queue for the next attempt; the clocks and what operators ordered stay.
func (q *Queue) Reset() {
	*q = Queue{Kinds: q.Kinds, Frozen: q.Frozen, Standing: q.Standing}
}

// Kind is the index of a kind, which thousands of items share.
func (q *Queue) Kind(kind string) int {
	at := slices.Index(q.Kinds, kind)
	if at < 0 {
		at = len(q.Kinds)
		q.Kinds = append(q.Kinds, kind)
	}
	return at
}

// KindOf is an item's kind, empty for an unknown one.
func (q *Queue) KindOf(i *Item) string {
	if i.Kind < len(q.Kinds) {
		return q.Kinds[i.Kind]
	}
	return ""
}

// NextChange is the item whose state time alone changes first, nil when none. The failover's one timer
// waits for it. It is not the next to move: that is First.
func (q *Queue) NextChange(now time.Time) (of *Item, next time.Time) {
	earlier := func(t time.Time, i *Item) {
		if !t.IsZero() && (of == nil || t.Before(next)) {
			next, of = t, i
		}
	}
	for at := range q.Items {
		switch i := &q.Items[at]; i.State {
		case Tolerating:
			if due, d := q.Due(now, i); d.Affected && !stands(q, now, due, i) {
				earlier(due, i)
			}
		case Blocked:
			if !i.Permanent {
				earlier(i.RetryAt, i)
			}
		case Idle, Due, Ready, Behind, Fence, Hold, Paused, Ended:
		}
	}
	return of, next
}

// stands reports whether the clock of a toleration stands, so that no time ends it.
func stands(q *Queue, now, due time.Time, i *Item) bool {
	return q.Frozen.open() && due.After(now) && due.After(Latest(q.Standing.Snoozed, i.Key))
}

// Tally counts the items of a scope that a taint moves, by whether they are due before a moment.
func (q *Queue) Tally(now time.Time, scope Scope, until time.Time) (sooner, later int) {
	for at := range q.Items {
		i := &q.Items[at]
		if !scope.Covers(i.Key) || i.Permanent {
			continue
		}
		switch due, d := q.Due(now, i); {
		case !d.Affected:
		case due.Before(until):
			sooner++
		default:
			later++
		}
	}
	return sooner, later
}

// Ahead counts the items that have their turn before the one at a place.
func (q *Queue) Ahead(now time.Time, of int) int {
	mine, before := q.RankOf(now, &q.Items[of]), 0
	for at := range q.Items {
		if i := &q.Items[at]; i.State.hasTurn() && at != of && Compare(q.RankOf(now, i), mine) < 0 {
			before++
		}
	}
	return before
}

// ETA is when the last eviction is expected at a pace, zero when it is not known.
func (q *Queue) ETA(now time.Time, p pace.Pace) time.Time {
	dues := make([]time.Time, 0, len(q.Items))
	for at := range q.Items {
		if i := &q.Items[at]; i.State.hasTurn() {
			due, _ := q.Due(now, i)
			dues = append(dues, due)
		}
	}
	eta, ok := pace.ETA(now, dues, 0, p)
	if !ok || len(dues) == 0 {
		return time.Time{}
	}
	return eta
}

// BlockedBy counts the blocked by reason, and returns when the first of them was due.
func (q *Queue) BlockedBy(now time.Time) (by map[reason.Reason]int, since time.Time) {
	by = map[reason.Reason]int{}
	for at := range q.Items {
		i := &q.Items[at]
		if i.State != Blocked {
			continue
		}
		by[i.Reason]++
		if due, _ := q.Due(now, i); !due.IsZero() && (since.IsZero() || due.Before(since)) {
			since = due
		}
	}
	return by, since
}

// MostTelling are up to so many items, those that no taint moves last.
func (q *Queue) MostTelling(most int) []Item {
	if len(q.Items) <= most {
		return q.Items
	}
	var idle, shown []Item
	for _, i := range q.Items {
		switch {
		case i.State == Idle:
			idle = append(idle, i)
		case len(shown) < most:
			shown = append(shown, i)
		}
	}
	return append(shown, idle[:min(len(idle), most-len(shown))]...)
}

// Halts are the times in which the clocks of tolerations stood still, in their order.
type Halts []rules.Interval
