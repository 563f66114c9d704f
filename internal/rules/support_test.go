package rules_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
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
		"a plain Deployment is fine":              {fixtures.Duplicated("m1"), "", "", ""},
		"a ClusterRole is fine":                   {fixtures.NonWorkload("m1"), "", "", ""},
		"static weights are fine":                 {fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, fixtures.Weight(1, "m1")), "", "", ""},
		"no weights at all mean equal ones":       {fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}), "", "", ""},
		"Karmada's own scheduler by name is fine": {set(func(b *karmada.Binding) { b.SchedulerName = "default-scheduler" }), "", "", ""},
		"spread by cluster is fine":               {fixtures.With(fixtures.Duplicated("m1"), fixtures.Spread(1, 2)), "", "", ""},
		"a spread that names no field makes the scheduler fail": {set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{MinGroups: 1}}
		}), "", reason.NotSupportedPlacement, "neither a field nor a label"},
		"a spread by region without minGroups does, too": {set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "region", MaxGroups: 1}}
		}), "", reason.NotSupportedPlacement, "by region without minGroups"},
		"components beside spec.replicas": {set(func(b *karmada.Binding) {
			b.Components = []karmada.Component{{Name: "main", Replicas: 1, Request: fixtures.Quantities("cpu", 1)}}
		}), "", reason.NotSupportedComps, "beside spec.replicas"},
		"affinity groups that are none": {set(func(b *karmada.Binding) {
			b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{}
		}), "", reason.NotSupportedPlacement, "an empty list"},
		"a malformed one": {set(func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" }), "", reason.Malformed, "not a list"},

		"a preserved copy must not be left for another one": {fixtures.With(fixtures.Duplicated("m1"), fixtures.Preserves), karmada.PurgeDirectly, reason.CopyPreserved, "preserveResourcesOnDeletion"},
		"a preserved copy is kept gracefully":               {fixtures.With(fixtures.Duplicated("m1"), fixtures.Preserves), karmada.PurgeGracefully, "", ""},
		"purge mode Never is fine":                          {fixtures.Duplicated("m1"), karmada.PurgeNever, "", ""},
		"a purge mode that nobody knows":                    {fixtures.Duplicated("m1"), "Softly", reason.Malformed, `"Softly"`},

		"a binding that others require":             {set(func(b *karmada.Binding) { b.RequiredBy = []karmada.RequiredBy{{Name: "a"}} }), "", "", ""},
		"a parent with dependents":                  {deps(annotated(karmada.AnnotationDependencies, `[{"kind":"ConfigMap","name":"c"}]`)), "", "", ""},
		"a dependent without a name":                {deps(annotated(karmada.AnnotationDependencies, `[{"kind":"ConfigMap"}]`)), "", reason.Malformed, "without kind or name"},
		"dependents that cannot be read":            {deps(annotated(karmada.AnnotationDependencies, `{`)), "", reason.Malformed, "dependencies"},
		"a parent whose dependents are unknown":     {deps(), "", reason.DependentsUnknown, "not known to have none"},
		"a parent known to have none is fine":       {deps(annotated(karmada.AnnotationDependencies, "[]")), "", "", ""},
		"null is none, too":                         {deps(annotated(karmada.AnnotationDependencies, " null ")), "", "", ""},
		"dependents that are not followed are fine": {fixtures.With(fixtures.Duplicated("m1"), annotated(karmada.AnnotationDependencies, `[{"kind":"ConfigMap"}]`)), "", "", ""},
		"a ClusterRole has none to wait for":        {fixtures.With(fixtures.NonWorkload("m1"), func(b *karmada.Binding) { b.PropagateDeps = true }), "", "", ""},
		"a workload of an unknown kind may have":    {deps(func(b *karmada.Binding) { b.Resource.Kind = "Rollout" }), "", reason.DependentsUnknown, "not known to have none"},
		"an Ingress may have, though it is no workload": {fixtures.With(fixtures.NonWorkload("m1"), func(b *karmada.Binding) {
			b.PropagateDeps, b.Resource.Kind = true, "Ingress"
		}), "", reason.DependentsUnknown, "not known to have none"},

		"components that were shared out": {set(func(b *karmada.Binding) { b.PlacedComponents = true }), "", reason.NotSupportedComps, "put back"},
		"a component of unknown size": {set(func(b *karmada.Binding) {
			b.Replicas, b.Components = 0, []karmada.Component{{Name: "job", Replicas: 1, Request: fixtures.Quantities("cpu", 1)}, {Name: "task", Replicas: 2}}
		}), "", reason.ComponentsUnsized, "component task"},
		"components that say what they need are fine": {set(func(b *karmada.Binding) {
			b.Replicas, b.Components = 0, []karmada.Component{{Name: "job", Replicas: 1, Request: fixtures.Quantities("cpu", 1)}, {Name: "idle"}}
		}), "", "", ""},
		"a foreign scheduler":  {set(func(b *karmada.Binding) { b.SchedulerName = "volcano" }), "", reason.ForeignScheduler, `"volcano"`},
		"suspended scheduling": {set(func(b *karmada.Binding) { b.SchedulingSuspended = true }), "", reason.SchedulingSuspended, "suspended"},

		"no placement":   {set(func(b *karmada.Binding) { b.Placement = nil }), "", reason.NotSupportedPlacement, "no placement"},
		"unknown fields": {set(func(b *karmada.Binding) { b.UnknownFields = []string{"workloadAffinity", "x"} }), "", reason.NotSupportedPlacement, "workloadAffinity, x"},
		"spread by several at once is fine": {set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{
				{SpreadByField: "region", MinGroups: 1}, {SpreadByField: "zone", MinGroups: 1}, {SpreadByField: "provider", MinGroups: 1}, {SpreadByField: "cluster"}, {SpreadByLabel: "rack"},
			}
		}), "", "", ""},
		"spread by something new": {set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "planet"}}
		}), "", reason.NotSupportedPlacement, "planet"},
		"spread by a field and a label at once": {set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "cluster", SpreadByLabel: "rack"}}
		}), "", reason.NotSupportedPlacement, "a field and a label"},
		"fewer than no groups": {set(func(b *karmada.Binding) {
			b.Placement.SpreadConstraints = []karmada.SpreadConstraint{{SpreadByField: "cluster", MinGroups: -1}}
		}), "", reason.NotSupportedPlacement, "negative"},
		"both affinities":                    {fixtures.With(fixtures.Duplicated("m1"), fixtures.May(fixtures.Names("m1")), fixtures.Groups("a", "a: m1")), "", reason.NotSupportedPlacement, "both"},
		"a bad selector":                     {fixtures.With(fixtures.Duplicated("m1"), fixtures.May(&karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", "In", "x")})), "", reason.NotSupportedPlacement, "planet"},
		"Aggregated is fine":                 {dividedBy(func(r *karmada.ReplicaScheduling) { r.DivisionPreference = karmada.DivisionAggregated }), "", "", ""},
		"dynamic weights are fine":           {dividedBy(func(r *karmada.ReplicaScheduling) { r.WeightPreference.DynamicWeight = "AvailableReplicas" }), "", "", ""},
		"an unknown dynamic weight":          {dividedBy(func(r *karmada.ReplicaScheduling) { r.WeightPreference.DynamicWeight = "Price" }), "", reason.NotSupportedPlacement, "Price"},
		"an unknown preference":              {dividedBy(func(r *karmada.ReplicaScheduling) { r.DivisionPreference = "Thrown" }), "", reason.NotSupportedPlacement, "Thrown"},
		"an unknown type":                    {dividedBy(func(r *karmada.ReplicaScheduling) { r.Type = "Scattered" }), "", reason.NotSupportedPlacement, "Scattered"},
		"weights without any are equal ones": {dividedBy(func(r *karmada.ReplicaScheduling) { r.WeightPreference.StaticWeightList = nil }), "", "", ""},
		"a weight that would overflow":       {fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, fixtures.Weight(math.MaxInt64, "m1")), "", reason.NotSupportedPlacement, "out of range"},
		"a bad selector of a weight": {fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)}, karmada.StaticWeight{
			TargetCluster: karmada.ClusterAffinity{FieldSelector: fixtures.Fields("planet", "In", "x")}, Weight: 1,
		}), "", reason.NotSupportedPlacement, "planet"},
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
