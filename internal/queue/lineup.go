package queue

import (
	"container/heap"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
)

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
