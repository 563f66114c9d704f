package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

var jane = workflows.Order{Who: "jane", Reason: "look first"}

// neverAbove checks every interval: at most rate·T and one chunk, counted at the write.
func neverAbove(t *testing.T, writes []time.Time, rate float64, chunk int) {
	t.Helper()
	for i := range writes {
		for j := i; j < len(writes); j++ {
			allowed := rate*writes[j].Sub(writes[i]).Seconds() + float64(chunk) + 1e-9
			if float64(j-i+1) > allowed {
				t.Fatalf("%d evictions from %s to %s at %g/s", j-i+1, writes[i], writes[j], rate)
			}
		}
	}
}

// Rules: R4.5-8, R4.5-9, R4.5-15, R4.5-17.
func TestNeverMoreThanThePaceAndOneChunk(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		chunk int
	}{{0.5, 1}, {2, 1}, {5, 1}, {10, 10}} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			p := newPacing(t)
			p.pace.EvictionRate = c.rate
			p.onGrant = func(cluster string, g workflows.Grant) {
				for n := range g.Size {
					// Slow and quick writers, and one report in seven that never comes.
					late := time.Duration((int(g.Number)*37+n*13)%40) * 50 * time.Millisecond
					ack := time.Duration((int(g.Number)*11)%5) * 100 * time.Millisecond
					if g.Number%7 == 3 {
						ack = time.Hour
					}
					p.write(g.Number, cluster, 10*time.Millisecond, late+time.Millisecond, ack+time.Millisecond)
				}
			}
			p.at(time.Second, func() { p.ask("m1", 5000) })
			p.at(90*time.Second, func() { p.ask("m1", 5000) })
			p.run(3 * time.Minute)
			require.Greater(t, len(p.writes), 10)
			neverAbove(t, p.writes, c.rate, c.chunk)
		})
	}
}

// Rules: R4.5-13, R4.5-16, R4.5-8.
func TestALeaseThatIsNeverReportedCountsAsSpent(t *testing.T) {
	p := newPacing(t)
	p.at(time.Second, func() { p.ask("m1", 100) })
	status := p.run(55 * time.Second)
	require.GreaterOrEqual(t, len(p.grants), 3)
	for i, g := range p.grants[1:] {
		require.GreaterOrEqual(t, g.at.Sub(p.grants[i].at), p.pace.LeaseDuration+2*time.Second)
	}
	require.EqualValues(t, len(p.grants)-1, status.Spent, "all but the outstanding one")
}

// Rules: R4.5-12.
func TestAReturnedLeaseCostsNoTime(t *testing.T) {
	p := newPacing(t)
	p.onGrant = func(cluster string, g workflows.Grant) {
		if g.Number <= 5 {
			p.at(50*time.Millisecond, func() { p.report(g.Number, "", 0, 1) })
			return
		}
		p.write(g.Number, cluster, time.Millisecond, time.Millisecond, time.Millisecond)
	}
	p.at(time.Second, func() { p.ask("m1", 10) })
	status := p.run(20 * time.Second)
	require.GreaterOrEqual(t, len(p.grants), 7)
	require.Less(t, p.grants[5].at.Sub(p.grants[0].at), 2*time.Second, "five returned leases, not one pause of the pace")
	require.Zero(t, status.Spent)
	neverAbove(t, p.writes, 0.5, 1)
}

