package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// What humans ordered stands in the memo of the pacer that took the order, which its
// successor reads, however the first one ended; so does the halt of one that knew nothing.
//
// Rules: R4.5-29.
func TestEveryOrderIsMirroredWhereTheNextPacerReadsIt(t *testing.T) {
	type order func(*pacing)
	set := func(rate float64) order {
		return func(p *pacing) { p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: rate}) }
	}
	halt := func(p *pacing) { p.update(workflows.UpdateHalt, jane) }
	resume := func(p *pacing) { p.update(workflows.UpdateResume, jane) }
	configured := world.Pace().EvictionRate
	for name, c := range map[string]struct {
		lost   bool
		orders []order
		halted reason.Reason
		rate   float64 // that the successor goes by
	}{
		"nobody ordered anything":     {rate: configured},
		"a halt":                      {orders: []order{halt}, halted: reason.HaltedByHuman},
		"a halt that was ended":       {orders: []order{halt, resume}, rate: configured},
		"a rate":                      {orders: []order{set(2)}, rate: 2},
		"the newest of two rates":     {orders: []order{set(2), set(3)}, rate: 3},
		"a rate and a halt":           {orders: []order{set(2), halt}, halted: reason.HaltedByHuman},
		"a rate that outlives a halt": {orders: []order{set(2), halt, resume}, rate: 2},
		"the state was lost":          {lost: true, halted: reason.StateLost},
	} {
		t.Run(name, func(t *testing.T) {
			first := newPacing(t)
			first.memory = activities.PacerMemory{Known: true, Lost: c.lost}
			for n, order := range c.orders {
				first.at(time.Duration(n+1)*time.Second, func() { order(first) })
			}
			ordered := first.run(10 * time.Second).Orders
			memo, err := json.Marshal(first.memo)
			require.NoError(t, err)

			next := newPacing(t)
			next.memory = activities.PacerMemory{Known: true, Memo: memo}
			next.at(time.Second, func() { next.ask("m1", 1) })
			status := next.run(time.Minute)
			require.Equal(t, ordered, status.Orders, "with who and why")
			require.Equal(t, c.halted, status.Orders.HaltReason)
			require.InDelta(t, c.rate, status.Pace.Rate, 0)
			require.Len(t, next.grants, map[bool]int{true: 1}[c.rate > 0])
		})
	}
}
