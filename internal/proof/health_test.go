package proof_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// was is the baseline of a Deployment of two replicas that served on m1 and on the
// given others, all of them well.
func was(others ...string) proof.Baseline {
	items := []karmada.AggregatedItem{fixtures.CopyOn("m1", karmada.HealthHealthy, 2, 2)}
	for _, o := range others {
		items = append(items, fixtures.CopyOn(o, karmada.HealthHealthy, 2, 2))
	}
	return proof.BaselineOf(fixtures.With(fixtures.Duplicated(append([]string{"m1"}, others...)...), fixtures.Reports(items...)))
}

func TestBaselineOfRecordsHowEveryCopyStood(t *testing.T) {
	b := fixtures.With(fixtures.Duplicated("m1", "m2", "m3", "m4"), fixtures.Groups("primary", "primary: m1"), fixtures.Reports(
		fixtures.CopyOn("m1", karmada.HealthHealthy, 2, 2),
		fixtures.CopyOn("m2", karmada.HealthUnhealthy, 1, 2),
		karmada.AggregatedItem{Cluster: "m3", Applied: true, Health: karmada.HealthHealthy},
		fixtures.CopyOn("gone", karmada.HealthHealthy, 2, 2),
	))
	base := proof.BaselineOf(b)
	require.Equal(t, proof.Baseline{
		Clusters: b.Clusters, Replicas: 2, Generation: 2, Affinity: "primary",
		Health: map[string]proof.CopyHealth{
			"m1": {Healthy: true, Ready: 2},
			"m2": {Healthy: false, Ready: 1},
			"m3": {Healthy: true, Ready: 0}, // a Deployment leaves a zero out
			"m4": {Healthy: false, Ready: -1},
		},
	}, base)
	doubted := base.Doubting(map[string]bool{"m1": true, "elsewhere": true})
	require.False(t, doubted.Health["m1"].Healthy)
	require.True(t, doubted.Health["m3"].Healthy)
	require.True(t, base.Health["m1"].Healthy, "the baseline itself stays as recorded")
	require.NotContains(t, doubted.Health, "elsewhere")
}