// Rules: R4.1-33, R4.5-4, R4.5-5, R4.5-20.
func TestClusterAPI4128NothingIsGrantedWhileTheFleetLooksWrong(t *testing.T) {
	for _, c := range []struct {
		faulty int
		reason failover.Reason
	}{{6, failover.ReasonAllFaulty}, {4, failover.ReasonFleetUnhealthy}} {
		t.Run(string(c.reason), func(t *testing.T) {
			p := newPacing(t)
			for i := range c.faulty {
				p.world.SetReady(fmt.Sprintf("m%d", i+1), false)
			}
			p.at(time.Second, func() { p.ask("m1", 3) })
			var removal *answer
			p.at(50*time.Second, func() { removal = p.claim(0, "m1") })
			p.at(time.Minute, func() {
				require.Empty(t, p.grants)
				require.Equal(t, failover.TierHalted, p.told["m1"][0].Tier)
				require.Equal(t, c.reason, p.told["m1"][0].Reason)
				require.ErrorContains(t, removal.err, "halted")
				for i := range 3 {
					p.world.SetReady(fmt.Sprintf("m%d", i+2), true)
				}
			})
			p.run(2 * time.Minute)
			require.NotEmpty(t, p.grants, "it goes on by itself once the fleet is well enough")
		})
	}
}

// Rules: R4.5-6, R4.5-25, R4.5-18.
func TestAHumanHaltsResumesAndSetsTheRate(t *testing.T) {
	p := newPacing(t)
	var halt, resume, rate *answer
	p.onGrant = func(cluster string, g workflows.Grant) {
		p.write(g.Number, cluster, time.Millisecond, time.Millisecond, time.Millisecond)
	}
	p.at(time.Second, func() { p.ask("m1", 1000) })
	p.at(20*time.Second, func() { halt = p.update(workflows.UpdateHalt, jane) })
	p.at(time.Minute, func() { resume = p.update(workflows.UpdateResume, jane) })
	p.at(2*time.Minute, func() { rate = p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: 2}) })
	began := p.env.Now()
	status := p.run(3 * time.Minute)
	for _, a := range []*answer{halt, resume, rate} {
		require.True(t, a.done)
		require.NoError(t, a.err)
	}
	slow, quick := 0, 0
	for _, w := range p.writes {
		at := w.Sub(began)
		require.False(t, at > 20*time.Second && at < time.Minute, "a write at %s, while halted", at)
		if at > time.Minute && at < 2*time.Minute {
			slow++
		}
		if at > 2*time.Minute {
			quick++
		}
	}
	require.Greater(t, quick, slow+slow/2, "a rate takes effect at once")
	require.Equal(t, failover.ReasonRateSetByHuman, status.Pace.Reason)
	neverAbove(t, p.writes, 2, 1)
}

// Rules: R4.5-25, R4.5-34.
func TestTheConfiguredRateComesBackOnAnOrder(t *testing.T) {
	p := newPacing(t)
	var set, back *answer
	var between failover.Pace
	p.at(time.Second, func() { set = p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: 2}) })
	p.at(20*time.Second, func() {
		value, err := p.env.QueryWorkflow(workflows.QueryStatus)
		require.NoError(t, err)
		var s workflows.PacerStatus
		require.NoError(t, value.Get(&s))
		between = s.Pace
	})
	p.at(30*time.Second, func() { back = p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Configured: true}) })
	status := p.run(time.Minute)
	for _, a := range []*answer{set, back} {
		require.True(t, a.done)
		require.NoError(t, a.err)
	}
	require.Equal(t, failover.ReasonRateSetByHuman, between.Reason)
	require.NotEqual(t, failover.ReasonRateSetByHuman, status.Pace.Reason, "also while nobody asks for leases")
	require.NotEqual(t, between.Rate, status.Pace.Rate)
	require.Nil(t, status.Orders.Rate)
}

