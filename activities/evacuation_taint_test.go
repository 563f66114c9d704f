package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// An attempt that was thrown back comes again when the taint that asked for the
// evacuation taint has gone: nothing is put on a cluster that nothing moves bindings off.
//
// Rules: R4.2-6.
func TestTheEvacuationTaintIsPutOnlyBesideATaintThatMoves(t *testing.T) {
	b := newBench(t)
	put := activities.TaintRequest{
		Cluster: "m1", UID: "uid-m1", FailoverID: "e1", Mode: rules.ModeEnforce, EvacuationTaint: activities.EvacuationTaintPut,
	}
	r := must[activities.TaintResult](b, activities.NameWriteTaints, put)
	require.Equal(t, reason.ClusterRecovered, r.Refused)
	require.Empty(t, b.world.Log("taint"))

	b.world.PutTaint("m1", corev1.Taint{Key: "example.com/maintenance", Effect: corev1.TaintEffectNoExecute})
	r = must[activities.TaintResult](b, activities.NameWriteTaints, put)
	require.Empty(t, r.Refused)
	require.Len(t, r.Ours, 1)
}
