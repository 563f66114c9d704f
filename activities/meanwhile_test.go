package activities_test

import (
	"context"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
)

// meanwhile lets something happen between two tries of a write.
type meanwhile struct {
	world.Meter
	b         *bench
	do        func(*bench)
	conflicts int
}

// Conflict is counted between two tries.
func (m *meanwhile) Conflict(string) {
	m.conflicts++
	if m.do != nil {
		m.do(m.b)
	}
}

// slowWork takes longer than any permit lasts to find the old Work.
type slowWork struct {
	around
	clock *bench
}

// WorkOf lets the permit pass.
func (s slowWork) WorkOf(ctx context.Context, b *karmada.Binding, cluster string) (karmada.Work, error) {
	s.clock.now = s.clock.now.Add(time.Minute)
	return s.around.WorkOf(ctx, b, cluster)
}
