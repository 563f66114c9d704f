package e2e

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

const operator = "jane@example.org"

// order has an operator give an order on the command line.
func (s *scene) order(verb, whom string, more ...string) {
	args := append([]string{whom, "--who", operator, "--reason", "told by a story", "--yes"}, more...)
	cmd := s.lifeboat(verb, s.lab.At.Kubeconfigs["operator"], args...)
	require.NoError(s, cmd.Run(), "lifeboat %s said:\n%s", verb, tail(s.logFile(verb), 20))
}

// pausedAndResumed has an operator stop a failover before its first move.
//
// It guards invariant 4: no eviction is sent later than four seconds after a pause; and
// that nothing is forgotten meanwhile.
//
// Rules: R4.4-11, R4.4-12, R4.4-15, R4.4-16, R4.5-18.
func pausedAndResumed(s *scene) {
	const toleration = 15 * time.Second
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), toleration))

	s.kill(from)
	s.awaitFailover(from, "the binding tolerates", func(e *clusterFailover) bool { return e.waits(app, "tolerating") })
	s.order("pause", from)
	s.awaitFailover(from, "due, and paused", func(e *clusterFailover) bool {
		return e.Paused != nil && e.Paused.Who == operator && e.waits(app, "ready", "Paused")
	})
	s.remains(3*time.Second, "nothing is evicted", func() bool { return len(s.evictions(app, from)) == 0 })
	s.order("pause", app, "--cluster", from)
	s.order("resume", from)
	s.awaitFailover(from, "paused by itself", func(e *clusterFailover) bool { return e.Paused == nil && e.waits(app, "paused", "Paused") })
	s.remains(3*time.Second, "nothing is evicted", func() bool { return len(s.evictions(app, from)) == 0 })
	s.order("prioritise", app, "--cluster", from, "--priority", "7")
	s.order("snooze", app, "--cluster", from, "--for", "2s")
	s.order("resume", app, "--cluster", from)
	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// cancelled has an operator end a failover in the middle, with one binding at every
// row of the table, while the cluster is still away.
//
// It guards §4.9's cancel: before the write Abandoned, unplaced Restored, placed both
// copies kept and left to an operator; Lifeboat's taints go, the record of who stopped it stays
// until nothing matches any more. And invariant 6, for what is kept is marked so. An operator ends that by releases: of
// the workload first, and then of the ConfigMap that it needs.
//
// Rules: R4.9-32, R4.9-33, R4.9-34, R4.9-37, R4.9-38, R4.9-41, R4.9-49, R4.10-3.
func cancelled(s *scene) {
	s.rule(time.Second, time.Second)
	from, to, other := s.c(1), s.c(2), s.c(3)
	whole := needing(s.deployed("placed", from, to), "its")
	annotate(whole, faultStuckReadyAt, to+"=1")
	s.run(whole)
	placed, its := keyOf(whole), s.namespace()+"/its-configmap"
	waiting := s.deploy("waiting", from, 1, tolerating(oneOf(from, to), 10*time.Minute))
	unplaced := s.deployApart("unplaced", from, other)
	old := s.work(unplaced, from)
	s.await("the ConfigMap is on the cluster", func() (bool, string) { return s.work(its, from) != nil, "" })

	s.killAndCordon(from, unplaced, other)
	s.awaitFailover(from, "one placed, one unplaced, one waiting", func(e *clusterFailover) bool {
		return e.Migrations[placed].Phase == "AwaitingHealth" && e.Migrations[unplaced].Reason == "NoClusterFit" && e.waits(waiting, "tolerating")
	})

	s.order("cancel", from)
	s.stoppedBy(from, operator)
	s.phase(from, "Stopped")
	require.Equal(s, old.UID, s.work(unplaced, from).UID, "its Work was never replaced")
	s.keepsBoth(placed, from)

	s.revive(from)
	s.became(s.ends(from, "Cancelled"), map[string]string{placed: "NeedsOperator", waiting: "Abandoned", unplaced: "Restored"})
	s.keepsBoth(its, from)
	for _, key := range []string{placed, its} {
		s.order("release", key, "--cluster", from)
		s.purged(key, from)
		require.Empty(s, s.find(key).Spec.Tasks)
	}
}

// stoppedBy waits until the taints of a stopped failover are gone, and its record says who stopped it.
func (s *scene) stoppedBy(cluster, who string) {
	s.await("the taints are gone, the record stands", func() (bool, string) {
		c := s.cluster(cluster)
		var by struct{ Who, Why string }
		err := json.Unmarshal([]byte(c.Annotations[prefix+"stopped-by"]), &by)
		clean := c.taint(failedTaint, "NoExecute") == nil && c.taint(evacuatingTaint, "NoSchedule") == nil
		return err == nil && by.Who == who && clean, fmt.Sprintf("%v %+v", c.Annotations, c.Spec.Taints)
	})
}

// keepsBoth: both copies of a binding are kept for an operator.
func (s *scene) keepsBoth(key, from string) {
	kept := s.find(key).held(from)
	require.Len(s, kept, 1, "both copies are kept")
	require.Equal(s, "LifeboatNeedsOperator", kept[0].Reason)
}

