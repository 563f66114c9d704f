package watch

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A failover that has seen Unknown has a clock that is stopped: only Healthy restarts it.
//
// Rules: R4.13-2, R4.13-3.
func TestRouter_HealthOfAnApplicationGoesFromUnhealthyToUnknown_HealthyIsSignalledAsWell(t *testing.T) {
	signals, router := newRouter()
	router.FollowApplications()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
	signals.take()
	var last *karmada.Binding
	for n, step := range []struct {
		health karmada.Health
		want   []string
	}{
		{health: karmada.HealthUnknown},
		{health: karmada.HealthUnhealthy, want: []string{"application shop/cart@1 start true"}},
		{health: karmada.HealthUnknown, want: []string{"application shop/cart@2 start false"}},
		{health: karmada.HealthHealthy, want: []string{"application shop/cart@3 start false"}},
		{health: karmada.HealthUnknown},
	} {
		now := application(strconv.Itoa(n), step.health)
		router.BindingChanged(last, now)
		require.Equal(t, step.want, signals.take(), "change %d", n)
		if last = now; step.health == karmada.HealthUnknown {
			require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
			require.Empty(t, signals.take(), "nothing is started for what is Unknown")
		}
	}
}

// Its own migration reports that it has ended; that of its cluster reports to the failover of the cluster.
//
// Rules: R4.13-1, R4.13-12.
func TestRouter_ApplicationIsHealthyAfterItsMove_IsSignalledWhereAnotherFailoverMovedIt(t *testing.T) {
	for _, clusterFails := range []bool{false, true} {
		signals, router := newRouter()
		router.FollowApplications()
		router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
		unhealthy, held, released := application("1", karmada.HealthUnhealthy), application("2", karmada.HealthHealthy), application("3", karmada.HealthHealthy)
		movedTo(held, released)
		held.Tasks = []karmada.Task{{FromCluster: "a", Producer: karmada.Producer, Reason: karmada.TaskReason, PurgeMode: karmada.PurgeGracefully}}
		router.BindingChanged(nil, unhealthy)
		if clusterFails {
			router.Opened("a")
		}
		router.BindingChanged(unhealthy, held)
		signals.take()
		router.BindingChanged(held, released)
		require.Equal(t, clusterFails, slices.Contains(signals.take(), "application shop/cart@3 start false"))
	}
}

// The copy beside one that moves has its own clock, also once every copy was Healthy meanwhile.
//
// Rules: R4.13-1, R4.13-2.
func TestRouter_CopyBesideOneThatMoves_IsSignalled(t *testing.T) {
	signals, router := newRouter()
	router.FollowApplications()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
	var last *karmada.Binding
	for n, health := range []karmada.Health{karmada.HealthHealthy, karmada.HealthUnhealthy, karmada.HealthHealthy} {
		now := application(strconv.Itoa(n), health)
		now.Tasks = []karmada.Task{{
			FromCluster: "b", Producer: karmada.Producer, Reason: karmada.TaskReason, PurgeMode: karmada.PurgeGracefully, ClustersBeforeFailover: []string{"a", "b"},
		}}
		signals.take()
		router.BindingChanged(last, now)
		last = now
		require.Equal(t, n > 0, slices.Contains(signals.take(), fmt.Sprintf("application shop/cart@%d start %t", n, health == karmada.HealthUnhealthy)))
	}
}

// application is the binding shop/cart on cluster a, which moves when it is Unhealthy.
func application(version string, health karmada.Health) *karmada.Binding {
	return &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "uid", ResourceVersion: version,
		Clusters: []karmada.TargetCluster{{Name: "a"}}, Application: &karmada.ApplicationFailover{},
		Status: karmada.BindingStatus{Aggregated: []karmada.AggregatedItem{{Cluster: "a", Health: health}}},
	}
}

// movedTo has a binding run on cluster b instead.
func movedTo(bindings ...*karmada.Binding) {
	for _, b := range bindings {
		b.Clusters, b.Status.Aggregated[0].Cluster = []karmada.TargetCluster{{Name: "b"}}, "b"
	}
}

// Rules: R4.13-1, R4.13-4.
func TestRouter_UnhealthyApplications_HaveTheirFailoverStartedAndSignalled(t *testing.T) {
	healthy, unhealthy, again := application("1", karmada.HealthHealthy), application("2", karmada.HealthUnhealthy), application("3", karmada.HealthUnhealthy)
	scaled, well := application("4", karmada.HealthUnhealthy), application("7", karmada.HealthHealthy)
	scaled.Generation = 7
	held, released := application("5", karmada.HealthUnhealthy), application("6", karmada.HealthUnhealthy)
	movedTo(held, released, well)
	held.Tasks = []karmada.Task{{FromCluster: "a", Producer: karmada.Producer, Reason: karmada.TaskReason, PurgeMode: karmada.PurgeGracefully}}
	signals, router := newRouter()
	router.BindingChanged(nil, unhealthy)
	require.Empty(t, signals.take(), "application failovers are off")

	signals, router = newRouter()
	router.FollowApplications()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
	signals.take()
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{name: "healthy", do: func() { router.BindingChanged(nil, healthy) }},
		{name: "unhealthy", do: func() { router.BindingChanged(healthy, unhealthy) }, want: []string{"application shop/cart@2 start true"}},
		{name: "nothing new", do: func() { router.BindingChanged(unhealthy, again) }},
		{name: "scaled", do: func() { router.BindingChanged(again, scaled) }, want: []string{"application shop/cart@4 start true"}},
		{
			name: "its cluster fails",
			do: func() {
				router.ClusterChanged(cluster("a", "1", corev1.ConditionTrue), cluster("a", "2", corev1.ConditionFalse))
			},
			want: []string{"fleet", "application shop/cart@4 start false", "start a@2"},
		},
		{
			name: "its failover does not run",
			do: func() {
				require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true, "cluster-failover/a": true}, ""))
			},
			want: []string{"application shop/cart@4 start true"},
		},
		{name: "held", do: func() { router.BindingChanged(scaled, held) }},
		{
			name: "held, and its failover does not run",
			do: func() {
				require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true, "cluster-failover/a": true}, ""))
			},
			want: []string{"adopt a: shop/cart@5"},
		},
		{name: "released", do: func() { router.BindingChanged(held, released) }, want: []string{"application shop/cart@6 start true"}},
		{name: "healthy again", do: func() { router.BindingChanged(released, well) }, want: []string{"application shop/cart@7 start false"}},
		{name: "gone", do: func() { router.BindingDeleted(well) }},
	} {
		step.do()
		require.Equal(t, step.want, signals.take(), step.name)
	}
}
