package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// ofKind is the binding of a resource without replicas.
func ofKind(apiVersion, kind, name string, targets ...string) *failover.Binding {
	return with(nonWorkload(targets...), func(b *failover.Binding) {
		b.Key.Name = name
		b.Resource = failover.Resource{APIVersion: apiVersion, Kind: kind, Name: name}
	})
}

// collected has the copy on m1 report a status.
func collected(status string) func(*failover.Binding) {
	return reports(failover.AggregatedItem{Cluster: "m1", Applied: true, Status: []byte(status)})
}

// Rules: R4.6-45, R4.6-46, R4.6-47.
func TestKindRules_Judge(t *testing.T) {
	job := func(change ...func(*failover.Binding)) *failover.Binding {
		return with(ofKind("batch/v1", "Job", "migrate", "m1"), change...)
	}
	says := func(value string) func(*failover.Binding) {
		return func(b *failover.Binding) { b.Annotations = map[string]string{failover.AnnotationEnabled: value} }
	}
	complete := collected(`{"succeeded":1,"completionTime":"2026-11-21T02:00:00Z","conditions":[{"type":"Complete","status":"True"}]}`)
	for name, c := range map[string]struct {
		binding *failover.Binding
		rules   failover.KindRules
		want    failover.KindRule
	}{
		"a Deployment moves":                           {binding: duplicated("m1"), want: failover.KindMove},
		"a ConfigMap moves":                            {binding: ofKind("v1", "ConfigMap", "c", "m1"), want: failover.KindMove},
		"a Service moves":                              {binding: ofKind("v1", "Service", "s", "m1"), want: failover.KindMove},
		"an Ingress moves":                             {binding: ofKind("networking.k8s.io/v1", "Ingress", "i", "m1"), want: failover.KindMove},
		"a CRD stays":                                  {binding: ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "c.x.io", "m1"), want: failover.KindKeep},
		"a Namespace stays":                            {binding: ofKind("v1", "Namespace", "n", "m1"), want: failover.KindKeep},
		"a PersistentVolumeClaim stays":                {binding: ofKind("v1", "PersistentVolumeClaim", "p", "m1"), want: failover.KindKeep},
		"a PersistentVolume stays":                     {binding: ofKind("v1", "PersistentVolume", "p", "m1"), want: failover.KindKeep},
		"another group's Namespace moves":              {binding: ofKind("tenancy.x.io/v1", "Namespace", "n", "m1"), want: failover.KindMove},
		"a Job without a status asks":                  {binding: job(), want: failover.KindAsk},
		"a Job that runs asks":                         {binding: job(collected(`{"active":1}`)), want: failover.KindAsk},
		"a Job that failed once and runs again asks":   {binding: job(collected(`{"active":1,"failed":1,"conditions":[{"type":"Failed","status":"False"}]}`)), want: failover.KindAsk},
		"a Job whose status is not understood asks":    {binding: job(collected(`{"conditions":7}`)), want: failover.KindAsk},
		"a Job that has completed stays":               {binding: job(complete), want: failover.KindKeep},
		"a Job that has failed for good stays":         {binding: job(collected(`{"failed":6,"conditions":[{"type":"Failed","status":"True"}]}`)), want: failover.KindKeep},
		"a Job that has completed elsewhere asks here": {binding: job(reports(failover.AggregatedItem{Cluster: "m2", Status: []byte(`{"completionTime":"2026-11-21T02:00:00Z"}`)})), want: failover.KindAsk},
		"configured ask, a Job that has completed":     {binding: job(complete), rules: failover.KindRules{"Job.batch": failover.KindAsk}, want: failover.KindKeep},
		"configured move, a Job that has completed":    {binding: job(complete), rules: failover.KindRules{"Job.batch": failover.KindMove}, want: failover.KindMove},
		"configured keep, a Service":                   {binding: ofKind("v1", "Service", "s", "m1"), rules: failover.KindRules{"Service": failover.KindKeep}, want: failover.KindKeep},
		"configured ask, a Deployment":                 {binding: duplicated("m1"), rules: failover.KindRules{"Deployment.apps": failover.KindAsk}, want: failover.KindAsk},
		"annotated, a Namespace":                       {binding: with(ofKind("v1", "Namespace", "n", "m1"), says("true")), want: failover.KindMove},
		"annotated, a kind that is configured to stay": {binding: with(ofKind("v1", "Service", "s", "m1"), says("true")), rules: failover.KindRules{"Service": failover.KindKeep}, want: failover.KindMove},
		"annotated with something else":                {binding: with(ofKind("v1", "Namespace", "n", "m1"), says("yes")), want: failover.KindKeep},
	} {
		t.Run(name, func(t *testing.T) {
			rule, why := c.rules.Judge(c.binding, "m1")
			require.Equal(t, c.want, rule)
			require.Equal(t, rule == failover.KindMove, why == "", why)
		})
	}
}

func TestParseKindRule(t *testing.T) {
	for text, ok := range map[string]bool{
		"Job.batch=keep": true, "Service = ask": true, "Foo.x.io=move": true,
		"Job.batch": false, "=keep": false, "Job.batch=stay": false, "batch/v1 Job=keep": false,
	} {
		_, _, is := failover.ParseKindRule(text)
		require.Equal(t, ok, is, text)
	}
}

// Rules: R4.6-48.
func TestNeedsDefinition_ABindingOfItsGroupThatStandsOrIsHeld(t *testing.T) {
	crd := ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crontabs.x.io", "m2")
	for name, c := range map[string]struct {
		binding *failover.Binding
		want    bool
	}{
		"stands":                    {ofKind("x.io/v1", "CronTab", "a", "m1"), true},
		"is held":                   {with(ofKind("x.io/v1", "CronTab", "a", "m2"), task(held("m1", 0))), true},
		"goes where its parent is":  {with(ofKind("x.io/v1", "CronTab", "a"), func(b *failover.Binding) { b.RequiredBy = []failover.RequiredBy{{Clusters: []string{"m1"}}} }), true},
		"is elsewhere":              {ofKind("x.io/v1", "CronTab", "a", "m2"), false},
		"is of another group":       {ofKind("y.io/v1", "CronTab", "a", "m1"), false},
		"is of the core group":      {ofKind("v1", "ConfigMap", "a", "m1"), false},
		"is the CRD's own, as held": {with(crd, task(held("m1", 0))), false},
	} {
		require.Equal(t, c.want, failover.NeedsDefinition(c.binding, crd, "m1"), name)
	}
	require.True(t, crd.DefinesKind())
	require.False(t, duplicated("m1").DefinesKind())
	require.True(t, failover.DefinitionInUse("m1", nil).OK)
	require.Equal(t, failover.ReasonKindInUse, failover.DefinitionInUse("m1", []failover.BindingKey{{Name: "a"}}).Reason)
}
