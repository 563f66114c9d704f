package workflows

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/stretchr/testify/require"
)

// The page shows the last results, whatever place they have in the list.
func TestNewest_AreTheLastOfAll(t *testing.T) {
	for n := range 20 {
		results := make([]record.Result, n)
		for at := range results {
			results[at].At = time.Unix(rand.Int64N(30), 0) //nolint:gosec // times for a test
		}
		want := slices.Clone(results)
		slices.SortFunc(want, func(a, b record.Result) int { return b.At.Compare(a.At) })
		require.Equal(t, want[:min(n, 5)], append([]record.Result{}, newest(results, 5)...))
	}
}
