package karmada_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// recorded is one line of a recording.
type recorded struct {
	At     string         `json:"at"`
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
}

func (r recorded) name() string {
	return (&unstructured.Unstructured{Object: r.Object}).GetName()
}

// recording reads the binding recordings, by binding name.
func recording(t *testing.T) map[string][]recorded {
	all := map[string][]recorded{}
	for _, file := range []string{"testdata/rb.jsonl", "testdata/crb.jsonl"} {
		stream, err := os.Open(file)
		require.NoError(t, err)
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var line recorded
			require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
			all[line.name()] = append(all[line.name()], line)
		}
		require.NoError(t, lines.Err())
		require.NoError(t, stream.Close())
	}
	return all
}

// project renders what the comparison looks at: target clusters, tasks without times, whose dependent it is and where, the Scheduled
// condition's status and reason, whether the generation is observed, health and ready count per cluster.
func project(t *testing.T, object map[string]any) string {
	b, err := api.From[api.Binding](normalized(t, object))
	require.NoError(t, err)
	var parts []string
	for _, target := range b.Spec.Clusters {
		parts = append(parts, fmt.Sprintf("on %s=%d", target.Name, target.Replicas))
	}
	for _, task := range b.RawTasks {
		fields := task.(map[string]any)
		delete(fields, "creationTimestamp")
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		parts = append(parts, "task "+string(text))
	}
	for _, parent := range b.Spec.RequiredBy {
		parts = append(parts, fmt.Sprintf("required by %s/%s on %v", parent.Namespace, parent.Name, parent.Clusters))
	}
	if scheduled := meta.FindStatusCondition(b.Status.Conditions, "Scheduled"); scheduled != nil {
		parts = append(parts, fmt.Sprintf("scheduled %s/%s", scheduled.Status, scheduled.Reason))
	}
	parts = append(parts, fmt.Sprintf("observed %t", b.Status.SchedulerObservedGeneration == b.Generation))
	for _, item := range b.Status.AggregatedStatus {
		parts = append(parts, fmt.Sprintf("%s %s ready=%v", item.ClusterName, item.Health, number(item.Status["readyReplicas"])))
	}
	return strings.Join(parts, " | ")
}

func number(value any) any {
	if value == nil {
		return 0
	}
	return value
}

// normalized decodes numbers as the API machinery does, and copies.
func normalized(t *testing.T, object map[string]any) map[string]any {
	data, err := json.Marshal(object)
	require.NoError(t, err)
	result := &unstructured.Unstructured{}
	require.NoError(t, result.UnmarshalJSON(data))
	return result.Object
}

// collapse projects states and drops repeats.
func collapse(t *testing.T, states []recorded) []string {
	var sequence []string
	for _, state := range states {
		if text := project(t, state.Object); len(sequence) == 0 || sequence[len(sequence)-1] != text {
			sequence = append(sequence, text)
		}
	}
	return sequence
}
