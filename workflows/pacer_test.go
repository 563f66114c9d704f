package workflows_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
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

// A failover that receives no signals any more, and cannot say so, wastes one grant: the others
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
func TestAnOperatorHaltsResumesAndSetsTheRate(t *testing.T) {
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
	require.Equal(t, reason.RateSetByOperator, status.Pace.Reason)
	neverAbove(t, p.writes, 2)
}

// Rules: R4.5-25, R4.5-34.
func TestTheConfiguredRateComesBackOnAnOrder(t *testing.T) {
	p := newPacing(t)
	var set, back *answer
	var between pace.Pace
	p.at(time.Second, func() { set = p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Rate: 2}) })
	p.at(20*time.Second, func() { between = p.status().Pace })
	p.at(30*time.Second, func() { back = p.update(workflows.UpdateSetRate, workflows.SetRate{Order: jane, Configured: true}) })
	status := p.run(time.Minute)
	for _, a := range []*answer{set, back} {
		require.True(t, a.done)
		require.NoError(t, a.err)
	}
	require.Equal(t, reason.RateSetByOperator, between.Reason)
	require.NotEqual(t, reason.RateSetByOperator, status.Pace.Reason, "also while nobody asks for leases")
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
	p.at(2*time.Second, func() { p.ask("m1", 0, func(r *activities.PermitRequest) { r.Paused = true }) })
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
	p.at(time.Second, func() { p.ask("m1", 0, func(r *activities.PermitRequest) { r.Paused = true }) })
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
	p.at(2*time.Second, func() { p.ask("m1", 1, func(r *activities.PermitRequest) { r.Every = 5 * time.Second }) })
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
		Requests: map[string]workflows.Request{"m1": {PermitRequest: activities.PermitRequest{Cluster: "m1", FailoverID: "e-m1", Want: 1, Open: true, Every: time.Hour}, Heard: began}},
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
		p.ask("m3", 1, func(r *activities.PermitRequest) { r.FailoverID = "" })
		p.ask("m1", 1)
	})
	status := p.run(30 * time.Second)
	require.Len(t, p.grants, 1)
	require.Len(t, p.writes, 1)
	require.EqualValues(t, 1, status.Written)
	require.Len(t, status.Requests, 1)
}

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
				c.ask(name, 5000, func(r *activities.PermitRequest) {
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
		require.InDelta(t, 0.25, w.Sub(c.writes[i]).Seconds(), 0.0025, "in milliseconds, at both ends")
	}
	for _, g := range c.grants[1:] {
		require.LessOrEqual(t, g.Last().Sub(g.at), 3*time.Second)
		require.GreaterOrEqual(t, g.First.Sub(g.at), 750*time.Millisecond, "enough of a lead to travel")
	}
}

// The pacer goes on as a new run, and who had a lease writes all the same: the
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
	p.at(time.Minute, func() { p.world.SetReady("m1", false); p.observed() })
	p.at(time.Minute+time.Second, func() { fails = p.status().Pace })
	p.at(2*time.Minute, func() {
		for _, m := range []string{"m2", "m3", "m4"} {
			p.world.SetReady(m, false)
		}
		p.observed()
	})
	p.at(2*time.Minute+time.Second, func() { halts = p.status().Pace })
	p.at(3*time.Minute, func() {
		for _, m := range []string{"m1", "m2", "m3", "m4"} {
			p.world.SetReady(m, true)
		}
		p.observed()
	})
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
	p := newPacing(t)
	p.at(time.Minute, func() { p.unread = karmada.ErrInvalid; p.observed() })
	var before pace.Pace
	p.at(80*time.Second, func() { before, p.unread = p.status().Pace, nil })
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

// What operators ordered stands in the memo of the pacer that took the order, which its
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
		most = max(most, len(p.underWay))
	}
	p.at(time.Second, func() { p.ask("m1", 120) })
	p.run(time.Minute)
	require.Len(t, p.writes, 120)
	require.Equal(t, 4, size[0])
	require.LessOrEqual(t, most, 50, "no more than are let out at once")
	require.Less(t, p.writes[119].Sub(p.writes[0]), 7*time.Second, "the next as soon as some have ended")
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
