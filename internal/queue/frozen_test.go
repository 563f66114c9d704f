package queue_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/stretchr/testify/require"
)

// However often the fleet halts, what is remembered of it is bounded, and no moment
// that was frozen is taken for one that was not.
// Rules: R4.5-26.
func TestManyHaltsAreRememberedInBounds(t *testing.T) {
	const bound = 100
	q, now, frozen := queue.Queue{}, fixtures.T0, time.Duration(0)
	for i := range 3 * bound {
		q.Halt(now, true)
		now, frozen = now.Add(time.Second), frozen+time.Second
		q.Halt(now, false)
		now = now.Add(time.Duration(i%7+1) * time.Second)
	}
	require.LessOrEqual(t, len(q.Frozen), bound)
	require.Equal(t, fixtures.T0, q.Frozen[0].From)
	kept := time.Duration(0)
	for _, f := range q.Frozen {
		require.True(t, f.To.After(f.From))
		kept += f.To.Sub(f.From)
	}
	require.GreaterOrEqual(t, kept, frozen)
}
