package activities_test

import (
	"slices"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// as makes app a resource of another kind, without replicas.
func (b *bench) as(apiVersion, kind, name string) {
	b.world.Change(appKey("app"), func(x *karmada.Binding) {
		x.Resource = karmada.Resource{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: name}
	})
	for _, cluster := range []string{"m2", "m3"} {
		b.world.ChangeCluster(cluster, func(c *karmada.Cluster) {
			c.APIEnablements = append(slices.Clone(c.APIEnablements), apiVersion+"/"+kind)
		})
	}
}

// Rules: R4.6-45, R4.6-46.
func TestPreCheckAndEvict_KindThatStays_WriteNothing(t *testing.T) {
	b := failing(t)
	b.as("v1", "PersistentVolumeClaim", "data")
	check := b.preCheck(func(*activities.PreCheckRequest) {})
	require.Equal(t, activities.CheckOptedOut, check.End)
	require.Equal(t, reason.KindStays, check.Reason)
	evictRow{end: activities.EvictOptedOut, reason: reason.KindStays}.run(t, b, b.evictRequest())
	require.True(t, b.listed().Items[0].Stays)

	b.acts.Settings.Kinds = rules.KindRules{"PersistentVolumeClaim": rules.KindMove}
	require.Equal(t, activities.CheckPass, b.preCheck(func(*activities.PreCheckRequest) {}).End)
	require.Equal(t, activities.EvictWritten, b.evict().End)
}

// Rules: R4.6-45, R4.6-47.
func TestPreCheckAndEvict_JobThatRuns_AwaitsApproval(t *testing.T) {
	b := failing(t)
	b.as("batch/v1", "Job", "migrate")
	check := b.preCheck(func(*activities.PreCheckRequest) {})
	require.Equal(t, reason.AwaitingApproval, check.Reason)
	require.Equal(t, []queue.ApprovalRule{queue.AskKind}, check.Asked)
	evictRow{reason: reason.AwaitingApproval}.run(t, b, b.evictRequest())

	r := b.approvedRequest(yes)
	b.world.Collect(appKey("app"), "m1", `{"succeeded":1,"completionTime":"2026-03-01T03:00:00Z"}`)
	out := b.evicts(r)
	require.Equal(t, reason.KindStays, out.Reason, "it has finished meanwhile: an approval replaces no other check")
	b.world.Collect(appKey("app"), "m1", `{"active":1}`)
	require.Equal(t, activities.EvictWritten, b.evicts(r).End)
}

// crd makes app a CustomResourceDefinition that is configured to move, and puts an object
// of its kind on the clusters.
func (b *bench) crd(cluster string) {
	b.acts.Settings.Kinds = rules.KindRules{"CustomResourceDefinition.apiextensions.k8s.io": rules.KindMove}
	b.as("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crontabs.x.io")
	b.bind("tab", func(x *karmada.Binding) {
		x.Resource = karmada.Resource{APIVersion: "x.io/v1", Kind: "CronTab", Namespace: "shop", Name: "tab"}
		x.Clusters = on(cluster)
	})
}

// Rules: R4.6-48.
func TestRelease_CRDInUse_IsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		on      string // the cluster of the object
		held    bool   // on m1
		ordered bool
		reason  reason.Reason
	}{
		"an object stands":                    {on: "m1", reason: reason.KindInUse},
		"an object stands, and it is ordered": {on: "m1", ordered: true, reason: reason.KindInUse},
		"an object is held":                   {on: "m2", held: true, reason: reason.KindInUse},
		"objects are elsewhere":               {on: "m2", reason: reason.Written},
	} {
		t.Run(name, func(t *testing.T) {
			b, ref := moved(t)
			b.crd(c.on)
			if c.held {
				b.held(appKey("tab"), karmada.TaskReasonKept, "")
			}
			r := healthy(ref)
			r.Ordered = c.ordered
			out := b.release(r)
			require.Equal(t, c.reason, out.Reason, "%+v", out)
		})
	}
}

// Rules: R4.6-48.
func TestPreCheck_CRDInUse_DirectlyIsBlocked(t *testing.T) {
	b := newBench(t)
	b.purge = karmada.PurgeDirectly
	b.crd("m1")
	require.Equal(t, reason.KindInUse, b.preCheck(func(*activities.PreCheckRequest) {}).Reason)
	b.purge = karmada.PurgeGracefully
	require.Equal(t, activities.CheckPass, b.preCheck(func(*activities.PreCheckRequest) {}).End, "the hold keeps the CRD")
}

// Rules: R4.10-10.
func TestDropDependents_KindThatStays_IsKept(t *testing.T) {
	b := failing(t)
	b.withConfig()
	b.holdDependents(b.dependents())
	b.world.Change(configKey, func(x *karmada.Binding) { x.Resource.APIVersion, x.Resource.Kind = "v1", "PersistentVolumeClaim" })
	b.moveApp("m2")
	b.dropDependents(b.dependents(func(r *activities.DependentsRequest) {
		r.Held = []karmada.BindingKey{configKey}
	}))
	require.Equal(t, "LifeboatKept: owner-1", b.holders())
}

// Rules: R4.10-10, R4.10-3, R4.9-49.
func TestRelease_DependentLeftToAnOperator_IsOrderedOnceNoParentIsHeld(t *testing.T) {
	for _, left := range []string{karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator} {
		t.Run(left, func(t *testing.T) {
			b := newBench(t)
			b.withConfig()
			b.held(configKey, left, "ended")
			b.held(appKey("app"), left, "ended")
			b.moveApp("m2")
			r := activities.ReleaseRequest{MigrationRef: b.ref(activities.EvictResult{}), Ordered: true}
			r.Key, r.UID, r.Named = configKey, b.world.Peek(configKey).UID, true
			out := b.release(r)
			require.Equal(t, reason.HeldForParents, out.Reason, "%+v", out)
			require.Contains(t, out.Message, "shop/app")

			before := b.world.Peek(configKey).RequiredBy
			b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy, x.Tasks[0].Message = nil, "binding-migration/m1/shop/app" })
			require.Contains(t, b.release(r).Message, "shop/app", "it names another one now, and what is held does not")

			for _, mode := range []karmada.PurgeMode{karmada.PurgeGracefully, karmada.PurgeDirectly} {
				b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Tasks[0].Reason, x.Tasks[0].PurgeMode = karmada.TaskReason, mode })
				require.Contains(t, b.release(r).Message, "shop/app", "a migration works on it, and its old copy may run")
			}

			b.world.Change(appKey("app"), func(x *karmada.Binding) { x.Tasks, x.Clusters = nil, on("m1") })
			b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy = before })
			b.world.Change(configKey, func(x *karmada.Binding) { x.RequiredBy[0].Clusters = nil })
			require.Contains(t, b.release(r).Message, "is again")

			b.moveApp("m2")
			require.Equal(t, activities.ActDone, b.release(r).End)
			require.Empty(t, b.holders())
		})
	}
}
