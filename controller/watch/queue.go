package watch

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// item is one fact to send to a workflow.
type item struct {
	key     string
	cluster rules.ClusterFact
	binding proof.BindingFact
	probed  rules.Probed
	start   bool // start the workflow when it does not run
}

// factQueue has the facts that wait for one signal of one workflow, oldest first.
type factQueue struct {
	items []item
	// newest: a newer item takes the place of one with the same key; a fact that changes all the
	// time would otherwise stay at the end. Without it the queue keeps all.
	newest bool
	// most bounds the queue, 0 does not. The oldest are dropped: a newer fact says more, and every
	// decision re-reads.
	most int
	// batch is how many go into one signal.
	batch int

	// places are the positions of items by key, with newest only: looking through the queue for each
	// event would take too long. They count from the first item that was ever in the queue.
	places map[string]int
	// left is how many items have left the front of the queue.
	left int
}

func (m *factQueue) empty() bool { return len(m.items) == 0 }

func (m *factQueue) add(i item) {
	if m.newest {
		if at, waits := m.places[i.key]; waits {
			m.items[at-m.left] = i
			return
		}
		if m.places == nil {
			m.places = map[string]int{}
		}
		m.places[i.key] = m.left + len(m.items)
	}
	m.items = append(m.items, i)
	m.bound()
}

// take removes the items of the next signal.
func (m *factQueue) take() []item {
	n := min(max(m.batch, 1), len(m.items))
	taken := slices.Clone(m.items[:n])
	m.drop(n)
	return taken
}

// drop removes the first n.
func (m *factQueue) drop(n int) {
	for _, i := range m.items[:n] {
		delete(m.places, i.key)
	}
	m.items = slices.Delete(m.items, 0, n)
	m.left += n
}

// putBack returns undelivered items to the front; items that were added meanwhile are newer.
func (m *factQueue) putBack(items []item) {
	if m.newest {
		items = slices.DeleteFunc(items, func(old item) bool {
			_, newer := m.places[old.key]
			return newer
		})
		m.left -= len(items)
		for n, i := range items {
			m.places[i.key] = m.left + n
		}
	}
	m.items = slices.Concat(items, m.items)
	m.bound()
}

func (m *factQueue) bound() {
	if m.most > 0 && len(m.items) > m.most {
		m.drop(len(m.items) - m.most)
	}
}

// starts reports whether any of the items may start the workflow.
func starts(items []item) bool {
	return slices.ContainsFunc(items, func(i item) bool { return i.start })
}

func bindingsOf(items []item) []proof.BindingFact {
	facts := make([]proof.BindingFact, len(items))
	for n, i := range items {
		facts[n] = i.binding
	}
	return facts
}
