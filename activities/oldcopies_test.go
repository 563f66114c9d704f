package activities_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// Rules: R4.7-35, R4.8-17, R4.9-61.
func TestEndOldCopies_TouchesOnlyWhatAReleaseHadDeleted(t *testing.T) {
	standing := func(b *bench) {
		b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "old", Cluster: "m1", UID: "w1"})
	}
	gone := func(b *bench) { b.world.DropWork("karmada-es-m1", "old") }
	deleting := func(b *bench) { b.world.ChangeCluster("m1", fixtures.DeletingCluster) }
	for name, c := range map[string]struct {
		world        func(*bench)
		ask          func(*bench, *activities.EndRequest)
		asked, ended int
	}{
		"the cluster is back":           {asked: 1},
		"the cluster is away":           {world: notReady("m1")},
		"the failover observes":         {ask: func(_ *bench, r *activities.EndRequest) { r.Mode = rules.ModeObserve }},
		"the Work is not being deleted": {world: standing},
		"the Work is wanted again":      {world: func(b *bench) { b.does(standing).moveApp("m1") }, ended: 1},
		"the Work is wanted for a parent that runs there": {world: func(b *bench) {
			b.does(standing).world.Change(appKey("app"), func(x *karmada.Binding) {
				x.RequiredBy = []karmada.RequiredBy{{Name: "parent", Clusters: []string{"m1"}}}
			})
		}, ended: 1},
		"another Work has its name":                      {ask: func(_ *bench, r *activities.EndRequest) { r.PendingPurges[0].UID = "w0" }, ended: 1},
		"the Work is gone":                               {world: gone, ended: 1},
		"the cluster is being deleted":                   {world: deleting, asked: 1},
		"the cluster is being deleted, its Works first":  {world: func(b *bench) { b.does(gone, deleting) }},
		"the cluster was deleted, and its Works with it": {world: func(b *bench) { b.world.DeleteCluster("m1") }},
		"another cluster has its name":                   {world: gone, ask: func(_ *bench, r *activities.EndRequest) { r.ClusterUID = "older" }},
		"its binding was deleted":                        {ask: func(_ *bench, r *activities.EndRequest) { r.PendingPurges[0].Key = appKey("nobody") }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.moveApp("m2")
			b.world.PutWork(karmada.Work{Namespace: "karmada-es-m1", Name: "old", Cluster: "m1", UID: "w1", Deleting: true})
			b.does(c.world)
			out := b.endOldCopies(asked(b, activities.EndRequest{Cluster: "m1", Mode: rules.ModeEnforce, PendingPurges: []record.PendingPurge{
				{Key: appKey("app"), Namespace: "karmada-es-m1", Work: "old", UID: "w1"},
			}}, c.ask))
			require.Equal(t, c.asked, out.Asked)
			require.Len(t, b.world.Log("end"), c.asked)
			require.Len(t, out.Ended, c.ended)
		})
	}
}

// Karmada drops the Works of a cluster that is deleted while it does not answer, and deletes nothing on the member.
//
// Rules: R4.9-61.
func TestObserveWork_GoneWithItsCluster_IsNoProof(t *testing.T) {
	deleting := func(b *bench) { b.world.ChangeCluster("m1", fixtures.DeletingCluster) }
	for name, c := range map[string]struct {
		world func(*bench)
		away  bool
	}{
		"the cluster answers":               {},
		"it does not":                       {world: notReady("m1")},
		"it is being deleted, and answers":  {world: deleting},
		"it is being deleted, and does not": {world: func(b *bench) { b.does(deleting, notReady("m1")) }, away: true},
		"it was deleted":                    {world: func(b *bench) { b.world.DeleteCluster("m1") }, away: true},
		"another cluster has its name": {world: func(b *bench) {
			b.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.UID = "another" })
		}, away: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.does(c.world)
			gone := karmada.Work{Namespace: "karmada-es-m1", Name: "old", UID: "w1"}
			state := b.work(activities.WorkRequest{Cluster: "m1", ClusterUID: "uid-m1", Key: appKey("app"), Work: gone})
			require.Equal(t, activities.WorkState{Gone: true, Away: c.away}, state)
		})
	}
}

func (b *bench) endOldCopies(r activities.EndRequest) activities.EndResult {
	return must[activities.EndResult](b, activities.NameEndOldCopies, r)
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
	out := b.endOldCopies(r)
	require.Equal(t, reason.Forbidden, out.Reason)
	require.Len(t, out.Ended, 1, "what is gone is seen all the same")
	b.world.Fail = nil
	began := b.now
	b.world.OnWait = func(d time.Duration) { b.now = b.now.Add(d) }
	out = b.endOldCopies(r)
	require.Equal(t, 4, out.Asked)
	require.Equal(t, reason.None, out.Reason)
	require.Equal(t, activities.EndShares*3*time.Second/20, b.now.Sub(began), "all shares together: 20 per second")
}
