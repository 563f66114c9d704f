package e2e

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// swapped loses the new target while the old copy is still held, after the first cluster has recovered.
//
// It guards the swap of §4.9: one write puts the first cluster back with its old copy, drops its task and
// takes the failed target out under a task of its own. A third cluster would have had room.
//
// Rules: R4.9-14, R4.9-15, R4.9-29, R4.9-30.
func swapped(s *scene) {
	s.rule(time.Second, time.Second)
	first := s.c(1)
	app := s.deploy("app", first, 2, oneOf(s.all()...), faultStuckReadyAt+"="+s.c(2)+"=1,"+s.c(3)+"=1")
	old := s.work(app, first)

	s.kill(first)
	s.awaitFailover(first, "placed, and not ready", func(e *clusterFailover) bool { return e.Moves[app].Phase == "AwaitingHealth" })
	second := s.elsewhere(app, first)
	s.revive(first)
	s.awaitFailover(first, "untainted, and its old copy is held", func(e *clusterFailover) bool {
		return e.Phase == "Settling" && e.Moves[app].Phase == "AwaitingHealth" && len(s.cluster(first).Spec.Taints) == 0
	})
	require.Empty(s, s.releases(app, first))

	s.kill(second)
	s.await("back on the first cluster", func() (bool, string) { return s.find(app).on(first), fmt.Sprintf("%+v", s.find(app)) })
	s.became(s.ends(first, "Recovered"), map[string]string{app: "Restored"})
	s.phase(second, "Evacuated")
	swap := s.binding(s.evicted(app, second))
	require.Equal(s, []target{{Name: first, Replicas: 2}}, swap.Spec.Clusters)
	require.Empty(s, swap.held(first), "one write did it all")
	require.Equal(s, s.evicted(app, second).Revision, s.released(app, first).Revision)
	s.evicted(app, first)
	s.releasedWhenItRan(app, second)
	require.Equal(s, old.UID, s.work(app, first).UID, "its Work was never replaced")

	s.recovers(second, map[string]string{app: "Migrated"})
	s.purged(app, second)
}
