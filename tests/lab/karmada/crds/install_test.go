package crds_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/crds"
)

func TestEveryDefinitionIsCompleteAndTypedAtEveryLevel(t *testing.T) {
	definitions, err := crds.Definitions()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, crd := range definitions {
		names[crd.Name] = true
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		require.Contains(t, schema.Properties["spec"].Properties, specField[crd.Spec.Names.Kind], crd.Name)
		for name, property := range schema.Properties["spec"].Properties {
			require.NotEmpty(t, property.Type, "%s spec.%s", crd.Name, name)
		}
	}
	require.Len(t, names, 7)
}

var specField = map[string]string{
	"ResourceBinding": "gracefulEvictionTasks", "ClusterResourceBinding": "gracefulEvictionTasks",
	"PropagationPolicy": "placement", "ClusterPropagationPolicy": "placement",
	"Work": "workload", "Cluster": "taints", "ClusterTaintPolicy": "addOnConditions",
}
