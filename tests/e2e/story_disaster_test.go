package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
)

// temporalLost has Temporal lose its database in the middle of a failover, just after an
// eviction was written and before that was heard. An operator sets it up again, and nothing
// else: what stands in Karmada is all that is left to go by.
//
// It guards invariants 1, 2, 4, 5 and 6 where 8 ends: what has moved is not moved again, every
// hold is taken over and released or restored, a human's word that died with the database is
// asked for again, and nothing new begins until a human has looked.
//
// Rules: R4.5-30, R4.5-31, R4.8-12, R4.9-46, R4.9-47, R4.9-48, R4.9-53.
func temporalLost(s *scene) {
	const optedOut = prefix + "enabled"
	l := s.oneOfEachKind(optedOut)
	from, moved, slow, idle, fenced, bare := s.c(1), l.moved, l.slow, l.idle, l.fenced, l.bare
	old := s.work(bare, from)
	answer := s.gate.stopAt(true, func(w write) bool { return w.evicts(fenced, from) })
	s.order("confirm-fenced", fenced, "--cluster", from)
	s.reaches(answer, "the last eviction is written, its answer on its way")

	s.control("lose-temporal", "", nil)
	answer.letGo()
	checks, code := s.preflight("worker", "--role", "worker", "--set", "mode=enforce")
	require.Equal(s, 4, code)
	lost := checks["Temporal namespace "+s.lab.At.TemporalNamespace]
	require.Equal(s, []string{"failed", "it does not exist"}, []string{lost.Result, lost.Found})
	require.Contains(s, lost.Do, "lifeboat setup")
	setup := s.lifeboat("setup", s.lab.At.Kubeconfigs["setup"])
	require.NoError(s, setup.Run(), tail(s.logFile("setup"), 20))

	s.paced("halted", "StateLost")
	s.awaitFailover(from, "everything that is held is taken over", func(e *clusterFailover) bool {
		return e.Moves[slow].Phase == "AwaitingHealth" && e.Moves[bare].Reason == "NoClusterFit" && e.awaitsFence(fenced)
	})
	s.annotate(idle, optedOut, "")
	s.awaitFailover(from, "what begins anew waits for a human", func(e *clusterFailover) bool {
		return e.waits(idle, "ready", "Halted") && e.Pace.Reason == "StateLost"
	})
	s.annotate(slow, faultStuckReadyAt, "")
	s.order("confirm-fenced", fenced, "--cluster", from)
	s.awaitFailover(from, "what had begun goes on meanwhile", func(e *clusterFailover) bool {
		return e.ended(slow, "Migrated") && e.ended(fenced, "Migrated")
	})
	require.Empty(s, s.evictions(idle, from), "halted")
	s.order("resume", "fleet")
	s.awaitFailover(from, "and then goes", func(e *clusterFailover) bool { return e.outcome(idle) != nil })

	s.recovers(from, map[string]string{slow: "Migrated", fenced: "Migrated", idle: "Migrated", bare: "Restored"})
	s.onceEach(fenced)
	for _, key := range []string{moved, slow, idle} {
		s.releasedWhenItRan(key, from)
	}
	require.Equal(s, old.UID, s.work(bare, from).UID, "its Work was never replaced")
}

// kinds are bindings, each at another point of its way.
type kinds struct {
	moved  string // has moved
	slow   string // held, for its new copy does not run yet
	bare   string // held, for nothing fits
	fenced string // not written yet, for it asks whether its old copy is dead
	idle   string // opted out
}

// oneOfEachKind has the first of three clusters fail, and waits until everything is under way.
func (s *scene) oneOfEachKind(optedOut string) kinds {
	s.rule(time.Second, time.Second)
	from, to, other := s.c(1), s.c(2), s.c(3)
	k := kinds{
		moved:  s.deploy("moved", from, 1, oneOf(from, to)),
		slow:   s.deploy("slow", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1"),
		idle:   s.deploy("idle", from, 1, oneOf(from, to), optedOut+"=false"),
		fenced: s.deploy("fenced", from, 1, oneOf(from, to), directly),
	}
	k.bare = s.deployApart("bare", from, other)
	s.killAndCordon(from, k.bare, other)
	s.awaitFailover(from, "one of each kind", func(e *clusterFailover) bool {
		return e.ended(k.moved, "Migrated") && e.Moves[k.slow].Phase == "AwaitingHealth" &&
			e.Moves[k.bare].Reason == "NoClusterFit" && e.Moves[k.fenced].Phase == "AwaitingFence"
	})
	return k
}

// onceEach: each binding was taken off the first cluster once and let go or put back once,
// and was never without a copy or a hold. Of one that goes Directly Karmada begins the new
// copy when the hold has gone.
func (s *scene) onceEach(directly string) {
	s.catchUp()
	for _, u := range s.bindings {
		key := keyOf(u)
		s.evicted(key, s.c(1))
		s.released(key, s.c(1))
		require.Len(s, s.writesTo(key), 2, "by the audit log: %v", s.writesTo(key))
		if key != directly {
			require.Equal(s, "0s", s.uncovered(key).String(), "%s had neither a copy nor a hold", key)
		}
	}
}
