package karmada_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestReadyIsKarmadasWord(t *testing.T) {
	require.True(t, fixtures.Cluster("m1").Ready())
	require.False(t, fixtures.Cluster("m1", fixtures.NotReady).Ready())
	unknown := fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionUnknown })
	require.False(t, unknown.Ready())
}
