package proof_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// was is the baseline of a Deployment of two replicas that served on m1 and on the
// given others, all of them well.
func was(others ...string) proof.Baseline {
	items := []karmada.AggregatedItem{copyOn("m1", karmada.HealthHealthy, 2, 2)}
	for _, o := range others {
		items = append(items, copyOn(o, karmada.HealthHealthy, 2, 2))
	}
	return proof.BaselineOf(with(duplicated(append([]string{"m1"}, others...)...), reports(items...)))
}

func TestBaselineOfRecordsHowEveryCopyStood(t *testing.T) {
	b := with(duplicated("m1", "m2", "m3", "m4"), groups("primary", "primary: m1"), reports(
		copyOn("m1", karmada.HealthHealthy, 2, 2),
		copyOn("m2", karmada.HealthUnhealthy, 1, 2),
		karmada.AggregatedItem{Cluster: "m3", Applied: true, Health: karmada.HealthHealthy},
		copyOn("gone", karmada.HealthHealthy, 2, 2),
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
	unapplied := copyOn("m2", well, 2, 2)
	unapplied.Applied = false
	denied := unapplied
	denied.AppliedMessage = "admission webhook denied it " + strings.Repeat("x", 500)
	broken := copyOn("m2", well, 2, 2)
	broken.Malformed = "status.replicas: not a number"
	unobserved := copyOn("m2", well, 2, 2)
	unobserved.ObservedGeneration = nil
	bare := karmada.AggregatedItem{Cluster: "m2", Applied: true, Health: well}
	silent := karmada.AggregatedItem{Cluster: "m2", Applied: true, Health: unknown}
	roleBase := proof.BaselineOf(nonWorkload("m1"))
	for name, tc := range map[string]struct {
		binding  *karmada.Binding
		baseline proof.Baseline
		suspect  []string
		reason   reason.Reason
		message  string
	}{
		"the new copy is ready":                   {binding: with(duplicated("m2"), reports(copyOn("m2", well, 2, 2))), baseline: was(), reason: reason.Healthy, message: "proven healthy on m2"},
		"Karmada says Healthy with one of two":    {binding: with(duplicated("m2"), reports(copyOn("m2", well, 1, 2))), baseline: was(), reason: reason.NotHealthy, message: "1 of 2 replicas ready on m2"},
		"a zero that was left out is a zero":      {binding: with(duplicated("m2"), reports(copyOn("m2", well, 0, 2))), baseline: was(), reason: reason.NotHealthy, message: "0 of 2 replicas ready on m2"},
		"counts of an older generation":           {binding: with(duplicated("m2"), reports(copyOn("m2", well, 2, 2, 3, 2))), baseline: was(), reason: reason.NotHealthy, message: "older generation of it than 3"},
		"counts of no generation at all":          {binding: with(duplicated("m2"), reports(unobserved)), baseline: was(), reason: reason.NotHealthy, message: "older generation"},
		"it is Unhealthy":                         {binding: with(duplicated("m2"), reports(copyOn("m2", ill, 2, 2))), baseline: was(), reason: reason.NotHealthy, message: "its copy on m2 is Unhealthy"},
		"it is Unknown":                           {binding: with(duplicated("m2"), reports(copyOn("m2", unknown, 2, 2))), baseline: was(), reason: reason.NotHealthy, message: "m2 is Unknown"},
		"it is not applied":                       {binding: with(duplicated("m2"), reports(unapplied)), baseline: was(), reason: reason.NotHealthy, message: "m2 is not applied"},
		"it is not applied, and Karmada says why": {binding: with(duplicated("m2"), reports(denied)), baseline: was(), reason: reason.NotHealthy, message: "m2 is not applied: admission webhook denied it xx"},
		"it reports nothing yet":                  {binding: duplicated("m2"), baseline: was(), reason: reason.NotHealthy, message: "m2 reports no status of it yet"},
		"its report cannot be understood":         {binding: with(duplicated("m2"), reports(broken)), baseline: was(), reason: reason.NotHealthy, message: "not a number"},
		"a dead cluster's Healthy proves nothing": {binding: with(duplicated("m2"), reports(copyOn("m2", well, 2, 2))), baseline: was(), suspect: []string{"m2"}, reason: reason.TargetNotReady, message: "proves nothing"},
		"every new copy must be proven": {
			binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2))), baseline: was(), reason: reason.NotHealthy, message: "m3 reports no status",
		},

		"the survivor is as well as it was":      {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.Healthy, message: "proven healthy on m3"},
		"the survivor fell ill":                  {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", ill, 2, 2), copyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.TargetWorse, message: "its copy on m2 was healthy and is Unhealthy now"},
		"the survivor lost a replica":            {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 1, 2), copyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.TargetWorse, message: "2 replicas were ready and 1 are now"},
		"the survivor's cluster died":            {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", well, 2, 2))), baseline: was("m2"), suspect: []string{"m2"}, reason: reason.TargetWorse, message: "m2 was healthy"},
		"the survivor reports nothing any more":  {binding: with(duplicated("m2", "m3"), reports(copyOn("m3", well, 2, 2))), baseline: was("m2"), reason: reason.TargetWorse, message: "no usable status"},
		"a survivor that was ill may stay so":    {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", ill, 0, 2), copyOn("m3", well, 2, 2))), baseline: was("m2").Doubting(map[string]bool{"m2": true}), reason: reason.Healthy, message: "m3"},
		"a survivor that was dead may stay dead": {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", well, 2, 2))), baseline: was("m2").Doubting(map[string]bool{"m2": true}), suspect: []string{"m2"}, reason: reason.Healthy, message: "m3"},

		"with survivors alone they must prove themselves": {binding: with(duplicated("m2"), reports(copyOn("m2", well, 2, 2))), baseline: was("m2"), reason: reason.Healthy, message: "proven healthy on m2"},
		"also where they were ill before":                 {binding: with(duplicated("m2"), reports(copyOn("m2", ill, 0, 2))), baseline: was("m2").Doubting(map[string]bool{"m2": true}), reason: reason.NotHealthy, message: "0 of 2 replicas ready on m2"},
		"and every one of them":                           {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 2, 2), copyOn("m3", ill, 2, 2))), baseline: was("m2", "m3"), reason: reason.NotHealthy, message: "its copy on m3 is Unhealthy"},

		"nothing is never healthy":               {binding: duplicated(), baseline: was(), reason: reason.NotPlaced, message: "no target"},
		"with the failed cluster back it is not": {binding: with(duplicated("m1", "m2"), reports(copyOn("m1", well, 2, 2), copyOn("m2", well, 2, 2))), baseline: was(), reason: reason.PutBack, message: "m1"},

		"a kind without counts needs only health":       {binding: with(duplicated("m2"), kind("argoproj.io/v1alpha1", "Rollout"), reports(bare)), baseline: was(), reason: reason.Healthy, message: "m2"},
		"a custom kind that says Unknown is not":        {binding: with(duplicated("m2"), kind("argoproj.io/v1alpha1", "Rollout"), reports(silent)), baseline: was(), reason: reason.NotHealthy, message: "Unknown"},
		"a kind without health is healthy once applied": {binding: with(nonWorkload("m2"), reports(silent)), baseline: roleBase, reason: reason.Healthy, message: "m2"},
		"a Job that says Unknown is waited for":         {binding: with(duplicated("m2"), kind("batch/v1", "Job"), reports(silent)), baseline: was(), reason: reason.NotHealthy, message: "Unknown"},
		"a Service has health":                          {binding: with(nonWorkload("m2"), kind("v1", "Service"), reports(silent)), baseline: roleBase, reason: reason.NotHealthy, message: "Unknown"},
		"a ConfigMap has none":                          {binding: with(nonWorkload("m2"), kind("v1", "ConfigMap"), reports(silent)), baseline: roleBase, reason: reason.Healthy, message: "m2"},
		"a custom resource may have":                    {binding: with(nonWorkload("m2"), kind("acme.io/v1", "Widget"), reports(silent)), baseline: roleBase, reason: reason.NotHealthy, message: "Unknown"},
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
		return proof.BaselineOf(with(divided(on("m1", 1), on("m2", 2), on("m3", 3)), reports(
			copyOn("m1", karmada.HealthHealthy, 1, 1), copyOn("m2", karmada.HealthHealthy, 2, 2), copyOn("m3", karmada.HealthHealthy, 3, 3))))
	}
	after := func(targets []karmada.TargetCluster, items ...karmada.AggregatedItem) *karmada.Binding {
		b := with(fixtures.Divided(targets), reports(items...))
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
			binding: after([]karmada.TargetCluster{on("m2", 3), on("m3", 3)}, copyOn("m2", well, 2, 2), copyOn("m3", well, 3, 3)), reason: reason.NotHealthy, message: "2 of 3 replicas ready on m2",
		},
		"and then it is proven": {
			binding: after([]karmada.TargetCluster{on("m2", 3), on("m3", 3)}, copyOn("m2", well, 3, 3), copyOn("m3", well, 3, 3)), reason: reason.Healthy, message: "proven healthy on m2",
		},
		"who shrank may have fewer ready": {
			binding: after([]karmada.TargetCluster{on("m2", 4), on("m3", 2)}, copyOn("m2", well, 4, 4), copyOn("m3", well, 2, 2)), reason: reason.Healthy, message: "proven healthy on m2",
		},
		"but not fewer than it should": {
			binding: after([]karmada.TargetCluster{on("m2", 4), on("m3", 2)}, copyOn("m2", well, 4, 4), copyOn("m3", well, 1, 2)), reason: reason.TargetWorse, message: "on m3 3 replicas were ready and 1 are now",
		},
		"before the scheduler's answer nothing is proven": {
			binding: after([]karmada.TargetCluster{on("m2", 2), on("m3", 3)}, copyOn("m2", well, 2, 2), copyOn("m3", well, 3, 3)), reason: reason.NotHealthy, message: "5 of 6 replicas have a target",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := proof.Healthy(proof.HealthInput{Binding: tc.binding, Failed: "m1", Baseline: before()})
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// Where the member's autoscaler decides how many replicas run, the copy's own number counts.
//
// Rules: R4.7-23, R4.7-26.
func TestHealthy_MembersDecideTheReplicas_CountsTheCopysOwn(t *testing.T) {
	const well, ill = karmada.HealthHealthy, karmada.HealthUnhealthy
	kept := was("m2")
	for name, tc := range map[string]struct {
		binding  *karmada.Binding
		baseline proof.Baseline
		want     reason.Reason
	}{
		"fewer than the scheduler gave it":    {binding: with(duplicated("m3"), reports(copyOn("m3", well, 1, 1))), baseline: was(), want: reason.Healthy},
		"more than that, and one not ready":   {binding: with(duplicated("m3"), reports(copyOn("m3", well, 4, 5))), baseline: was(), want: reason.NotHealthy},
		"none yet":                            {binding: with(duplicated("m3"), reports(copyOn("m3", well, 0, 0))), baseline: was(), want: reason.NotHealthy},
		"all of its own, and Karmada says no": {binding: with(duplicated("m3"), reports(copyOn("m3", ill, 1, 1))), baseline: was(), want: reason.NotHealthy},
		"a survivor that was scaled down":     {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 1, 1), copyOn("m3", well, 1, 1))), baseline: kept, want: reason.Healthy},
		"a survivor that lost one":            {binding: with(duplicated("m2", "m3"), reports(copyOn("m2", well, 1, 2), copyOn("m3", well, 1, 1))), baseline: kept, want: reason.TargetWorse},
	} {
		t.Run(name, func(t *testing.T) {
			in := proof.HealthInput{Binding: tc.binding, Failed: "m1", Baseline: tc.baseline, RetainsReplicas: true}
			v := proof.Healthy(in)
			require.Equal(t, tc.want, v.Reason, v.Message)
		})
	}
	fewer := with(duplicated("m3"), reports(copyOn("m3", well, 1, 1)))
	require.Equal(t, reason.NotHealthy, proof.Healthy(proof.HealthInput{Binding: fewer, Failed: "m1", Baseline: was()}).Reason)
}

