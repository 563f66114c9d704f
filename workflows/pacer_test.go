package workflows_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

var jane = workflows.Order{Who: "jane", Reason: "look first"}

// neverAbove checks every interval: at most rate·T, one, and one second's worth, counted at the write.
func neverAbove(t *testing.T, writes []time.Time, rate float64) {
	t.Helper()
	require.Empty(t, pacelaw.Rate{First: rate}.Broken(writes))
}

// Karmada#7495 measured 1.2 bindings a second where 82 were possible: the pace is a number that holds.
// Karmada#7483, #7493, #7494: several failovers at once share one pace.
// Nothing that anybody reports makes the pace quicker: slow and quick writers, reports that
// never come, and reports that are made up.
//
// Rules: R4.5-9, R4.5-15, R4.5-17, R4.5-28, R4.5-33.
func TestKarmada7495ThePaceHoldsOverEveryInterval(t *testing.T) {
	for _, rate := range []float64{0.5, 5, 20} {
		for _, failovers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%d failovers at %g", failovers, rate), func(t *testing.T) {
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
				p.at(time.Second, func() {
					for n := range failovers {
						p.ask(fmt.Sprintf("m%d", n+1), 5000)
					}
				})
				p.run(time.Minute)
				require.GreaterOrEqual(t, float64(len(p.writes)), 0.9*rate*58, "nor much below it")
				neverAbove(t, p.writes, rate)
			})
		}
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

// A failover that receives no signals any more, and cannot say so, wastes one grant: the others
// have the rest of the pace.
//
// Rules: R4.5-12.
func TestARequestIsGoodForOneGrant(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 5
	given := 0
	p.onGrant = func(cluster string, g workflows.Grant) {
		if cluster == "m1" {
			given += g.Size
			delete(p.wants, "m1") // it says nothing any more
			return
		}
		p.evictAll()(cluster, g)
	}
	p.at(time.Second, func() { p.ask("m1", 5000); p.ask("m2", 5000) })
	p.run(time.Minute)
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
	for reason, faulty := range map[reason.Reason]int{reason.AllFaulty: 6, reason.FleetUnhealthy: 4} {
		t.Run(string(reason), func(t *testing.T) {
			p := newPacing(t)
			p.turn(false, 1, faulty)
			p.at(time.Second, func() { p.ask("m1", 3) })
			p.at(50*time.Second, func() { p.refuse("halted", p.claim("m1")) })
			p.at(time.Minute, func() {
				require.Empty(t, p.grants)
				require.Equal(t, pace.TierHalted, p.told["m1"][0].Tier)
				require.Equal(t, reason, p.told["m1"][0].Reason)
				p.turn(true, 2, 4)
			})
			p.run(2 * time.Minute)
			require.NotEmpty(t, p.grants, "it goes on by itself once the fleet is well enough")
		})
	}
}

// Rules: R4.5-6, R4.5-25, R4.5-18.
func TestAnOperatorHaltsResumesAndSetsTheRate(t *testing.T) {
	p := newPacing(t)
	p.onGrant = p.evictAll()
	p.at(time.Second, func() { p.ask("m1", 1000) })
	p.at(20*time.Second, func() { p.halt() })
	p.at(time.Minute, func() { p.resume() })
	p.at(2*time.Minute, func() { p.setRate(2) })
	status := p.run(3 * time.Minute)
	require.Empty(t, p.written(24*time.Second, time.Minute), "while halted")
	slow, quick := len(p.written(time.Minute, 2*time.Minute)), len(p.written(2*time.Minute, 3*time.Minute))
	require.Greater(t, quick, slow+slow/2, "a rate takes effect at once")
	require.Equal(t, reason.RateSetByOperator, status.Pace.Reason)
	neverAbove(t, p.writes, 2)
}

// Rules: R4.5-25, R4.5-34.
func TestTheConfiguredRateComesBackOnAnOrder(t *testing.T) {
	p := newPacing(t)
	var between pace.Pace
	p.at(time.Second, func() { p.setRate(2) })
	p.at(20*time.Second, func() { between = p.status().Pace })
	p.at(30*time.Second, func() {
		p.accept(p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Configured: true}))
	})
	status := p.run(time.Minute)
	require.Equal(t, reason.RateSetByOperator, between.Reason)
	require.NotEqual(t, reason.RateSetByOperator, status.Pace.Reason, "also while nobody asks for leases")
	require.NotEqual(t, between.Rate, status.Pace.Rate)
	require.Nil(t, status.Orders.Rate)
}

