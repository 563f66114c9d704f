package queue_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/stretchr/testify/require"
)

func above[T any](n T) *T { return &n }

// Rules: R4.6-21.
func TestApprovalRulesAskForWhatTheySayAndNothingElse(t *testing.T) {
	plain := fixtures.Duplicated("m1")
	labelled := fixtures.Duplicated("m1")
	labelled.WorkloadLabels = map[string]string{"tier": "stateful"}
	unread := fixtures.Duplicated("m1")
	plain.WorkloadLabels = map[string]string{}
	cluster := fixtures.Duplicated("m1")
	cluster.Key = karmada.BindingKey{Name: "reader"}
	wide := &placement.Extent{Failing: []string{"m1", "m2", "m3"}, Moving: 60, All: 100, Short: "cpu"}
	narrow := &placement.Extent{Failing: []string{"m1"}, Moving: 10, All: 100}
	half := &placement.Extent{Failing: []string{"m1", "m2"}, Moving: 50, All: 100}
	for name, c := range map[string]struct {
		rules queue.ApprovalRules
		in    queue.AskInput
		want  []queue.ApprovalRule
		words string
	}{
		"nothing configured": {in: queue.AskInput{Binding: labelled, Purge: karmada.PurgeDirectly, Extent: wide}},
		"more clusters":      {queue.ApprovalRules{ClustersAbove: above(2)}, queue.AskInput{Binding: plain, Extent: wide}, []queue.ApprovalRule{queue.AskClusters}, "3 clusters failing at once (m1, m2, m3), more than 2"},
		"as many clusters":   {queue.ApprovalRules{ClustersAbove: above(2)}, queue.AskInput{Binding: plain, Extent: half}, nil, ""},
		"any cluster at all": {queue.ApprovalRules{ClustersAbove: above(0)}, queue.AskInput{Binding: plain, Extent: narrow}, []queue.ApprovalRule{queue.AskClusters}, "1 cluster failing"},
		"nobody measured it": {queue.ApprovalRules{ClustersAbove: above(2), ReplicasAbove: above(99.0), CapacityDeficit: true}, queue.AskInput{Binding: plain}, []queue.ApprovalRule{queue.AskClusters, queue.AskReplicas, queue.AskCapacity}, "is not known"},
		"more replicas":      {queue.ApprovalRules{ReplicasAbove: above(50.0)}, queue.AskInput{Binding: plain, Extent: wide}, []queue.ApprovalRule{queue.AskReplicas}, "60 % of the fleet's replicas would move (60 of 100), more than 50 %"},
		"as many replicas":   {queue.ApprovalRules{ReplicasAbove: above(50.0)}, queue.AskInput{Binding: plain, Extent: half}, nil, ""},
		"a fleet without replicas": {
			queue.ApprovalRules{ReplicasAbove: above(0.0)}, queue.AskInput{Binding: plain, Extent: &placement.Extent{}}, nil, "",
		},
		"more replicas before, in this attempt": {
			queue.ApprovalRules{ReplicasAbove: above(50.0)},
			queue.AskInput{Binding: plain, Extent: narrow, Standing: []queue.ApprovalRule{queue.AskReplicas}},
			[]queue.ApprovalRule{queue.AskReplicas},
			"were to move in this attempt",
		},
		"a rule that is not configured any more": {
			queue.ApprovalRules{Directly: true}, queue.AskInput{Binding: plain, Standing: []queue.ApprovalRule{queue.AskReplicas}}, nil, "",
		},
		"too little room":           {queue.ApprovalRules{CapacityDeficit: true}, queue.AskInput{Binding: plain, Extent: wide}, []queue.ApprovalRule{queue.AskCapacity}, "not enough cpu"},
		"room enough":               {queue.ApprovalRules{CapacityDeficit: true}, queue.AskInput{Binding: plain, Extent: narrow}, nil, ""},
		"Directly":                  {queue.ApprovalRules{Directly: true}, queue.AskInput{Binding: plain, Purge: karmada.PurgeDirectly}, []queue.ApprovalRule{queue.AskDirectly}, "Directly"},
		"Gracefully":                {queue.ApprovalRules{Directly: true}, queue.AskInput{Binding: plain, Purge: karmada.PurgeGracefully}, nil, ""},
		"its namespace":             {queue.ApprovalRules{Namespaces: []string{"bank", "shop"}}, queue.AskInput{Binding: plain}, []queue.ApprovalRule{queue.AskNamespace}, "its namespace asks"},
		"another namespace":         {queue.ApprovalRules{Namespaces: []string{"bank"}}, queue.AskInput{Binding: plain}, nil, ""},
		"without a namespace":       {queue.ApprovalRules{Namespaces: []string{"bank"}}, queue.AskInput{Binding: cluster}, nil, ""},
		"its labels":                {queue.ApprovalRules{Selector: "tier=stateful"}, queue.AskInput{Binding: labelled}, []queue.ApprovalRule{queue.AskSelector}, "tier=stateful"},
		"other labels":              {queue.ApprovalRules{Selector: "tier=stateful"}, queue.AskInput{Binding: plain}, nil, ""},
		"labels that are not known": {queue.ApprovalRules{Selector: "tier=stateful"}, queue.AskInput{Binding: unread}, []queue.ApprovalRule{queue.AskSelector}, "not known"},
		"an unreadable selector":    {queue.ApprovalRules{Selector: "tier in"}, queue.AskInput{Binding: plain}, []queue.ApprovalRule{queue.AskSelector}, "tier in"},
		"several at once": {
			queue.ApprovalRules{ClustersAbove: above(1), Directly: true, Selector: "tier"},
			queue.AskInput{Binding: labelled, Purge: karmada.PurgeDirectly, Extent: wide},
			[]queue.ApprovalRule{queue.AskClusters, queue.AskDirectly, queue.AskSelector},
			"; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.rules.Judge(c.in)
			require.Equal(t, c.want, got.Rules)
			require.Contains(t, got.Message, c.words)
			require.Equal(t, c.want == nil, got.Automatic())
		})
	}
}

// Rules: R4.6-22.
func TestAnApprovalHoldsForOneAttempt(t *testing.T) {
	yes := &queue.Approval{Who: "jane", Attempt: 2}
	require.True(t, yes.Holds(2))
	require.False(t, yes.Holds(1))
	require.False(t, yes.Holds(3))
	require.False(t, (*queue.Approval)(nil).Holds(0), "no word is no yes")
	require.False(t, (&queue.Approval{}).Holds(0), "nor is one of nobody")
}
