package watch

import (
	"slices"
	"strconv"

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

// factQueue has the facts that wait for one signal of one workflow.
type factQueue struct {
	keys  []string // of items, the oldest first
	items map[string]item
	// most: the queue keeps every item, up to so many. The oldest are dropped: a newer fact says more, and every
	// decision re-reads. With 0 a newer item takes the place of one with the same key; a fact that changes all the
	// time would otherwise stay at the end.
	most int
	// batch is how many go into one signal.
	batch int
	// added counts all items so far: where every item is kept, each has a key of its own.
	added int
}

func (m *factQueue) empty() bool { return len(m.keys) == 0 }

func (m *factQueue) add(i item) {
	if m.items == nil {
		m.items = map[string]item{}
	}
	if m.added++; m.most > 0 {
		i.key = strconv.Itoa(m.added)
	}
	if _, waits := m.items[i.key]; !waits {
		m.keys = append(m.keys, i.key)
	}
	m.items[i.key] = i
	m.bound()
}

// take removes the items of the next signal.
func (m *factQueue) take() []item { return m.drop(min(max(m.batch, 1), len(m.keys))) }

// drop removes the first n.
func (m *factQueue) drop(n int) []item {
	dropped := make([]item, n)
	for at, key := range m.keys[:n] {
		dropped[at] = m.items[key]
		delete(m.items, key)
	}
	m.keys = slices.Delete(m.keys, 0, n)
	return dropped
}

// putBack returns undelivered items to the front; items that were added meanwhile are newer.
func (m *factQueue) putBack(items []item) {
	var keys []string
	for _, i := range items {
		if _, newer := m.items[i.key]; !newer {
			keys = append(keys, i.key)
			m.items[i.key] = i
		}
	}
	m.keys = slices.Concat(keys, m.keys)
	m.bound()
}

func (m *factQueue) bound() {
	if m.most > 0 && len(m.keys) > m.most {
		m.drop(len(m.keys) - m.most)
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
