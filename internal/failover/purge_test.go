package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// The nearer word wins: the binding's annotation, its policy's, the spec, the config.
//
// Rules: R4.8-1, R4.8-3.
func TestTheNearestWordSaysHowTheOldCopyGoes(t *testing.T) {
	spec := func(mode failover.PurgeMode) func(*failover.Binding) {
		return func(b *failover.Binding) { b.HasClusterFailover, b.PurgeMode = true, mode }
	}
	own := func(mode string) func(*failover.Binding) { return annotated(failover.AnnotationPurgeMode, mode) }
	for name, tc := range map[string]struct {
		binding           *failover.Binding
		policy, byDefault failover.PurgeMode
		want              failover.PurgeMode
	}{
		"nobody said anything":                    {duplicated("m1"), "", "", failover.PurgeGracefully},
		"the configured default":                  {duplicated("m1"), "", failover.PurgeNever, failover.PurgeNever},
		"the spec wins over the default":          {with(duplicated("m1"), spec(failover.PurgeDirectly)), "", failover.PurgeNever, failover.PurgeDirectly},
		"the policy's annotation over the spec":   {with(duplicated("m1"), spec(failover.PurgeDirectly)), failover.PurgeNever, "", failover.PurgeNever},
		"the binding's own over its policy's":     {with(duplicated("m1"), own("Gracefully")), failover.PurgeNever, failover.PurgeDirectly, failover.PurgeGracefully},
		"the binding's own over its spec":         {with(duplicated("m1"), spec(failover.PurgeDirectly), own("Never")), "", "", failover.PurgeNever},
		"what nobody knows stays what it is":      {with(duplicated("m1"), own("Softly")), failover.PurgeNever, "", "Softly"},
		"an empty annotation says nothing":        {with(duplicated("m1"), own("")), failover.PurgeNever, "", failover.PurgeNever},
		"an empty annotation leaves the spec":     {with(duplicated("m1"), spec(failover.PurgeDirectly), own("")), "", "", failover.PurgeDirectly},
		"an empty annotation leaves it to config": {with(duplicated("m1"), own("")), "", failover.PurgeDirectly, failover.PurgeDirectly},
	} {
		t.Run(name, func(t *testing.T) {
			frozen := failover.PolicyOf(tc.binding, nil)
			require.Equal(t, tc.want, failover.ResolvePurgeMode(frozen, tc.policy, tc.byDefault))
		})
	}
}

// Karmada up to v1.18 had other words for the same modes, and bindings outlive upgrades.
func TestKarmada7792OldNamesOfPurgeModesAreUnderstood(t *testing.T) {
	for old, now := range map[failover.PurgeMode]failover.PurgeMode{"Immediately": failover.PurgeDirectly, "Graciously": failover.PurgeGracefully} {
		require.Equal(t, now, failover.ResolvePurgeMode(failover.Policy{PurgeMode: old, PurgeBySpec: true}, "", ""))
		require.Equal(t, now, failover.ResolvePurgeMode(failover.Policy{}, old, ""))
	}
}

func preserves(b *failover.Binding) { b.PreservesCopies = true }

// Rules: R4.8-15, R4.8-16.
func TestEffectivePurge_PreservedCopyIsKeptInsteadOfReleased(t *testing.T) {
	for mode, want := range map[failover.PurgeMode]failover.PurgeMode{
		"": failover.PurgeNever, failover.PurgeGracefully: failover.PurgeNever, failover.PurgeNever: failover.PurgeNever,
		failover.PurgeDirectly: failover.PurgeDirectly, "Softly": "Softly",
	} {
		require.Equal(t, want, with(duplicated("m1"), preserves).EffectivePurge(mode), mode)
		require.Equal(t, mode, duplicated("m1").EffectivePurge(mode), mode)
	}
}
