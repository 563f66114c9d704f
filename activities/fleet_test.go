package activities_test

import (
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

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
		"first start": {arrange: func(*bench) {}, want: activities.Recall{Why: reason.FirstStart}},
		"a previous run left its orders": {
			arrange: func(b *bench) { b.memory = activities.PacerMemory{Known: true, Memo: []byte("{}")} }, want: activities.Recall{Memo: []byte("{}")},
		},
		"a previous run was lost": {
			arrange: func(b *bench) { b.memory = activities.PacerMemory{Known: true, Lost: true} },
			want:    activities.Recall{Lost: true, Why: reason.StateLost},
		},
		"no previous run, yet a Lifeboat taint": {arrange: func(b *bench) { b.fail() }, want: activities.Recall{Lost: true, Why: reason.StateLost}},
		"no previous run, and a cluster that a rule only cordoned": {arrange: func(b *bench) {
			b.world.ChangeCluster("m1", func(x *karmada.Cluster) {
				x.Taints = append(x.Taints, corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
				x.Added = append(x.Added, karmada.AddedTaint{Key: "full", Effect: corev1.TaintEffectNoSchedule, Rule: "full"})
			})
		}, want: activities.Recall{Why: reason.FirstStart}},
		"no previous run, yet a record of a stop": {
			arrange: func(b *bench) { b.world.RecordStop("m1", karmada.StoppedBy{Who: "jane"}) }, want: activities.Recall{Lost: true, Why: reason.StateLost},
		},
		"no previous run, yet a hold of Lifeboat's": {
			arrange: func(b *bench) {
				b.world.Change(appKey("app"), func(x *karmada.Binding) {
					x.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReason}}
				})
			}, want: activities.Recall{Lost: true, Why: reason.StateLost},
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
