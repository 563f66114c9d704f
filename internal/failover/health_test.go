package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// was is the baseline of a Deployment of two replicas that served on m1 and on the
// given others, all of them well.
func was(others ...string) failover.Baseline {
	items := []failover.AggregatedItem{copyOn("m1", failover.HealthHealthy, 2, 2)}
	for _, o := range others {
		items = append(items, copyOn(o, failover.HealthHealthy, 2, 2))
	}
	return failover.BaselineOf(with(duplicated(append([]string{"m1"}, others...)...), reports(items...)))
}

func TestBaselineOfRecordsHowEveryCopyStood(t *testing.T) {
	b := with(duplicated("m1", "m2", "m3", "m4"), groups("primary", "primary: m1"), reports(
		copyOn("m1", failover.HealthHealthy, 2, 2),
		copyOn("m2", failover.HealthUnhealthy, 1, 2),
		failover.AggregatedItem{Cluster: "m3", Applied: true, Health: failover.HealthHealthy},
		copyOn("gone", failover.HealthHealthy, 2, 2),
	))
	base := failover.BaselineOf(b)
	require.Equal(t, failover.Baseline{
		Clusters: b.Clusters, Replicas: 2, Generation: 2, Affinity: "primary",
		Health: map[string]failover.CopyHealth{
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
	const well, ill, unknown = failover.HealthHealthy, failover.HealthUnhealthy, failover.HealthUnknown
	kind := func(apiVersion, kind string) func(*failover.Binding) {
		return func(b *failover.Binding) { b.Resource.APIVersion, b.Resource.Kind = apiVersion, kind }
	}
	unapplied := copyOn("m2", well, 2, 2)
	unapplied.Applied = false
	broken := copyOn("m2", well, 2, 2)
	broken.Malformed = "status.replicas: not a number"
	unobserved := copyOn("m2", well, 2, 2)
	unobserved.ObservedGeneration = nil
	bare := failover.AggregatedItem{Cluster: "m2", Applied: true, Health: well}
	silent := failover.AggregatedItem{Cluster: "m2", Applied: true, Health: unknown}
	roleBase := failover.BaselineOf(nonWorkload("m1"))
	for name, tc := range map[string]struct {
		binding  *failover.Binding
		baseline failover.Baseline
		suspect  []string
		reason   failover.Reason
		message  string
	}{
		"the new copy is ready":                   {with(duplicated("m2"), reports(copyOn("m2", well, 2, 2))), was(), nil, failover.ReasonHealthy, "proven healthy on m2"},
		"Karmada says Healthy with one of two":    {with(duplicated("m2"), reports(copyOn("m2", well, 1, 2))), was(), nil, failover.ReasonNotHealthy, "1 of 2 replicas ready on m2"},
		"a zero that was left out is a zero":      {with(duplicated("m2"), reports(copyOn("m2", well, 0, 2))), was(), nil, failover.ReasonNotHealthy, "0 of 2 replicas ready on m2"},
		"counts of an older generation":           {with(duplicated("m2"), reports(copyOn("m2", well, 2, 2, 3, 2))), was(), nil, failover.ReasonNotHealthy, "older generation of it than 3"},
		"counts of no generation at all":          {with(duplicated("m2"), reports(unobserved)), was(), nil, failover.ReasonNotHealthy, "older generation"},
		"it is Unhealthy":                         {with(duplicated("m2"), reports(copyOn("m2", ill, 2, 2))), was(), nil, failover.ReasonNotHealthy, "its copy on m2 is Unhealthy"},
		"it is Unknown":                           {with(duplicated("m2"), reports(copyOn("m2", unknown, 2, 2))), was(), nil, failover.ReasonNotHealthy, "m2 is Unknown"},
		"it is not applied":                       {with(duplicated("m2"), reports(unapplied)), was(), nil, failover.ReasonNotHealthy, "m2 is not applied"},
		"it reports nothing yet":                  {duplicated("m2"), was(), nil, failover.ReasonNotHealthy, "m2 reports no status of it yet"},
		"its report cannot be understood":         {with(duplicated("m2"), reports(broken)), was(), nil, failover.ReasonNotHealthy, "not a number"},
		"a dead cluster's Healthy proves nothing": {with(duplicated("m2"), reports(copyOn("m2", well, 2, 2))), was(), []string{"m2"}, failover.ReasonTargetNotReady, "proves nothing"},
		"every new copy must be proven": {
			with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2))), was(), nil, failover.ReasonNotHealthy, "m3 reports no status",
		},

		"the survivor is as well as it was":      {with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", well, 2, 2))), was("m2"), nil, failover.ReasonHealthy, "proven healthy on m3"},
		"the survivor fell ill":                  {with(duplicated("m2", "m3"), reports(copyOn("m2", ill, 2, 2), copyOn("m3", well, 2, 2))), was("m2"), nil, failover.ReasonTargetWorse, "its copy on m2 was healthy and is Unhealthy now"},
		"the survivor lost a replica":            {with(duplicated("m2", "m3"), reports(copyOn("m2", well, 1, 2), copyOn("m3", well, 2, 2))), was("m2"), nil, failover.ReasonTargetWorse, "2 replicas were ready and 1 are now"},
		"the survivor's cluster died":            {with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", well, 2, 2))), was("m2"), []string{"m2"}, failover.ReasonTargetWorse, "m2 was healthy"},
		"the survivor reports nothing any more":  {with(duplicated("m2", "m3"), reports(copyOn("m3", well, 2, 2))), was("m2"), nil, failover.ReasonTargetWorse, "no usable status"},
		"a survivor that was ill may stay so":    {with(duplicated("m2", "m3"), reports(copyOn("m2", ill, 0, 2), copyOn("m3", well, 2, 2))), was("m2").Doubting(map[string]bool{"m2": true}), nil, failover.ReasonHealthy, "m3"},
		"a survivor that was dead may stay dead": {with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", well, 2, 2))), was("m2").Doubting(map[string]bool{"m2": true}), []string{"m2"}, failover.ReasonHealthy, "m3"},

		"with survivors alone they must prove themselves": {with(duplicated("m2"), reports(copyOn("m2", well, 2, 2))), was("m2"), nil, failover.ReasonHealthy, "proven healthy on m2"},
		"also where they were ill before":                 {with(duplicated("m2"), reports(copyOn("m2", ill, 0, 2))), was("m2").Doubting(map[string]bool{"m2": true}), nil, failover.ReasonNotHealthy, "0 of 2 replicas ready on m2"},
		"and every one of them":                           {with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", ill, 2, 2))), was("m2", "m3"), nil, failover.ReasonNotHealthy, "its copy on m3 is Unhealthy"},

		"nothing is never healthy":               {duplicated(), was(), nil, failover.ReasonNotPlaced, "no target"},
		"with the failed cluster back it is not": {with(duplicated("m1", "m2"), reports(copyOn("m1", well, 2, 2), copyOn("m2", well, 2, 2))), was(), nil, failover.ReasonPutBack, "m1"},

		"a kind without counts needs only health":       {with(duplicated("m2"), kind("argoproj.io/v1alpha1", "Rollout"), reports(bare)), was(), nil, failover.ReasonHealthy, "m2"},
		"a custom kind that says Unknown is not":        {with(duplicated("m2"), kind("argoproj.io/v1alpha1", "Rollout"), reports(silent)), was(), nil, failover.ReasonNotHealthy, "Unknown"},
		"a kind without health is healthy once applied": {with(nonWorkload("m2"), reports(silent)), roleBase, nil, failover.ReasonHealthy, "m2"},
		"a Job that says Unknown is waited for":         {with(duplicated("m2"), kind("batch/v1", "Job"), reports(silent)), was(), nil, failover.ReasonNotHealthy, "Unknown"},
		"a Service has health":                          {with(nonWorkload("m2"), kind("v1", "Service"), reports(silent)), roleBase, nil, failover.ReasonNotHealthy, "Unknown"},
		"a ConfigMap has none":                          {with(nonWorkload("m2"), kind("v1", "ConfigMap"), reports(silent)), roleBase, nil, failover.ReasonHealthy, "m2"},
		"a custom resource may have":                    {with(nonWorkload("m2"), kind("acme.io/v1", "Widget"), reports(silent)), roleBase, nil, failover.ReasonNotHealthy, "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			suspect := map[string]bool{}
			for _, s := range tc.suspect {
				suspect[s] = true
			}
			v := failover.Healthy(failover.HealthInput{Binding: tc.binding, Failed: "m1", Baseline: tc.baseline, Suspect: suspect})
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Equal(t, tc.reason == failover.ReasonHealthy, v.OK)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// Rules: R4.7-22, R4.7-23, R4.7-25.
func TestHealthOfDividedReplicas(t *testing.T) {
	before := func() failover.Baseline {
		return failover.BaselineOf(with(divided([]failover.TargetCluster{on("m1", 1), on("m2", 2), on("m3", 3)}), reports(
			copyOn("m1", failover.HealthHealthy, 1, 1), copyOn("m2", failover.HealthHealthy, 2, 2), copyOn("m3", failover.HealthHealthy, 3, 3))))
	}
	after := func(targets []failover.TargetCluster, items ...failover.AggregatedItem) *failover.Binding {
		b := with(divided(targets), reports(items...))
		b.Replicas = 6
		return b
	}
	const well = failover.HealthHealthy
	for name, tc := range map[string]struct {
		binding *failover.Binding
		reason  failover.Reason
		message string
	}{
		"who grew must be ready in full": {
			after([]failover.TargetCluster{on("m2", 3), on("m3", 3)}, copyOn("m2", well, 2, 2), copyOn("m3", well, 3, 3)), failover.ReasonNotHealthy, "2 of 3 replicas ready on m2",
		},
		"and then it is proven": {
			after([]failover.TargetCluster{on("m2", 3), on("m3", 3)}, copyOn("m2", well, 3, 3), copyOn("m3", well, 3, 3)), failover.ReasonHealthy, "proven healthy on m2",
		},
		"who shrank may have fewer ready": {
			after([]failover.TargetCluster{on("m2", 4), on("m3", 2)}, copyOn("m2", well, 4, 4), copyOn("m3", well, 2, 2)), failover.ReasonHealthy, "proven healthy on m2",
		},
		"but not fewer than it should": {
			after([]failover.TargetCluster{on("m2", 4), on("m3", 2)}, copyOn("m2", well, 4, 4), copyOn("m3", well, 1, 2)), failover.ReasonTargetWorse, "on m3 3 replicas were ready and 1 are now",
		},
		"before the scheduler's answer nothing is proven": {
			after([]failover.TargetCluster{on("m2", 2), on("m3", 3)}, copyOn("m2", well, 2, 2), copyOn("m3", well, 3, 3)), failover.ReasonNotHealthy, "5 of 6 replicas have a target",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := failover.Healthy(failover.HealthInput{Binding: tc.binding, Failed: "m1", Baseline: before()})
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Contains(t, v.Message, tc.message)
		})
	}
}