// Rules: R4.5-6, R4.5-33, R4.9-44.
func TestOrdersToThePacerThatMakeNoSenseAreRefused(t *testing.T) {
	p := newPacing(t)
	rate := func(o workflows.SetRate) *answer { return p.update(workflows.UpdateSetRate, o) }
	p.at(time.Second, func() {
		p.refuse("nobody halted", p.update(workflows.UpdateResume, jane))
		p.refuse(`"who"`, p.update(workflows.UpdateHalt, workflows.Order{Reason: "x"}))
		p.refuse(`"reason"`, p.update(workflows.UpdateHalt, workflows.Order{Who: "x"}))
		p.refuse(`"rate"`, rate(workflows.SetRate{Order: jane, Rate: -1}))
		p.refuse(`"rate"`, rate(workflows.SetRate{Order: jane, Rate: 1001}))
		p.refuse("lifeboat pause fleet", rate(workflows.SetRate{Order: jane}))
		p.refuse("nobody set a rate", rate(workflows.SetRate{Order: jane, Configured: true}))
		p.refuse(`"configured"`, rate(workflows.SetRate{Order: jane, Configured: true, Rate: 1}))
		p.refuse(`"who"`, rate(workflows.SetRate{Rate: 1}))
	})
	require.Equal(t, workflows.Orders{}, p.run(5*time.Second).Orders)
}

// A pacer that has just begun knows of no pause: until the failover of the cluster has told it how things
// stand, nothing is removed again.
//
// Rules: R4.5-20.
func TestARepeatedRemovalObeysThePause(t *testing.T) {
	p := newPacing(t)
	asks := func(paused bool) {
		p.ask("m1", 0, func(r *activities.PermitRequest) { r.Paused = paused })
	}
	p.at(500*time.Millisecond, func() { p.refuse("yet to hear from the failover of m1", p.claim("m1")) })
	p.at(time.Second, func() { asks(true) })
	p.at(1500*time.Millisecond, func() { p.refuse("paused", p.claim("m1")) })
	p.at(2*time.Second, func() { asks(false) })
	p.at(2500*time.Millisecond, func() {
		p.accept(p.claim("m1"))
		p.refuse(`"binding"`, p.update(workflows.UpdateClaim, workflows.Claim{Cluster: "m1"}))
		p.refuse("yet to hear", p.claim("m2"))
	})
	p.at(3*time.Second, func() { asks(true) })
	p.at(3500*time.Millisecond, func() { p.refuse("paused", p.claim("m1")) })
	p.run(10 * time.Second)
}

