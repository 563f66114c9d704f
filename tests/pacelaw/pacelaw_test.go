package pacelaw_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/stretchr/testify/require"
)

var begun = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// apart are evictions at a distance from each other, from a moment on.
func apart(n int, from time.Time, distance time.Duration) (out []time.Time) {
	for i := range n {
		out = append(out, from.Add(time.Duration(i)*distance))
	}
	return out
}

func TestRate_Constant(t *testing.T) {
	for _, row := range []struct {
		name      string
		evictions []time.Time
		broken    bool
		share     float64
	}{
		{name: "exact", evictions: apart(11, begun, 200*time.Millisecond), share: 1},
		{name: "a tenth too slow", evictions: apart(11, begun, 220*time.Millisecond), share: 1 / 1.1},
		{name: "one and a second's worth at once", evictions: append(apart(6, begun, 0), begun.Add(time.Second)), share: 1.2},
		{name: "one more at once", evictions: append(apart(7, begun, 0), begun.Add(time.Second)), broken: true, share: 1.4},
		{name: "a tenth too fast for long", evictions: apart(200, begun, 180*time.Millisecond), broken: true, share: 1 / 0.9},
	} {
		t.Run(row.name, func(t *testing.T) {
			rate := pacelaw.Rate{First: 5}
			require.Equal(t, row.broken, rate.Broken(row.evictions) != "")
			require.InDelta(t, row.share, rate.Share(row.evictions), 1e-9)
		})
	}
}

func TestRate_Changed_EitherMayBeInForceUntilItTookEffect(t *testing.T) {
	ordered := begun.Add(10 * time.Second)
	rate := pacelaw.Rate{First: 5, Then: 20, Ordered: ordered, InForce: ordered.Add(pacelaw.TakesEffect)}
	at := func(first int) []time.Time {
		change := begun.Add(time.Duration(first) * 200 * time.Millisecond)
		return append(apart(first, begun, 200*time.Millisecond), apart(200, change, 50*time.Millisecond)...)
	}
	for first, broken := range map[int]bool{20: true, 50: false, 70: false} {
		require.Equal(t, broken, rate.Broken(at(first)) != "", first)
	}
	require.InDelta(t, 1, rate.Share(at(70)), 1e-9, "the lowest that may be in force")
	require.Less(t, rate.Share(at(120)), 0.95)
}
