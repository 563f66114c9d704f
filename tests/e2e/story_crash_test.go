package e2e

import (
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// sample are the cells of the crash matrix that every run of the stories plays.
var sample = []cell{
	{Story: "migration", Victim: victimWorker, Point: "worker PATCH resourcebindings cell cart #1", After: true},
	{Story: "migration", Victim: victimController, Point: "controller SignalWithStartWorkflowExecution cluster-failover/cell1 cluster-observed #1"},
}

// crashSample loses the worker after its first eviction, and in another failover the controller
// before it tells anybody.
//
// It guards invariant 8 as the whole matrix does (`make chaos`), on fixed points.
func crashSample(s *scene) {
	s.wired(s.T)
	for _, c := range sample {
		require.NoError(s, s.inMode(s.ctx, "enforce"))
		got, _, struck := s.playOn(s.T, c)
		require.True(s, struck, "the run comes by the point, and costs the victim: %s", c)
		require.Empty(s, cmp.Diff(chaosStories[c.Story].want, got), "%s", c)
	}
}
