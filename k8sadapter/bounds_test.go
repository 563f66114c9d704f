package k8sadapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// An agent of the member may write a Cluster's conditions: whatever it writes has to fit
// into what is carried of it.
func TestConditionsAreCarriedWithinBounds(t *testing.T) {
	cluster := func(conditions []map[string]string) failover.Cluster {
		raw, err := json.Marshal(map[string]any{
			"metadata": map[string]string{"name": "m1", "uid": "u", "resourceVersion": "7"},
			"status":   map[string]any{"conditions": conditions},
		})
		require.NoError(t, err)
		return DecodeCluster(raw)
	}
	long := strings.Repeat("ü", failover.MaxConditionText)
	c := cluster([]map[string]string{{"type": "Ready", "status": "False", "reason": long, "message": long}})
	require.Empty(t, c.Malformed)
	require.Len(t, c.Conditions, 1)
	require.LessOrEqual(t, len(c.Conditions[0].Reason), failover.MaxConditionText)
	require.LessOrEqual(t, len(c.Conditions[0].Message), failover.MaxConditionText)
	require.False(t, failover.FactOf(c).Oversized(), "what is decoded can be told")

	many := make([]map[string]string, failover.MaxConditions+1)
	require.Contains(t, cluster(many).Malformed, "status.conditions")
}
