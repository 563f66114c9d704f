package watch

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Rules: R4.13-1, R4.13-4.
func TestRouter_UnhealthyApplications_HaveTheirFailoverStartedAndSignalled(t *testing.T) {
	app := func(version string, health karmada.Health) *karmada.Binding {
		return &karmada.Binding{
			Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "uid", ResourceVersion: version,
			Clusters: []karmada.TargetCluster{{Name: "a"}}, Application: &karmada.ApplicationFailover{},
			Status: karmada.BindingStatus{Aggregated: []karmada.AggregatedItem{{Cluster: "a", Health: health}}},
		}
	}
	healthy, unhealthy, again := app("1", karmada.HealthHealthy), app("2", karmada.HealthUnhealthy), app("3", karmada.HealthUnhealthy)
	scaled, well := app("4", karmada.HealthUnhealthy), app("7", karmada.HealthHealthy)
	scaled.Generation = 7
	held, released := app("5", karmada.HealthHealthy), app("6", karmada.HealthUnhealthy)
	held.Tasks = []karmada.Task{{FromCluster: "z", Producer: karmada.Producer, Reason: karmada.TaskReason, PurgeMode: karmada.PurgeGracefully}}
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
		{name: "held", do: func() { router.BindingChanged(scaled, held) }, want: []string{"changed a: shop/cart@5"}},
		{
			name: "held, and its failover does not run",
			do: func() {
				require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true, "cluster-failover/a": true}, ""))
			},
			want: []string{"adopt z: shop/cart@5"},
		},
		{name: "released", do: func() { router.BindingChanged(held, released) }, want: []string{"application shop/cart@6 start true"}},
		{name: "healthy again", do: func() { router.BindingChanged(released, well) }, want: []string{"application shop/cart@7 start false"}},
		{name: "gone", do: func() { router.BindingDeleted(well) }, want: []string{"changed a: shop/cart@7 deleted"}},
	} {
		step.do()
		require.Equal(t, step.want, signals.take(), step.name)
	}
}