// A copy that was there before may have to grow yet: its Work, and the note of an override that has gone, may be of before.
//
// Rules: R4.7-23.
func TestHealthy_CopyOfATargetOfBefore_IsNotJudgedByItsWork(t *testing.T) {
	in := proof.HealthInput{Binding: with(duplicated("m3"), reports(copyOn("m3", karmada.HealthHealthy, 1, 1))), Failed: "m1", Baseline: was("m3")}
	require.Empty(t, in.Fewer())
}

// An OverridePolicy has the standby run fewer replicas than the scheduler gave it.
//
// Rules: R4.7-23.
func TestHealthy_OverridePolicyGivesFewerReplicas(t *testing.T) {
	const well, ill = karmada.HealthHealthy, karmada.HealthUnhealthy
	for name, tc := range map[string]struct {
		item    karmada.AggregatedItem
		own     int64 // 0: no Work says a number of its own
		suspect bool
		fewer   []string
		ok      bool
	}{
		"all of its own":                  {item: copyOn("m3", well, 1, 1), own: 1, fewer: []string{"m3"}, ok: true},
		"its Work says no number":         {item: copyOn("m3", well, 1, 1), fewer: []string{"m3"}},
		"it is to grow yet":               {item: copyOn("m3", well, 1, 1), own: 2, fewer: []string{"m3"}},
		"an override that gives more":     {item: copyOn("m3", well, 1, 1), own: 5, fewer: []string{"m3"}},
		"one of two is ready":             {item: copyOn("m3", well, 1, 2), own: 2},
		"Karmada says no":                 {item: copyOn("m3", ill, 1, 1), own: 1},
		"none runs":                       {item: copyOn("m3", well, 0, 0), own: 0},
		"it reports on an older version":  {item: copyOn("m3", well, 1, 1, 3, 2), own: 1},
		"its cluster is itself not Ready": {item: copyOn("m3", well, 1, 1), own: 1, suspect: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := proof.HealthInput{Binding: with(duplicated("m3"), reports(tc.item)), Failed: "m1", Baseline: was(), Suspect: map[string]bool{"m3": tc.suspect}}
			require.Equal(t, tc.fewer, in.Fewer())
			in.Binding.Tasks = []karmada.Task{fixtures.Held("m1", 2)}
			verdict := proof.JudgeHold(in.Binding, "m1", func(name string) (karmada.Cluster, bool) { return cluster(name), !tc.suspect || name != "m3" })
			require.Equal(t, tc.fewer == nil, verdict.Decides(was()))
			require.Equal(t, tc.fewer == nil, verdict.Breaks(was()))
			require.False(t, proof.Healthy(in).OK)
			if tc.own > 0 {
				in.Overridden = map[string]int64{"m3": tc.own}
			}
			require.Equal(t, tc.ok, proof.Healthy(in).OK)
		})
	}
}

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
	counts := fixtures.Must(json.Marshal(struct {
		Generation         *int64 `json:"generation,omitempty"`
		ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
		Replicas           *int64 `json:"replicas,omitempty"`
		ReadyReplicas      *int64 `json:"readyReplicas,omitempty"`
	}{item.Generation, item.ObservedGeneration, item.Replicas, item.ReadyReplicas}))(t)
	applied := "not applied"
	if item.Applied {
		applied = "applied"
	}
	return applied + ", " + string(item.Health) + " " + string(counts)
}

