package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// order is what a run remembers beside its state, so that a turn over a queue of
// many thousands stays short. Nothing of it is carried over.
type order struct {
	items   map[karmada.BindingKey]int // where an item stands, while a page is joined
	results map[resultKey]int          // where a result stands
	dues    []policyDue                // by policy, as of dueNow
	dueNow  time.Time
}

type resultKey struct {
	key karmada.BindingKey
	uid types.UID
}

type policyDue struct {
	at    time.Time
	due   rules.Due
	known bool
}

// dueAt is when an item's toleration runs out, measured in unfrozen time.
func (e *failover) dueAt(i queue.Item) (time.Time, rules.Due) {
	e.tick()
	return e.due(&i)
}

// tick forgets the due times of an earlier moment. Whoever asks for those of many
// items calls it once, and then due for each.
func (e *failover) tick() {
	if now := e.now(); !e.order.dueNow.Equal(now) || len(e.order.dues) != len(e.st.Dues) {
		e.order.dues, e.order.dueNow = make([]policyDue, len(e.st.Dues)), now
	}
}

// due is dueAt as of the last tick. A snooze moves it later, by the wall clock: it is a
// human's word, and a halt does not stretch it.
func (e *failover) due(i *queue.Item) (time.Time, rules.Due) {
	if i.Policy < 0 || i.Policy >= len(e.order.dues) {
		return time.Time{}, rules.Due{Reason: reason.NoTaint}
	}
	p := &e.order.dues[i.Policy]
	if !p.known {
		p.at, p.due = e.policyDue(i.Policy)
		p.known = true
	}
	return queue.Snoozed(p.at, queue.Latest(e.standing.snoozed, i.Key)), p.due
}

func (e *failover) policyDue(policy int) (time.Time, rules.Due) {
	d := e.st.Dues[policy]
	if !d.Affected {
		return time.Time{}, d
	}
	since := d.Taint.TimeAdded
	if since.IsZero() {
		since = d.At
	}
	return rules.Thaw(since, d.At, e.st.Frozen, e.now()), d
}

// forgetDues has every due time worked out anew: the clocks, or the taints, changed.
func (e *failover) forgetDues() { e.order.dues = nil }

// first are the k most urgent items of a state, most urgent first: a heap of k over
// one pass, for k is small and the queue may be long.
func (e *failover) first(state queue.State, k int) []int {
	if k <= 0 {
		return nil
	}
	top := queue.Top{Most: k}
	e.tick()
	for at := range e.st.Items {
		i := &e.st.Items[at]
		if i.State != state {
			continue
		}
		due, _ := e.due(i)
		top.Offer(queue.Turn{Key: i.Key, Priority: e.priorityOf(i), Due: due}, at)
	}
	return top.Sorted()
}

func (e *failover) priorityOf(i *queue.Item) int32 {
	if ordered, ok := e.standing.priority.Narrowest(i.Key); ok {
		return ordered
	}
	if i.Policy < 0 || i.Policy >= len(e.st.Policy) {
		return 0
	}
	return e.st.Policy[i.Policy].Priority
}

func (e *failover) countReady() int { return e.count(queue.Ready) }

func (e *failover) count(state queue.State) int {
	n := 0
	for at := range e.st.Items {
		if e.st.Items[at].State == state {
			n++
		}
	}
	return n
}

// nextList is when the affected set is to be listed: at once when asked to, else in
// its time. A long list costs history: the next waits longer, by a millisecond and by
// fifteen per binding.
func (e *failover) nextList() time.Time {
	n := time.Duration(e.targeting() + len(e.st.Moves))
	switch {
	case e.listDirty && (!e.listed || n < longList):
		return e.now()
	case e.listDirty:
		return e.st.Listed.Add(n * time.Millisecond)
	default:
		return e.st.Listed.Add(max(e.st.Terms.Relist, n*15*time.Millisecond))
	}
}

// targeting is how many bindings a list brings: those that observe has judged
// target the cluster still.
func (e *failover) targeting() int {
	return len(e.st.Items) + e.st.Counts[string(phase.OutcomeWouldMove)]
}

// longList is from how many bindings on lists are spaced out.
const longList = 1000

// indexItems remembers where each item stands. Others come and go while a page is
// read, so it is made anew for each.
func (e *failover) indexItems() {
	e.order.items = make(map[karmada.BindingKey]int, len(e.st.Items))
	for at := range e.st.Items {
		e.order.items[e.st.Items[at].Key] = at
	}
}

