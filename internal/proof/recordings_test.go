package proof_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// recorded is one state of a binding on a real Karmada (testdata/recordings), as
// far as the core looks at it.
type recorded struct {
	Generation int64
	Spec       struct {
		Clusters              []karmada.TargetCluster
		GracefulEvictionTasks []struct {
			FromCluster       string
			Producer          string
			Reason            string
			Replicas          *int32
			CreationTimestamp *time.Time
		}
		Placement *karmada.Placement
		Replicas  int32
		Resource  karmada.Resource
	}
	Status struct {
		SchedulerObservedGeneration    int64
		SchedulerObservingAffinityName string
		Conditions                     []struct {
			Type, Status, Reason string
			LastTransitionTime   time.Time
		}
		AggregatedStatus []struct {
			ClusterName string
			Applied     bool
			Health      karmada.Health
			Status      struct{ Generation, ObservedGeneration, Replicas, ReadyReplicas *int64 }
		}
	}
}

func (r recorded) binding() *karmada.Binding {
	b := &karmada.Binding{
		Generation: r.Generation, Resource: r.Spec.Resource, Replicas: r.Spec.Replicas, Workload: r.Spec.Replicas > 0,
		Clusters: r.Spec.Clusters, Placement: r.Spec.Placement,
		Status: karmada.BindingStatus{
			ObservedGeneration: r.Status.SchedulerObservedGeneration,
			ObservedAffinity:   r.Status.SchedulerObservingAffinityName,
		},
	}
	for _, t := range r.Spec.GracefulEvictionTasks {
		b.Tasks = append(b.Tasks, karmada.Task{
			FromCluster: t.FromCluster, Reason: t.Reason, Replicas: t.Replicas, CreationTimestamp: t.CreationTimestamp,
			Producer: karmada.Producer, // the operator played Lifeboat
		})
	}
	for _, c := range r.Status.Conditions {
		if c.Type == "Scheduled" {
			b.Status.Scheduled = &karmada.Condition{
				Type: c.Type, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, LastTransition: c.LastTransitionTime,
			}
		}
	}
	for _, a := range r.Status.AggregatedStatus {
		b.Status.Aggregated = append(b.Status.Aggregated, karmada.AggregatedItem{
			Cluster: a.ClusterName, Applied: a.Applied, Health: a.Health, Generation: a.Status.Generation,
			ObservedGeneration: a.Status.ObservedGeneration, Replicas: a.Status.Replicas, ReadyReplicas: a.Status.ReadyReplicas,
		})
	}
	return b
}

func readRecording(t *testing.T, name string) []*karmada.Binding {
	t.Helper()
	file := fixtures.Must(os.Open("testdata/recordings/" + name + ".jsonl"))(t)
	defer func() { require.NoError(t, file.Close()) }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	var states []*karmada.Binding
	for lines.Scan() {
		var r recorded
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		states = append(states, r.binding())
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, states)
	return states
}

// narrate says what the core thinks of every state, repeats left out. Member1 is
// the one that failed; the states before the eviction are the baseline.
func narrate(states []*karmada.Binding) string {
	var lines []string
	var baseline proof.Baseline
	evicted := int64(0)
	for _, b := range states {
		_, hold := b.TaskFor("member1")
		_, target := b.Target("member1")
		if hold < 0 && target >= 0 {
			baseline = proof.BaselineOf(b)
		}
		if hold >= 0 && evicted == 0 {
			evicted = b.Generation
		}
		text := fmt.Sprintf("generation %d observed %d, on %s%s\n", b.Generation, b.Status.ObservedGeneration, targetsOf(b), heldNote(hold))
		if evicted > 0 {
			text += "    placed:   " + say(proof.Placed(b, "member1"))
			text += "    healthy:  " + say(proof.Healthy(proof.HealthInput{Binding: b, Failed: "member1", Baseline: baseline}))
		}
		if hold >= 0 {
			text += "    answered: " + say(proof.Answered(b, evicted, time.Time{}))
			plan := proof.PlanRestore(proof.RestoreInput{
				Binding: b, Failed: "member1", Task: b.Tasks[hold], Baseline: baseline, Cluster: cluster("member1"),
			})
			text += "    restore:  " + say(reason.Verdict{OK: plan.OK, Reason: plan.Reason, Message: plan.Message})
		}
		if len(lines) == 0 || lines[len(lines)-1] != text {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "")
}

func targetsOf(b *karmada.Binding) string {
	if len(b.Clusters) == 0 {
		return "nothing"
	}
	var parts []string
	for _, t := range b.Clusters {
		parts = append(parts, fmt.Sprintf("%s:%d", t.Name, t.Replicas))
	}
	return strings.Join(parts, " ")
}

func heldNote(task int) string {
	if task < 0 {
		return ""
	}
	return ", held on member1"
}

func say(v reason.Verdict) string {
	yes := "no "
	if v.OK {
		yes = "yes"
	}
	return strings.TrimRight(fmt.Sprintf("%s %s: %s", yes, v.Reason, v.Message), ": ") + "\n"
}

// The core is held against what a real Karmada did: read the golden files as stories.
func TestTheCoreReadsARealKarmada(t *testing.T) {
	for _, name := range []string{"div", "one", "only1", "demo-reader"} {
		t.Run(name, func(t *testing.T) {
			fixtures.Golden(t, "testdata/recordings/"+name+".txt", narrate(readRecording(t, name)))
		})
	}
}

// Karmada says settled and all Healthy while one of three replicas is missing.
//
// Rules: R4.7-23.
func TestTwoOfThreeReadyIsNotHealthy(t *testing.T) {
	states := readRecording(t, "div")
	baseline := proof.BaselineOf(states[0])
	karmadaContent, proven := 0, 0
	for _, b := range states[1:] {
		item := b.Item("member2")
		settled := proof.Placed(b, "member1").OK && item.Health == karmada.HealthHealthy
		ok := proof.Healthy(proof.HealthInput{Binding: b, Failed: "member1", Baseline: baseline}).OK
		if settled && *item.ReadyReplicas == 2 {
			karmadaContent++
			require.False(t, ok)
		}
		if ok {
			proven++
			require.Equal(t, int64(3), *item.ReadyReplicas)
		}
	}
	require.Positive(t, karmadaContent, "the recording has that moment")
	require.Positive(t, proven, "and the end of it")
}
