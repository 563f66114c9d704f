package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func above[T any](n T) *T { return &n }

// Rules: R4.6-21.
func TestApprovalRulesAskForWhatTheySayAndNothingElse(t *testing.T) {
	plain := duplicated("m1")
	labelled := duplicated("m1")
	labelled.WorkloadLabels = map[string]string{"tier": "stateful"}
	unread := duplicated("m1")
	plain.WorkloadLabels = map[string]string{}
	cluster := duplicated("m1")
	cluster.Key = failover.BindingKey{Name: "reader"}
	wide := &failover.Extent{Failing: []string{"m1", "m2", "m3"}, Moving: 60, All: 100, Short: "cpu"}
	narrow := &failover.Extent{Failing: []string{"m1"}, Moving: 10, All: 100}
	half := &failover.Extent{Failing: []string{"m1", "m2"}, Moving: 50, All: 100}
	for name, c := range map[string]struct {
		rules failover.ApprovalRules
		in    failover.AskInput
		want  []failover.ApprovalRule
		words string
	}{
		"nothing configured": {in: failover.AskInput{Binding: labelled, Purge: failover.PurgeDirectly, Extent: wide}},
		"more clusters":      {failover.ApprovalRules{ClustersAbove: above(2)}, failover.AskInput{Binding: plain, Extent: wide}, []failover.ApprovalRule{failover.AskClusters}, "3 clusters failing at once (m1, m2, m3), more than 2"},
		"as many clusters":   {failover.ApprovalRules{ClustersAbove: above(2)}, failover.AskInput{Binding: plain, Extent: half}, nil, ""},
		"any cluster at all": {failover.ApprovalRules{ClustersAbove: above(0)}, failover.AskInput{Binding: plain, Extent: narrow}, []failover.ApprovalRule{failover.AskClusters}, "1 cluster failing"},
		"nobody measured it": {failover.ApprovalRules{ClustersAbove: above(2), ReplicasAbove: above(99.0), CapacityDeficit: true}, failover.AskInput{Binding: plain}, []failover.ApprovalRule{failover.AskClusters, failover.AskReplicas, failover.AskCapacity}, "is not known"},
		"more replicas":      {failover.ApprovalRules{ReplicasAbove: above(50.0)}, failover.AskInput{Binding: plain, Extent: wide}, []failover.ApprovalRule{failover.AskReplicas}, "60 % of the fleet's replicas would move (60 of 100), more than 50 %"},
		"as many replicas":   {failover.ApprovalRules{ReplicasAbove: above(50.0)}, failover.AskInput{Binding: plain, Extent: half}, nil, ""},
		"a fleet without replicas": {
			failover.ApprovalRules{ReplicasAbove: above(0.0)}, failover.AskInput{Binding: plain, Extent: &failover.Extent{}}, nil, "",
		},
		"more replicas before, in this round": {
			failover.ApprovalRules{ReplicasAbove: above(50.0)},
			failover.AskInput{Binding: plain, Extent: narrow, Standing: []failover.ApprovalRule{failover.AskReplicas}},
			[]failover.ApprovalRule{failover.AskReplicas},
			"were to move in this round",
		},
		"a rule that is not configured any more": {
			failover.ApprovalRules{Directly: true}, failover.AskInput{Binding: plain, Standing: []failover.ApprovalRule{failover.AskReplicas}}, nil, "",
		},
		"too little room":           {failover.ApprovalRules{CapacityDeficit: true}, failover.AskInput{Binding: plain, Extent: wide}, []failover.ApprovalRule{failover.AskCapacity}, "not enough cpu"},
		"room enough":               {failover.ApprovalRules{CapacityDeficit: true}, failover.AskInput{Binding: plain, Extent: narrow}, nil, ""},
		"Directly":                  {failover.ApprovalRules{Directly: true}, failover.AskInput{Binding: plain, Purge: failover.PurgeDirectly}, []failover.ApprovalRule{failover.AskDirectly}, "Directly"},
		"Gracefully":                {failover.ApprovalRules{Directly: true}, failover.AskInput{Binding: plain, Purge: failover.PurgeGracefully}, nil, ""},
		"its namespace":             {failover.ApprovalRules{Namespaces: []string{"bank", "shop"}}, failover.AskInput{Binding: plain}, []failover.ApprovalRule{failover.AskNamespace}, "its namespace asks"},
		"another namespace":         {failover.ApprovalRules{Namespaces: []string{"bank"}}, failover.AskInput{Binding: plain}, nil, ""},
		"without a namespace":       {failover.ApprovalRules{Namespaces: []string{"bank"}}, failover.AskInput{Binding: cluster}, nil, ""},
		"its labels":                {failover.ApprovalRules{Selector: "tier=stateful"}, failover.AskInput{Binding: labelled}, []failover.ApprovalRule{failover.AskSelector}, "tier=stateful"},
		"other labels":              {failover.ApprovalRules{Selector: "tier=stateful"}, failover.AskInput{Binding: plain}, nil, ""},
		"labels that are not known": {failover.ApprovalRules{Selector: "tier=stateful"}, failover.AskInput{Binding: unread}, []failover.ApprovalRule{failover.AskSelector}, "not known"},
		"an unreadable selector":    {failover.ApprovalRules{Selector: "tier in"}, failover.AskInput{Binding: plain}, []failover.ApprovalRule{failover.AskSelector}, "tier in"},
		"several at once": {
			failover.ApprovalRules{ClustersAbove: above(1), Directly: true, Selector: "tier"},
			failover.AskInput{Binding: labelled, Purge: failover.PurgeDirectly, Extent: wide},
			[]failover.ApprovalRule{failover.AskClusters, failover.AskDirectly, failover.AskSelector},
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
func TestAnApprovalHoldsForOneRound(t *testing.T) {
	yes := &failover.Approval{Who: "jane", Round: 2}
	require.True(t, yes.Holds(2))
	require.False(t, yes.Holds(1))
	require.False(t, yes.Holds(3))
	require.False(t, (*failover.Approval)(nil).Holds(0), "no word is no yes")
	require.False(t, (&failover.Approval{}).Holds(0), "nor is one of nobody")
}

// Rules: R4.6-21.
func TestHowFarAFailureGoesIsReadOffTheFleet(t *testing.T) {
	request := quantities("cpu", "1")
	on := func(cluster string, replicas int32, edit ...func(*failover.Binding)) *failover.Binding {
		b := duplicated(cluster)
		b.Replicas, b.Clusters[0].Replicas, b.Request = replicas, replicas, request
		for _, e := range edit {
			e(b)
		}
		return b
	}
	left := func(from, reason string) func(*failover.Binding) {
		return func(b *failover.Binding) {
			n := b.Replicas
			b.Tasks = []failover.Task{{FromCluster: from, Producer: failover.Producer, Reason: reason, Replicas: &n}}
		}
	}
	tally, room := failover.NewTally(), failover.NewHeadroom()
	for _, b := range []*failover.Binding{
		on("m1", 10),
		on("m2", 20),
		on("m3", 5, left("m1", failover.TaskReason)),            // on its way: it left in this failure
		on("m3", 7, left("m1", failover.TaskReasonLeftToHuman)), // a story of long ago
		on("m3", 8),
		on("m1", 100, func(b *failover.Binding) { b.Malformed = "x" }),
		on("m1", 100, func(b *failover.Binding) { b.Deleting = true }),
	} {
		tally.Add(b)
		room.Add(b)
	}
	fleet := func(free string) []failover.Cluster {
		has := func(c *failover.Cluster) {
			c.Capacity = &failover.Capacity{Allocatable: quantities("cpu", free, "pods", 1000), Allocated: quantities("cpu", 0, "pods", 0)}
		}
		return []failover.Cluster{
			cluster("m1", notReady), cluster("m2"), cluster("m3", has),
			cluster("m4", has, notReady), cluster("m5", has, tainted(corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoExecute})), cluster("m6", has, deletingCluster),
		}
	}
	of := func(free string, failing ...string) failover.Extent {
		return failover.ExtentOf(failover.ExtentInput{
			Leaving: "m1", Failing: failing, Fleet: fleet(free), Tally: tally, Reserved: room.For(failover.BindingKey{}, fleet(free)),
		})
	}
	one := of("1000", "m1")
	require.EqualValues(t, 15, one.Moving)
	require.EqualValues(t, 50, one.All)
	require.Empty(t, one.Short)
	two := of("1000", "m1", "m2")
	require.EqualValues(t, 35, two.Moving)
	require.Equal(t, []string{"m1", "m2"}, two.Failing)
	drained := of("1000")
	require.EqualValues(t, 15, drained.Moving, "what leaves a drained cluster moves, too")
	require.Empty(t, drained.Failing)
	require.Equal(t, corev1.ResourceCPU, of("9", "m1", "m2").Short, "only m3 counts, and has not enough")
	require.Empty(t, failover.ExtentOf(failover.ExtentInput{Leaving: "m1", Failing: []string{"m1"}}).Moving, "nobody counted")
}