// itemAt is where an item stands, -1 when it does not; right after indexItems alone.
func (e *failover) itemAt(key karmada.BindingKey) int {
	if at, ok := e.order.items[key]; ok {
		return at
	}
	return -1
}

func (e *failover) appendItem(i queue.Item) {
	e.order.items[i.Key] = len(e.st.Items)
	e.st.Items = append(e.st.Items, i)
}

// resultAt is where a binding's result of this attempt stands, -1 when there is none.
func (e *failover) resultAt(key karmada.BindingKey, uid types.UID) int {
	if e.order.results == nil || len(e.order.results) != len(e.st.Results) {
		e.order.results = make(map[resultKey]int, len(e.st.Results))
		for at := range e.st.Results {
			e.order.results[resultKey{e.st.Results[at].Key, e.st.Results[at].UID}] = at
		}
	}
	if at, ok := e.order.results[resultKey{key, uid}]; ok {
		return at
	}
	return -1
}

// outranked: an end without a write does not take the place of what was written in this
// attempt. Whoever looked at a binding just before Lifeboat's own move of it ended, and acted just
// after, took it for the work of others; and one that came back into play after its move
// and was abandoned then is still where that move left it. A human's word is an end of
// its own, by which the binding is known as called off.
func (e *failover) outranked(r record.Result) bool {
	idle := r.Outcome == phase.OutcomeMovedByOthers || r.Outcome == phase.OutcomeAbandoned && !calledOff(r.Reason)
	if !idle || r.Wrote {
		return false
	}
	at := e.resultAt(r.Key, r.UID)
	return at >= 0 && (e.st.Results[at].Wrote || e.st.Results[at].Outcome == phase.OutcomeMigrated) || e.st.Folded[string(phase.OutcomeMigrated)].Has(r.Key, r.UID)
}

// record keeps the one outcome of a binding in this attempt. An earlier end without
// a write gives way: the binding came back into play.
func (e *failover) record(r record.Result) {
	if e.outranked(r) {
		return
	}
	if at := e.resultAt(r.Key, r.UID); at >= 0 {
		e.st.Counts[string(e.st.Results[at].Outcome)]--
		e.st.Results[at] = r
	} else {
		e.unfold(r.Key, r.UID)
		e.st.Results = append(e.st.Results, r)
		e.order.results[resultKey{r.Key, r.UID}] = len(e.st.Results) - 1
	}
	e.st.Counts[string(r.Outcome)]++
	e.auditOutcome(e.st.Attempt, r)
	e.fold()
	e.owe(r.PendingPurge)
}

func (e *failover) nextInQueue(sooner func(time.Time, string)) {
	sooner(e.nextList(), "list the bindings on "+e.cluster+" again")
	if !e.enforcing() && e.st.Paused == nil && e.countReady() > 0 {
		sooner(e.st.NextSim, "the next move would begin")
	}
	if e.now().Before(e.st.NextDrain) && (e.countReady() > 0 || len(e.waitForPermit()) > 0) {
		sooner(e.st.NextDrain, "the drain's own rate lets the next move begin")
	}
	of, at := e.nextItem()
	switch {
	case of == nil:
	case of.State == queue.Blocked:
		sooner(at, "look at blocked "+of.Key.String()+" again")
	case of.Reason == reason.Snoozed:
		sooner(at, "the snooze of "+of.Key.String()+" ends")
	default:
		sooner(at, "the toleration of "+of.Key.String()+" runs out")
	}
}

// nextItem is the queued item that time alone brings on soonest, nil when none: the
// one timer is for it.
func (e *failover) nextItem() (of *queue.Item, next time.Time) {
	e.tick()
	earlier := func(t time.Time, i *queue.Item) {
		if !t.IsZero() && (of == nil || t.Before(next)) {
			next, of = t, i
		}
	}
	for at := range e.st.Items {
		i := &e.st.Items[at]
		switch i.State {
		case queue.Tolerating:
			if due, d := e.due(i); d.Affected {
				earlier(due, i)
			}
		case queue.Blocked:
			if !i.Permanent {
				earlier(i.RetryAt, i)
			}
		case queue.Idle, queue.Due, queue.Ready, queue.Behind, queue.Fence, queue.Hold, queue.Paused, itemEnded:
		}
	}
	return of, next
}
