package activities_test

import (
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.1-33, R4.5-4, R4.5-5.
func TestTheFleetsHealthDecidesThePace(t *testing.T) {
	for name, c := range map[string]struct {
		faulty []string
		tier   failover.Tier
		reason failover.Reason
	}{
		"all well":            {nil, failover.TierNormal, failover.ReasonFleetHealthy},
		"one of three":        {[]string{"m1"}, failover.TierNormal, failover.ReasonFleetHealthy},
		"above the threshold": {[]string{"m1", "m2"}, failover.TierHalted, failover.ReasonFleetUnhealthy},
		"all of them":         {[]string{"m1", "m2", "m3"}, failover.TierHalted, failover.ReasonAllFaulty},
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
func TestARateThatAHumanSetReplacesTheConfiguredOne(t *testing.T) {
	b := newBench(t)
	b.acts.Settings.Pace.Unlimited = true
	rate := 3.0
	r := must[activities.FleetResult](b, activities.NameAssessFleet, activities.FleetRequest{Rate: &rate})
	require.False(t, r.Pace.Unlimited)
	require.InDelta(t, 3, r.Pace.Rate, 0)
}

// Rules: R4.1-47, R4.5-30, R4.5-32.
func TestAPacerKnowsAFirstStartFromALostState(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench)
		want    activities.Recall
	}{
		"first start": {func(*bench) {}, activities.Recall{Why: failover.ReasonFirstStart}},
		"a previous run left its orders": {
			func(b *bench) { b.memory = activities.PacerMemory{Known: true, Memo: []byte("{}")} }, activities.Recall{Memo: []byte("{}")},
		},
		"a previous run was lost": {
			func(b *bench) { b.memory = activities.PacerMemory{Known: true, Lost: true} },
			activities.Recall{Lost: true, Why: failover.ReasonStateLost},
		},
		"no previous run, yet a taint of ours": {func(b *bench) { b.fail() }, activities.Recall{Lost: true, Why: failover.ReasonStateLost}},
		"no previous run, and a cluster that a rule only cordoned": {func(b *bench) {
			b.world.ChangeCluster("m1", func(x *failover.Cluster) {
				x.Taints = append(x.Taints, corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
				x.Added = append(x.Added, failover.AddedTaint{Key: "full", Effect: corev1.TaintEffectNoSchedule, Rule: "full"})
			})
		}, activities.Recall{Why: failover.ReasonFirstStart}},
		"no previous run, yet a record of a stop": {
			func(b *bench) { b.world.RecordStop("m1", failover.StoppedBy{Who: "jane"}) }, activities.Recall{Lost: true, Why: failover.ReasonStateLost},
		},
		"no previous run, yet a hold of ours": {
			func(b *bench) {
				b.world.Change(appKey("app"), func(x *failover.Binding) {
					x.Tasks = []failover.Task{{FromCluster: "m1", Producer: failover.Producer, Reason: failover.TaskReason}}
				})
			}, activities.Recall{Lost: true, Why: failover.ReasonStateLost},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c.arrange(b)
			require.Equal(t, c.want, must[activities.Recall](b, activities.NameRecallPacer, activities.RecallRequest{RunID: "r"}))
		})
	}
	b := newBench(t)
	b.lost = errors.New("not reachable")
	_, err := do[activities.Recall](b, activities.NameRecallPacer, activities.RecallRequest{})
	require.ErrorContains(t, err, "recall previous pacer", "what cannot be known is not assumed")
}
