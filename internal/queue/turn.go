package queue

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/types"
)

// Turn is one binding in a failover's queue. Its names are short because
// thousands of them are carried from run to run.
type Turn struct {
	Key      karmada.BindingKey `json:"k"`
	UID      types.UID          `json:"u,omitempty"`
	Priority int32              `json:"p,omitempty"`
	Due      time.Time          `json:"d,omitzero"`
}

// Compare is the order of the queue: higher priority first, then the earlier due
// time, then namespace and name.
func Compare(a, b Turn) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		a.Due.Compare(b.Due),
		cmp.Compare(a.Key.Namespace, b.Key.Namespace),
		cmp.Compare(a.Key.Name, b.Key.Name),
	)
}

// Top keeps the most urgent of many items in one pass.
type Top struct {
	// Most is how many are kept.
	Most int
	kept ranked
}

// ranked is a heap with the least urgent item on top.
type ranked []rank

type rank struct {
	item Turn
	at   int
}

func (r ranked) Len() int { return len(r) }

func (r ranked) Less(i, j int) bool { return Compare(r[i].item, r[j].item) > 0 }

func (r ranked) Swap(i, j int) { r[i], r[j] = r[j], r[i] }

// Push implements heap.Interface.
func (r *ranked) Push(x any) {
	if k, ok := x.(rank); ok {
		*r = append(*r, k)
	}
}

// Pop implements heap.Interface.
func (r *ranked) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// Offer takes an item that stands at a place, if it is among the most urgent.
func (t *Top) Offer(i Turn, at int) {
	switch {
	case len(t.kept) < t.Most:
		heap.Push(&t.kept, rank{i, at})
	case t.Most > 0 && Compare(i, t.kept[0].item) < 0:
		t.kept[0] = rank{i, at}
		heap.Fix(&t.kept, 0)
	}
}

// Sorted are the places of the items that were kept, most urgent first.
func (t *Top) Sorted() []int {
	slices.SortFunc(t.kept, func(a, b rank) int { return Compare(a.item, b.item) })
	out := make([]int, len(t.kept))
	for n, k := range t.kept {
		out[n] = k.at
	}
	return out
}