// statefulSet is a binding of a StatefulSet of two replicas with what its copies report.
func statefulSet(items []karmada.AggregatedItem, targets ...string) *karmada.Binding {
	return with(duplicated(targets...), reports(items...), func(b *karmada.Binding) { b.Resource.Kind = "StatefulSet" })
}

// Rules: R4.7-26.
func TestHealthy_DaemonSetWithoutAPod_ProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		old, now *int64
		ok       bool
	}{
		"as on the old cluster":           {old: fixtures.Ptr(int64(3)), now: fixtures.Ptr(int64(1)), ok: true},
		"no node takes one":               {old: fixtures.Ptr(int64(3)), now: fixtures.Ptr(int64(0))},
		"no node of either took one":      {old: fixtures.Ptr(int64(0)), now: fixtures.Ptr(int64(0)), ok: true},
		"what the old one had is unknown": {now: fixtures.Ptr(int64(0)), ok: true},
		"how many there are is unknown":   {old: fixtures.Ptr(int64(3)), ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := fixtures.Duplicated("m2")
			b.Resource.Kind, b.Replicas, b.Workload = "DaemonSet", 0, false
			b.Status.Aggregated = []karmada.AggregatedItem{
				{Cluster: "m1", Applied: true, Health: karmada.HealthHealthy, DesiredPods: c.old},
				{Cluster: "m2", Applied: true, Health: karmada.HealthHealthy, DesiredPods: c.now, Generation: fixtures.Ptr(int64(1)), ObservedGeneration: fixtures.Ptr(int64(1))},
			}
			v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
			require.Equal(t, c.ok, v.OK, v.Message)
		})
	}
}

