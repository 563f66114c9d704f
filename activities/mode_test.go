package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.15-8, R4.15-9.
func TestAFailoverTakesTheModeOfItsCluster(t *testing.T) {
	b := newBench(t)
	b.acts.Settings.Terms.Mode = rules.ModeObserve
	begun := func(cluster string) rules.Mode {
		return must[activities.Begin](b, activities.NameBeginFailover, activities.BeginRequest{Cluster: cluster}).Terms.Mode
	}
	require.Equal(t, rules.ModeObserve, begun("m1"))
	b.acts.Settings.ModeExceptions.Enforce.Names = []string{"m1"}
	require.Equal(t, rules.ModeEnforce, begun("m1"))
	require.Equal(t, rules.ModeObserve, begun("m2"))
	b.acts.Settings.ModeExceptions.Enforce.Selector = "tier=gold"
	b.world.ChangeCluster("m2", func(c *karmada.Cluster) { c.Labels = map[string]string{"tier": "gold"} })
	require.Equal(t, rules.ModeEnforce, begun("m2"))
	require.Equal(t, rules.ModeObserve, begun("m3"))
	b.world.DeleteCluster("m2")
	require.Equal(t, rules.ModeObserve, begun("m2"), "its label is gone with it")
	b.world.DeleteCluster("m1")
	require.Equal(t, rules.ModeEnforce, begun("m1"))
}

// What a failover says is not enough: the worker's own word about this very cluster
// is asked with every write that begins something.
//
// Rules: R4.15-8, R4.15-10, R4.15-11.
func TestAWorkerThatObservesOneClusterBeginsNothingThere(t *testing.T) {
	for name, exceptions := range map[string]rules.ModeExceptions{
		"by name":  {Observe: rules.ClusterSelection{Names: []string{"m1"}}},
		"by label": {Observe: rules.ClusterSelection{Selector: "tier=gold"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			b.bind("other")
			b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Labels = map[string]string{"tier": "gold"} })
			before := len(b.world.Log(""))
			b.acts.Settings.ModeExceptions = exceptions

			require.Equal(t, reason.ModeObserve, b.evictNamed("other").Reason)
			require.Equal(t, reason.ModeObserve, b.taint(b.taints()).Refused)
			require.Len(t, b.world.Log(""), before, "nothing new was begun")

			b.world.SetReady("m1", true)
			released := b.release(healthy(ref))
			require.Equal(t, activities.ActDone, released.End, "what has begun is finished: %+v", released)
			require.Empty(t, b.taint(untaint).Added)
		})
	}
}

// Rules: R4.15-10.
func TestOneClusterMayBeEnforcedWhileTheOthersAreObserved(t *testing.T) {
	b := failing(t)
	b.acts.Settings.Terms.Mode = rules.ModeObserve
	b.acts.Settings.ModeExceptions.Enforce.Names = []string{"m1"}
	require.Equal(t, activities.EvictWritten, b.evict().End)
	b.acts.Settings.ModeExceptions.Enforce.Names = []string{"m2"}
	require.Equal(t, reason.ModeObserve, b.evict().Reason)
}

// Restore, release, remove again and untaint never ask for a second evictor: what has
// begun is finished beside one.
//
// Rules: R4.15-11, R4.15-27.
func TestAWorkerBesideASecondEvictorBeginsNothingAndCleansUp(t *testing.T) {
	b, ref := moved(t)
	b.bind("other")
	before := len(b.world.Log(""))
	evidence := "ResourceBinding shop/x carries a task of producer TaintManager for cluster m3"
	b.acts.SecondEvictor = func() string { return evidence }

	evicted := b.evictNamed("other")
	require.Equal(t, activities.EvictRefused, evicted.End)
	require.Equal(t, reason.SecondEvictor, evicted.Reason)
	require.Contains(t, evicted.Message, evidence)
	require.Equal(t, reason.SecondEvictor, b.check("other")[0].Reason, "no permit is requested for it")
	for what, r := range map[string]activities.TaintRequest{
		"a taint of a rule": b.taints(), "a drain": b.drainRequest(), "an ordered taint": b.orderRequest(),
	} {
		require.Equal(t, reason.SecondEvictor, b.taint(r).Refused, what)
	}
	require.Len(t, b.world.Log(""), before, "nothing new was begun")

	b.world.SetReady("m1", true)
	released := b.release(healthy(ref))
	require.Equal(t, activities.ActDone, released.End, "what has begun is finished: %+v", released)
	require.Empty(t, b.taint(untaint).Added)

	evidence = ""
	b.fail()
	require.Equal(t, activities.EvictWritten, b.evictNamed("other").End, "when nothing speaks for one any more it goes on")
}

