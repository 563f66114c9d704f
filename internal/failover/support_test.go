package failover_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

func annotated(key, value string) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Annotations = map[string]string{key: value} }
}

// Rules: R4.7-40, R4.6-18, R4.6-19, R4.6-20, R4.6-27.
func TestUnsupportedParksWhatThisVersionCannotMoveSafely(t *testing.T) {
	deps := func(change ...func(*failover.Binding)) *failover.Binding {
		return with(duplicated("m1"), append(change, func(b *failover.Binding) { b.PropagateDeps = true })...)
	}
	set := func(f func(*failover.Binding)) *failover.Binding { return with(duplicated("m1"), f) }
	dividedBy := func(f func(*failover.ReplicaScheduling)) *failover.Binding {
		b := divided([]failover.TargetCluster{on("m1", 2)}, weight(1, "m1"))
		f(b.Placement.ReplicaScheduling)
		return b
	}
	for name, tc := range map[string]struct {
		binding *failover.Binding
		purge   failover.PurgeMode
		want    failover.Reason
		message string
	}{
		"a plain Deployment is fine":              {duplicated("m1"), "", "", ""},
		"a ClusterRole is fine":                   {nonWorkload("m1"), "", "", ""},
		"static weights are fine":                 {divided([]failover.TargetCluster{on("m1", 2)}, weight(1, "m1")), "", "", ""},
		"no weights at all mean equal ones":       {divided([]failover.TargetCluster{on("m1", 2)}), "", "", ""},
		"Karmada's own scheduler by name is fine": {set(func(b *failover.Binding) { b.SchedulerName = "default-scheduler" }), "", "", ""},
		"spread by cluster is fine":               {with(duplicated("m1"), spread(1, 2)), "", "", ""},
		"a spread that names no field makes the scheduler fail": {set(func(b *failover.Binding) {
			b.Placement.SpreadConstraints = []failover.SpreadConstraint{{MinGroups: 1}}
		}), "", failover.ReasonNotSupportedPlacement, "neither a field nor a label"},
		"a spread by region without minGroups does, too": {set(func(b *failover.Binding) {
			b.Placement.SpreadConstraints = []failover.SpreadConstraint{{SpreadByField: "region", MaxGroups: 1}}
		}), "", failover.ReasonNotSupportedPlacement, "by region without minGroups"},
		"components beside spec.replicas": {set(func(b *failover.Binding) {
			b.Components = []failover.Component{{Name: "main", Replicas: 1, Request: quantities("cpu", 1)}}
		}), "", failover.ReasonNotSupportedComps, "beside spec.replicas"},
		"affinity groups that are none": {set(func(b *failover.Binding) {
			b.Placement.ClusterAffinities = []failover.ClusterAffinityTerm{}
		}), "", failover.ReasonNotSupportedPlacement, "an empty list"},
		"a malformed one": {set(func(b *failover.Binding) { b.Malformed = "spec.clusters: not a list" }), "", failover.ReasonMalformed, "not a list"},

		"a preserved copy must not be left for another one": {with(duplicated("m1"), preserves), failover.PurgeDirectly, failover.ReasonCopyPreserved, "preserveResourcesOnDeletion"},
		"a preserved copy is kept gracefully":               {with(duplicated("m1"), preserves), failover.PurgeGracefully, "", ""},
		"purge mode Never is fine":                          {duplicated("m1"), failover.PurgeNever, "", ""},
		"a purge mode that nobody knows":                    {duplicated("m1"), "Softly", failover.ReasonMalformed, `"Softly"`},

		"a binding that others require":             {set(func(b *failover.Binding) { b.RequiredBy = []failover.RequiredBy{{Name: "a"}} }), "", "", ""},
		"a parent with dependents":                  {deps(annotated(failover.AnnotationDependencies, `[{"kind":"ConfigMap","name":"c"}]`)), "", "", ""},
		"a dependent without a name":                {deps(annotated(failover.AnnotationDependencies, `[{"kind":"ConfigMap"}]`)), "", failover.ReasonMalformed, "without kind or name"},
		"dependents that cannot be read":            {deps(annotated(failover.AnnotationDependencies, `{`)), "", failover.ReasonMalformed, "dependencies"},
		"a parent whose dependents are unknown":     {deps(), "", failover.ReasonDependentsUnknown, "not known to have none"},
		"a parent known to have none is fine":       {deps(annotated(failover.AnnotationDependencies, "[]")), "", "", ""},
		"null is none, too":                         {deps(annotated(failover.AnnotationDependencies, " null ")), "", "", ""},
		"dependents that are not followed are fine": {with(duplicated("m1"), annotated(failover.AnnotationDependencies, `[{"kind":"ConfigMap"}]`)), "", "", ""},
		"a ClusterRole has none to wait for":        {with(nonWorkload("m1"), func(b *failover.Binding) { b.PropagateDeps = true }), "", "", ""},
		"a workload of an unknown kind may have":    {deps(func(b *failover.Binding) { b.Resource.Kind = "Rollout" }), "", failover.ReasonDependentsUnknown, "not known to have none"},
		"an Ingress may have, though it is no workload": {with(nonWorkload("m1"), func(b *failover.Binding) {
			b.PropagateDeps, b.Resource.Kind = true, "Ingress"
		}), "", failover.ReasonDependentsUnknown, "not known to have none"},

		"components that were shared out": {set(func(b *failover.Binding) { b.PlacedComponents = true }), "", failover.ReasonNotSupportedComps, "put back"},
		"a component of unknown size": {set(func(b *failover.Binding) {
			b.Replicas, b.Components = 0, []failover.Component{{Name: "job", Replicas: 1, Request: quantities("cpu", 1)}, {Name: "task", Replicas: 2}}
		}), "", failover.ReasonComponentsUnsized, "component task"},
		"components that say what they need are fine": {set(func(b *failover.Binding) {
			b.Replicas, b.Components = 0, []failover.Component{{Name: "job", Replicas: 1, Request: quantities("cpu", 1)}, {Name: "idle"}}
		}), "", "", ""},
		"a foreign scheduler":  {set(func(b *failover.Binding) { b.SchedulerName = "volcano" }), "", failover.ReasonForeignScheduler, `"volcano"`},
		"suspended scheduling": {set(func(b *failover.Binding) { b.SchedulingSuspended = true }), "", failover.ReasonSchedulingSuspended, "suspended"},

		"no placement":   {set(func(b *failover.Binding) { b.Placement = nil }), "", failover.ReasonNotSupportedPlacement, "no placement"},
		"unknown fields": {set(func(b *failover.Binding) { b.UnknownFields = []string{"workloadAffinity", "x"} }), "", failover.ReasonNotSupportedPlacement, "workloadAffinity, x"},
		"spread by several at once is fine": {set(func(b *failover.Binding) {
			b.Placement.SpreadConstraints = []failover.SpreadConstraint{
				{SpreadByField: "region", MinGroups: 1}, {SpreadByField: "zone", MinGroups: 1}, {SpreadByField: "provider", MinGroups: 1}, {SpreadByField: "cluster"}, {SpreadByLabel: "rack"},
			}
		}), "", "", ""},
		"spread by something new": {set(func(b *failover.Binding) {
			b.Placement.SpreadConstraints = []failover.SpreadConstraint{{SpreadByField: "planet"}}
		}), "", failover.ReasonNotSupportedPlacement, "planet"},
		"spread by a field and a label at once": {set(func(b *failover.Binding) {
			b.Placement.SpreadConstraints = []failover.SpreadConstraint{{SpreadByField: "cluster", SpreadByLabel: "rack"}}
		}), "", failover.ReasonNotSupportedPlacement, "a field and a label"},
		"fewer than no groups": {set(func(b *failover.Binding) {
			b.Placement.SpreadConstraints = []failover.SpreadConstraint{{SpreadByField: "cluster", MinGroups: -1}}
		}), "", failover.ReasonNotSupportedPlacement, "negative"},
		"both affinities":                    {with(duplicated("m1"), may(names("m1")), groups("a", "a: m1")), "", failover.ReasonNotSupportedPlacement, "both"},
		"a bad selector":                     {with(duplicated("m1"), may(&failover.ClusterAffinity{FieldSelector: fields("planet", "In", "x")})), "", failover.ReasonNotSupportedPlacement, "planet"},
		"Aggregated is fine":                 {dividedBy(func(r *failover.ReplicaScheduling) { r.DivisionPreference = failover.DivisionAggregated }), "", "", ""},
		"dynamic weights are fine":           {dividedBy(func(r *failover.ReplicaScheduling) { r.WeightPreference.DynamicWeight = "AvailableReplicas" }), "", "", ""},
		"an unknown dynamic weight":          {dividedBy(func(r *failover.ReplicaScheduling) { r.WeightPreference.DynamicWeight = "Price" }), "", failover.ReasonNotSupportedPlacement, "Price"},
		"an unknown preference":              {dividedBy(func(r *failover.ReplicaScheduling) { r.DivisionPreference = "Thrown" }), "", failover.ReasonNotSupportedPlacement, "Thrown"},
		"an unknown type":                    {dividedBy(func(r *failover.ReplicaScheduling) { r.Type = "Scattered" }), "", failover.ReasonNotSupportedPlacement, "Scattered"},
		"weights without any are equal ones": {dividedBy(func(r *failover.ReplicaScheduling) { r.WeightPreference.StaticWeightList = nil }), "", "", ""},
		"a weight that would overflow":       {divided([]failover.TargetCluster{on("m1", 2)}, weight(math.MaxInt64, "m1")), "", failover.ReasonNotSupportedPlacement, "out of range"},
		"a bad selector of a weight": {divided([]failover.TargetCluster{on("m1", 2)}, failover.StaticWeight{
			TargetCluster: failover.ClusterAffinity{FieldSelector: fields("planet", "In", "x")}, Weight: 1,
		}), "", failover.ReasonNotSupportedPlacement, "planet"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, message := failover.Unsupported(tc.binding, cmp.Or(tc.purge, failover.PurgeGracefully))
			require.Equal(t, tc.want, reason, message)
			require.Contains(t, message, tc.message)
			require.Equal(t, reason == "", message == "")
		})
	}
}

// Rules: R4.3-2, R4.3-3.
func TestOptedOut(t *testing.T) {
	require.True(t, failover.OptedOut(map[string]string{failover.AnnotationEnabled: "false"}))
	require.False(t, failover.OptedOut(map[string]string{failover.AnnotationEnabled: "true"}))
	require.False(t, failover.OptedOut(nil))
}
