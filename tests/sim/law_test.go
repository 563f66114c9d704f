package sim

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// A chunk that was granted before the rate fell may be used for one lease, and no longer.
func TestTheLawLetsAGrantedChunkBeUsed(t *testing.T) {
	ordered := begins.Add(time.Minute)
	for after, broken := range map[time.Duration]bool{time.Second: false, lease - time.Second: false, lease + 2*time.Second: true} {
		l := newLaw(8)
		l.paced(ordered, workflows.UpdateSetRate, workflows.SetRate{Rate: 2})
		require.Empty(t, l.evict(ordered.Add(after), "m1"))
		require.Equal(t, broken, l.evict(ordered.Add(after), "m1") != "", "%s after the order", after)
	}
}
