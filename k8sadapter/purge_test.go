package k8sadapter

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// The task says how the old copy goes: to Karmada, and to a run that takes it over.
func TestKarmada6676ATaskCarriesThePurgeMode(t *testing.T) {
	modeOf := func(patch []byte, err error) karmada.PurgeMode {
		t.Helper()
		require.NoError(t, err)
		var sent struct {
			Spec struct {
				Tasks []taskWire `json:"gracefulEvictionTasks"`
			} `json:"spec"`
		}
		require.NoError(t, json.Unmarshal(patch, &sent))
		for _, task := range sent.Spec.Tasks {
			if task.FromCluster == "m1" {
				require.True(t, *task.SuppressDeletion)
				return task.PurgeMode
			}
		}
		require.Fail(t, "no task for m1")
		return ""
	}
	for want, asked := range map[karmada.PurgeMode]karmada.PurgeMode{
		karmada.PurgeDirectly: karmada.PurgeDirectly, karmada.PurgeNever: karmada.PurgeNever, karmada.PurgeGracefully: "",
	} {
		require.Equal(t, want, modeOf(evictPatch(activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at, Purge: asked})))
		require.Equal(t, want, modeOf(holdPatch(activities.HoldWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at, Purge: asked})))
	}
}

// A task that stood for parents, or as a ban, had a mode, clusters and a time that were
// not the binding's own: its own migration writes its own, and keeps them from then on.
//
// Rules: R4.8-11.
func TestATaskTakenOverSaysWhatItsNewOwnersWould(t *testing.T) {
	const before = `"purgeMode":"Gracefully","creationTimestamp":"2026-11-20T10:00:00Z","clustersBeforeFailover":["m9"],`
	task := func(patch []byte, err error) taskWire {
		t.Helper()
		require.NoError(t, err)
		var sent bindingPatch
		require.NoError(t, json.Unmarshal(patch, &sent))
		var out taskWire
		require.NoError(t, json.Unmarshal((*sent.Spec.Tasks)[1], &out))
		require.Equal(t, "m1", out.FromCluster)
		return out
	}
	standing := func(reason, message string) *karmada.Binding {
		old := `"reason":"LifeboatDependent","message":"p1 p2"`
		require.Contains(t, dependent, old)
		return decoded(t, strings.Replace(dependent, old, before+`"reason":"`+reason+`","message":"`+message+`"`, 1))
	}
	evict := func(b *karmada.Binding, mode karmada.PurgeMode) ([]byte, error) {
		return evictPatch(activities.EvictWrite{Binding: b, Cluster: "m1", Owner: "own", Now: at, Reason: karmada.TaskReason, Purge: mode})
	}
	for name, reason := range map[string]string{"held for parents": karmada.TaskReasonDependent, "a drain's ban": karmada.TaskReasonBanned} {
		t.Run(name, func(t *testing.T) {
			got := task(evict(standing(reason, "p1"), karmada.PurgeNever))
			require.Equal(t, karmada.PurgeNever, got.PurgeMode)
			require.Equal(t, []string{"m1"}, got.ClustersBeforeFailover)
			require.True(t, got.CreationTimestamp.Time.Equal(at.Truncate(time.Second)))
			got = task(holdPatch(activities.HoldWrite{
				Binding: standing(reason, "p1"), Cluster: "m1", Owner: "own", Now: at, Purge: karmada.PurgeNever, Before: []string{"m1", "m2"},
			}))
			require.Equal(t, karmada.PurgeNever, got.PurgeMode)
			require.Equal(t, []string{"m1", "m2"}, got.ClustersBeforeFailover)
		})
	}
	own := task(evict(standing(karmada.TaskReason, "own p1"), karmada.PurgeNever))
	require.Equal(t, karmada.PurgeGracefully, own.PurgeMode, "a repeat changes no mode")
	require.Equal(t, []string{"m9"}, own.ClustersBeforeFailover)
	_, err := evict(standing(karmada.TaskReasonDependent, "p1"), karmada.PurgeDirectly)
	require.ErrorIs(t, err, karmada.ErrInvalid, "Directly would delete it under its parents")
}

// Rules: R4.8-15.
func TestDecodeBinding_PreserveResourcesOnDeletion(t *testing.T) {
	decoded := func(value string) karmada.Binding {
		return DecodeBinding([]byte(`{"metadata":{"name":"a","namespace":"shop"},"spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}` + value + `}}`))
	}
	require.True(t, decoded(`,"preserveResourcesOnDeletion":true`).PreservesCopies)
	require.False(t, decoded(`,"preserveResourcesOnDeletion":false`).PreservesCopies)
	require.False(t, decoded("").PreservesCopies)
	require.Contains(t, decoded(`,"preserveResourcesOnDeletion":"yes"`).Malformed, "preserveResourcesOnDeletion")
}
