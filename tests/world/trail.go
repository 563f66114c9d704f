package world

import (
	"context"
	"slices"
	"sync"

	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// Trail keeps records where a test finds them.
type Trail struct {
	mu      sync.Mutex
	records []record.Audit
	down    error
}

// Append keeps records, unless it was taken down.
func (m *Trail) Append(_ context.Context, records []record.Audit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		m.records = append(m.records, records...)
	}
	return m.down
}

// Fail has every Append fail with err from now on; nil has them succeed again.
func (m *Trail) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

// Records are those kept so far, in the order in which they came.
func (m *Trail) Records() []record.Audit {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.records)
}