// Rules: R4.7-43.
func TestHealthy_StatefulSetWithoutObservedGeneration(t *testing.T) {
	item := func(health karmada.Health, ready int64) karmada.AggregatedItem {
		i := copyOn("m2", health, ready, 2)
		i.ObservedGeneration = nil
		return i
	}
	for _, tc := range []struct {
		name    string
		item    karmada.AggregatedItem
		ok      bool
		message string
	}{
		{name: "Healthy and complete", item: item(karmada.HealthHealthy, 2), ok: true, message: "proven healthy on m2"},
		{name: "Healthy and one of two ready", item: item(karmada.HealthHealthy, 1), message: "1 of 2 replicas ready on m2"},
		{name: "Healthy and the ready count left out", item: item(karmada.HealthHealthy, 0), message: "0 of 2 replicas ready on m2"},
		{name: "complete, but its controller has not seen the newest generation", item: item(karmada.HealthUnhealthy, 2), message: "its copy on m2 is Unhealthy"},
		{name: "an observed generation that is older is still stale", item: copyOn("m2", karmada.HealthHealthy, 2, 2, 3, 2), message: "older generation of it than 3"},
	} {
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
	for _, tc := range []struct {
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := with(duplicated("m2"), reports(tc.items...), func(b *karmada.Binding) {
				b.Resource.APIVersion, b.Resource.Kind = "acme.example.org/v1", "Widget"
			})
			v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Contains(t, v.Message, tc.message)
		})
	}
}

