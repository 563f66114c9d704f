package k8sadapter

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func clusterWith(spec, summary string) karmada.Cluster {
	return DecodeCluster([]byte(`{"metadata":{"name":"m1","uid":"u"},"spec":` + spec + `,"status":{"resourceSummary":` + summary + `}}`))
}

func TestNodeModelsAreJoinedWithTheirCounts(t *testing.T) {
	const spec = `{"resourceModels":[
      {"grade":0,"ranges":[{"name":"cpu","min":"0","max":"1"},{"name":"memory","min":"0","max":"4Gi"}]},
      {"grade":1,"ranges":[{"name":"cpu","min":"1","max":"2"},{"name":"memory","min":"4Gi","max":"16Gi"}]}]}`
	c := clusterWith(spec, `{"allocatable":{"cpu":"4"},"allocatableModelings":[{"grade":0,"count":2},{"grade":1,"count":3}]}`)
	assert.Empty(t, c.Malformed)
	require.Len(t, c.Capacity.Models, 2)
	assert.Equal(t, int64(3), c.Capacity.Models[1].Count)
	assert.Equal(t, "1", c.Capacity.Models[1].Min.Cpu().String())
	assert.Equal(t, "4Gi", c.Capacity.Models[1].Min.Memory().String())

	unread := clusterWith(spec, `{"allocatable":{"cpu":"4"}}`)
	assert.Empty(t, unread.Capacity.Models, "nobody counted")
	assert.False(t, unread.Capacity.ModelsUnknown)
}

// Rules: R4.6-16.
func TestOddModelsMakeRoomUnknownAndNoClusterMalformed(t *testing.T) {
	for name, c := range map[string]karmada.Cluster{
		"grades as text":           clusterWith(`{"resourceModels":"x"}`, `{"allocatableModelings":[{"count":1}]}`),
		"a minimum of no quantity": clusterWith(`{"resourceModels":[{"ranges":[{"name":"cpu","min":"many"}]}]}`, `{"allocatableModelings":[{"count":1}]}`),
		"counts as text":           clusterWith(`{}`, `{"allocatableModelings":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, c.Malformed)
			assert.True(t, c.Capacity.ModelsUnknown)
		})
	}
}

// Rules: R4.6-20.
func TestWhatABindingAsksForIsReadOrBlocksIt(t *testing.T) {
	binding := func(spec string) karmada.Binding {
		return DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"v","kind":"K","name":"x"},` + spec + `}}`))
	}
	b := binding(`"components":[{"name":"job","replicas":2,"replicaRequirements":{"resourceRequest":{"cpu":"500m"},"nodeClaim":{"nodeSelector":{"a":"b"}}}}],
      "clusters":[{"name":"m1","components":[{"name":"job","replicas":2}]}]`)
	assert.Empty(t, b.Malformed)
	require.Len(t, b.Components, 1)
	assert.Equal(t, "500m", b.Components[0].Request.Cpu().String())
	assert.Equal(t, int32(2), b.Components[0].Replicas)
	assert.True(t, b.PlacedComponents && b.Workload)

	for name, spec := range map[string]string{
		"a quantity that is none":    `"replicaRequirements":{"resourceRequest":{"cpu":"many"}}`,
		"requirements as text":       `"replicaRequirements":"x"`,
		"a component as text":        `"components":["x"]`,
		"a component's bad quantity": `"components":[{"name":"a","replicaRequirements":{"resourceRequest":{"cpu":"many"}}}]`,
		"a component's bad number":   `"components":[{"name":"a","replicas":"two"}]`,
	} {
		t.Run(name, func(t *testing.T) { assert.NotEmpty(t, binding(spec).Malformed) })
	}
}
