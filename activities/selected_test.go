package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// Rules: R4.12-5.
func TestListTargeting_WithSelector_FreezesWhomTheDrainLeavesOut(t *testing.T) {
	b := newBench(t)
	b.world.Change(appKey("app"), func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"app": "one"} })
	b.bind("other", func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"app": "two"} })
	b.bind("unknown", func(x *karmada.Binding) { x.Labels = map[string]string{"app": "one"} })
	b.world.DropWork("karmada-es-m1", "shop-unknown")
	drain := jane()
	drain.Selector = "app=one"
	page := must[activities.TargetingPage](b, activities.NameListTargeting, activities.ListRequest{Cluster: "m1", Mode: rules.ModeEnforce, Drain: drain})
	left := map[string]bool{}
	for _, i := range page.Items {
		left[i.Key.Name] = page.Policies[i.Policy].NotDrained
	}
	require.Equal(t, map[string]bool{"app": false, "other": true, "unknown": true}, left)
}

// A workload without a Work on the cluster has no known labels: an operator is asked.
//
// Rules: R4.6-33.
func TestPreCheck_ApprovalSelector_AsksWhereLabelsAreNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*bench)
		end     activities.CheckEnd
	}{
		"other labels": {arrange: func(*bench) {}, end: activities.CheckPass},
		"labels of the workload that match": {arrange: func(b *bench) {
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.WorkloadLabels = map[string]string{"tier": "gold"} })
		}, end: activities.CheckBlocked},
		"no Work": {arrange: func(b *bench) { b.world.DropWork("karmada-es-m1", "shop-app") }, end: activities.CheckBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Settings.Approval = queue.ApprovalRules{Selector: "tier=gold"}
			b.fail()
			c.arrange(b)
			check := b.preCheck(func(*activities.PreCheckRequest) {})
			require.Equal(t, c.end, check.End, check.Message)
		})
	}
}