// An empty schedule result made every copy "healthy", and the last one was deleted.
//
// Rules: R4.7-17, R4.7-26.
func TestKarmada7455EmptyScheduleResultIsNotHealthy(t *testing.T) {
	empty := duplicated()
	empty.Generation, empty.Status.ObservedGeneration = 7, 7
	v := proof.Healthy(proof.HealthInput{Binding: empty, Failed: "m1", Baseline: was()})
	require.False(t, v.OK)
	require.Equal(t, reason.NotPlaced, v.Reason)
	require.False(t, proof.Placed(empty, "m1").OK)
	empty.Replicas = 0
	require.False(t, proof.Placed(empty, "m1").OK, "without replica requirements the scheduler keeps its clusters")
}

// Rules: R4.7-17, R4.7-38.
func TestHealthy_PlacedNowhere_HasNoCopyToProve(t *testing.T) {
	b := with(duplicated(), func(b *karmada.Binding) {
		b.Replicas, b.HasRequirements, b.Tasks = 0, true, []karmada.Task{fixtures.Held("m1", 2)}
	})
	v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
	require.True(t, v.OK, v.Message)
	require.Equal(t, reason.NoReplicas, v.Reason)
	require.True(t, proof.ReleasableUnproven(b, "m1", nil).OK, "no plug-in's no makes the old copy the last one")
	verdict := proof.JudgeHold(b, "m1", func(name string) (karmada.Cluster, bool) { return cluster(name), true })
	require.True(t, verdict.Placed.OK && verdict.Health.OK && verdict.Decides(was()))
	require.NotEqual(t, proof.NewsOf(with(duplicated(), generation(3, 2)), "m1"), proof.NewsOf(b, "m1"), "its migration is signalled")
}

// The old copy went while the new one had fewer replicas than were asked for.
//
// Rules: R4.7-22, R4.7-23.
func TestKarmada3736EveryReplicaMustBeReadyWhateverKarmadaSays(t *testing.T) {
	for ready := range int64(3) {
		b := with(duplicated("m2"), reports(copyOn("m2", karmada.HealthHealthy, ready, 2)))
		v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
		require.Equal(t, ready == 2, v.OK, "%d of 2: %s", ready, v.Message)
	}
}

// A fresh target still carried the Healthy that it had reported in an earlier life.
//
// Rules: R4.7-23.
func TestKarmada3467AStatusOfAnOlderGenerationIsNone(t *testing.T) {
	b := with(duplicated("m2"), reports(copyOn("m2", karmada.HealthHealthy, 2, 2, 5, 4)))
	v := proof.Healthy(proof.HealthInput{Binding: b, Failed: "m1", Baseline: was()})
	require.False(t, v.OK)
	require.Contains(t, v.Message, "older generation")
}

// A dead cluster's Deployment was shown 2/2 Ready for ever.
//
// Rules: R4.7-27.
func TestKarmada2989TheHealthOfASilentClusterIsUnknown(t *testing.T) {
	in := proof.HealthInput{
		Binding: with(duplicated("m2"), reports(copyOn("m2", karmada.HealthHealthy, 2, 2))), Failed: "m1", Baseline: was(),
	}
	require.True(t, proof.Healthy(in).OK)
	in.Suspect = map[string]bool{"m2": true}
	v := proof.Healthy(in)
	require.False(t, v.OK)
	require.Equal(t, reason.TargetNotReady, v.Reason)
}

// Tasks of ConfigMaps and ClusterRoles never ended, for they have no health.
//
// Rules: R4.7-28.
func TestKarmada4951WhatHasNoHealthIsHealthyOnceApplied(t *testing.T) {
	item := karmada.AggregatedItem{Cluster: "m2", Applied: true, Health: karmada.HealthUnknown}
	in := proof.HealthInput{Failed: "m1", Baseline: proof.BaselineOf(nonWorkload("m1"))}
	in.Binding = with(nonWorkload("m2"), reports(item))
	require.True(t, proof.Healthy(in).OK)
	item.Applied = false
	in.Binding = with(nonWorkload("m2"), reports(item))
	require.False(t, proof.Healthy(in).OK)
}
