package world

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

func TestSeats_TieGoesByNameInTheOrderThatTheUIDGives(t *testing.T) {
	w := New(time.Now)
	w.AddCluster("m1")
	w.AddCluster("m2")
	b := &karmada.Binding{Replicas: 3, Placement: &karmada.Placement{ReplicaScheduling: &karmada.ReplicaScheduling{}}}
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2", Replicas: 1}}, w.seats(b, []string{"m2", "m1"}))
	b.Resource.UID = "u3" // its hash is odd
	require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 1}, {Name: "m2", Replicas: 2}}, w.seats(b, []string{"m2", "m1"}))
}
