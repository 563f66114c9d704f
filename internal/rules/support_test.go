package rules_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

func annotated(key, value string) func(*karmada.Binding) {
	return func(b *karmada.Binding) { b.Annotations = map[string]string{key: value} }
}

// Rules: R4.7-40, R4.6-18, R4.6-19, R4.6-20, R4.6-27.
func TestUnsupportedBlocksWhatThisVersionCannotMoveSafely(t *testing.T) {
	deps := func(change ...func(*karmada.Binding)) *karmada.Binding {
		return fixtures.With(fixtures.Duplicated("m1"), append(change, func(b *karmada.Binding) { b.PropagateDeps = true })...)
	}
	set := func(f func(*karmada.Binding)) *karmada.Binding { return fixtures.With(fixtures.Duplicated("m1"), f) }
	dividedBy := func(f func(*karmada.ReplicaScheduling)) *karmada.Binding {
		b := fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, fixtures.Weight(1, "m1"))
		f(b.Placement.ReplicaScheduling)
		return b
	}
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		purge   karmada.PurgeMode
		want    reason.Reason
		message string
	}{
		"a plain Deployment is fine":              {binding: fixtures.Duplicated("m1")},
		"a ClusterRole is fine":                   {binding: fixtures.NonWorkload("m1")},
		"static weights are fine":                 {binding: fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, fixtures.Weight(1, "m1"))},
		"no weights at all mean equal ones":       {binding: fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)})},
		"Karmada's own scheduler by name is fine": {binding: set(func(b *karmada.Binding) { b.SchedulerName = "default-scheduler" })},
		"spread by cluster is fine":               {binding: fixtures.With(fixtures.Duplicated("m1"), fixtures.Spread(1, 2))},
		"a spread that names no field makes the scheduler fail": {binding: set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{MinGroups: 1}}
		}), want: reason.NotSupportedPlacement, message: "neither a field nor a label"},
		"a spread by region without minGroups does, too": {binding: set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "region", MaxGroups: 1}}
		}), want: reason.NotSupportedPlacement, message: "by region without minGroups"},
		"components beside spec.replicas": {binding: set(func(b *karmada.Binding) {
			b.Components = []karmada.Component{{Name: "main", Replicas: 1, Request: fixtures.Quantities("cpu", 1)}}
		}), want: reason.NotSupportedComps, message: "beside spec.replicas"},
		"affinity groups that are none": {binding: set(func(b *karmada.Binding) {
			b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{}
		}), want: reason.NotSupportedPlacement, message: "an empty list"},
		"a malformed one": {binding: set(func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" }), want: reason.Malformed, message: "not a list"},

		"a preserved copy must not be left for another one": {binding: fixtures.With(fixtures.Duplicated("m1"), fixtures.Preserves), purge: karmada.PurgeDirectly, want: reason.CopyPreserved, message: "preserveResourcesOnDeletion"},
		"a preserved copy is kept gracefully":               {binding: fixtures.With(fixtures.Duplicated("m1"), fixtures.Preserves), purge: karmada.PurgeGracefully},
		"purge mode Never is fine":                          {binding: fixtures.Duplicated("m1"), purge: karmada.PurgeNever},
		"a purge mode that nobody knows":                    {binding: fixtures.Duplicated("m1"), purge: "Softly", want: reason.Malformed, message: `"Softly"`},

		"a binding that others require":             {binding: set(func(b *karmada.Binding) { b.RequiredBy = []karmada.RequiredBy{{Name: "a"}} })},
		"a parent with dependents":                  {binding: deps(annotated(karmada.AnnotationDependencies, `[{"kind":"ConfigMap","name":"c"}]`))},
		"a dependent without a name":                {binding: deps(annotated(karmada.AnnotationDependencies, `[{"kind":"ConfigMap"}]`)), want: reason.Malformed, message: "without kind or name"},
		"dependents that cannot be read":            {binding: deps(annotated(karmada.AnnotationDependencies, `{`)), want: reason.Malformed, message: "dependencies"},
		"a parent whose dependents are unknown":     {binding: deps(), want: reason.DependentsUnknown, message: "not known to have none"},
		"a parent known to have none is fine":       {binding: deps(annotated(karmada.AnnotationDependencies, "[]"))},
		"null is none, too":                         {binding: deps(annotated(karmada.AnnotationDependencies, " null "))},
		"dependents that are not followed are fine": {binding: fixtures.With(fixtures.Duplicated("m1"), annotated(karmada.AnnotationDependencies, `[{"kind":"ConfigMap"}]`))},
		"a ClusterRole has none to wait for":        {binding: fixtures.With(fixtures.NonWorkload("m1"), func(b *karmada.Binding) { b.PropagateDeps = true })},
		"those of a kind that nothing interprets are searched": {binding: deps(func(b *karmada.Binding) {
			b.Resource.APIVersion, b.Resource.Kind = "flink.apache.org/v1beta1", "FlinkDeployment"
		})},
		"a Job of another group is another kind": {binding: deps(func(b *karmada.Binding) { b.Resource.APIVersion, b.Resource.Kind = "batch.volcano.sh/v1alpha1", "Job" })},
		"an Ingress may have, though it is no workload": {binding: fixtures.With(fixtures.NonWorkload("m1"), func(b *karmada.Binding) {
			b.PropagateDeps, b.Resource.APIVersion, b.Resource.Kind = true, "networking.k8s.io/v1", "Ingress"
		}), want: reason.DependentsUnknown, message: "not known to have none"},

		"components that were shared out": {binding: set(func(b *karmada.Binding) { b.PlacedComponents = true }), want: reason.NotSupportedComps, message: "put back"},
		"a component of unknown size": {binding: set(func(b *karmada.Binding) {
			b.Replicas, b.Components = 0, []karmada.Component{{Name: "job", Replicas: 1, Request: fixtures.Quantities("cpu", 1)}, {Name: "task", Replicas: 2}}
		}), want: reason.ComponentsUnsized, message: "component task"},
		"components that say what they need are fine": {binding: set(func(b *karmada.Binding) {
			b.Replicas, b.Components = 0, []karmada.Component{{Name: "job", Replicas: 1, Request: fixtures.Quantities("cpu", 1)}, {Name: "idle"}}
		})},
		"a foreign scheduler":  {binding: set(func(b *karmada.Binding) { b.SchedulerName = "volcano" }), want: reason.ForeignScheduler, message: `"volcano"`},
		"suspended scheduling": {binding: set(func(b *karmada.Binding) { b.SchedulingSuspended = true }), want: reason.SchedulingSuspended, message: "suspended"},

		"suspended dispatching": {binding: set(func(b *karmada.Binding) { b.DispatchingSuspended = true }), want: reason.DispatchingSuspended, message: "no new copy"},
		"suspended dispatching to some clusters is the pre-check's": {binding: set(func(b *karmada.Binding) { b.SuspendedOn = []string{"m2"} })},

		"no placement":        {binding: set(func(b *karmada.Binding) { b.Placement = nil }), want: reason.NotSupportedPlacement, message: "no placement"},
		"no policy claims it": {binding: set(func(b *karmada.Binding) { b.Unclaimed = true }), want: reason.NotSupportedPlacement, message: "no policy claims it"},
		"a dependent that no policy claims has no placement": {binding: set(func(b *karmada.Binding) { b.Placement, b.Unclaimed = nil, true }), want: reason.NotSupportedPlacement, message: "no placement"},
		"unknown fields": {binding: set(func(b *karmada.Binding) { b.UnknownFields = []string{"workloadAffinity", "x"} }), want: reason.NotSupportedPlacement, message: "workloadAffinity, x"},
		"spread by several at once is fine": {binding: set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{
				{SpreadByField: "region", MinGroups: 1}, {SpreadByField: "zone", MinGroups: 1}, {SpreadByField: "provider", MinGroups: 1}, {SpreadByField: "cluster"}, {SpreadByLabel: "rack"},
			}
		})},
		"spread by something new": {binding: set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "planet"}}
		}), want: reason.NotSupportedPlacement, message: "planet"},
		"spread by a field and a label at once": {binding: set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "cluster", SpreadByLabel: "rack"}}
		}), want: reason.NotSupportedPlacement, message: "a field and a label"},
		"fewer than no groups": {binding: set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "cluster", MinGroups: -1}}
		}), want: reason.NotSupportedPlacement, message: "negative"},
		"both affinities":                    {binding: fixtures.With(fixtures.Duplicated("m1"), fixtures.May(fixtures.Names("m1")), fixtures.Groups("a", "a: m1")), want: reason.NotSupportedPlacement, message: "both"},
		"a bad selector":                     {binding: fixtures.With(fixtures.Duplicated("m1"), fixtures.May(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", "In", "x")})), want: reason.NotSupportedPlacement, message: "planet"},
		"Aggregated is fine":                 {binding: dividedBy(func(r *karmada.ReplicaScheduling) { r.DivisionPreference = karmada.DivisionAggregated })},
		"dynamic weights are fine":           {binding: dividedBy(func(r *karmada.ReplicaScheduling) { r.WeightPreference.DynamicWeight = "AvailableReplicas" })},
		"an unknown dynamic weight":          {binding: dividedBy(func(r *karmada.ReplicaScheduling) { r.WeightPreference.DynamicWeight = "Price" }), want: reason.NotSupportedPlacement, message: "Price"},
		"an unknown preference":              {binding: dividedBy(func(r *karmada.ReplicaScheduling) { r.DivisionPreference = "Thrown" }), want: reason.NotSupportedPlacement, message: "Thrown"},
		"an unknown type":                    {binding: dividedBy(func(r *karmada.ReplicaScheduling) { r.Type = "Scattered" }), want: reason.NotSupportedPlacement, message: "Scattered"},
		"weights without any are equal ones": {binding: dividedBy(func(r *karmada.ReplicaScheduling) { r.WeightPreference.StaticWeightList = nil })},
		"a weight that would overflow":       {binding: fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, fixtures.Weight(math.MaxInt64, "m1")), want: reason.NotSupportedPlacement, message: "out of range"},
		"a bad selector of a weight": {binding: fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, karmada.StaticWeight{
			TargetCluster: karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", "In", "x")}, Weight: 1,
		}), want: reason.NotSupportedPlacement, message: "planet"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, message := rules.Unsupported(tc.binding, cmp.Or(tc.purge, karmada.PurgeGracefully))
			require.Equal(t, tc.want, reason, message)
			require.Contains(t, message, tc.message)
			require.Equal(t, reason == "", message == "")
		})
	}
}

