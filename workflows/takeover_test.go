package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// takenOver is a story in which a terminated failover has left the taint of a rule on m1, which is
// not Ready, and a hold of app that fits nowhere else.
func takenOver(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s := newStory(t)
	key := s.bind("app", nil, "m1")
	s.held(key)
	s.world.SetReady("m1", false)
	s.leave("not-ready", corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoExecute})
	return s, key
}

// leave puts a taint of a rule on m1, as a failover that was terminated.
func (s *story) leave(rule string, taint corev1.Taint) {
	at := metav1.NewTime(storyBegins.Add(-time.Minute))
	taint.TimeAdded = &at
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Taints = append(c.Taints, taint)
		c.Added = append(c.Added, karmada.AddedTaint{Key: taint.Key, Effect: taint.Effect, Rule: rule, FailoverID: "terminated"})
	})
}

// refused makes the rule of the story one that decides nothing; mended ends that.
func (s *story) refused() {
	s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "spec.taints: not a list" })
}

func (s *story) mended() {
	s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.Malformed = "" })
}

// The failover that takes over a taint knows no window of it. A rule that decides nothing is no evidence of a
// recovery: the taint stays, and nothing is restored, until the rule has mismatched for its window. Nor is it
// evidence of a failure: nothing is evicted, unless the conditions match and only the external probe does not agree.
//
// Rules: R4.1-21, R4.1-24, R4.1-51, R4.9-46, R4.9-53.
func TestTakeover_TaintStaysWhileItsRuleDecidesNothing(t *testing.T) {
	ready := func(status corev1.ConditionStatus, why string) func(*story) {
		return func(s *story) {
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Status, c.Conditions[0].Reason = status, why })
		}
	}
	required := func(r *rules.Rule) { r.RequireExternalProbe = true }
	for name, c := range map[string]struct {
		begins func(*story)
		late   phase.Outcome
	}{
		"the rule is refused":                  {begins: (*story).refused, late: phase.OutcomeAbandoned},
		"the status is Unknown":                {begins: ready(corev1.ConditionUnknown, ""), late: phase.OutcomeAbandoned},
		"Karmada could not collect the status": {begins: ready(corev1.ConditionFalse, "StatusCollectionFailed"), late: phase.OutcomeAbandoned},
		"there is no result of the probe":      {begins: func(s *story) { s.world.ChangeRule("not-ready", required) }, late: phase.OutcomeMigrated},
		"the member answers the probe":         {begins: func(s *story) { s.probes(time.Second, time.Hour, 20*time.Minute) }, late: phase.OutcomeMigrated},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := takenOver(t)
			s.bind("late", []string{"m1"}, "m1", "m2")
			s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateResume) })
			c.begins(s)
			s.at(20*time.Minute, func() {
				require.Len(t, s.hard(), 1)
				require.NotNil(t, s.task(key), "nothing says that it may go back")
				s.mended()
				s.world.SetReady("m1", true)
			})
			s.at(20*time.Minute+wellFor-time.Second, func() { require.Len(t, s.hard(), 1, "its window runs") })
			s.at(20*time.Minute+wellFor+30*time.Second, func() { require.Empty(t, s.hard()) })
			r := s.play()
			require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 20*time.Minute+wellFor)
			require.Equal(t, map[string]phase.Outcome{"app": phase.OutcomeRestored, "late": c.late}, outcomes(r))
			require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
		})
	}
}

// A taint that only cordons stays likewise.
//
// Rules: R4.1-24, R4.1-45.
func TestTakeover_CordonStaysWhileItsRuleDecidesNothing(t *testing.T) {
	s := newStory(t)
	s.leave("not-ready", corev1.Taint{Key: cordonKey, Effect: corev1.TaintEffectNoSchedule})
	s.refused()
	s.at(20*time.Minute, func() {
		require.True(t, s.cordoned())
		s.world.ClearRules()
	})
	r := s.playTo(phase.FailoverUncordoned)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 20*time.Minute+rules.DefaultRemoveOnMismatch)
}

// The taint of a rule that was deleted, or aims elsewhere, goes as after a mismatch. How long the rule
// would have waited is not known: the default counts.
//
// Rules: R4.1-23, R4.9-46.
func TestTakeover_TaintOfARuleThatIsGoneIsRemoved(t *testing.T) {
	for name, goes := range map[string]func(*story){
		"deleted": func(s *story) { s.world.ClearRules() },
		"aims elsewhere": func(s *story) {
			s.world.ChangeRule("not-ready", func(r *rules.Rule) { r.TargetClusters = &karmada.ClusterAffinity{ClusterNames: []string{"m6"}} })
		},
		"the cluster is opted out": func(s *story) {
			s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := takenOver(t)
			goes(s)
			r := s.play()
			require.GreaterOrEqual(t, r.Until.Sub(storyBegins), rules.DefaultRemoveOnMismatch)
			require.Less(t, r.Until.Sub(storyBegins), rules.DefaultRemoveOnMismatch+time.Minute)
			require.Equal(t, "m1", s.world.Peek(key).Clusters[0].Name)
		})
	}
}

// What an operator orders needs no decision of a rule.
//
// Rules: R4.1-43, R4.9-37, R4.9-41.
func TestTakeover_OrdersCountWhileARuleDecidesNothing(t *testing.T) {
	s, _ := takenOver(t)
	s.refused()
	s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
		c.Ordered = []karmada.OrderedTaint{{Key: "disks", Effect: corev1.TaintEffectNoExecute, Who: "jane", Why: "disks"}}
	})
	s.leave(karmada.TaintRule, corev1.Taint{Key: "disks", Effect: corev1.TaintEffectNoExecute})
	s.at(10*time.Minute, func() { s.accept(s.taints(workflows.UpdateUntaint, "disks:NoExecute")) })
	s.at(11*time.Minute, func() {
		require.Len(t, s.hard(), 1)
		require.Equal(t, taintKey, s.hard()[0].Key)
		s.order(workflows.UpdateCancel, "a drill")
	})
	s.at(12*time.Minute, func() { require.Empty(t, s.hard()) })
	s.at(20*time.Minute, func() {
		s.mended()
		s.world.SetReady("m1", true)
	})
	r := s.playTo(phase.FailoverCancelled)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 20*time.Minute)
}