// Rules: R4.5-33, R4.9-44.
func TestOrdersToThePacerThatMakeNoSenseAreRefused(t *testing.T) {
	p := newPacing(t)
	check := []func(){}
	p.at(time.Second, func() {
		for name, c := range map[string]struct {
			update string
			arg    any
			says   string
		}{
			"nobody halted":     {workflows.UpdateResume, jane, "nobody halted"},
			"negative rate":     {workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: -1}, `"rate"`},
			"absurd rate":       {workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: 1001}, `"rate"`},
			"nobody's rate set": {workflows.UpdateSetRate, workflows.SetRate{Order: jane, Configured: true}, "nobody set a rate"},
			"two rates":         {workflows.UpdateSetRate, workflows.SetRate{Order: jane, Configured: true, Rate: 1}, `"configured"`},
			"nobody's rate":     {workflows.UpdateSetRate, workflows.SetRate{Rate: 1}, `"who"`},
			"nobody's halt":     {workflows.UpdateHalt, workflows.Order{Reason: "x"}, `"who"`},
			"halt without why":  {workflows.UpdateHalt, workflows.Order{Who: "x"}, `"reason"`},
		} {
			a := p.update(c.update, c.arg)
			check = append(check, func() {
				require.True(t, a.done, name)
				require.ErrorContains(t, a.err, c.says, name)
			})
		}
	})
	status := p.run(5 * time.Second)
	require.Len(t, check, 8)
	for _, holds := range check {
		holds()
	}
	require.Equal(t, workflows.Orders{}, status.Orders)
}

// Rules: R4.5-7, R4.5-18, R4.5-20.
func TestClaimsThatHaveNoLeaseAreRefused(t *testing.T) {
	p := newPacing(t)
	answers := map[string]*answer{}
	pause := func(r *workflows.GrantRequest) { r.Paused = true }
	p.onGrant = func(_ string, g workflows.Grant) {
		if g.Number != 1 {
			return
		}
		for d, do := range map[time.Duration]func(){
			1000: func() { answers["not outstanding, by number"] = p.claim(2, "m1") },
			1100: func() { answers["not outstanding, by cluster"] = p.claim(1, "m2") },
			1200: func() {
				answers[`"binding"`] = p.update(workflows.UpdateClaim, workflows.Claim{Number: 1, Cluster: "m1"})
			},
			2000: func() { p.ask("m1", 1, pause) },
			2100: func() { answers["paused"] = p.claim(1, "m1") },
			2200: func() { answers["paused, for a repeated removal"] = p.claim(0, "m1") },
			3000: func() { p.ask("m1", 1) },
			3100: func() { answers["claimed"] = p.claim(1, "m1") },
			3200: func() { answers["claimed already"] = p.claim(1, "m1") },
			3300: func() { answers["claimed, for a repeated removal"] = p.claim(0, "m1") },
			9999: func() { answers["claimed already, at its end"] = p.claim(1, "m1") },
		} {
			p.at(d*time.Millisecond, do)
		}
		p.at(p.pace.LeaseDuration, func() { answers["lease"] = p.claim(1, "m1") })
	}
	p.at(time.Second, func() { p.ask("m1", 1) })
	p.run(30 * time.Second)
	require.Len(t, answers, 10)
	for says, a := range answers {
		require.True(t, a.done, says)
		says, _, _ = strings.Cut(says, ", ")
		if says == "claimed" {
			require.NoError(t, a.err)
			continue
		}
		require.ErrorContains(t, a.err, says)
	}
}

// A pacer that has just begun knows of no pause. Until the failover of the cluster has
// told it how things stand, nothing is removed again.
//
// Rules: R4.5-20.
func TestAPacerThatHasJustBegunRefusesARepeatedRemoval(t *testing.T) {
	p := newPacing(t)
	var unknown, paused, resumed *answer
	p.at(500*time.Millisecond, func() { unknown = p.claim(0, "m1") })
	p.at(time.Second, func() { p.ask("m1", 0, func(r *workflows.GrantRequest) { r.Paused = true }) })
	p.at(1100*time.Millisecond, func() { paused = p.claim(0, "m1") })
	p.at(2*time.Second, func() { p.ask("m1", 0) })
	p.at(2100*time.Millisecond, func() { resumed = p.claim(0, "m1") })
	p.run(5 * time.Second)
	require.ErrorContains(t, unknown.err, "yet to hear from the failover of m1")
	require.ErrorContains(t, paused.err, "paused")
	require.True(t, resumed.done)
	require.NoError(t, resumed.err)
}

