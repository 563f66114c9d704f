package failover_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// An annotation may have 256 kB; what is frozen and told of it may not.
func TestWhatAnAnnotationSaysIsKeptWithinBounds(t *testing.T) {
	long := strings.Repeat("\x01", 200_000)
	b := duplicated("m1")
	b.HasClusterFailover = true
	b.Annotations = map[string]string{failover.AnnotationPurgeMode: long, failover.AnnotationTolerationSeconds: long}
	p := failover.PolicyOf(b, nil)
	require.NotEmpty(t, p.SoftMalformed)
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	require.Less(t, len(raw), 2000)

	for _, mode := range []failover.PurgeMode{
		failover.ResolvePurgeMode(p, "", failover.PurgeGracefully),
		failover.ResolvePurgeMode(failover.Policy{}, failover.PurgeMode(long), failover.PurgeGracefully),
	} {
		reason, why := failover.Unsupported(b, mode)
		require.Equal(t, failover.ReasonMalformed, reason)
		require.Less(t, len(mode)+len(why), 1000)
	}
}
