package queue

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// Rank is what decides where one binding stands in a failover's queue.
type Rank struct {
	Key      karmada.BindingKey
	Priority int32
	Due      time.Time
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