// Rules: R4.7-22, R4.7-23, R4.7-25, R4.7-26, R4.7-28.
func TestHealthy(t *testing.T) {
	const well, ill, unknown = karmada.HealthHealthy, karmada.HealthUnhealthy, karmada.HealthUnknown
	kind := func(apiVersion, kind string) func(*karmada.Binding) {
		return func(b *karmada.Binding) { b.Resource.APIVersion, b.Resource.Kind = apiVersion, kind }
	}
	unapplied := fixtures.CopyOn("m2", well, 2, 2)
	unapplied.Applied = false
	broken := fixtures.CopyOn("m2", well, 2, 2)
	broken.Malformed = "status.replicas: not a number"
	unobserved := fixtures.CopyOn("m2", well, 2, 2)
	unobserved.ObservedGeneration = nil
	bare := karmada.AggregatedItem{Cluster: "m2", Applied: true, Health: well}
	silent := karmada.AggregatedItem{Cluster: "m2", Applied: true, Health: unknown}
	roleBase := proof.BaselineOf(fixtures.NonWorkload("m1"))
	for name, tc := range map[string]struct {
		binding  *karmada.Binding
		baseline proof.Baseline
		suspect  []string
		reason   reason.Reason
		message  string
	}{
		"the new copy is ready":                   {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2))), baseline: was(), reason: reason.Healthy, message: "proven healthy on m2"},
		"Karmada says Healthy with one of two":    {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", well, 1, 2))), baseline: was(), reason: reason.NotHealthy, message: "1 of 2 replicas ready on m2"},
		"a zero that was left out is a zero":      {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", well, 0, 2))), baseline: was(), reason: reason.NotHealthy, message: "0 of 2 replicas ready on m2"},
		"counts of an older generation":           {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2, 3, 2))), baseline: was(), reason: reason.NotHealthy, message: "older generation of it than 3"},
		"counts of no generation at all":          {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(unobserved)), baseline: was(), reason: reason.NotHealthy, message: "older generation"},
		"it is Unhealthy":                         {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", ill, 2, 2))), baseline: was(), reason: reason.NotHealthy, message: "its copy on m2 is Unhealthy"},
		"it is Unknown":                           {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", unknown, 2, 2))), baseline: was(), reason: reason.NotHealthy, message: "m2 is Unknown"},
		"it is not applied":                       {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(unapplied)), baseline: was(), reason: reason.NotHealthy, message: "m2 is not applied"},
		"it reports nothing yet":                  {binding: fixtures.Duplicated("m2"), baseline: was(), reason: reason.NotHealthy, message: "m2 reports no status of it yet"},
		"its report cannot be understood":         {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(broken)), baseline: was(), reason: reason.NotHealthy, message: "not a number"},
		"a dead cluster's Healthy proves nothing": {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2))), baseline: was(), suspect: []string{"m2"}, reason: reason.TargetNotReady, message: "proves nothing"},
		"every new copy must be proven": {
			binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2))), baseline: was(), reason: reason.NotHealthy, message: "m3 reports no status",
		},

		"the survivor is as well as it was":      {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2), fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.Healthy, message: "proven healthy on m3"},
		"the survivor fell ill":                  {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", ill, 2, 2), fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.TargetWorse, message: "its copy on m2 was healthy and is Unhealthy now"},
		"the survivor lost a replica":            {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", well, 1, 2), fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.TargetWorse, message: "2 replicas were ready and 1 are now"},
		"the survivor's cluster died":            {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2), fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2"), suspect: []string{"m2"}, reason: reason.TargetWorse, message: "m2 was healthy"},
		"the survivor reports nothing any more":  {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.TargetWorse, message: "no usable status"},
		"a survivor that was ill may stay so":    {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", ill, 0, 2), fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2").Doubting(map[string]bool{"m2": true}), reason: reason.Healthy, message: "m3"},
		"a survivor that was dead may stay dead": {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2), fixtures.CopyOn("m3", well, 2, 2))), baseline: was("m2").Doubting(map[string]bool{"m2": true}), suspect: []string{"m2"}, reason: reason.Healthy, message: "m3"},

		"with survivors alone they must prove themselves": {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2))), baseline: was("m2"), reason: reason.Healthy, message: "proven healthy on m2"},
		"also where they were ill before":                 {binding: fixtures.With(fixtures.Duplicated("m2"), fixtures.Reports(fixtures.CopyOn("m2", ill, 0, 2))), baseline: was("m2").Doubting(map[string]bool{"m2": true}), reason: reason.NotHealthy, message: "0 of 2 replicas ready on m2"},
		"and every one of them":                           {binding: fixtures.With(fixtures.Duplicated("m2", "m3"), fixtures.Reports(fixtures.CopyOn("m2", well, 2, 2), fixtures.CopyOn("m3", ill, 2, 2))), baseline: was("m2", "m3"), reason: reason.NotHealthy, message: "its copy on m3 is Unhealthy"},

		"nothing is never healthy":               {binding: fixtures.Duplicated(), baseline: was(), reason: reason.NotPlaced, message: "no target"},
		"with the failed cluster back it is not": {binding: fixtures.With(fixtures.Duplicated("m1", "m2"), fixtures.Reports(fixtures.CopyOn("m1", well, 2, 2), fixtures.CopyOn("m2", well, 2, 2))), baseline: was(), reason: reason.PutBack, message: "m1"},

		"a kind without counts needs only health":       {binding: fixtures.With(fixtures.Duplicated("m2"), kind("argoproj.io/v1alpha1", "Rollout"), fixtures.Reports(bare)), baseline: was(), reason: reason.Healthy, message: "m2"},
		"a custom kind that says Unknown is not":        {binding: fixtures.With(fixtures.Duplicated("m2"), kind("argoproj.io/v1alpha1", "Rollout"), fixtures.Reports(silent)), baseline: was(), reason: reason.NotHealthy, message: "Unknown"},
		"a kind without health is healthy once applied": {binding: fixtures.With(fixtures.NonWorkload("m2"), fixtures.Reports(silent)), baseline: roleBase, reason: reason.Healthy, message: "m2"},
		"a Job that says Unknown is waited for":         {binding: fixtures.With(fixtures.Duplicated("m2"), kind("batch/v1", "Job"), fixtures.Reports(silent)), baseline: was(), reason: reason.NotHealthy, message: "Unknown"},
		"a Service has health":                          {binding: fixtures.With(fixtures.NonWorkload("m2"), kind("v1", "Service"), fixtures.Reports(silent)), baseline: roleBase, reason: reason.NotHealthy, message: "Unknown"},
		"a ConfigMap has none":                          {binding: fixtures.With(fixtures.NonWorkload("m2"), kind("v1", "ConfigMap"), fixtures.Reports(silent)), baseline: roleBase, reason: reason.Healthy, message: "m2"},
		"a custom resource may have":                    {binding: fixtures.With(fixtures.NonWorkload("m2"), kind("acme.io/v1", "Widget"), fixtures.Reports(silent)), baseline: roleBase, reason: reason.NotHealthy, message: "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			suspect := map[string]bool{}
			for _, s := range tc.suspect {
				suspect[s] = true
			}
			v := proof.Healthy(proof.HealthInput{Binding: tc.binding, Failed: "m1", Baseline: tc.baseline, Suspect: suspect})
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Equal(t, tc.reason == reason.Healthy, v.OK)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// Rules: R4.7-22, R4.7-23, R4.7-25.
func TestHealthOfDividedReplicas(t *testing.T) {
	before := func() proof.Baseline {
		return proof.BaselineOf(fixtures.With(fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 1), fixtures.On("m2", 2), fixtures.On("m3", 3)}), fixtures.Reports(
			fixtures.CopyOn("m1", karmada.HealthHealthy, 1, 1), fixtures.CopyOn("m2", karmada.HealthHealthy, 2, 2), fixtures.CopyOn("m3", karmada.HealthHealthy, 3, 3))))
	}
	after := func(targets []karmada.TargetCluster, items ...karmada.AggregatedItem) *karmada.Binding {
		b := fixtures.With(fixtures.Divided(targets), fixtures.Reports(items...))
		b.Replicas = 6
		return b
	}
	const well = karmada.HealthHealthy
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		reason  reason.Reason
		message string
	}{
		"who grew must be ready in full": {
			binding: after([]karmada.TargetCluster{fixtures.On("m2", 3), fixtures.On("m3", 3)}, fixtures.CopyOn("m2", well, 2, 2), fixtures.CopyOn("m3", well, 3, 3)), reason: reason.NotHealthy, message: "2 of 3 replicas ready on m2",
		},
		"and then it is proven": {
			binding: after([]karmada.TargetCluster{fixtures.On("m2", 3), fixtures.On("m3", 3)}, fixtures.CopyOn("m2", well, 3, 3), fixtures.CopyOn("m3", well, 3, 3)), reason: reason.Healthy, message: "proven healthy on m2",
		},
		"who shrank may have fewer ready": {
			binding: after([]karmada.TargetCluster{fixtures.On("m2", 4), fixtures.On("m3", 2)}, fixtures.CopyOn("m2", well, 4, 4), fixtures.CopyOn("m3", well, 2, 2)), reason: reason.Healthy, message: "proven healthy on m2",
		},
		"but not fewer than it should": {
			binding: after([]karmada.TargetCluster{fixtures.On("m2", 4), fixtures.On("m3", 2)}, fixtures.CopyOn("m2", well, 4, 4), fixtures.CopyOn("m3", well, 1, 2)), reason: reason.TargetWorse, message: "on m3 3 replicas were ready and 1 are now",
		},
		"before the scheduler's answer nothing is proven": {
			binding: after([]karmada.TargetCluster{fixtures.On("m2", 2), fixtures.On("m3", 3)}, fixtures.CopyOn("m2", well, 2, 2), fixtures.CopyOn("m3", well, 3, 3)), reason: reason.NotHealthy, message: "5 of 6 replicas have a target",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := proof.Healthy(proof.HealthInput{Binding: tc.binding, Failed: "m1", Baseline: before()})
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Contains(t, v.Message, tc.message)
		})
	}
}
