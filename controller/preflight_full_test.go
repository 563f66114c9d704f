package main

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/stretchr/testify/require"
)

// What a role is not granted in deploy/rbac is not tried for it.
func TestVerifyTriesWhatTheRoleIsGranted(t *testing.T) {
	c := config.Default()
	require.Nil(t, tries(c, roleAll), "a human may read more than either process")
	const clusters, policies, karmadas = "clusters.cluster.karmada.io", "propagationpolicies.policy.karmada.io", "clustertaintpolicies.policy.karmada.io"
	const bindings, works = "resourcebindings.work.karmada.io", "works.work.karmada.io"
	worker, controller := tries(c, roleWorker), tries(c, roleController)
	for _, resource := range []string{clusters, bindings, karmadas} {
		require.True(t, worker("list", resource), resource)
		require.Equal(t, resource == bindings, worker("watch", resource), resource)
		require.True(t, controller("list", resource), resource)
		require.True(t, controller("watch", resource), resource)
	}
	require.True(t, worker("list", works))
	require.False(t, controller("list", works))
	require.False(t, worker("list", policies), "it gets them, one by one")
	require.False(t, controller("list", policies))
}
