package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	corev1 "k8s.io/api/core/v1"
)

// The tests of this file are named after public threads that the pre-check answers.

// A flaky health check evicted workloads whose placement allows no other cluster, and
// left them with none.
//
// Rules: R4.6-1.
func TestKarmada5803NothingIsEvictedWithoutAPlaceToGo(t *testing.T) {
	for name, tc := range map[string]preCheckCase{
		"by name": {
			binding: with(duplicated("m1"), may(names("m1"))), fleet: fleet(cluster("m2"), cluster("m3")),
			reason: failover.ReasonPinned, message: "the placement allows no cluster but m1",
		},
		"by label": {
			binding: with(duplicated("m1"), may(&failover.ClusterAffinity{LabelSelector: matchLabels(map[string]string{"tier": "gold"})})),
			fleet:   fleet(cluster("m2", labelled("tier", "silver"))), reason: failover.ReasonNoTarget,
		},
		"one cluster of two, the other is down as well": {
			binding: with(duplicated("m1"), may(names("m1", "m2"))), fleet: fleet(cluster("m2", notReady), cluster("m3")),
			reason: failover.ReasonNoTarget, message: "m2 is not Ready",
		},
	} {
		t.Run(name, tc.run)
	}
}

// A cluster was away for hours; when it was back, the configs pinned to it were deleted.
//
// Rules: R4.6-1, R4.6-13, R4.6-49.
func TestKarmada5150AConfigPinnedToTheClusterStays(t *testing.T) {
	config := with(nonWorkload("m1"), may(names("m1")), func(b *failover.Binding) {
		b.Resource = failover.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	})
	preCheckCase{binding: config, fleet: fleet(cluster("m2")), reason: failover.ReasonPinned}.run(t)
	// Somebody may expect more clusters of a label, and of two names one may be mistyped.
	for _, affinity := range []*failover.ClusterAffinity{{LabelSelector: matchLabels(map[string]string{"tier": "gold"})}, names("m1", "m7")} {
		preCheckCase{binding: with(config, may(affinity)), fleet: fleet(cluster("m2")), reason: failover.ReasonNoTarget}.run(t)
	}
}

// spec.replicas of a workload of several components is 0, so that a check of capacity
// was trivially true, and Karmada did not place it again after its eviction.
//
// Rules: R4.6-15, R4.6-20.
func TestKarmada7550ComponentsAreSizedTogether(t *testing.T) {
	flink := func(b *failover.Binding) {
		b.Replicas, b.Clusters[0].Replicas = 0, 0
		b.Components = []failover.Component{
			{Name: "jobmanager", Replicas: 1, Request: quantities("cpu", 1)}, {Name: "taskmanager", Replicas: 4, Request: quantities("cpu", 2)},
		}
	}
	cores := func(n int) func(*failover.Cluster) {
		return having(quantities("pods", 100, "cpu", n), quantities("pods", 0))
	}
	preCheckCase{
		binding: with(duplicated("m1"), flink), fleet: fleet(cluster("m2", cores(8))),
		reason: failover.ReasonNoCapacity, message: "no room for its components",
	}.run(t)
	preCheckCase{binding: with(duplicated("m1"), flink), fleet: fleet(cluster("m2", cores(9))), candidates: []string{"m2"}}.run(t)
}

// The scheduler looks at a component workload again only when it is told to.
//
// Rules: R4.6-20.
func TestKarmada7065AComponentWorkloadIsRescheduledOrNotTouched(t *testing.T) {
	parts := func(request ...any) *failover.Binding {
		return with(divided([]failover.TargetCluster{on("m1", 0)}), func(b *failover.Binding) {
			b.Components = []failover.Component{{Name: "jobmanager", Replicas: 1, Request: quantities(request...)}}
		})
	}
	preCheckCase{binding: parts("cpu", 1), fleet: fleet(cluster("m2", having(quantities("pods", 9, "cpu", 9), quantities("pods", 0)))), candidates: []string{"m2"}, reschedule: true}.run(t)
	preCheckCase{binding: parts(), fleet: fleet(cluster("m2")), reason: failover.ReasonComponentsUnsized}.run(t)
}

// With affinity and failover at once every candidate was refused, for ever.
//
// Rules: R4.6-8.
func TestKarmada7479EveryCandidateRefusedIsParkedWithItsReasons(t *testing.T) {
	other := failover.Task{FromCluster: "m2", Producer: "TaintManager", Reason: "TaintUntolerated"}
	preCheckCase{
		binding: with(duplicated("m1"), task(other)), fleet: fleet(cluster("m2"), cluster("m3"), cluster("m4", tainted(noSchedule("full")))), evacuating: []string{"m3"},
		reason: failover.ReasonNoTarget, message: "m2 is under eviction for it, m3 is being evacuated, m4 is tainted full:NoSchedule",
	}.run(t)
}

// Evicted from both clusters: "0/2 clusters are available: in the process of eviction".
//
// Rules: R4.6-8.
func TestKarmada4480TheLastClusterIsNotTakenWhileTheOtherIsUnderEviction(t *testing.T) {
	other := failover.Task{FromCluster: "m2", Producer: "resource-binding-application-failover-controller", Reason: "ApplicationFailure"}
	preCheckCase{
		binding: with(duplicated("m1"), may(names("m1", "m2")), task(other)), fleet: fleet(cluster("m2")),
		reason: failover.ReasonNoTarget, message: "m2 is under eviction for it",
	}.run(t)
}

// An estimator that does not answer, or has nothing to tell, is no yes.
//
// Rules: R4.6-16.
func TestKarmada3284UnknownCapacityIsNotAYes(t *testing.T) {
	unknown := func(c *failover.Cluster) { c.Capacity = nil }
	for name, b := range map[string]*failover.Binding{
		"static weight":  with(divided([]failover.TargetCluster{on("m1", 1), on("m2", 1)}), may(names("m1", "m2"))),
		"aggregated":     aggregatedOver(on("m1", 1), on("m2", 1)),
		"dynamic weight": byAvailable(on("m1", 1), on("m2", 1)),
	} {
		t.Run(name, preCheckCase{binding: b, fleet: fleet(cluster("m2", unknown)), change: demandRoom, reason: failover.ReasonNoCapacity}.run)
	}
}

// The kubeconfigs of members expired while a controller was down, and what was to run
// there was deleted. A member that cannot be reached for our own fault is no failure, and
// no place to go to either.
//
// Rules: R4.6-5.
func TestKarmada6098AMemberWithStaleCredentialsIsNoTarget(t *testing.T) {
	stale := func(c *failover.Cluster) {
		c.Conditions = []failover.Condition{{Type: failover.ConditionReady, Status: corev1.ConditionFalse, Reason: "StatusCollectionFailed"}}
	}
	preCheckCase{
		binding: duplicated("m1"), fleet: fleet(cluster("m2", stale)),
		reason: failover.ReasonNoTarget, message: "m2 is not Ready",
	}.run(t)
	preCheckCase{binding: duplicated("m1"), fleet: fleet(cluster("m2", stale), cluster("m3")), candidates: []string{"m3"}}.run(t)
}
