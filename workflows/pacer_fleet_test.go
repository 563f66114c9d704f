package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// observed plays the controller: clusters changed.
func (p *pacing) observed() {
	p.env.SignalWorkflow(workflows.SignalFleetObserved, workflows.FleetObserved{})
}

// seen is the pace as status shows it now.
func (p *pacing) seen() pace.Pace {
	p.t.Helper()
	value, err := p.env.QueryWorkflow(workflows.QueryStatus)
	require.NoError(p.t, err)
	var s workflows.PacerStatus
	require.NoError(p.t, value.Get(&s))
	return s.Pace
}

// A failover that observes requests no permit, and one that is over requests none any more.
// The pacer counts their clusters all the same, once per change.
//
// Rules: R4.5-35.
func TestThePacerFollowsTheFleetAlsoWhileNobodyAsksForPermits(t *testing.T) {
	p := newPacing(t)
	var fails, halts, well pace.Pace
	p.at(time.Minute, func() { p.world.SetReady("m1", false); p.observed() })
	p.at(time.Minute+time.Second, func() { fails = p.seen() })
	p.at(2*time.Minute, func() {
		for _, m := range []string{"m2", "m3", "m4"} {
			p.world.SetReady(m, false)
		}
		p.observed()
	})
	p.at(2*time.Minute+time.Second, func() { halts = p.seen() })
	p.at(3*time.Minute, func() {
		for _, m := range []string{"m1", "m2", "m3", "m4"} {
			p.world.SetReady(m, true)
		}
		p.observed()
	})
	p.at(3*time.Minute+time.Second, func() { well = p.seen() })
	p.run(3 * time.Hour)
	require.Equal(t, []string{"m1"}, fails.Faulty)
	require.Equal(t, pace.TierHalted, halts.Tier)
	require.Equal(t, pace.TierNormal, well.Tier)
	require.Empty(t, well.Faulty)
	require.Equal(t, 4, p.looks, "one at the start, and one per change")
}

// Rules: R4.5-35.
func TestAnIdlePacerLooksOnceADayAndRests(t *testing.T) {
	p := newPacing(t)
	timers := 0
	p.env.SetOnTimerFiredListener(func(string) { timers++ })
	p.run(50 * time.Hour)
	require.Equal(t, 3, p.looks)
	require.Equal(t, 2, timers)
}

// A failover whose bindings are all evacuated only follows the pace.
//
// Rules: R4.5-35.
func TestAPacerOfWhichNobodyWantsPermitsLooksOnceAMinute(t *testing.T) {
	p := newPacing(t)
	p.at(time.Second, func() { p.ask("m1", 0) })
	p.at(30*time.Second, func() { p.world.SetReady("m2", false); p.observed() })
	p.at(31*time.Second, func() { require.Len(t, p.told["m1"], 2, "the change is told at once") })
	p.run(10*time.Minute + 40*time.Second)
	require.LessOrEqual(t, p.looks, 13)
}

// Rules: R4.5-35.
func TestAFleetThatCouldNotBeJudgedIsLookedAtAgain(t *testing.T) {
	p := newPacing(t)
	p.at(time.Minute, func() { p.unread = karmada.ErrInvalid; p.observed() })
	var before pace.Pace
	p.at(80*time.Second, func() { before, p.unread = p.seen(), nil })
	status := p.run(5 * time.Minute)
	require.Equal(t, reason.FleetUnknown, before.Reason)
	require.Equal(t, pace.TierNormal, status.Pace.Tier)
}

// A worker publishes its configuration with each judgement, and has the pacer look when it starts.
//
// Rules: R4.15-32.
func TestThePacerKnowsTheConfigurationInForce(t *testing.T) {
	p := newPacing(t)
	p.inForce = map[string]string{"mode": "observe"}
	p.at(time.Minute, func() { p.inForce["mode"] = "enforce"; p.observed() })
	status := p.run(2 * time.Minute)
	require.Equal(t, map[string]string{"mode": "enforce"}, status.InForce)
}

// Seen: a rate that was set during a halt was said to take effect at once.
//
// Rules: R4.5-6, R4.5-25.
func TestARateThatIsSetWhileNothingMovesSaysSo(t *testing.T) {
	p := newPacing(t)
	var running, halted, unwell *answer
	rate := func(r float64) *answer {
		return p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: r})
	}
	p.at(10*time.Second, func() { running = rate(2) })
	p.at(20*time.Second, func() { p.update(workflows.UpdateHalt, jane) })
	p.at(30*time.Second, func() { halted = rate(3) })
	p.at(40*time.Second, func() { p.update(workflows.UpdateResume, jane) })
	p.at(50*time.Second, func() {
		for _, m := range []string{"m1", "m2", "m3", "m4"} {
			p.world.SetReady(m, false)
		}
		p.observed()
	})
	p.at(time.Minute, func() { unwell = rate(4) })
	p.run(2 * time.Minute)
	require.Contains(t, running.value, "takes effect at once")
	require.Contains(t, halted.value, "nothing moves before a resume: the fleet was halted by jane")
	require.Contains(t, unwell.value, "once the fleet is well enough again: the tier is halted (FleetUnhealthy)")
}
