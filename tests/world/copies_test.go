package world_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
)

// A copy that was held runs on when it is put back; where the replicas changed meanwhile,
// its member brings it to those that are asked for now. Otherwise nothing would ever prove
// it healthy.
func TestACopyThatIsPutBackComesToItsReplicas(t *testing.T) {
	for name, replicas := range map[string]int32{"as it was": 2, "with more": 3} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
			w := world.New(func() time.Time { return now })
			w.AddCluster("m1")
			key := karmada.BindingKey{Namespace: "shop", Name: "web"}
			w.AddBinding(karmada.Binding{
				Key: key, Replicas: 2, Placement: &karmada.Placement{}, SchedulerName: "nobody's",
				Clusters: []karmada.TargetCluster{{Name: "m1", Replicas: 2}},
			})
			read := w.Peek(key)
			held, err := w.Evict(t.Context(), activities.EvictWrite{Binding: &read, Cluster: "m1", Owner: "us", Now: now})
			require.NoError(t, err)
			back, err := w.Restore(t.Context(), activities.RestoreWrite{Binding: &held, Cluster: "m1", Replicas: replicas, Now: now})
			require.NoError(t, err)

			require.Equal(t, replicas == 2, back.Item("m1").Health == karmada.HealthHealthy)
			now = now.Add(w.HealthyAfter)
			then := w.Peek(key)
			require.Equal(t, karmada.HealthHealthy, then.Item("m1").Health)
			require.EqualValues(t, replicas, *then.Item("m1").ReadyReplicas)
		})
	}
}
