package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// Rules: R4.5-8, R4.5-27.
func TestUnlimitedKeepsToWhatMayBeOut(t *testing.T) {
	p := newPacing(t)
	p.pace.Unlimited = true
	most, size := 0, []int{}
	p.onGrant = func(_ string, g workflows.Grant) {
		size = append(size, g.Size)
		for _, permit := range permitsOf(g) {
			p.evict(permit, time.Second, time.Millisecond)
		}
		most = max(most, len(p.underWay))
	}
	p.at(time.Second, func() { p.ask("m1", 120) })
	p.run(time.Minute)
	require.Len(t, p.writes, 120)
	require.Equal(t, 20, size[0])
	require.LessOrEqual(t, most, 50, "no more than are let out at once")
	require.Less(t, p.writes[119].Sub(p.writes[0]), 6*time.Second, "the next as soon as some have ended")
}

// Rules: R4.5-8, R4.5-27.
func TestUnlimitedForgetsWhatHasPassed(t *testing.T) {
	p := newPacing(t)
	p.pace.Unlimited = true
	p.at(time.Second, func() { p.ask("m1", 120) })
	status := p.run(time.Minute)
	require.Greater(t, len(p.grants), 4, "nobody used any")
	require.InDelta(t, status.Granted, status.Unused, 5)
	require.GreaterOrEqual(t, p.grants[1].at.Sub(p.grants[0].at), 4*time.Second)
}
