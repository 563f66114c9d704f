package karmada_test

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// Rules: R4.10-5.
func TestADependentIsWantedAgainOnlyWhereItsParentIsAndTakesItAlong(t *testing.T) {
	const byName, byLabels = `[{"kind":"ConfigMap","namespace":"shop","name":"config"}]`, `[{"kind":"ConfigMap","namespace":"shop","labelSelector":{}}]`
	unnamed := func(b *karmada.Binding) { b.RequiredBy = nil }
	for name, tc := range map[string]struct {
		list      string
		parent    func(*karmada.Binding)
		dependent *karmada.Binding
		want      bool
	}{
		"named":                   {list: byName, dependent: fixtures.Config(unnamed), want: true},
		"selected":                {list: byLabels, dependent: fixtures.Config(), want: true},
		"selected no more":        {list: byLabels, dependent: fixtures.Config(unnamed), want: false},
		"not listed":              {list: "[]", dependent: fixtures.Config(), want: false},
		"the list cannot be read": {list: "{", dependent: fixtures.Config(unnamed), want: true},
		"nothing is taken along":  {list: byName, parent: func(b *karmada.Binding) { b.PropagateDeps = false }, dependent: fixtures.Config(), want: false},
		"the parent is elsewhere": {list: byName, parent: func(b *karmada.Binding) { b.Clusters[0].Name = "m2" }, dependent: fixtures.Config(), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			parent := &karmada.Binding{
				Key: karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}, PropagateDeps: true,
				Annotations: map[string]string{karmada.AnnotationDependencies: tc.list},
				Clusters:    []karmada.TargetCluster{{Name: "m1"}},
			}
			if tc.parent != nil {
				tc.parent(parent)
			}
			require.Equal(t, tc.want, karmada.NeedsOn(parent, tc.dependent, "m1"))
		})
	}
}

func TestAMigrationsIDNamesItsBinding(t *testing.T) {
	for id, want := range map[string]karmada.BindingKey{
		fixtures.Mine:                    {Namespace: "shop", Name: "cart-deployment"},
		"eu/" + fixtures.Mine:            {Namespace: "shop", Name: "cart-deployment"},
		"binding-migration/m1/-/ns-role": {Name: "ns-role"},
	} {
		key, whole := karmada.MigrationKey(id, "m1")
		require.True(t, whole, id)
		require.Equal(t, want, key)
	}
	for _, id := range []string{"owner", "binding-migration/m2/shop/a", fixtures.Mine + strings.Repeat("x", 240)} {
		_, whole := karmada.MigrationKey(id, "m1")
		require.False(t, whole, id)
	}
}

// Karmada makes each of them in the parent's namespace (buildAttachedBinding).
// Rules: R4.10-1.
func TestDependentsAreNamedAsKarmadaNamesTheirBindings(t *testing.T) {
	b := &karmada.Binding{Key: karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}, Annotations: map[string]string{karmada.AnnotationDependencies: `[
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"elsewhere","name":"onecfg"},
		{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","namespace":"shop","name":"system:Reader"},
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"onecfg"},
		{"apiVersion":"v1","kind":"Secret","namespace":"shop","labelSelector":{"matchLabels":{"a":"b"}}}]`}}
	require.Equal(t, karmada.Dependencies{Known: true, Selected: true, Keys: []karmada.BindingKey{
		{Namespace: "shop", Name: "onecfg-configmap"}, {Namespace: "shop", Name: "system.reader-role"},
	}}, karmada.DependenciesOf(b))
	require.False(t, karmada.DependenciesOf(&karmada.Binding{}).Any())
	require.False(t, karmada.DependenciesOf(&karmada.Binding{Workload: true}).Any(), "nothing is taken along")
	require.False(t, karmada.DependenciesOf(&karmada.Binding{PropagateDeps: true}).Any(), "no workload, no list: none")
	require.Equal(t, karmada.Dependencies{Selected: true}, karmada.DependenciesOf(&karmada.Binding{PropagateDeps: true, Workload: true}), "what stands is searched")
	for _, empty := range []string{"", "[]", "null"} {
		b.Annotations[karmada.AnnotationDependencies] = empty
		b.PropagateDeps, b.Workload = true, true
		d := karmada.DependenciesOf(b)
		require.True(t, d.Known)
		require.False(t, d.Any())
	}
}