// Rules: R4.3-2, R4.3-3.
func TestOptedOut(t *testing.T) {
	require.True(t, rules.OptedOut(map[string]string{karmada.AnnotationEnabled: "false"}))
	require.False(t, rules.OptedOut(map[string]string{karmada.AnnotationEnabled: "true"}))
	require.False(t, rules.OptedOut(nil))
}

// The nearer word wins: the binding's annotation, its policy's, the spec, the config.
//
// Rules: R4.8-1, R4.8-3.
func TestTheNearestWordSaysHowTheOldCopyGoes(t *testing.T) {
	spec := func(mode karmada.PurgeMode) func(*karmada.Binding) {
		return func(b *karmada.Binding) { b.HasClusterFailover, b.PurgeMode = true, mode }
	}
	own := func(mode string) func(*karmada.Binding) { return annotated(karmada.AnnotationPurgeMode, mode) }
	for name, tc := range map[string]struct {
		binding           *karmada.Binding
		policy, byDefault karmada.PurgeMode
		want              karmada.PurgeMode
	}{
		"nobody said anything":                    {binding: fixtures.Duplicated("m1"), want: karmada.PurgeGracefully},
		"the configured default":                  {binding: fixtures.Duplicated("m1"), byDefault: karmada.PurgeNever, want: karmada.PurgeNever},
		"the spec wins over the default":          {binding: fixtures.With(fixtures.Duplicated("m1"), spec(karmada.PurgeDirectly)), byDefault: karmada.PurgeNever, want: karmada.PurgeDirectly},
		"the policy's annotation over the spec":   {binding: fixtures.With(fixtures.Duplicated("m1"), spec(karmada.PurgeDirectly)), policy: karmada.PurgeNever, want: karmada.PurgeNever},
		"the binding's own over its policy's":     {binding: fixtures.With(fixtures.Duplicated("m1"), own("Gracefully")), policy: karmada.PurgeNever, byDefault: karmada.PurgeDirectly, want: karmada.PurgeGracefully},
		"the binding's own over its spec":         {binding: fixtures.With(fixtures.Duplicated("m1"), spec(karmada.PurgeDirectly), own("Never")), want: karmada.PurgeNever},
		"what nobody knows stays what it is":      {binding: fixtures.With(fixtures.Duplicated("m1"), own("Softly")), policy: karmada.PurgeNever, want: "Softly"},
		"an empty annotation says nothing":        {binding: fixtures.With(fixtures.Duplicated("m1"), own("")), policy: karmada.PurgeNever, want: karmada.PurgeNever},
		"an empty annotation leaves the spec":     {binding: fixtures.With(fixtures.Duplicated("m1"), spec(karmada.PurgeDirectly), own("")), want: karmada.PurgeDirectly},
		"an empty annotation leaves it to config": {binding: fixtures.With(fixtures.Duplicated("m1"), own("")), byDefault: karmada.PurgeDirectly, want: karmada.PurgeDirectly},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, rules.ResolvePurgeMode(rules.PolicyOf(tc.binding, nil), tc.policy, tc.byDefault))
		})
	}
}

// Karmada up to v1.18 had other words for the same modes, and bindings outlive upgrades.
func TestKarmada7792OldNamesOfPurgeModesAreUnderstood(t *testing.T) {
	for old, now := range map[karmada.PurgeMode]karmada.PurgeMode{"Immediately": karmada.PurgeDirectly, "Graciously": karmada.PurgeGracefully} {
		require.Equal(t, now, rules.ResolvePurgeMode(rules.Policy{PurgeMode: old, PurgeBySpec: true}, "", ""))
		require.Equal(t, now, rules.ResolvePurgeMode(rules.Policy{}, old, ""))
	}
}
