package activities_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// Rules: R4.8-17, R4.9-61.
func TestEndOldCopies_TouchesOnlyWhatAReleaseHadDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		arrange      func(*bench, *activities.EndRequest)
		asked, ended int
	}{
		"the cluster is back":   {arrange: func(*bench, *activities.EndRequest) {}, asked: 1, ended: 0},
		"the cluster is away":   {arrange: func(b *bench, _ *activities.EndRequest) { b.world.SetReady("m1", false) }, asked: 0, ended: 0},
		"the failover observes": {arrange: func(_ *bench, r *activities.EndRequest) { r.Mode = rules.ModeObserve }, asked: 0, ended: 0},
		"the Work is not being deleted": {arrange: func(b *bench, _ *activities.EndRequest) {
			b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "old", Cluster: "m1", UID: "w1"})
		}, asked: 0, ended: 0},
		"the Work is wanted again": {arrange: func(b *bench, _ *activities.EndRequest) {
			b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "old", Cluster: "m1", UID: "w1"})
			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Clusters = []karmada.TargetCluster{{Name: "m1", Replicas: 2}} })
		}, asked: 0, ended: 1},
		"another Work has its name":                      {arrange: func(_ *bench, r *activities.EndRequest) { r.PendingPurges[0].UID = "w0" }, asked: 0, ended: 1},
		"the Work is gone":                               {arrange: func(b *bench, _ *activities.EndRequest) { b.world.DropWork("karmada-es-m1", "old") }, asked: 0, ended: 1},
		"the cluster was deleted, and its Works with it": {arrange: func(b *bench, _ *activities.EndRequest) { b.world.DeleteCluster("m1") }, asked: 0, ended: 0},
		"another cluster has its name": {arrange: func(b *bench, r *activities.EndRequest) {
			b.world.DropWork("karmada-es-m1", "old")
			r.ClusterUID = "older"
		}, asked: 0, ended: 0},
		"its binding was deleted": {arrange: func(_ *bench, r *activities.EndRequest) { r.PendingPurges[0].Key = appKey("nobody") }, asked: 0, ended: 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.moveApp("m2")
			b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "old", Cluster: "m1", UID: "w1", Deleting: true})
			r := activities.EndRequest{Cluster: "m1", Mode: rules.ModeEnforce, PendingPurges: []record.PendingPurge{
				{Key: appKey("app"), Namespace: "karmada-es-m1", Work: "old", UID: "w1"},
			}}
			c.arrange(b, &r)
			out := must[activities.EndResult](b, activities.NameEndOldCopies, r)
			require.Equal(t, c.asked, out.Asked)
			require.Len(t, b.world.Log("end"), c.asked)
			require.Len(t, out.Ended, c.ended)
		})
	}
}

// Rules: R4.8-17.
func TestEndOldCopies_KeepsToItsRateAndReadsOnWhereItMayNotWrite(t *testing.T) {
	b := newBench(t)
	b.moveApp("m2")
	r := activities.EndRequest{Cluster: "m1", Mode: rules.ModeEnforce}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: name, Cluster: "m1", UID: "w", Deleting: true})
		r.PendingPurges = append(r.PendingPurges, record.PendingPurge{Key: appKey("app"), Namespace: "karmada-es-m1", Work: name, UID: "w"})
	}
	b.world.DropWork("karmada-es-m1", "e")
	b.world.Fail = func(op, _ string) error {
		if op == "end" {
			return karmada.ErrForbidden
		}
		return nil
	}
	out := must[activities.EndResult](b, activities.NameEndOldCopies, r)
	require.Equal(t, reason.Forbidden, out.Reason)
	require.Len(t, out.Ended, 1, "what is gone is seen all the same")
	b.world.Fail = nil
	began := b.now
	b.world.OnWait = func(d time.Duration) { b.now = b.now.Add(d) }
	out = must[activities.EndResult](b, activities.NameEndOldCopies, r)
	require.Equal(t, 4, out.Asked)
	require.Equal(t, reason.None, out.Reason)
	require.Equal(t, activities.EndShares*3*time.Second/20, b.now.Sub(began), "all shares together: 20 per second")
}
