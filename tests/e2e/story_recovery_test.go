package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
)

// blip is a failure shorter than the rule's window.
//
// It guards the window of §4.1: nothing at all is written before it has run out.
//
// Rules: R4.1-40.
func blip(s *scene) {
	s.rule(time.Minute, 2*time.Second)
	from := s.c(1)
	s.deploy("app", from, 1, oneOf(from, s.c(2)))

	s.kill(from)
	s.awaitFailover(from, "suspected, its window runs", func(e *clusterFailover) bool {
		return e.Phase == "Suspected" && e.Reason == "WindowRunning"
	})
	s.revive(from)
	s.became(s.ends(from, "FalseAlarm"), map[string]string{})
	s.catchUp()
	require.Empty(s, s.writes(), "nothing was written for a blip")
}

// whileTolerating recovers before the binding's own toleration has run out.
//
// It guards the row "queued, tolerating, blocked" of §4.9: Abandoned, and nothing
// written on the binding.
//
// Rules: R4.9-10.
func whileTolerating(s *scene) {
	s.rule(time.Second, time.Second)
	from := s.c(1)
	app := s.deploy("app", from, 1, tolerating(oneOf(from, s.c(2)), 10*time.Minute))

	s.kill(from)
	s.awaitFailover(from, "evacuating, the binding tolerates", func(e *clusterFailover) bool {
		return e.Phase == "Evacuating" && e.waits(app, "tolerating")
	})
	s.recovers(from, map[string]string{app: "Abandoned"})
	s.leftAlone(app)
	require.Equal(s, []string{from}, s.find(app).targets())
}

// unplaced recovers while a binding has been evicted and the scheduler found no
// other cluster for it: the only candidate goes while the write is on its way.
//
// It guards the row "no fit" of §4.9: Restored, in one write, before the untaint,
// and the workload that never went keeps its Work. And invariant 2: the hold stands
// for as long as the scheduler's empty answer does.
//
// Rules: R4.7-19, R4.9-6, R4.9-12.
func unplaced(s *scene) {
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deployApart("app", from, to)
	old := s.work(app, from)
	require.NotNil(s, old)

	s.killAndCordon(from, app, to)
	s.await("the scheduler finds nothing", func() (bool, string) {
		b := s.find(app)
		return len(b.Spec.Clusters) == 0 && len(b.held(from)) == 1 && b.scheduled().Reason == "NoClusterFit", ""
	})
	s.awaitFailover(from, "it says that nothing fits", func(e *clusterFailover) bool {
		return e.Moves[app].Phase == "Placing" && e.Moves[app].Reason == "NoClusterFit"
	})

	s.recovers(from, map[string]string{app: "Restored"})
	b := s.find(app)
	require.Equal(s, []target{{Name: from, Replicas: 2}}, b.Spec.Clusters, "it is back with its replicas")
	require.Equal(s, old.UID, s.work(app, from).UID, "its Work was never replaced")
	require.Less(s, s.released(app, from).Revision, s.untaintedAt(from).Revision, "restored before the untaint")
}

// inFlight recovers while evictions are on their way to the API server.
//
// It guards the row "checking" of §4.9: whoever has sent a write waits for its end,
// and one that was written is never called Abandoned. And invariant 3: one that has
// lost the race decides anew, and does not write for a cluster that is well.
//
// Rules: R4.9-11.
func inFlight(s *scene) {
	s.rule(time.Second, 0)
	from, to := s.c(1), s.c(2)
	// Another's change of one binding, while the write is on its way, makes that write
	// outdated. The scheduler leaves the other binding, a divided one, alone: its write
	// lands.
	s.run(deployment(s.namespace(), "lands", "", 2, dividedOver(from, to)), deployment(s.namespace(), "refused", from, 1, oneOf(from, to)))
	lands, refused := keyOf(s.bindings[0]), keyOf(s.bindings[1])

	landing := s.gate.stopAt(false, func(w write) bool { return w.evicts(lands, from) })
	outdated := s.gate.stopAt(false, func(w write) bool { return w.evicts(refused, from) })
	// A human's taint comes and goes at once: an eviction is on its way for seconds at most.
	s.taintByHand(from, maintenance, "NoExecute", true)
	s.reaches(landing, "one eviction is on its way")
	s.reaches(outdated, "the other is on its way")
	s.annotate(refused, "example.com/changed", "meanwhile")
	s.taintByHand(from, maintenance, "NoExecute", false)
	s.phase(from, "Settling")
	require.Empty(s, s.evictions(lands, from), "the write is still on its way")
	landing.letGo()
	outdated.letGo()

	s.became(s.ends(from, "Recovered"), map[string]string{lands: "Migrated", refused: "Abandoned"})
	s.evicted(lands, from)
	s.releasedWhenItRan(lands, from)
	require.Equal(s, []target{{Name: to, Replicas: 2}}, s.find(lands).Spec.Clusters)
	s.leftAlone(refused)
}
