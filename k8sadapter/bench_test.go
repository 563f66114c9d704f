package k8sadapter

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkKeeping is what it costs to take one binding into the cache, and how much memory it has there.
func BenchmarkKeeping(b *testing.B) {
	keep := keeping(slimBinding)
	entries := make([]any, 0, b.N)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		n := len(entries)
		entries = append(entries, fixtures.Must(keep(fleetBinding(n)))(b))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "heap-B/binding")
	require.NotEmpty(b, entries)
}

// fleetBinding is one of many Deployments of a fleet, as the API server sends it.
func fleetBinding(n int) *unstructured.Unstructured {
	home := fmt.Sprintf("member-%d", n%100)
	u := &unstructured.Unstructured{}
	_ = u.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"work.karmada.io/v1alpha2","kind":"ResourceBinding","metadata":{
		"name":"app-%[1]d-deployment","namespace":"shop-%[2]d","uid":"78a73996-b960-4a10-b89c-%012[1]d","resourceVersion":"%[1]d","generation":2,
		"annotations":{"propagationpolicy.karmada.io/name":"standard","propagationpolicy.karmada.io/namespace":"shop-%[2]d"},
		"labels":{"propagationpolicy.karmada.io/permanent-id":"da354a62-96bb-48a7-bda5-%012[2]d","resourcebinding.karmada.io/permanent-id":"0bfe12c0-daec-4f81-89ee-%012[1]d"}},
	"spec":{"clusters":[{"name":"%[3]s","replicas":3}],"replicas":3,"schedulerName":"default-scheduler",
		"replicaRequirements":{"resourceRequest":{"cpu":"250m","memory":"512Mi"}},
		"placement":{"clusterAffinity":{"clusterNames":["%[3]s","backup"]},
			"clusterTolerations":[{"key":"cluster.karmada.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
			"spreadConstraints":[{"spreadByField":"cluster","maxGroups":1,"minGroups":1}],"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Aggregated"}},
		"resource":{"apiVersion":"apps/v1","kind":"Deployment","name":"app-%[1]d","namespace":"shop-%[2]d","uid":"73bc76ee-dd58-49a6-8f94-%012[1]d"}},
	"status":{"aggregatedStatus":[{"applied":true,"clusterName":"%[3]s","health":"Healthy","status":{"availableReplicas":3,"generation":1,"observedGeneration":1,"readyReplicas":3,"replicas":3}}],
		"conditions":[{"lastTransitionTime":"2026-11-21T00:14:10Z","message":"Binding has been scheduled successfully.","reason":"Success","status":"True","type":"Scheduled"}],
		"lastScheduledTime":"2026-11-21T00:14:10Z","schedulerObservedGeneration":2}}`, n, n%300, home))
	return u
}
