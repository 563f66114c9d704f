package queue

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"k8s.io/apimachinery/pkg/types"
)

// Rank is where one binding stands in a failover's queue. Its names are short because
// thousands of them are carried from run to run.
type Rank struct {
	Key      karmada.BindingKey `json:"k"`
	UID      types.UID          `json:"u,omitempty"`
	Priority int32              `json:"p,omitempty"`
	Due      time.Time          `json:"d,omitzero"`
}

// Compare is the order of the queue: higher priority first, then the earlier due
// time, then namespace and name.
func Compare(a, b Rank) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Due.Compare(b.Due), a.Key.Compare(b.Key))
}

// Top keeps the most urgent of many items in one pass.
type Top struct {
	// Most is how many are kept.
	Most int
	kept offers // the least urgent one on top
}

// offers is a heap of items: the least urgent one is on top, or with urgentFirst the most urgent one.
type offers struct {
	items       []offer
	urgentFirst bool
}

type offer struct {
	item Rank
	at   int
}

// Len implements heap.Interface.
func (o *offers) Len() int { return len(o.items) }

// Less implements heap.Interface.
func (o *offers) Less(i, j int) bool {
	if o.urgentFirst {
		i, j = j, i
	}
	return Compare(o.items[i].item, o.items[j].item) > 0
}

// Swap implements heap.Interface.
func (o *offers) Swap(i, j int) { o.items[i], o.items[j] = o.items[j], o.items[i] }

// Push implements heap.Interface.
func (o *offers) Push(x any) {
	if k, ok := x.(offer); ok {
		o.items = append(o.items, k)
	}
}

// Pop implements heap.Interface.
func (o *offers) Pop() any {
	last := o.items[len(o.items)-1]
	o.items = o.items[:len(o.items)-1]
	return last
}

// Offer takes an item that stands at a place, if it is among the most urgent.
func (t *Top) Offer(i Rank, at int) {
	switch {
	case t.kept.Len() < t.Most:
		heap.Push(&t.kept, offer{i, at})
	case t.Most > 0 && Compare(i, t.kept.items[0].item) < 0:
		t.kept.items[0] = offer{i, at}
		heap.Fix(&t.kept, 0)
	}
}

// Sorted are the places of the items that were kept, most urgent first.
func (t *Top) Sorted() []int {
	kept := t.kept.items
	slices.SortFunc(kept, func(a, b offer) int { return Compare(a.item, b.item) })
	out := make([]int, len(kept))
	for n, k := range kept {
		out[n] = k.at
	}
	return out
}

// Lineup is the order in which queued items have their turn at a pace, and when: at
// each turn the most urgent of those that are due by then. It foresees what a failover
// that has the pace for itself does; one that runs asks for the First whenever it has a permit.
type Lineup struct {
	pace  pace.Pace
	from  time.Time
	later []offer // by due time
	due   offers
}

// NewLineup begins at a moment from which the pace would let the next one go.
func NewLineup(items []Rank, pace pace.Pace, from time.Time) *Lineup {
	l := &Lineup{pace: pace, from: from, due: offers{urgentFirst: true}}
	for at, i := range items {
		l.later = append(l.later, offer{i, at})
	}
	slices.SortStableFunc(l.later, func(a, b offer) int { return a.item.Due.Compare(b.item.Due) })
	return l
}

// Next is the index of the item whose turn is next, and when that comes; ok is false
// when all had theirs. While nothing is issued a turn is when the item is due.
func (l *Lineup) Next() (at int, when time.Time, ok bool) {
	if l.due.Len() == 0 && len(l.later) > 0 && l.later[0].item.Due.After(l.from) {
		l.from = l.later[0].item.Due
	}
	for len(l.later) > 0 && !l.later[0].item.Due.After(l.from) {
		heap.Push(&l.due, l.later[0])
		l.later = l.later[1:]
	}
	if l.due.Len() == 0 {
		return 0, time.Time{}, false
	}
	next, _ := heap.Pop(&l.due).(offer)
	return next.at, l.from, true
}

// Went reports that the item whose turn it was went: the pace counts it. One that was
// blocked costs nothing.
func (l *Lineup) Went() {
	if l.pace.Flows() {
		l.from = pace.After(l.pace, l.from)
	}
}
