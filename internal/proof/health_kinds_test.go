package proof_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// What each kind reflects on a real Karmada, and whether it proves the copy healthy: read
// testdata/recordings/kinds.txt as the table of docs/semantics.md.
//
// Rules: R4.7-23, R4.7-28, R4.7-43, R4.7-44, R4.7-45.
func TestHealthy_RecordedStatusOfEachKind(t *testing.T) {
	var text strings.Builder
	last := map[string]reason.Verdict{}
	for _, b := range readRecording(t, "kinds") {
		v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "elsewhere"})
		fmt.Fprintf(&text, "%s %d on %s: %s\n    %s", b.Resource.Kind+" "+b.Resource.Name, b.Replicas, targetsOf(b), reported(t, b.Item("member1")), say(v))
		last[b.Resource.Kind+" "+b.Resource.Name] = v
	}
	fixtures.Golden(t, "testdata/recordings/kinds.txt", text.String())
	for _, kind := range []string{
		"ConfigMap settings", "CronJob nightly", "CustomResourceDefinition widgets.acme.example.org", "DaemonSet agent",
		"Deployment web", "HorizontalPodAutoscaler scale", "Ingress gate", "Job once", "PersistentVolumeClaim disk", "Pod single",
		"PodDisruptionBudget guard", "ReplicaSet pool", "Service inner", "Service outer", "StatefulSet db", "Widget widget",
	} {
		require.Contains(t, last, kind)
		require.True(t, last[kind].OK, "%s is ready at the end of its recording: %s", kind, last[kind].Message)
	}
}

// reported is an item in one line: the counts that the core reads, absent ones left out.
func reported(t *testing.T, item *karmada.AggregatedItem) string {
	t.Helper()
	counts, err := json.Marshal(struct {
		Generation         *int64 `json:"generation,omitempty"`
		ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
		Replicas           *int64 `json:"replicas,omitempty"`
		ReadyReplicas      *int64 `json:"readyReplicas,omitempty"`
	}{item.Generation, item.ObservedGeneration, item.Replicas, item.ReadyReplicas})
	require.NoError(t, err)
	applied := "not applied"
	if item.Applied {
		applied = "applied"
	}
	return applied + ", " + string(item.Health) + " " + string(counts)
}

// statefulSet is a binding of a StatefulSet of two replicas with what its copies report.
func statefulSet(items []karmada.AggregatedItem, targets ...string) *karmada.Binding {
	return fixtures.With(fixtures.Duplicated(targets...), fixtures.Reports(items...), func(b *karmada.Binding) { b.Resource.Kind = "StatefulSet" })
}

// Rules: R4.7-43.
func TestHealthy_StatefulSetWithoutObservedGeneration(t *testing.T) {
	item := func(health karmada.Health, ready int64) karmada.AggregatedItem {
		i := fixtures.CopyOn("m2", health, ready, 2)
		i.ObservedGeneration = nil
		return i
	}
	cases := []struct {
		name    string
		item    karmada.AggregatedItem
		ok      bool
		message string
	}{
		{name: "Healthy and complete", item: item(karmada.HealthHealthy, 2), ok: true, message: "proven healthy on m2"},
		{name: "Healthy and one of two ready", item: item(karmada.HealthHealthy, 1), message: "1 of 2 replicas ready on m2"},
		{name: "Healthy and the ready count left out", item: item(karmada.HealthHealthy, 0), message: "0 of 2 replicas ready on m2"},
		{name: "complete, but its controller has not seen the newest generation", item: item(karmada.HealthUnhealthy, 2), message: "its copy on m2 is Unhealthy"},
		{name: "an observed generation that is older is still stale", item: fixtures.CopyOn("m2", karmada.HealthHealthy, 2, 2, 3, 2), message: "older generation of it than 3"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			v := proof.Healthy(proof.HealthInput{Binding: statefulSet([]karmada.AggregatedItem{tc.item}, "m2"), Failed: "m1", Baseline: was()})
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// Rules: R4.7-45.
func TestHealthy_CustomKindByTheCountsThatItReports(t *testing.T) {
	custom := func(cluster string, health karmada.Health, replicas, ready *int64) karmada.AggregatedItem {
		return karmada.AggregatedItem{Cluster: cluster, Applied: true, Health: health, Replicas: replicas, ReadyReplicas: ready}
	}
	none, two, one := (*int64)(nil), fixtures.Ptr(int64(2)), fixtures.Ptr(int64(1))
	const well = karmada.HealthHealthy
	cases := []struct {
		name    string
		items   []karmada.AggregatedItem
		ok      bool
		message string
	}{
		{name: "no counts", items: []karmada.AggregatedItem{custom("m2", well, none, none)}, ok: true},
		{name: "replicas alone, complete", items: []karmada.AggregatedItem{custom("m2", well, two, none)}, ok: true},
		{name: "replicas alone, incomplete", items: []karmada.AggregatedItem{custom("m2", well, one, none)}, message: "1 of 2 replicas ready"},
		{name: "complete, but not Healthy", items: []karmada.AggregatedItem{custom("m2", karmada.HealthUnknown, two, two)}, message: "Unknown"},
		{name: "both, complete", items: []karmada.AggregatedItem{custom("m2", well, two, two)}, ok: true},
		{
			name:    "another copy reports ready ones, so an absent count is a zero",
			items:   []karmada.AggregatedItem{custom("m1", well, two, two), custom("m2", well, two, none)},
			message: "0 of 2 replicas ready",
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(tc.items...), func(b *karmada.Binding) {
				b.Resource.APIVersion, b.Resource.Kind = "acme.example.org/v1", "Widget"
			})
			v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Contains(t, v.Message, tc.message)
		})
	}
}
