package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

var jane = workflows.Order{Who: "jane", Reason: "look first"}

// neverAbove checks every interval: at most rate·T, one, and one second's worth, counted at the write.
func neverAbove(t *testing.T, writes []time.Time, rate float64) {
	t.Helper()
	for i := range writes {
		for j := i; j < len(writes); j++ {
			allowed := rate*(writes[j].Sub(writes[i])+time.Second).Seconds() + 1 + 1e-6
			if float64(j-i+1) > allowed {
				t.Fatalf("%d evictions from %s to %s at %g/s", j-i+1, writes[i], writes[j], rate)
			}
		}
	}
}

// Nothing that anybody reports makes the pace quicker: slow and quick writers, reports that
// never come, and reports that are made up.
//
// Rules: R4.5-15, R4.5-17, R4.5-33.
func TestNeverMoreThanThePace(t *testing.T) {
	for _, rate := range []float64{0.5, 2, 5, 10} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			p := newPacing(t)
			p.pace.EvictionRate = rate
			p.onGrant = func(_ string, g workflows.Grant) {
				for _, permit := range permitsOf(g) {
					report := time.Duration(permit.Number*11%5) * 100 * time.Millisecond
					if permit.Number%7 == 3 {
						report = -1
					}
					p.evict(permit, time.Duration(permit.Number*37%20)*50*time.Millisecond, report)
					for range 3 {
						p.used(permit.Number, "shop/nobody")
						p.used(permit.Number+5, "shop/nobody")
					}
				}
			}
			p.at(time.Second, func() { p.ask("m1", 5000) })
			p.run(3 * time.Minute)
			require.Greater(t, len(p.writes), 10)
			neverAbove(t, p.writes, rate)
		})
	}
}

// Rules: R4.5-12, R4.5-13.
func TestAPermitThatNobodyUsesCountsAsUsed(t *testing.T) {
	p := newPacing(t)
	p.at(time.Second, func() { p.ask("m1", 100) })
	status := p.run(55 * time.Second)
	var moments []time.Time
	for _, g := range p.grants {
		for _, permit := range permitsOf(g.Grant) {
			moments = append(moments, permit.Earliest)
		}
	}
	require.Len(t, moments, 28)
	for i, at := range moments[1:] {
		require.Equal(t, 2*time.Second, at.Sub(moments[i]))
	}
	require.EqualValues(t, len(moments), status.Granted)
	require.InDelta(t, len(moments), status.Unused, 3, "all but those that are out")
}

// A failover that hears nothing any more, and cannot say so, wastes one grant: the others
// have the rest of the pace.
//
// Rules: R4.5-12.
func TestARequestIsGoodForOneGrant(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 5
	p.onGrant = func(cluster string, g workflows.Grant) {
		if cluster == "m1" {
			delete(p.wants, "m1") // it says nothing any more
			return
		}
		p.evictAll()(cluster, g)
	}
	p.at(time.Second, func() { p.ask("m1", 5000); p.ask("m2", 5000) })
	p.run(time.Minute)
	given := 0
	for _, g := range p.grants {
		if g.cluster == "m1" {
			given += g.Size
		}
	}
	require.Positive(t, given)
	require.LessOrEqual(t, given, 15, "three seconds of the pace")
	require.Greater(t, len(p.writes), 250, "all that m1 leaves is m2's")
}

// A request that was sent before its failover heard of a grant asks for what it has by now.
//
// Rules: R4.5-12.
func TestARequestThatCrossedAGrantIsStale(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 5
	p.onGrant = func(string, workflows.Grant) {
		for range 3 {
			p.ask("m1", 4) // Seen is that of before the grant
		}
		delete(p.wants, "m1")
	}
	p.at(time.Second, func() { p.ask("m1", 4) })
	p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.Equal(t, 4, p.grants[0].Size)
}