// Rules: R4.5-23, R4.5-24.
func TestTheMostUrgentClusterIsServedFirstAndEqualsInTurn(t *testing.T) {
	p := newPacing(t)
	p.onGrant = p.evictAll()
	p.at(time.Second, func() {
		p.ask("m1", 3)
		p.ask("m2", 3)
		p.ask("m3", 2, func(r *activities.PermitRequest) { r.Priority = 7 })
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
func TestALostStateHaltsUntilAnOperatorResumes(t *testing.T) {
	for name, memory := range map[string]activities.PacerMemory{
		"nothing is left":                     {Known: true, Lost: true},
		"its orders are not readable":         {Known: true, Memo: []byte(`{"rate":0.001,"halted":"?"}`)},
		"it was terminated, and they are not": {Known: true, Lost: true, Memo: []byte(`{"rate":0.001,"halted":"?"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPacing(t)
			p.memory = memory
			p.at(time.Second, func() { p.ask("m1", 1) })
			p.at(time.Minute, func() {
				require.Empty(t, p.grants)
				require.Equal(t, reason.StateLost, p.told["m1"][0].Reason)
				p.resume()
			})
			status := p.run(2 * time.Minute)
			require.Len(t, p.grants, 1)
			require.Nil(t, status.Orders.Rate)
		})
	}
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
			p.at(time.Second, func() { p.ask("m1", 0) })
			p.at(5*time.Second, func() { p.refuse("yet to look", p.claim("m1")) })
			p.at(15*time.Second, func() { p.accept(p.claim("m1")) })
			p.run(20 * time.Second)
		})
	}
}

// Rules: R4.5-25.
func TestARateThatIsSetWhileTheFleetIsJudgedHoldsForTheVeryNextGrant(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 10
	p.slow = map[string]time.Duration{activities.NameAssessFleet: 400 * time.Millisecond}
	p.at(2*time.Second, func() { p.ask("m1", 100) })
	p.at(2200*time.Millisecond, func() { p.setRate(1) })
	p.run(5 * time.Second)
	require.NotEmpty(t, p.grants)
	require.Equal(t, time.Second, p.grants[0].Apart)
}

// Rules: R4.5-25.
func TestAQuickerRateDoesNotWaitForTheSlowOne(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 0.01
	p.onGrant = p.evictAll()
	p.at(time.Second, func() { p.ask("m1", 100) })
	p.at(10*time.Second, func() { p.setRate(2) })
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
			p.at(100*time.Millisecond, func() { p.ask("m1", 1); p.askFor(karmada.BindingKey{Namespace: "shop", Name: "app"}) })
			p.run(30 * time.Second)
			require.Len(t, p.grants, 2)
			for _, g := range p.grants {
				require.InDelta(t, c.after.Seconds(), g.First.Sub(storyBegins).Seconds(), 0.5, g.cluster)
			}
		})
	}
}

// Rules: R4.5-21.
func TestARequestThatIsNotRepeatedIsForgotten(t *testing.T) {
	p := newPacing(t)
	p.at(time.Second, func() { p.halt() })
	p.at(2*time.Second, func() { p.ask("m1", 1, func(r *activities.PermitRequest) { r.Every = 5 * time.Second }) })
	p.at(3*time.Second, func() { p.ask("m2", 1) })
	p.at(time.Minute, func() { p.resume() })
	status := p.run(70 * time.Second)
	require.Len(t, p.grants, 1)
	require.Equal(t, "m2", p.grants[0].cluster)
	require.NotContains(t, status.Requests, "m1")
}

// The pacer goes on as a new run, and who had a permit writes all the same: the interval over the seam is an interval
// like any other.
//
// Rules: R4.5-16, R4.5-17.
func TestAContinuedPacerStillKnowsWhatItHadGranted(t *testing.T) {
	first := newPacing(t)
	first.at(time.Second, func() { first.ask("m1", 100) })
	first.at(30*time.Second, func() { first.env.SetContinueAsNewSuggested(true) })
	first.start()
	state := first.continued()
	granted := state.Schedule
	require.Greater(t, granted.Number, int64(10))

	next := newPacing(t)
	next.env.SetStartTime(first.env.Now())
	next.state, next.wants = state, first.wants
	next.at(100*time.Millisecond, func() { next.ask("m1", 1) })
	next.run(30 * time.Second)
	require.Len(t, next.grants, 1)
	require.Equal(t, granted.Number+1, next.grants[0].Number)
	require.Equal(t, 2*time.Second, next.grants[0].First.Sub(granted.Last), "the pace after its last permit")
}

// continued is the state that a run carried over.
func (p *pacing) continued() *workflows.PacerState {
	p.t.Helper()
	var again *workflow.ContinueAsNewError
	require.ErrorAs(p.t, p.env.GetWorkflowError(), &again)
	var params workflows.FleetPacerParams
	require.NoError(p.t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &params))
	return params.State
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
		p.ask("m3", 1, func(r *activities.PermitRequest) { r.FailoverID = "" })
		p.ask("m1", 1)
	})
	status := p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.Len(t, p.writes, 1)
	require.EqualValues(t, 1, status.Written)
	require.Len(t, status.Requests, 1)
}

// A rate above 1/s needs pauses that Temporal has no timers for: permits are given ahead.
// Rules: R4.5-15.
func TestPermitsAreGivenAheadOfTheirMoments(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 4
	p.onGrant = p.evictAll()
	p.at(time.Second, func() { p.ask("m1", 5000); p.ask("m2", 5000) })
	p.run(time.Minute)
	require.Less(t, p.looks, len(p.writes), "fewer looks than writes")
	for i, w := range p.writes[1:] {
		require.InDelta(t, 0.25, w.Sub(p.writes[i]).Seconds(), 0.0025, "in milliseconds, at both ends")
	}
	for _, g := range p.grants[1:] {
		require.LessOrEqual(t, g.Last().Sub(g.at), 3*time.Second)
		require.GreaterOrEqual(t, g.First.Sub(g.at), 750*time.Millisecond, "enough of a lead to travel")
	}
}

// The tier follows the fleet, and everybody hears of it.
// Kubernetes#70501, #111385: what the breaker does is a table, and it says where it stands.
// Rules: R4.5-3, R4.5-5.
func TestKubernetes111385TheTierFollowsTheFleetAndSaysSo(t *testing.T) {
	p := newPacing(t)
	for i := 7; i <= 12; i++ {
		p.world.AddCluster(fmt.Sprintf("m%d", i))
	}
	p.onGrant = p.evictAll()
	p.turn(false, 1, 2)
	p.at(time.Second, func() { p.ask("m1", 5000); p.ask("m2", 5000) })
	p.at(30*time.Second, func() { p.turn(false, 3, 7) })
	p.at(90*time.Second, func() { p.turn(false, 8, 12) })
	p.at(2*time.Minute, func() { p.turn(true, 3, 12) })
	p.run(150 * time.Second)
	var tiers []pace.Tier
	for _, told := range p.told["m1"] {
		tiers = append(tiers, told.Tier)
	}
	require.Equal(t, []pace.Tier{pace.TierNormal, pace.TierReduced, pace.TierHalted, pace.TierNormal}, slices.Compact(tiers))
	require.Equal(t, p.told["m1"], p.told["m2"])
	// Within one look, and the end of what was granted, the new tier holds.
	slow := p.written(46*time.Second, 90*time.Second)
	require.GreaterOrEqual(t, len(slow), 3)
	neverAbove(t, slow, 0.1)
	require.Empty(t, p.written(106*time.Second, 2*time.Minute), "while halted")
	require.NotEmpty(t, p.written(2*time.Minute, 3*time.Minute), "it goes on by itself")
}

// observed plays the controller: clusters changed.
func (p *pacing) observed() {
	p.env.SignalWorkflow(workflows.SignalFleetObserved, workflows.FleetObserved{})
}

// A failover that observes requests no permit, and one that is over requests none any more.
// The pacer counts their clusters all the same, once per change.
//
// Rules: R4.5-35.
func TestThePacerFollowsTheFleetAlsoWhileNobodyAsksForPermits(t *testing.T) {
	p := newPacing(t)
	var fails, halts, well pace.Pace
	p.at(time.Minute, func() { p.turn(false, 1, 1); p.observed() })
	p.at(time.Minute+time.Second, func() { fails = p.status().Pace })
	p.at(2*time.Minute, func() { p.turn(false, 2, 4); p.observed() })
	p.at(2*time.Minute+time.Second, func() { halts = p.status().Pace })
	p.at(3*time.Minute, func() { p.turn(true, 1, 4); p.observed() })
	p.at(3*time.Minute+time.Second, func() { well = p.status().Pace })
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
	for why, seen := range map[error]time.Duration{karmada.ErrInvalid: 80 * time.Second, karmada.ErrUnreachable: 2 * time.Minute} {
		t.Run(why.Error(), func(t *testing.T) {
			p := newPacing(t)
			p.at(time.Minute, func() { p.unread = why; p.observed() })
			var before pace.Pace
			p.at(seen, func() { before, p.unread = p.status().Pace, nil })
			status := p.run(5 * time.Minute)
			require.Equal(t, reason.FleetUnknown, before.Reason)
			require.Equal(t, pace.TierNormal, status.Pace.Tier)
		})
	}
}

// Rules: R4.5-35.
func TestAFleetThatCouldNotBeJudgedIsLookedAtAgain_AlsoByTheRunThatContinues(t *testing.T) {
	first := newPacing(t)
	first.at(time.Second, func() { first.unread = karmada.ErrInvalid; first.observed() })
	first.at(30*time.Second, func() { first.env.SetContinueAsNewSuggested(true) })
	first.start()
	next := newPacing(t)
	next.env.SetStartTime(first.env.Now())
	next.state = first.continued()
	require.Equal(t, reason.FleetUnknown, next.state.Pace.Reason)
	require.Equal(t, pace.TierNormal, next.run(time.Minute).Pace.Tier)
}

// What cannot be counted of applications holds applications, not clusters.
//
// Rules: R4.13-11, R4.5-35.
func TestApplicationsThatCannotBeCounted_HoldNoCluster(t *testing.T) {
	p := newPacing(t)
	p.pace.ApplicationRate, p.pace.BreakerShare = 5, 0.2
	p.unlist, p.memory = karmada.ErrInvalid, activities.PacerMemory{Known: true, Memo: []byte(`{}`)}
	app := karmada.BindingKey{Namespace: "shop", Name: "app"}
	p.onGrant = p.evictAll()
	p.at(10*time.Second, func() { p.askFor(app); p.ask("m1", 100) })
	for n := range 50 {
		p.at(11*time.Second+time.Duration(n)*time.Second, func() { p.askFor(karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}) })
	}
	p.at(70*time.Second, func() {
		require.GreaterOrEqual(t, len(p.writes), 28, "at its pace")
		require.True(t, slices.ContainsFunc(p.grants, func(g granted) bool { return g.cluster == "m1" }))
		require.False(t, slices.ContainsFunc(p.grants, func(g granted) bool { return g.cluster != "m1" }))
		require.Equal(t, pace.TierNormal, p.status().Pace.Tier)
		require.NotEmpty(t, p.status().Unknown)
		require.LessOrEqual(t, p.unlisted, 7, "a cluster does not wait for each")
		require.LessOrEqual(t, p.looks, 20, "nor is the fleet judged for each that asks")
		p.unlist = nil
	})
	status := p.run(90 * time.Second)
	require.True(t, slices.ContainsFunc(p.grants, func(g granted) bool { return g.cluster != "m1" }))
	require.Empty(t, status.Unknown)
	require.Zero(t, status.Recount)
}

// As many clusters as before are faulty, and as many scopes are suspected; they are others.
//
// Rules: R4.5-35, R4.13-8.
func TestOthersThanBeforeAreFaultyOrSuspected_IsTold(t *testing.T) {
	p := newPacing(t)
	p.pace.ApplicationRate, p.pace.BreakerShare, p.pace.BreakerWindow = 5, 0.2, time.Second
	turn := func(from int, health karmada.Health) {
		for n := from; n < from+5; n++ {
			p.world.Change(karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}, func(b *karmada.Binding) {
				b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: b.Clusters[0].Name, Applied: true, Health: health}}
			})
		}
	}
	for n := range 40 {
		p.world.AddBinding(karmada.Binding{
			Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}, Application: &karmada.ApplicationFailover{}, Replicas: 1,
			Clusters: []karmada.TargetCluster{{Name: fmt.Sprintf("m%d", 2+n/20), Replicas: 1}},
		})
	}
	turn(0, karmada.HealthUnhealthy)
	waits := karmada.BindingKey{Namespace: "shop", Name: "0"}
	id := workflows.ApplicationFailoverID("", waits)
	p.turn(false, 4, 4)
	told := 0
	p.at(time.Second, func() { p.ask("m1", 0); p.askFor(waits) })
	p.at(20*time.Second, func() {
		require.Equal(t, []string{"m4"}, p.told["m1"][0].Faulty)
		require.Empty(t, p.grants, "suspected")
		told = len(p.told[id])
		turn(0, karmada.HealthHealthy)
		turn(20, karmada.HealthUnhealthy)
		p.turn(true, 4, 4)
		p.turn(false, 5, 5)
		p.observed()
	})
	p.run(time.Minute)
	require.Equal(t, []string{"m5"}, p.told["m1"][len(p.told["m1"])-1].Faulty)
	require.Len(t, p.told[id], told+1)
	require.Len(t, p.grants, 1)
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
	p.at(10*time.Second, func() { running = p.setRate(2) })
	p.at(20*time.Second, func() { p.halt() })
	p.at(30*time.Second, func() { halted = p.setRate(3) })
	p.at(40*time.Second, func() { p.resume() })
	p.at(50*time.Second, func() { p.turn(false, 1, 4); p.observed() })
	p.at(time.Minute, func() { unwell = p.setRate(4) })
	p.run(2 * time.Minute)
	require.Contains(t, running.value, "takes effect at once")
	require.Contains(t, halted.value, "nothing moves before a resume: the fleet was halted by jane")
	require.Contains(t, unwell.value, "once the fleet is well enough again: the tier is halted (FleetUnhealthy)")
}

// Seen: with the rate 0 configured, and after a resume, a rate was said to wait for the health of the fleet.
//
// Rules: R4.5-25.
func TestARateThatEndsWhatHaltsSaysSo(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 0
	var set, resumed, slow, quick, unwell *answer
	p.at(10*time.Second, func() { set = p.setRate(2) })
	p.at(20*time.Second, func() {
		require.Equal(t, pace.TierNormal, p.status().Pace.Tier)
		p.halt()
	})
	p.at(30*time.Second, func() { p.resume(); resumed = p.setRate(3) })
	p.at(40*time.Second, func() {
		require.Equal(t, reason.RateSetByOperator, p.status().Pace.Reason)
		for n := 7; n <= 12; n++ {
			p.world.AddCluster(fmt.Sprintf("m%d", n))
		}
		p.turn(false, 1, 8)
		p.observed()
	})
	p.at(50*time.Second, func() { slow = p.setRate(0.05) })
	p.at(55*time.Second, func() { quick = p.setRate(0.1) })
	p.at(60*time.Second, func() {
		p.accept(p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Configured: true}))
		p.refuse("nobody halted: pace.evictionRate is 0", p.update(workflows.UpdateResume, jane))
	})
	p.at(70*time.Second, func() { unwell = p.setRate(2) })
	p.run(80 * time.Second)
	for _, a := range []*answer{set, resumed, slow, quick} {
		require.Contains(t, a.value, "takes effect at once")
	}
	require.Contains(t, unwell.value, "once the fleet is well enough again: the tier is reduced (FleetUnhealthy)", "whatever else halts it now")
}

// Rules: R4.5-35.
func TestAConfiguredHaltIsNotJudgedWithEverySignal(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate = 0
	looks := 0
	p.at(time.Second, func() { p.ask("m1", 0) })
	p.at(10*time.Second, func() { looks = p.looks; p.ask("m1", 0) })
	p.at(20*time.Second, func() { require.Equal(t, looks, p.looks) })
	require.Equal(t, reason.HaltedByOperator, p.run(30*time.Second).Pace.Reason)
}

// An order that comes while the pacer reads those before it waits: it stands beside them, and is not overwritten.
//
// Rules: R4.5-29, R4.5-30.
func TestAnOrderGivenWhileThePacerRecalls_StandsBesideThoseBefore(t *testing.T) {
	earlier := []byte(`{"halted":{"who":"joe","reason":"night"},"haltReason":"HaltedByOperator","rate":2,"rateBy":{"who":"joe","reason":"slow"}}`)
	joe := &workflows.Order{Who: "joe", Reason: "night"}
	rate := func(p *pacing) { p.setRate(3) }
	configured := workflows.SetRate{Order: jane, Configured: true}
	for name, c := range map[string]struct {
		memory activities.PacerMemory
		order  func(*pacing)
		halted *workflows.Order
		rate   float64 // 0: none was set
	}{
		"a halt":                  {memory: activities.PacerMemory{Known: true, Memo: earlier}, order: func(p *pacing) { p.halt() }, halted: &jane, rate: 2},
		"a rate":                  {memory: activities.PacerMemory{Known: true, Memo: earlier}, order: rate, halted: joe, rate: 3},
		"a rate at a first start": {order: rate, rate: 3},
		"a resume, of what nobody has seen": {memory: activities.PacerMemory{Known: true, Lost: true, Memo: earlier}, order: func(p *pacing) {
			p.refuse("yet to read the orders before it", p.update(workflows.UpdateResume, jane))
		}, halted: joe, rate: 2},
		"the configured rate": {memory: activities.PacerMemory{Known: true, Memo: earlier}, order: func(p *pacing) {
			p.accept(p.update(workflows.UpdateSetRate, configured))
		}, halted: joe},
		"what there is nothing to end of": {order: func(p *pacing) {
			p.refuse("nobody set a rate", p.update(workflows.UpdateSetRate, configured))
			p.refuse(`"who"`, p.update(workflows.UpdateHalt, workflows.Order{Reason: "x"}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPacing(t)
			p.memory, p.slow = c.memory, map[string]time.Duration{activities.NameRecallPacer: 10 * time.Second}
			p.at(time.Second, func() { c.order(p) })
			p.at(5*time.Second, func() { require.Nil(t, p.memo, "until the orders before are known, theirs is the memo to read") })
			got := p.run(30 * time.Second).Orders
			require.Equal(t, c.halted, got.Halted)
			require.Equal(t, c.rate > 0, got.Rate != nil)
			if got.Rate != nil {
				require.InDelta(t, c.rate, *got.Rate, 0)
			}
			require.Equal(t, got, p.memo, "mirrored")
		})
	}
	t.Run("one that is cancelled meanwhile leaves the memo to those before", func(t *testing.T) {
		p := newPacing(t)
		p.memory, p.slow = activities.PacerMemory{Known: true, Memo: earlier}, map[string]time.Duration{activities.NameRecallPacer: 10 * time.Second}
		p.at(time.Second, func() { p.refuse("cancel", p.update(workflows.UpdateHalt, jane)) })
		p.run(5 * time.Second)
		require.Nil(t, p.memo)
	})
}

// What operators ordered stands in the memo of the pacer that took the order, which its
// successor reads, however the first one ended; so does the halt of one that knew nothing.
//
// Rules: R4.5-29, R4.5-30, R4.5-34.
func TestEveryOrderIsMirroredWhereTheNextPacerReadsIt(t *testing.T) {
	type order = func(*pacing) *answer
	halt, resume := (*pacing).halt, (*pacing).resume
	set := func(rate float64) order {
		return func(p *pacing) *answer { return p.setRate(rate) }
	}
	configured := world.Pace().EvictionRate
	for name, c := range map[string]struct {
		lost   bool
		orders []order
		halted reason.Reason
		rate   float64 // that the successor goes by
	}{
		"nobody ordered anything":     {rate: configured},
		"a halt":                      {orders: []order{halt}, halted: reason.HaltedByOperator},
		"a halt that was ended":       {orders: []order{halt, resume}, rate: configured},
		"a rate":                      {orders: []order{set(2)}, rate: 2},
		"the newest of two rates":     {orders: []order{set(2), set(3)}, rate: 3},
		"a rate and a halt":           {orders: []order{set(2), halt}, halted: reason.HaltedByOperator},
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

			heir := newPacing(t)
			heir.memory = activities.PacerMemory{Known: true, Lost: true, Memo: memo}
			heir.at(time.Second, func() { heir.ask("m1", 1) })
			heir.at(time.Minute, func() {
				status = heir.status()
				require.Empty(t, heir.grants, "what a terminated pacer granted is not known")
				require.Equal(t, reason.StateLost, status.Pace.Reason)
				require.Equal(t, []any{ordered.Rate, ordered.RateBy}, []any{status.Orders.Rate, status.Orders.RateBy})
				if ordered.Halted != nil {
					require.Equal(t, ordered.Halted, status.Orders.Halted, "with who and why")
				}
				heir.resume()
			})
			rate := configured
			if ordered.Rate != nil {
				rate = *ordered.Rate
			}
			require.InDelta(t, rate, heir.run(2*time.Minute).Pace.Rate, 0)
			require.Len(t, heir.grants, 1)
		})
	}
}

// A signal without a memory, or with one beyond its bounds, takes nothing away.
//
// Rules: R4.1-55.
func TestPacer_KeepsWhatTheExternalProbeKnows(t *testing.T) {
	many := rules.Probed{}
	for i := range 10_001 {
		many[fmt.Sprint(i)] = rules.ProbedMember{}
	}
	known := rules.Probed{"m1": {Endpoint: "1", Up: true}, "m2": {Endpoint: "2"}}
	p := newPacing(t)
	for i, probed := range []rules.Probed{
		{"m3": {Endpoint: "3"}},
		known, nil, many,
		{strings.Repeat("a", 2000): {}},
		{"a": {Endpoint: strings.Repeat("a", 2000)}},
	} {
		p.at(time.Duration(i+1)*time.Second, func() {
			p.env.SignalWorkflow(workflows.SignalFleetObserved, workflows.FleetObserved{Probed: probed})
		})
	}
	require.Equal(t, known, p.run(time.Minute).Probed)
}

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
		most = max(most, p.underWay)
	}
	p.at(time.Second, func() { p.ask("m1", 120) })
	p.run(time.Minute)
	require.Len(t, p.writes, 120)
	require.Equal(t, 4, size[0])
	require.LessOrEqual(t, most, 50, "no more than are let out at once")
	require.Less(t, p.writes[119].Sub(p.writes[0]), 7*time.Second, "the next as soon as some have ended")
}