// Rules: R4.5-23, R4.5-24.
func TestTheMostUrgentClusterIsServedFirstAndEqualsInTurn(t *testing.T) {
	p := newPacing(t)
	p.onGrant = func(cluster string, g workflows.Grant) {
		p.write(g.Number, cluster, time.Millisecond, time.Millisecond, time.Millisecond)
	}
	p.at(time.Second, func() {
		p.ask("m1", 3)
		p.ask("m2", 3)
		p.ask("m3", 2, func(r *workflows.GrantRequest) { r.Priority = 7 })
	})
	p.run(time.Minute)
	var order []string
	for _, g := range p.grants {
		order = append(order, g.cluster)
	}
	require.Equal(t, []string{"m3", "m3", "m1", "m2", "m1", "m2", "m1", "m2"}, order)
}

// Rules: R4.5-30, R4.5-31.
func TestALostStateHaltsUntilAHumanResumes(t *testing.T) {
	p := newPacing(t)
	p.memory = activities.PacerMemory{Known: true, Lost: true}
	p.at(time.Second, func() { p.ask("m1", 1) })
	p.at(time.Minute, func() {
		require.Empty(t, p.grants)
		require.Equal(t, failover.ReasonStateLost, p.told["m1"][0].Reason)
		p.update(workflows.UpdateResume, jane)
	})
	p.run(2 * time.Minute)
	require.Len(t, p.grants, 1)
}

// A repeated removal needs no lease, but a pacer that has only just begun does not
// know yet whether anything may be written.
//
// Rules: R4.5-20, R4.5-30.
func TestAPacerThatHasNotLookedYetLetsNothingBeRemovedAgain(t *testing.T) {
	for name, slow := range map[string]string{"it recalls": activities.NameRecallPacer, "it judges the fleet": activities.NameAssessFleet} {
		t.Run(name, func(t *testing.T) {
			p := newPacing(t)
			p.slow = map[string]time.Duration{slow: 10 * time.Second}
			var before, after *answer
			p.at(time.Second, func() { p.ask("m1", 0) })
			p.at(5*time.Second, func() { before = p.claim(0, "m1") })
			p.at(15*time.Second, func() { after = p.claim(0, "m1") })
			p.run(20 * time.Second)
			require.True(t, before.done)
			require.ErrorContains(t, before.err, "yet to look")
			require.True(t, after.done)
			require.NoError(t, after.err)
		})
	}
}

// Rules: R4.5-25.
func TestARateThatIsSetWhileTheFleetIsJudgedHoldsForTheVeryNextGrant(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 10
	p.slow = map[string]time.Duration{activities.NameAssessFleet: 400 * time.Millisecond}
	p.at(2*time.Second, func() { p.ask("m1", 100) })
	p.at(2200*time.Millisecond, func() { p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: 1}) })
	p.run(5 * time.Second)
	require.NotEmpty(t, p.grants)
	require.Equal(t, 1, p.grants[0].Size)
}

// Rules: R4.5-29.
func TestOrdersOfThePreviousPacerStillHold(t *testing.T) {
	p := newPacing(t)
	p.memory = activities.PacerMemory{Known: true, Memo: []byte(`{"halted":{"who":"jane","reason":"x"},"haltReason":"HaltedByHuman"}`)}
	p.at(time.Second, func() { p.ask("m1", 1) })
	status := p.run(time.Minute)
	require.Empty(t, p.grants)
	require.Equal(t, "jane", status.Orders.Halted.Who)
}

// Rules: R4.5-8, R4.5-27.
func TestUnlimitedGrantsOneWholeChunkAtATime(t *testing.T) {
	p := newPacing(t)
	p.pace.Unlimited = true
	p.onGrant = func(cluster string, g workflows.Grant) {
		for range g.Size {
			p.write(g.Number, cluster, time.Millisecond, time.Second, time.Millisecond)
		}
	}
	p.at(time.Second, func() { p.ask("m1", 120) })
	p.run(time.Minute)
	require.Len(t, p.grants, 3)
	require.Equal(t, []int{50, 50, 20}, []int{p.grants[0].Size, p.grants[1].Size, p.grants[2].Size})
	require.Len(t, p.writes, 120)
	require.GreaterOrEqual(t, p.grants[1].at.Sub(p.grants[0].at), time.Second, "the next only when the last has ended")
}

