package k8sadapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// An agent of the member may write a Cluster's conditions: whatever it writes has to fit
// into what is carried of it.
func TestConditionsAreCarriedWithinBounds(t *testing.T) {
	cluster := func(conditions []map[string]string) karmada.Cluster {
		raw, err := json.Marshal(map[string]any{
			"metadata": map[string]string{"name": "m1", "uid": "u", "resourceVersion": "7"},
			"status":   map[string]any{"conditions": conditions},
		})
		require.NoError(t, err)
		return DecodeCluster(raw)
	}
	long := strings.Repeat("ü", reason.MaxConditionText)
	c := cluster([]map[string]string{{"type": "Ready", "status": "False", "reason": long, "message": long}})
	require.Empty(t, c.Malformed)
	require.Len(t, c.Conditions, 1)
	require.LessOrEqual(t, len(c.Conditions[0].Reason), reason.MaxConditionText)
	require.LessOrEqual(t, len(c.Conditions[0].Message), reason.MaxConditionText)
	require.False(t, rules.FactOf(c).Oversized(), "what is decoded can be told")

	many := make([]map[string]string, rules.MaxConditions+1)
	require.Contains(t, cluster(many).Malformed, "status.conditions")
}

// A policy may say any number of tolerations: an attempt freezes them, and carries them with
// those of all others.
func TestTolerationsAreFrozenWithinBounds(t *testing.T) {
	binding := func(n int) karmada.Binding {
		tolerations := make([]map[string]string, n)
		for i := range tolerations {
			tolerations[i] = map[string]string{"key": strings.Repeat("x", 90), "operator": "Exists"}
		}
		raw, err := json.Marshal(map[string]any{
			"metadata": map[string]string{"namespace": "shop", "name": "cart", "uid": "u", "resourceVersion": "7"},
			"spec": map[string]any{
				"resource":  map[string]string{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"},
				"placement": map[string]any{"clusterTolerations": tolerations},
			},
		})
		require.NoError(t, err)
		return DecodeBinding(raw)
	}
	usual := binding(50)
	require.Empty(t, usual.Malformed)
	require.Len(t, usual.Placement.ClusterTolerations, 50)
	many := binding(500)
	require.Contains(t, many.Malformed, "clusterTolerations")
	require.Empty(t, rules.PolicyOf(&many, nil).Tolerations, "nobody freezes them")
}