// taintedByOrder has an operator taint a healthy cluster while nobody watches, and the
// failover that carries the order killed from outside: a sweep has what is left taken
// over, and untaint ends it.
//
// It guards §4.1's orders, invariant 6 (untaint leaves nothing of Lifeboat's) and 8.
//
// Rules: R4.1-42, R4.1-43, R4.1-44, R4.9-46, R4.9-55.
func taintedByOrder(s *scene) {
	const key = "example.com/disks"
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to))
	placement := oneOf(from, to)
	placement["clusterTolerations"] = []any{object{"key": key, "operator": "Exists", "effect": "NoExecute"}}
	s.deploy("tolerant", from, 1, placement)
	require.NoError(s, s.controller.stop())
	s.controller = nil

	s.order("taint", from, key+"=old:NoExecute")
	var orders []struct{ Key, Value, Effect, Who, Why string }
	require.NoError(s, json.Unmarshal([]byte(s.cluster(from).Annotations[prefix+"ordered-taints"]), &orders))
	require.Len(s, orders, 1)
	require.Equal(s, operator, orders[0].Who)
	s.awaitFailover(from, "it is tainted", func(*clusterFailover) bool { return s.cluster(from).taint(key, "NoExecute") != nil })

	require.NoError(s, s.temporal.TerminateWorkflow(s.ctx, failoverID(from), "", "told by a story"))
	swept := s.answer("adopt", from, "--yes", "-o", "json")
	var found struct {
		Orphans []struct{ OnCluster []string }
		Adopted []struct{ Cluster string }
	}
	require.NoError(s, json.Unmarshal(swept, &found), "%s", swept)
	require.Len(s, found.Adopted, 1)
	require.Equal(s, from, found.Adopted[0].Cluster)
	require.Contains(s, found.Orphans[0].OnCluster, "taint "+key+":NoExecute")
	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	require.Contains(s, string(s.answer("adopt", from)), "Nothing of Lifeboat's is without an owner")
	require.Error(s, s.lifeboat("taint", s.lab.At.Kubeconfigs["operator"], from, key+"=new:NoExecute", "--reason", "again", "--yes").Run(),
		"another value is another taint")

	s.order("taint", from, "--end")
	r := s.ends(from, "Recovered")
	s.catchUp()
	require.Contains(s, string(s.answer("adopt", from)), "Nothing of Lifeboat's is without an owner")
	for _, attempt := range r.Attempts {
		for _, o := range attempt.Results {
			require.Contains(s, []string{"Migrated", "Abandoned"}, o.Outcome, "%+v", o)
		}
	}
	require.NoError(s, s.startController(s.ctx))
}

// drainTaint is the hard taint of a drain.
const drainTaint = prefix + "drain"

// drained has an operator empty a healthy cluster and give it back.
//
// It guards §4.12: nothing is tolerated, both Lifeboat's taints stand before the first
// eviction, the old copies go while their cluster answers, nothing is released before
// the new copy runs in full (invariant 1); undrain leaves nothing of Lifeboat's (6).
func drained(s *scene) {
	from, a, b := s.c(1), s.c(2), s.c(3)
	ns := s.namespace()
	s.run(
		deployment(ns, "duplicated", from, 2, oneOf(from, a)),
		deployment(ns, "divided", "", 6, dividedOver(from, a, b)),
		deployment(ns, "tolerant", from, 1, tolerating(oneOf(from, b), 10*time.Minute)),
	)
	outcomes := map[string]string{}
	for _, u := range s.bindings {
		outcomes[keyOf(u)] = "Migrated"
	}

	asked := time.Now()
	out := s.answer("drain", from, "--yes", "--wait", "--timeout", "15m", "-o", "json")
	var answer struct {
		Cluster  string
		Progress struct{ Done bool }
	}
	require.NoError(s, json.Unmarshal(out, &answer), "%s", out)
	require.Equal(s, from, answer.Cluster)
	require.True(s, answer.Progress.Done)
	s.abreast()

	for key := range outcomes {
		evicted := s.evicted(key, from)
		require.False(s, evicted.Seen.Before(asked))
		s.releasedWhenItRan(key, from)
		s.purged(key, from)
	}
	c := s.cluster(from)
	var by struct{ Who, Why string }
	require.NoError(s, json.Unmarshal([]byte(c.Annotations[prefix+"drained-by"]), &by))
	require.Equal(s, operator, by.Who)
	require.NotNil(s, c.taint(drainTaint, "NoExecute"))
	require.NotNil(s, c.taint(evacuatingTaint, "NoSchedule"))
	require.True(s, c.ready(), "it was never anything else")

	s.order("drain", from, "--end")
	s.became(s.ends(from, "Recovered"), outcomes)
	require.Error(s, s.lifeboat("drain", s.lab.At.Kubeconfigs["operator"], from, "--end", "--reason", "again", "--yes").Run(), "there is no drain to end")
}

// answer is what an operator's order printed.
func (s *scene) answer(verb, cluster string, more ...string) []byte {
	args := append([]string{cluster, "--who", operator, "--reason", "told by a story"}, more...)
	return s.printed(verb, args...)
}

// printed is what a verb prints for an operator.
func (s *scene) printed(verb string, args ...string) []byte {
	cmd := s.lifeboat(verb, s.lab.At.Kubeconfigs["operator"], args...)
	cmd.Stdout = nil
	out, err := cmd.Output()
	require.NoError(s, err, "lifeboat %s printed %q and said:\n%s", verb, out, tail(s.logFile(verb), 20))
	return out
}
