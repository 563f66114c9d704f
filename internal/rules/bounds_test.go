package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// An annotation may have 256 kB; what is frozen and told of it may not.
func TestWhatAnAnnotationSaysIsKeptWithinBounds(t *testing.T) {
	long := strings.Repeat("\x01", 200_000)
	b := fixtures.Duplicated("m1")
	b.HasClusterFailover = true
	b.Annotations = map[string]string{karmada.AnnotationPurgeMode: long, karmada.AnnotationTolerationSeconds: long}
	p := rules.PolicyOf(b, nil)
	require.NotEmpty(t, p.SoftMalformed)
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	require.Less(t, len(raw), 2000)

	for _, mode := range []karmada.PurgeMode{
		rules.ResolvePurgeMode(p, "", karmada.PurgeGracefully),
		rules.ResolvePurgeMode(rules.Policy{}, karmada.PurgeMode(long), karmada.PurgeGracefully),
	} {
		cause, why := rules.Unsupported(b, mode)
		require.Equal(t, reason.Malformed, cause)
		require.Less(t, len(mode)+len(why), 1000)
	}
}
