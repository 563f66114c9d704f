package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// componentsMove fails a cluster with two workloads of two component sets each. One has a target with room
// for both sets. The other has a target with room for either set, but not for both.
//
// It guards that Lifeboat moves a workload of components as one or not at all.
//
// Rules: R4.6-25, R4.7-7.
func componentsMove(s *scene) {
	s.rule(time.Second, time.Second)
	from, small, large := s.c(1), s.c(2), s.c(3)
	fits := ofComponents(s.namespace(), "fits", from, oneOf(from, large))
	tight := ofComponents(s.namespace(), "tight", from, oneOf(from, small))
	s.run(fits, tight)
	moves, stays := keyOf(fits), keyOf(tight)

	s.kill(from)
	s.blocked(from, stays, "NoCapacity")
	s.phase(from, "Evacuated")
	require.Equal(s, []string{large}, s.find(moves).targets())
	s.evicted(moves, from)
	released := s.binding(s.releasedWhenItRan(moves, from))
	require.Equal(s, "Healthy", released.item(large).Health)
	s.catchUp()
	require.Len(s, s.writesTo(moves), 2, "one eviction and one release for both sets")
	require.Empty(s, s.writesTo(stays), "the old copy is left alone")
	for _, v := range append(s.versions(moves), s.versions(stays)...) {
		components, _, err := unstructured.NestedSlice(v.Object.Object, "spec", "components")
		require.NoError(s, err)
		require.Len(s, components, 2, "revision %d", v.Revision)
	}
	s.recovers(from, map[string]string{moves: "Migrated", stays: "Abandoned"})
}

// ofComponents is the binding of a workload with two pod templates: one replica and two, half a CPU each.
func ofComponents(namespace, name, home string, placement object) *unstructured.Unstructured {
	u := bindingOf("flink.apache.org/v1beta1", "FlinkDeployment", namespace, name, placement)
	half := object{"resourceRequest": object{"cpu": "500m"}}
	spec := specOf(u)
	spec["clusters"] = []any{object{"name": home}}
	spec["components"] = []any{
		object{"name": "jobmanager", "replicas": int64(1), "replicaRequirements": half},
		object{"name": "taskmanager", "replicas": int64(2), "replicaRequirements": half},
	}
	return u
}