// Rules: R4.1-33, R4.5-4, R4.5-5, R4.5-20.
func TestClusterAPI4128NothingIsGrantedWhileTheFleetLooksWrong(t *testing.T) {
	for _, c := range []struct {
		faulty int
		reason reason.Reason
	}{{faulty: 6, reason: reason.AllFaulty}, {faulty: 4, reason: reason.FleetUnhealthy}} {
		t.Run(string(c.reason), func(t *testing.T) {
			p := newPacing(t)
			for i := range c.faulty {
				p.world.SetReady(fmt.Sprintf("m%d", i+1), false)
			}
			p.at(time.Second, func() { p.ask("m1", 3) })
			var removal *answer
			p.at(50*time.Second, func() { removal = p.claim("m1") })
			p.at(time.Minute, func() {
				require.Empty(t, p.grants)
				require.Equal(t, pace.TierHalted, p.told["m1"][0].Tier)
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
	p.onGrant = p.evictAll()
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
		require.False(t, at > 24*time.Second && at < time.Minute, "a write at %s, while halted", at)
		if at > time.Minute && at < 2*time.Minute {
			slow++
		}
		if at > 2*time.Minute {
			quick++
		}
	}
	require.Greater(t, quick, slow+slow/2, "a rate takes effect at once")
	require.Equal(t, reason.RateSetByHuman, status.Pace.Reason)
	neverAbove(t, p.writes, 2)
}

// Rules: R4.5-25, R4.5-34.
func TestTheConfiguredRateComesBackOnAnOrder(t *testing.T) {
	p := newPacing(t)
	var set, back *answer
	var between pace.Pace
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
	require.Equal(t, reason.RateSetByHuman, between.Reason)
	require.NotEqual(t, reason.RateSetByHuman, status.Pace.Reason, "also while nobody asks for leases")
	require.NotEqual(t, between.Rate, status.Pace.Rate)
	require.Nil(t, status.Orders.Rate)
}

// Rules: R4.5-6, R4.5-33, R4.9-44.
func TestOrdersToThePacerThatMakeNoSenseAreRefused(t *testing.T) {
	p := newPacing(t)
	check := []func(){}
	p.at(time.Second, func() {
		for name, c := range map[string]struct {
			update string
			arg    any
			says   string
		}{
			"nobody halted":     {update: workflows.UpdateResume, arg: jane, says: "nobody halted"},
			"negative rate":     {update: workflows.UpdateSetRate, arg: workflows.SetRate{Order: jane, Rate: -1}, says: `"rate"`},
			"no rate":           {update: workflows.UpdateSetRate, arg: workflows.SetRate{Order: jane}, says: "lifeboat pause fleet"},
			"absurd rate":       {update: workflows.UpdateSetRate, arg: workflows.SetRate{Order: jane, Rate: 1001}, says: `"rate"`},
			"nobody's rate set": {update: workflows.UpdateSetRate, arg: workflows.SetRate{Order: jane, Configured: true}, says: "nobody set a rate"},
			"two rates":         {update: workflows.UpdateSetRate, arg: workflows.SetRate{Order: jane, Configured: true, Rate: 1}, says: `"configured"`},
			"nobody's rate":     {update: workflows.UpdateSetRate, arg: workflows.SetRate{Rate: 1}, says: `"who"`},
			"nobody's halt":     {update: workflows.UpdateHalt, arg: workflows.Order{Reason: "x"}, says: `"who"`},
			"halt without why":  {update: workflows.UpdateHalt, arg: workflows.Order{Who: "x"}, says: `"reason"`},
		} {
			a := p.update(c.update, c.arg)
			check = append(check, func() {
				require.True(t, a.done, name)
				require.ErrorContains(t, a.err, c.says, name)
			})
		}
	})
	status := p.run(5 * time.Second)
	require.Len(t, check, 9)
	for _, holds := range check {
		holds()
	}
	require.Equal(t, workflows.Orders{}, status.Orders)
}

// Rules: R4.5-20.
func TestARepeatedRemovalObeysThePause(t *testing.T) {
	p := newPacing(t)
	answers := map[string]*answer{}
	p.at(time.Second, func() { p.ask("m1", 0) })
	p.at(1500*time.Millisecond, func() {
		answers[`"binding"`] = p.update(workflows.UpdateClaim, workflows.Claim{Cluster: "m1"})
		answers["yes"] = p.claim("m1")
		answers["yet to hear"] = p.claim("m2")
	})
	p.at(2*time.Second, func() { p.ask("m1", 0, func(r *workflows.PermitRequest) { r.Paused = true }) })
	p.at(3*time.Second, func() { answers["paused"] = p.claim("m1") })
	p.at(4*time.Second, func() { p.ask("m1", 0) })
	p.at(5*time.Second, func() { answers["yes, again"] = p.claim("m1") })
	p.run(10 * time.Second)
	require.Len(t, answers, 5)
	for says, a := range answers {
		require.True(t, a.done, says)
		if strings.HasPrefix(says, "yes") {
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
	p.at(500*time.Millisecond, func() { unknown = p.claim("m1") })
	p.at(time.Second, func() { p.ask("m1", 0, func(r *workflows.PermitRequest) { r.Paused = true }) })
	p.at(1100*time.Millisecond, func() { paused = p.claim("m1") })
	p.at(2*time.Second, func() { p.ask("m1", 0) })
	p.at(2100*time.Millisecond, func() { resumed = p.claim("m1") })
	p.run(5 * time.Second)
	require.ErrorContains(t, unknown.err, "yet to hear from the failover of m1")
	require.ErrorContains(t, paused.err, "paused")
	require.True(t, resumed.done)
	require.NoError(t, resumed.err)
}

// Rules: R4.5-23, R4.5-24.
func TestTheMostUrgentClusterIsServedFirstAndEqualsInTurn(t *testing.T) {
	p := newPacing(t)
	p.onGrant = p.evictAll()
	p.at(time.Second, func() {
		p.ask("m1", 3)
		p.ask("m2", 3)
		p.ask("m3", 2, func(r *workflows.PermitRequest) { r.Priority = 7 })
	})
	p.run(time.Minute)
	var order []string
	for _, g := range p.grants {
		order = append(order, g.cluster)
	}
	require.Equal(t, []string{"m3", "m1", "m2", "m1", "m2", "m1", "m2"}, order)
	require.Equal(t, 2, p.grants[0].Size)
}

// Rules: R4.5-30, R4.5-31.
func TestALostStateHaltsUntilAHumanResumes(t *testing.T) {
	p := newPacing(t)
	p.memory = activities.PacerMemory{Known: true, Lost: true}
	p.at(time.Second, func() { p.ask("m1", 1) })
	p.at(time.Minute, func() {
		require.Empty(t, p.grants)
		require.Equal(t, reason.StateLost, p.told["m1"][0].Reason)
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
			p.at(5*time.Second, func() { before = p.claim("m1") })
			p.at(15*time.Second, func() { after = p.claim("m1") })
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
	require.Equal(t, time.Second, p.grants[0].Apart)
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

// Rules: R4.5-25.
func TestAQuickerRateDoesNotWaitForTheSlowOne(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 0.01
	p.onGrant = p.evictAll()
	p.at(time.Second, func() { p.ask("m1", 100) })
	p.at(10*time.Second, func() { p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: 2}) })
	p.run(20 * time.Second)
	require.GreaterOrEqual(t, len(p.writes), 18)
}

// An earlier run's permits may be out: the first of this one comes when they have passed.
//
// Rules: R4.5-16.
func TestAPacerWithoutStateWaitsUntilEarlierPermitsHavePassed(t *testing.T) {
	for name, c := range map[string]struct {
		memory activities.PacerMemory
		after  time.Duration
	}{
		"an earlier run": {memory: activities.PacerMemory{Known: true, Memo: []byte(`{}`)}, after: 4 * time.Second},
		"a first start":  {memory: activities.PacerMemory{}, after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPacing(t)
			p.memory = c.memory
			began := p.env.Now()
			p.at(100*time.Millisecond, func() { p.ask("m1", 1) })
			p.run(30 * time.Second)
			require.Len(t, p.grants, 1)
			require.InDelta(t, c.after.Seconds(), p.grants[0].First.Sub(began).Seconds(), 0.5)
		})
	}
}

// Rules: R4.5-21.
func TestARequestThatIsNotRepeatedIsForgotten(t *testing.T) {
	p := newPacing(t)
	p.at(time.Second, func() { p.update(workflows.UpdateHalt, jane) })
	p.at(2*time.Second, func() { p.ask("m1", 1, func(r *workflows.PermitRequest) { r.Every = 5 * time.Second }) })
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
		Config: p.pace, Schedule: pace.Schedule{Number: 41, Last: began.Add(8 * time.Second)},
		Requests: map[string]workflows.Request{"m1": {PermitRequest: workflows.PermitRequest{Cluster: "m1", FailoverID: "e-m1", Want: 1, Open: true, Every: time.Hour}, Heard: began}},
	}
	p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.EqualValues(t, 42, p.grants[0].Number)
	require.Equal(t, 10*time.Second, p.grants[0].First.Sub(began), "the pace after its last permit")
}

// Rules: R4.5-33.
func TestMalformedSignalsToThePacerHarmNothing(t *testing.T) {
	p := newPacing(t)
	p.onGrant = func(cluster string, g workflows.Grant) {
		p.used(-1, "shop/app")
		p.used(0, "shop/app")
		p.used(g.Number, "")
		p.used(g.Number, strings.Repeat("x", 10_000))
		p.used(g.Number+1, "shop/app")
		p.env.SignalWorkflow(workflows.SignalPermitsUsed, workflows.PermitsUsed{Used: make([]workflows.PermitUse, 5000)})
		p.evictAll()(cluster, g)
	}
	p.at(time.Second, func() {
		p.ask("", 1)
		p.ask("m2", -1)
		p.ask("m3", 1, func(r *workflows.PermitRequest) { r.FailoverID = "" })
		p.ask("m1", 1)
	})
	status := p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.Len(t, p.writes, 1)
	require.EqualValues(t, 1, status.Written)
	require.Len(t, status.Requests, 1)
}
