package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// ofKind is the binding of a resource without replicas.
func ofKind(apiVersion, kind, name string, targets ...string) *karmada.Binding {
	return fixtures.With(fixtures.NonWorkload(targets...), func(b *karmada.Binding) {
		b.Key.Name = name
		b.Resource = karmada.Resource{APIVersion: apiVersion, Kind: kind, Name: name}
	})
}

// collected has the copy on m1 report a status.
func collected(status string) func(*karmada.Binding) {
	return fixtures.Reports(karmada.AggregatedItem{Cluster: "m1", Applied: true, Status: []byte(status)})
}

// Rules: R4.6-45, R4.6-46, R4.6-47.
func TestKindRules_Judge(t *testing.T) {
	job := func(change ...func(*karmada.Binding)) *karmada.Binding {
		return fixtures.With(ofKind("batch/v1", "Job", "migrate", "m1"), change...)
	}
	says := func(value string) func(*karmada.Binding) {
		return func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: value} }
	}
	complete := collected(`{"succeeded":1,"completionTime":"2026-11-21T02:00:00Z","conditions":[{"type":"Complete","status":"True"}]}`)
	for name, c := range map[string]struct {
		binding *karmada.Binding
		rules   rules.KindRules
		want    rules.KindRule
	}{
		"a Deployment moves":                           {binding: fixtures.Duplicated("m1"), want: rules.KindMove},
		"a ConfigMap moves":                            {binding: ofKind("v1", "ConfigMap", "c", "m1"), want: rules.KindMove},
		"a Service moves":                              {binding: ofKind("v1", "Service", "s", "m1"), want: rules.KindMove},
		"an Ingress moves":                             {binding: ofKind("networking.k8s.io/v1", "Ingress", "i", "m1"), want: rules.KindMove},
		"a CRD stays":                                  {binding: ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "c.x.io", "m1"), want: rules.KindKeep},
		"a Namespace stays":                            {binding: ofKind("v1", "Namespace", "n", "m1"), want: rules.KindKeep},
		"a PersistentVolumeClaim stays":                {binding: ofKind("v1", "PersistentVolumeClaim", "p", "m1"), want: rules.KindKeep},
		"a PersistentVolume stays":                     {binding: ofKind("v1", "PersistentVolume", "p", "m1"), want: rules.KindKeep},
		"another group's Namespace moves":              {binding: ofKind("tenancy.x.io/v1", "Namespace", "n", "m1"), want: rules.KindMove},
		"a Job without a status asks":                  {binding: job(), want: rules.KindAsk},
		"a Job that runs asks":                         {binding: job(collected(`{"active":1}`)), want: rules.KindAsk},
		"a Job that failed once and runs again asks":   {binding: job(collected(`{"active":1,"failed":1,"conditions":[{"type":"Failed","status":"False"}]}`)), want: rules.KindAsk},
		"a Job whose status is not understood asks":    {binding: job(collected(`{"conditions":7}`)), want: rules.KindAsk},
		"a Job that has completed stays":               {binding: job(complete), want: rules.KindKeep},
		"a Job that has failed for good stays":         {binding: job(collected(`{"failed":6,"conditions":[{"type":"Failed","status":"True"}]}`)), want: rules.KindKeep},
		"a Job that has completed elsewhere asks here": {binding: job(fixtures.Reports(karmada.AggregatedItem{Cluster: "m2", Status: []byte(`{"completionTime":"2026-11-21T02:00:00Z"}`)})), want: rules.KindAsk},
		"configured ask, a Job that has completed":     {binding: job(complete), rules: rules.KindRules{"Job.batch": rules.KindAsk}, want: rules.KindKeep},
		"configured move, a Job that has completed":    {binding: job(complete), rules: rules.KindRules{"Job.batch": rules.KindMove}, want: rules.KindMove},
		"configured keep, a Service":                   {binding: ofKind("v1", "Service", "s", "m1"), rules: rules.KindRules{"Service": rules.KindKeep}, want: rules.KindKeep},
		"configured ask, a Deployment":                 {binding: fixtures.Duplicated("m1"), rules: rules.KindRules{"Deployment.apps": rules.KindAsk}, want: rules.KindAsk},
		"annotated, a Namespace":                       {binding: fixtures.With(ofKind("v1", "Namespace", "n", "m1"), says("true")), want: rules.KindMove},
		"annotated, a kind that is configured to stay": {binding: fixtures.With(ofKind("v1", "Service", "s", "m1"), says("true")), rules: rules.KindRules{"Service": rules.KindKeep}, want: rules.KindMove},
		"annotated with something else":                {binding: fixtures.With(ofKind("v1", "Namespace", "n", "m1"), says("yes")), want: rules.KindKeep},
	} {
		t.Run(name, func(t *testing.T) {
			rule, why := c.rules.Judge(c.binding, "m1")
			require.Equal(t, c.want, rule)
			require.Equal(t, rule == rules.KindMove, why == "", why)
		})
	}
}

func TestParseKindRule(t *testing.T) {
	for text, ok := range map[string]bool{
		"Job.batch=keep": true, "Service = ask": true, "Foo.x.io=move": true,
		"Job.batch": false, "=keep": false, "Job.batch=stay": false, "batch/v1 Job=keep": false,
	} {
		_, _, is := rules.ParseKindRule(text)
		require.Equal(t, ok, is, text)
	}
}

// Rules: R4.6-48.
func TestNeedsDefinition_ABindingOfItsGroupThatStandsOrIsHeld(t *testing.T) {
	crd := ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crontabs.x.io", "m2")
	for name, c := range map[string]struct {
		binding *karmada.Binding
		want    bool
	}{
		"stands":                    {binding: ofKind("x.io/v1", "CronTab", "a", "m1"), want: true},
		"is held":                   {binding: fixtures.With(ofKind("x.io/v1", "CronTab", "a", "m2"), fixtures.Task(fixtures.Held("m1", 0))), want: true},
		"goes where its parent is":  {binding: fixtures.With(ofKind("x.io/v1", "CronTab", "a"), func(b *karmada.Binding) { b.RequiredBy = []karmada.RequiredBy{{Clusters: []string{"m1"}}} }), want: true},
		"is elsewhere":              {binding: ofKind("x.io/v1", "CronTab", "a", "m2"), want: false},
		"is of another group":       {binding: ofKind("y.io/v1", "CronTab", "a", "m1"), want: false},
		"is of the core group":      {binding: ofKind("v1", "ConfigMap", "a", "m1"), want: false},
		"is the CRD's own, as held": {binding: fixtures.With(crd, fixtures.Task(fixtures.Held("m1", 0))), want: false},
	} {
		require.Equal(t, c.want, rules.NeedsDefinition(c.binding, crd, "m1"), name)
	}
	require.True(t, crd.DefinesKind())
	require.False(t, fixtures.Duplicated("m1").DefinesKind())
	require.True(t, rules.DefinitionInUse("m1", nil).OK)
	require.Equal(t, reason.KindInUse, rules.DefinitionInUse("m1", []karmada.BindingKey{{Name: "a"}}).Reason)
}
