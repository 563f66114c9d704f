package workflows_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// crowd plays the evict activities of several failovers at once: quick and slow ones, some that
// write and are never heard of again, and some that die before they write.
type crowd struct {
	*pacing
	chance *rand.Rand
	mute   bool // everything goes well
}

func (c *crowd) some(most time.Duration) time.Duration {
	return time.Millisecond + time.Duration(c.chance.Int64N(int64(most)))
}

func (c *crowd) use(_ string, g workflows.Grant) {
	for _, permit := range permitsOf(g) {
		late, report := c.some(900*time.Millisecond), c.some(150*time.Millisecond)
		switch fate := c.chance.IntN(40); {
		case c.mute:
			late = time.Millisecond
		case fate == 0:
			report = -1
		case fate == 1:
			late = -1
		}
		c.evict(permit, late, report)
	}
}

// newCrowd has clusters m1 to m12, the first n of which fail and want many leases.
func newCrowd(t *testing.T, seed uint64, n int, rate float64) *crowd {
	t.Helper()
	c := &crowd{pacing: newPacing(t), chance: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a test's dice
	for i := 7; i <= 12; i++ {
		c.world.AddCluster(fmt.Sprintf("m%d", i))
	}
	c.pace.EvictionRate = rate
	c.onGrant = c.use
	for i := range n {
		name := fmt.Sprintf("m%d", i+1)
		c.world.SetReady(name, false)
		// A failover repeats its request; now and then another one is more urgent.
		for s := time.Second; s < 3*time.Minute; s += 20 * time.Second {
			c.at(s, func() {
				c.ask(name, 5000, func(r *workflows.PermitRequest) {
					if !c.mute {
						r.Priority = int32(c.chance.IntN(2)) //nolint:gosec // 0 or 1
					}
				})
			})
		}
	}
	return c
}

// Karmada#7495 measured 1.2 bindings a second where 82 were possible:
// the pace is a number that holds, above it never, below it by little.
// Karmada#7483, #7493, #7494: several failovers at once share one pace.
// Rules: R4.5-9, R4.5-15, R4.5-17, R4.5-28.
func TestKarmada7495ThePaceHoldsOverEveryInterval(t *testing.T) {
	for _, failovers := range []int{1, 2, 5} {
		for _, rate := range []float64{0.5, 2, 5, 20, 40} {
			for _, mute := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d failovers at %g, quiet %t", failovers, rate, mute), func(t *testing.T) {
					c := newCrowd(t, 7, failovers, rate)
					c.mute = mute
					const d = 90 * time.Second
					c.run(d)
					require.GreaterOrEqual(t, len(c.writes), 5)
					neverAbove(t, c.writes, rate)
					last := c.writes[len(c.writes)-1].Sub(c.writes[0])
					t.Logf("%d evictions, %.2f/s of %g/s allowed; %d looks at the fleet", len(c.writes), float64(len(c.writes)-1)/last.Seconds(), rate, c.looks)
					if !mute {
						return
					}
					require.GreaterOrEqual(t, float64(len(c.writes)-1), 0.95*rate*last.Seconds(), "at most 5 % below")
					served := map[string]bool{}
					for _, g := range c.grants {
						served[g.cluster] = true
					}
					require.Len(t, served, failovers, "each in its turn")
				})
			}
		}
	}
}

// A rate above 1/s needs pauses that Temporal has no timers for: permits are given ahead.
// Rules: R4.5-15.
func TestPermitsAreGivenAheadOfTheirMoments(t *testing.T) {
	c := newCrowd(t, 3, 2, 4)
	c.mute = true
	c.run(time.Minute)
	neverAbove(t, c.writes, 4)
	require.Less(t, c.looks, len(c.writes), "fewer looks than writes")
	for i, w := range c.writes[1:] {
		require.InDelta(t, 0.25, w.Sub(c.writes[i]).Seconds(), 0.002)
	}
	for _, g := range c.grants[1:] {
		require.LessOrEqual(t, g.Last().Sub(g.at), 3*time.Second)
		require.GreaterOrEqual(t, g.First.Sub(g.at), 750*time.Millisecond, "enough of a lead to travel")
	}
}

