package members

import (
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

func member(t *testing.T, name string, timing Timing) *Member {
	m, err := Start(Config{Name: name, Timing: func() Timing { return timing }, Changed: func(string) {}})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func deployment(replicas int64, annotations map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "default", "name": "web", "annotations": annotations},
		"spec":     map[string]any{"replicas": replicas},
	}
}

func ready(m *Member) int32 {
	list := m.Workloads()
	if len(list) == 0 {
		return -1
	}
	return list[0].ReadyReplicas
}

func TestAKilledMemberRefusesAndKeepsItsCopiesAndItsAddress(t *testing.T) {
	m := member(t, "m1", Timing{})
	require.NoError(t, m.Apply("ns/w", "u", deployment(2, nil)))
	require.Eventually(t, func() bool { return ready(m) == 2 }, time.Minute, time.Millisecond)
	before, endpoint := m.Workloads(), m.Endpoint()

	m.Kill()
	// A connection that the kernel had taken before the kill is reset; every later one is refused.
	require.Eventually(t, func() bool {
		_, err := http.Get(endpoint + "/readyz")
		require.Error(t, err, "a killed member never answers")
		return errors.Is(err, syscall.ECONNREFUSED)
	}, time.Minute, time.Millisecond)
	require.ErrorIs(t, m.Apply("ns/w", "u", deployment(3, nil)), ErrUnreachable)
	require.ErrorIs(t, m.Delete(deployment(3, nil)), ErrUnreachable)

	require.NoError(t, m.Revive())
	require.Equal(t, endpoint, m.Endpoint())
	response, err := http.Get(endpoint + "/readyz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, before, m.Workloads())
}

func TestACopyMadeAgainHasAnotherUID(t *testing.T) {
	m := member(t, "m1", Timing{})
	require.NoError(t, m.Apply("ns/w", "u", deployment(1, nil)))
	first := m.Workloads()[0].UID
	require.NoError(t, m.Delete(deployment(1, nil)))
	require.NoError(t, m.Apply("ns/w", "u", deployment(1, nil)))
	require.NotEqual(t, first, m.Workloads()[0].UID)
}

// After a restore from a backup Karmada creates a new Work, though the copy is running already.
func TestANewWorkOfARunningCopyGetsItsStatus(t *testing.T) {
	told := make(chan string, 20)
	m, err := Start(Config{Name: "m1", Timing: func() Timing { return Timing{} }, Changed: func(work string) { told <- work }})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	require.NoError(t, m.Apply("ns/w", "u", deployment(1, nil)))
	require.Eventually(t, func() bool { return ready(m) == 1 }, time.Minute, time.Millisecond)
	before := len(told)
	require.NoError(t, m.Apply("ns/w", "u", deployment(1, nil)))
	require.Len(t, told, before)
	require.NoError(t, m.Apply("ns/w", "another", deployment(1, nil)))
	require.Len(t, told, before+1)
}

func TestDeploymentsAreHealthyOnPaperWhileReplicasAreMissing(t *testing.T) {
	m := member(t, "m1", Timing{})
	stuck := deployment(3, map[string]any{api.FaultStuckReadyAt: "m1=2"})
	require.NoError(t, m.Apply("ns/w", "u", stuck))
	require.Eventually(t, func() bool { return ready(m) == 2 }, time.Minute, time.Millisecond)
	status, health, err := m.Report(stuck)
	require.NoError(t, err)
	require.Equal(t, "Healthy", health)
	require.EqualValues(t, 2, status["readyReplicas"])
	require.EqualValues(t, 3, status["updatedReplicas"])

	require.NoError(t, m.Apply("ns/w", "u", deployment(3, nil)))
	require.Eventually(t, func() bool { return ready(m) == 3 }, time.Minute, time.Millisecond)
}

// The fields are those of the recordings in internal/proof/testdata/recordings/kinds.jsonl.
func TestReport_FieldsOfEachKind(t *testing.T) {
	fields := map[string][]string{
		"Deployment":  {"availableReplicas", "generation", "observedGeneration", "readyReplicas", "replicas", "resourceTemplateGeneration", "updatedReplicas"},
		"ReplicaSet":  {"availableReplicas", "generation", "observedGeneration", "readyReplicas", "replicas", "resourceTemplateGeneration"},
		"StatefulSet": {"availableReplicas", "currentReplicas", "generation", "readyReplicas", "replicas", "resourceTemplateGeneration", "updatedReplicas"},
	}
	for kind, want := range fields {
		t.Run(kind, func(t *testing.T) {
			m := member(t, "m1", Timing{})
			manifest := deployment(2, nil)
			manifest["kind"] = kind
			require.NoError(t, m.Apply("ns/w", "u", manifest))
			require.Eventually(t, func() bool { return ready(m) == 2 }, time.Minute, time.Millisecond)
			status, health, err := m.Report(manifest)
			require.NoError(t, err)
			require.Equal(t, "Healthy", health)
			require.Equal(t, want, slices.Sorted(maps.Keys(status)))
		})
	}
}

func TestAStuckMemberDoesNotHoldAnotherMember(t *testing.T) {
	m := member(t, "m2", Timing{})
	require.NoError(t, m.Apply("ns/w", "u", deployment(3, map[string]any{api.FaultNeverReadyOn: "m1,m3", api.FaultStuckReadyAt: "m1=2"})))
	require.Eventually(t, func() bool { return ready(m) == 3 }, time.Minute, time.Millisecond)
}

func TestNeverReadyIsUnhealthyAndTakesReadinessAway(t *testing.T) {
	m := member(t, "m1", Timing{})
	require.NoError(t, m.Apply("ns/w", "u", deployment(2, nil)))
	require.Eventually(t, func() bool { return ready(m) == 2 }, time.Minute, time.Millisecond)
	never := deployment(2, map[string]any{api.FaultNeverReadyOn: "m1"})
	require.NoError(t, m.Apply("ns/w", "u", never))
	_, health, err := m.Report(never)
	require.NoError(t, err)
	require.Equal(t, "Unhealthy", health)
	require.EqualValues(t, 0, ready(m))
}

func TestSavedCopiesComeBackAsTheyWere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m1.json")
	m := member(t, "m1", Timing{})
	require.NoError(t, m.Apply("ns/w", "u", deployment(2, nil)))
	require.Eventually(t, func() bool { return ready(m) == 2 }, time.Minute, time.Millisecond)
	require.NoError(t, m.Save(file))
	again := member(t, "m1", Timing{})
	require.NoError(t, again.Load(file))
	require.Equal(t, m.Workloads(), again.Workloads())
	require.NoError(t, again.Load(filepath.Join(t.TempDir(), "none")))
}
