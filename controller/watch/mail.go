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

// mail has the facts that wait for one signal of one workflow, oldest first.
type mail struct {
	items []item
	// newest replaces an item by a newer one with the same key, which takes its place in the
	// line: what changes all the time would wait for ever at its end. Otherwise all are kept.
	newest bool
	// most is how many wait; the oldest go first, for a newer one says more and every
	// decision re-reads anyway. 0 is no bound.
	most int
	// batch is how many go into one signal.
	batch int

	// places are where items stand, by key, of newest only: a crowd of events must not look
	// through the line. They are counted from the first that ever stood in it.
	places map[string]int
	// left is how many have left the front of the line.
	left int
}

func (m *mail) empty() bool { return len(m.items) == 0 }

func (m *mail) add(i item) {
	if !m.newest {
		m.items = append(m.items, i)
		m.bound()
		return
	}
	if at, waits := m.places[i.key]; waits {
		m.items[at-m.left] = i
		return
	}
	if m.places == nil {
		m.places = map[string]int{}
	}
	m.places[i.key] = m.left + len(m.items)
	m.items = append(m.items, i)
	m.bound()
}

// take removes what goes into the next signal.
func (m *mail) take() []item {
	n := min(max(m.batch, 1), len(m.items))
	taken := slices.Clone(m.items[:n])
	m.leave(n)
	return taken
}

// leave removes the first n.
func (m *mail) leave(n int) {
	for _, i := range m.items[:n] {
		delete(m.places, i.key)
	}
	m.items = slices.Delete(m.items, 0, n)
	m.left += n
}

// putBack returns what was not delivered; what came meanwhile is newer.
func (m *mail) putBack(items []item) {
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

func (m *mail) bound() {
	if m.most > 0 && len(m.items) > m.most {
		m.leave(len(m.items) - m.most)
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