// Rules: R4.5-21.
func TestARequestThatIsNotRepeatedIsForgotten(t *testing.T) {
	p := newPacing(t)
	p.at(time.Second, func() { p.update(workflows.UpdateHalt, jane) })
	p.at(2*time.Second, func() { p.ask("m1", 1, func(r *workflows.GrantRequest) { r.Every = 5 * time.Second }) })
	p.at(3*time.Second, func() { p.ask("m2", 1) })
	p.at(time.Minute, func() { p.update(workflows.UpdateResume, jane) })
	status := p.run(70 * time.Second)
	require.Len(t, p.grants, 1)
	require.Equal(t, "m2", p.grants[0].cluster)
	require.NotContains(t, status.Requests, "m1")
}

// Rules: R4.5-16.
func TestAContinuedPacerStillKnowsWhatItHadGranted(t *testing.T) {
	p := newPacing(t)
	began := p.env.Now()
	p.state = &workflows.PacerState{
		Config: p.pace, Number: 41,
		Chunk:    &workflows.Chunk{Number: 41, Cluster: "m1", Size: 1, Issued: began, Expires: began.Add(8 * time.Second)},
		Requests: map[string]workflows.Request{"m1": {GrantRequest: workflows.GrantRequest{Cluster: "m1", Episode: "e-m1", Want: 1, Open: true, Every: time.Hour}, Heard: began}},
	}
	p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.EqualValues(t, 42, p.grants[0].Number)
	require.GreaterOrEqual(t, p.grants[0].at.Sub(began), 10*time.Second, "after the old lease's expiry, and then the pace")
}

// Somebody reports leases that others have claimed: they stay out until whoever claimed
// them says how they ended, or they expire. What nobody claimed goes back once.
//
// Rules: R4.5-17, R4.5-33.
func TestAMadeUpReportFreesNoLeaseInUse(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 10
	p.onGrant = func(cluster string, g workflows.Grant) {
		if g.Number > 1 {
			return
		}
		_, first := p.claimed(g.Number, cluster)
		p.claimed(g.Number, cluster)
		for _, binding := range []string{"", "shop/nobody"} {
			p.at(10*time.Millisecond, func() { p.report(g.Number, binding, 0, 50); p.report(g.Number, binding, 50, 50) })
		}
		p.at(20*time.Millisecond, func() { p.report(g.Number, first, 50, 50); p.report(g.Number, first, 50, 50) })
	}
	p.at(time.Second, func() { p.ask("m1", 20) })
	status := p.run(9 * time.Second)
	require.Len(t, p.grants, 1, "one lease is in use, and nobody knows how it ends")
	require.Greater(t, p.grants[0].Size, 2)
	require.Equal(t, 1, status.Chunk.Written)
	require.Equal(t, p.grants[0].Size-2, status.Chunk.Returned)
}

// Rules: R4.5-33.
func TestMalformedSignalsToThePacerHarmNothing(t *testing.T) {
	p := newPacing(t)
	p.onGrant = func(cluster string, g workflows.Grant) {
		p.report(g.Number, "", -1, 0)
		p.report(0, "", 1, 0)
		p.report(g.Number+1, "", 1, 0)
		p.write(g.Number, cluster, time.Second, time.Second, time.Second)
	}
	p.at(time.Second, func() {
		p.ask("", 1)
		p.ask("m2", -1)
		p.ask("m3", 1, func(r *workflows.GrantRequest) { r.Episode = "" })
		p.ask("m1", 1)
	})
	status := p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.Len(t, p.writes, 1)
	require.EqualValues(t, 1, status.Written)
	require.Len(t, status.Requests, 1)
}
