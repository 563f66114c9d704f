package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

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
			frozen := rules.PolicyOf(tc.binding, nil)
			require.Equal(t, tc.want, rules.ResolvePurgeMode(frozen, tc.policy, tc.byDefault))
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
