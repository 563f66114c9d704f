package e2e

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// allRed has a monitor of Lifeboat's call every cluster failed, while all of them are well
// and there would be somewhere to go.
//
// It guards invariant 4 by §4.5: with everything faulty it is probably us: no grant,
// no eviction, whatever waits. With one that is well the large fleet is slow: its lab has
// more clusters than largeClusterThreshold, and no more of them than that takes.
//
// Rules: R4.1-33, R4.5-3, R4.5-5.
func allRed(s *scene) {
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to))
	s.create(taintRule("red", "Probe", time.Second, time.Second, from))
	s.create(taintRule("red-everything", "Probe", time.Hour, time.Second))
	fleet := s.fleet()

	for _, name := range fleet {
		s.probe(name, "False")
	}
	s.paced("halted", "AllFaulty")
	s.awaitFailover(from, "it wants to move, and has somewhere to go", func(e *clusterFailover) bool {
		return e.waits(app, "ready", "Halted") && e.Pace.Reason == "AllFaulty"
	})
	s.remains(5*time.Second, "nothing is evicted", func() bool { return len(s.evictions(app, from)) == 0 })
	s.probe(to, "True")
	s.paced("reduced", "FleetUnhealthy")
	s.phase(from, "Evacuated")

	for _, name := range fleet {
		if name != from {
			s.probe(name, "True")
		}
	}
	s.probe(from, "True")
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated"})
	for _, name := range fleet {
		s.closed(failoverID(name))
	}
}

// fleet are the names of all clusters that there are.
func (s *scene) fleet() []string {
	all, err := s.api.Resource(clusters).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	var names []string
	for i := range all.Items {
		names = append(names, all.Items[i].GetName())
	}
	return names
}

// probe sets the condition Probe of a cluster, as a monitor would.
func (s *scene) probe(name, status string) {
	u, err := s.api.Resource(clusters).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(s, err)
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(s, err)
	var kept []any
	for _, c := range conditions {
		if is, ok := c.(object); ok && is["type"] != "Probe" {
			kept = append(kept, c)
		}
	}
	kept = append(kept, object{
		"type": "Probe", "status": status, "reason": "Monitor", "message": "says the monitor",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	})
	require.NoError(s, s.patchCluster(name, object{"status": object{"conditions": kept}}, "status"))
}

// paced waits until the operator is told of this tier, and why.
func (s *scene) paced(tier, reason string) {
	s.await(tier+": "+reason, func() (bool, string) {
		status, err := told[struct{ Pacer struct{ Pace pace } }](s, "status")
		if err != nil {
			return false, err.Error()
		}
		return status.Pacer.Pace.Tier == tier && status.Pacer.Pace.Reason == reason, fmt.Sprintf("%+v", status)
	})
}

// workerKilled loses the worker, with -9, after its eviction was written and before
// it could hear so.
//
// It guards invariant 8: the next worker reads what stands before it does anything;
// the write is neither repeated nor forgotten (invariant 5).
//
// Rules: R4.7-11.
func workerKilled(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, oneOf(from, to))

	answer := s.gate.stopAt(true, func(w write) bool { return w.evicts(app, from) })
	s.kill(from)
	s.reaches(answer, "the eviction is written, its answer on its way")
	require.NoError(s, s.worker.kill())
	s.worker = nil
	answer.letGo()
	s.await("the eviction stands", func() (bool, string) { return len(s.evictions(app, from)) == 1, "" })
	require.NoError(s, s.startWorker(s.ctx))

	s.phase(from, "Evacuated")
	s.evicted(app, from)
	s.releasedWhenItRan(app, from)
	s.wroteTwice(app)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// controllerDown has a cluster fail while nobody watches.
//
// It guards invariant 8 and that the controller is level-triggered: what happened while
// it was away it finds when it comes back.
func controllerDown(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, oneOf(from, to))

	require.NoError(s, s.controller.stop())
	s.controller = nil
	s.kill(from)
	running, err := s.temporal.running(s.ctx, failoverID(from))
	require.NoError(s, err)
	require.False(s, running, "nobody has noticed")
	require.NoError(s, s.startController(s.ctx))

	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// observed is a whole failure and recovery in mode observe.
//
// It guards invariant 10: it decides and says what it would do, and writes nothing
// but its Lease: no taint, task, annotation, Event or status.
//
// Rules: R4.15-2, R4.15-6.
func observed(s *scene) {
	require.NoError(s, s.inMode(s.ctx, "observe"))
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, oneOf(from, to))
	stuck := s.deploy("stuck", from, 1, oneOf(from))
	s.catchUp()
	before := s.allWrites()

	s.kill(from)
	s.awaitFailover(from, "it would move one and block the other", func(e *clusterFailover) bool {
		return e.ended(app, "WouldMove") && e.waits(stuck, "blocked", "Pinned")
	})
	s.recovers(from, map[string]string{app: "WouldMove", stuck: "WouldBlock"})
	s.catchUp()
	require.Equal(s, before, s.allWrites(), "nothing was written in observe")
}

// allWrites are those of Lifeboat to anything but its Lease.
func (s *scene) allWrites() []string {
	all, err := s.audit.read()
	require.NoError(s, err)
	writes := []string{}
	for _, a := range all {
		if a.byLifeboat() && a.Object.Resource != "leases" {
			writes = append(writes, a.String())
		}
	}
	return writes
}

// modeGuard switches the worker to observe in the middle of a failover that began
// in enforce.
//
// It guards §4.15: the evict activity asks its own config, not only the failover's;
// what has begun is cleaned up all the same.
//
// Rules: R4.15-10, R4.15-12.
func modeGuard(s *scene) {
	const toleration = 15 * time.Second
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), toleration))

	s.kill(from)
	s.awaitFailover(from, "tainted, the binding tolerates", func(e *clusterFailover) bool {
		return e.Phase == "Evacuating" && e.waits(app, "tolerating")
	})
	require.NoError(s, s.inMode(s.ctx, "observe"))
	s.blocked(from, app, "ModeObserve")
	s.recovers(from, map[string]string{app: "Abandoned"})
	s.leftAlone(app)
}
