package workflows_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Twenty thousand bindings, cut into runs again and again: they go in the one global
// order, and when the cluster comes back each of them has exactly one outcome.
//
// Rules: R4.4-1, R4.4-7, R4.4-14.
func TestTwentyThousandBindingsKeepTheirOrderOverManyRuns(t *testing.T) {
	n, patience := 20_000, 3*time.Minute
	if more := os.Getenv("LIFEBOAT_CROWD"); more != "" { // make crowd
		var err error
		n, err = strconv.Atoi(more)
		require.NoError(t, err)
		patience = 2 * time.Hour
	}
	s := newStory(t)
	s.env.SetTestTimeout(patience)
	c := &continueOften{after: 40, runs: map[string]int{}}
	s.intercept(c)
	s.env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		s.world.SetRunning(info.WorkflowExecution.ID, true)
	})
	s.env.SetOnChildWorkflowCompletedListener(func(info *workflow.Info, _ converter.EncodedValue, _ error) {
		s.world.SetRunning(info.WorkflowExecution.ID, false)
	})
	s.settings.Pace.EvictionRate = 5
	s.settings.Terms.Detection = 5 * time.Second
	want := make([]queue.Turn, 0, n)
	for i := range n {
		key := s.bind(fmt.Sprintf("app-%05d", i*7919%n), []string{"m1"}, "m1", "m2", "m3")
		priority := int32(i % 100) //nolint:gosec // below 100
		s.world.Change(key, func(b *karmada.Binding) { b.Priority = priority })
		want = append(want, queue.Turn{Key: key, Priority: priority})
	}
	slices.SortFunc(want, queue.Compare)
	s.world.SetReady("m1", false)
	recovers := false
	for i := range 300 {
		// Activities take the time of this machine: the story goes on when enough has moved.
		s.at(70*time.Second+time.Duration(2*i)*time.Second*time.Duration(n)/20_000, func() {
			if recovers || len(s.world.Log("evict")) < 30 {
				return
			}
			recovers = true
			s.world.SetReady("m1", true)
		})
	}
	begun := time.Now()
	r := s.play()
	evictions := s.world.Log("evict")
	// Not logged: with -v a story tells every step, and this one has too many.
	_, _ = fmt.Fprintf(os.Stdout, "%d bindings, %d evictions, %d runs, %s\n",
		n, len(evictions), c.runs[workflows.TypeClusterFailover], time.Since(begun).Round(time.Millisecond))
	require.GreaterOrEqual(t, len(evictions), 30)
	require.Greater(t, c.runs[workflows.TypeClusterFailover], 2)
	// The permits are given in order. The writes may cross: a machine that is busy lets a permit
	// pass unused, and its binding gets a later one.
	require.GreaterOrEqual(t, len(c.moved), len(evictions))
	for i, key := range c.moved {
		require.Equal(t, want[i].Key.String(), key, "the %d. of all", i)
	}
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	last := r.Attempts[len(r.Attempts)-1]
	require.Equal(t, map[string]int{"Migrated": len(evictions), "Abandoned": n - len(evictions)}, last.Counts)
	require.Equal(t, n, len(last.Results)+last.Folded)
	require.Empty(t, s.world.Leftovers())
}