// Rules: R4.1-33, R4.5-4, R4.5-5.
func TestTheFleetsHealthDecidesThePace(t *testing.T) {
	for name, c := range map[string]struct {
		faulty []string
		tier   pace.Tier
		reason reason.Reason
	}{
		"all well":            {tier: pace.TierNormal, reason: reason.FleetHealthy},
		"one of three":        {faulty: []string{"m1"}, tier: pace.TierNormal, reason: reason.FleetHealthy},
		"above the threshold": {faulty: []string{"m1", "m2"}, tier: pace.TierHalted, reason: reason.FleetUnhealthy},
		"all of them":         {faulty: []string{"m1", "m2", "m3"}, tier: pace.TierHalted, reason: reason.AllFaulty},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for _, m := range c.faulty {
				b.world.SetReady(m, false)
			}
			r := must[activities.FleetResult](b, activities.NameAssessFleet, activities.FleetRequest{})
			require.Equal(t, c.tier, r.Pace.Tier)
			require.Equal(t, c.reason, r.Pace.Reason)
			require.Equal(t, c.faulty, r.Pace.Faulty)
		})
	}
}

// Rules: R4.5-25.
func TestARateThatAnOperatorSetReplacesTheConfiguredOne(t *testing.T) {
	b := newBench(t)
	b.acts.Settings.Pace.Unlimited = true
	rate := 3.0
	r := must[activities.FleetResult](b, activities.NameAssessFleet, activities.FleetRequest{Rate: &rate})
	require.False(t, r.Pace.Unlimited)
	require.InDelta(t, 3, r.Pace.Rate, 0)
	require.Equal(t, b.acts.Settings.Pace, r.Config, "what applications go by")
}

// hanging lists bindings without end.
type hanging struct{ around }

func (hanging) Bindings(ctx context.Context, _ activities.Page) (activities.BindingPage, error) {
	<-ctx.Done()
	return activities.BindingPage{}, ctx.Err()
}

// Rules: R4.5-35, R4.13-11.
func TestApplicationsThatCannotBeCounted_LeaveTheJudgementOfTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.acts.Reader = hanging{around{b.world, b}}
		began := time.Now()
		r := must[activities.FleetResult](b, activities.NameAssessFleet, activities.FleetRequest{Applications: true})
		require.Contains(t, r.Uncounted, context.DeadlineExceeded.Error())
		require.Equal(t, pace.TierNormal, r.Pace.Tier)
		require.LessOrEqual(t, time.Since(began), 5*time.Second)
	})
}

// Rules: R4.1-47, R4.5-30, R4.5-32.
func TestAPacerKnowsAFirstStartFromALostState(t *testing.T) {
	lost := activities.Recall{Lost: true, Why: reason.StateLost}
	for name, c := range map[string]struct {
		world func(*bench)
		want  activities.Recall
	}{
		"first start": {want: activities.Recall{Why: reason.FirstStart}},
		"a previous run left its orders": {
			world: func(b *bench) { b.memory = activities.PacerMemory{Known: true, Memo: []byte("{}")} }, want: activities.Recall{Memo: []byte("{}")},
		},
		"a previous run was terminated, and left its orders": {
			world: func(b *bench) { b.memory = activities.PacerMemory{Known: true, Lost: true, Memo: []byte("{}")} },
			want:  activities.Recall{Lost: true, Why: reason.StateLost, Memo: []byte("{}")},
		},
		"a previous run was lost":               {world: func(b *bench) { b.memory = activities.PacerMemory{Known: true, Lost: true} }, want: lost},
		"no previous run, yet a Lifeboat taint": {world: (*bench).fail, want: lost},
		"no previous run, and a cluster that a rule only cordoned": {world: m1Is(func(x *karmada.Cluster) {
			x.Taints = append(x.Taints, corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
			x.Added = append(x.Added, karmada.AddedTaint{Key: "full", Effect: corev1.TaintEffectNoSchedule, Rule: "full"})
		}), want: activities.Recall{Why: reason.FirstStart}},
		"no previous run, yet a record of a stop": {
			world: func(b *bench) { b.world.RecordStop("m1", karmada.StoppedBy{Who: "jane"}) }, want: lost,
		},
		"no previous run, yet a hold of Lifeboat's": {
			world: app(func(x *karmada.Binding) { x.Tasks = task(karmada.TaskReason, "") }), want: lost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.does(c.world)
			require.Equal(t, c.want, must[activities.Recall](b, activities.NameRecallPacer, activities.RecallRequest{RunID: "r"}))
		})
	}
	b := newBench(t)
	b.lost = errors.New("not reachable")
	_, err := do[activities.Recall](b, activities.NameRecallPacer, activities.RecallRequest{})
	require.ErrorContains(t, err, "recall previous pacer", "what cannot be known is not assumed")
}
