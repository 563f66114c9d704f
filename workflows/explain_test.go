package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// explain asks m1's failover about one binding.
func (s *story) explain(key karmada.BindingKey) workflows.Explanation {
	s.t.Helper()
	value, err := s.env.QueryWorkflowByID(workflows.ClusterFailoverID("", "m1"), workflows.QueryExplain, workflows.ExplainRequest{Binding: key})
	require.NoError(s.t, err)
	var x workflows.Explanation
	require.NoError(s.t, value.Get(&x))
	return x
}

func TestEachBindingsReasonsAreToldFromTheRuleToWhatItWaitsFor(t *testing.T) {
	s := newStory(t)
	moved := s.bind("moved", []string{"m1"}, "m1", "m2")
	patient, later := s.bind("patient", []string{"m1"}, "m1", "m2"), s.bind("later", []string{"m1"}, "m1", "m2")
	stuck := s.bind("stuck", []string{"m1"}, "m1")
	s.tolerates(patient, 600)
	s.tolerates(later, 900)
	s.world.SetReady("m1", false)
	s.at(30*time.Second, func() {
		x := s.explain(moved)
		require.False(t, x.Known(), "nothing is listed before the failure is confirmed")
		require.Equal(t, phase.FailoverSuspected, x.Phase)
		require.Equal(t, "not-ready", x.Rules[0].Rule)
		require.True(t, x.Rules[0].Deadline.Equal(storyBegins.Add(addAfter)))
	})
	s.at(2*time.Minute, func() {
		x := s.explain(patient)
		require.Equal(t, queue.Tolerating, x.Item.State)
		require.Len(t, x.Taints, 1)
		require.Equal(t, int64(600), *x.Taints[0].Toleration.TolerationSeconds)
		require.True(t, x.DueAt.Equal(x.Taints[0].Until), "nothing stood still")
		require.Equal(t, reason.TolerationExpired, x.Why.Reason)
		require.Zero(t, x.Ahead)
		require.Equal(t, 1, s.explain(later).Ahead)
		x = s.explain(stuck)
		require.Equal(t, reason.Pinned, x.Item.Reason)
		require.Equal(t, reason.TaintUntolerated, x.Taints[0].Reason)
		require.Nil(t, x.Taints[0].Toleration)
		x = s.explain(moved)
		require.Equal(t, phase.OutcomeMigrated, x.Results[0].Outcome)
		require.Nil(t, x.Item)
		require.False(t, s.explain(karmada.BindingKey{Namespace: "shop", Name: "none"}).Known())
		s.world.SetReady("m1", true)
	})
	s.play()
}