// The pacer goes on as a new run, and whoever had a lease writes all the same: the
// interval over the seam is an interval like any other.
// Rules: R4.5-17.
func TestThePaceHoldsOverAContinuedPacer(t *testing.T) {
	for _, rate := range []float64{0.5, 3, 5, 12} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%g, seed %d", rate, seed), func(t *testing.T) {
				first := newCrowd(t, seed, 2, rate)
				cut := 30*time.Second + time.Duration(seed)*170*time.Millisecond
				first.at(cut, func() { first.env.SetContinueAsNewSuggested(true) })
				state := first.runToContinue()
				second := newCrowd(t, seed+100, 2, rate)
				second.env.SetStartTime(first.env.Now())
				second.state = &state
				second.writes, second.wants = first.writes, first.wants
				for _, late := range first.underWay {
					wait := late.at.Sub(first.env.Now())
					second.at(max(0, wait), func() {
						second.writes = append(second.writes, second.env.Now())
						second.at(time.Millisecond, func() { second.used(late.number, second.mover()) })
					})
				}
				before := len(second.writes)
				second.run(time.Minute)
				require.Greater(t, before, 5)
				require.Greater(t, len(second.writes), before+5)
				neverAbove(t, second.writes, rate)
			})
		}
	}
}

// runToContinue plays the pacer until it continues as new, and gives what it carries.
func (p *pacing) runToContinue() workflows.PacerState {
	p.t.Helper()
	p.start()
	var again *workflow.ContinueAsNewError
	require.ErrorAs(p.t, p.env.GetWorkflowError(), &again)
	var params workflows.FleetPacerParams
	require.NoError(p.t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &params))
	require.NotNil(p.t, params.State)
	return *params.State
}

// The tier follows the fleet, and everybody hears of it.
// Kubernetes#70501, #111385: what the breaker does is a table, and it says where it stands.
// Rules: R4.5-3, R4.5-5.
func TestKubernetes111385TheTierFollowsTheFleetAndSaysSo(t *testing.T) {
	c := newCrowd(t, 1, 2, 0.5)
	c.mute = true
	began := c.env.Now()
	c.at(30*time.Second, func() {
		for i := range 5 { // 7 of 12
			c.world.SetReady(fmt.Sprintf("m%d", i+3), false)
		}
	})
	c.at(90*time.Second, func() {
		for i := range 5 {
			c.world.SetReady(fmt.Sprintf("m%d", i+8), false)
		}
	})
	c.at(2*time.Minute, func() {
		for i := range 10 {
			c.world.SetReady(fmt.Sprintf("m%d", i+3), true)
		}
	})
	c.run(150 * time.Second)
	var tiers []pace.Tier
	for _, p := range c.told["m1"] {
		if n := len(tiers); n == 0 || tiers[n-1] != p.Tier {
			tiers = append(tiers, p.Tier)
		}
	}
	require.Equal(t, []pace.Tier{pace.TierNormal, pace.TierSlow, pace.TierHalted, pace.TierNormal}, tiers)
	require.Equal(t, c.told["m1"], c.told["m2"])
	var slow []time.Time
	for _, w := range c.writes {
		at := w.Sub(began)
		// Within one look, and the end of what was granted, the new tier holds.
		require.False(t, at > 106*time.Second && at < 120*time.Second, "written at %s, while halted", at)
		if at > 46*time.Second && at < 90*time.Second {
			slow = append(slow, w)
		}
	}
	require.GreaterOrEqual(t, len(slow), 3)
	neverAbove(t, slow, 0.1)
	require.True(t, c.writes[len(c.writes)-1].After(began.Add(2*time.Minute)), "it goes on by itself")
}
