package karmada_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// Rules: R4.8-15, R4.8-16.
func TestEffectivePurge_PreservedCopyIsKeptInsteadOfReleased(t *testing.T) {
	for mode, want := range map[karmada.PurgeMode]karmada.PurgeMode{
		"": karmada.PurgeNever, karmada.PurgeGracefully: karmada.PurgeNever, karmada.PurgeNever: karmada.PurgeNever,
		karmada.PurgeDirectly: karmada.PurgeDirectly, "Softly": "Softly",
	} {
		require.Equal(t, want, fixtures.With(fixtures.Duplicated("m1"), fixtures.Preserves).EffectivePurge(mode), mode)
		require.Equal(t, mode, fixtures.Duplicated("m1").EffectivePurge(mode), mode)
	}
}
