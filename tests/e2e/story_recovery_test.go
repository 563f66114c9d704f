package e2e

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	from, to := s.ruledPair()
	app := s.deployApart("app", from, to)
	old := s.work(app, from)
	require.NotNil(s, old)

	s.killAndCordon(from, app, to)
	s.await("the scheduler finds nothing", func() (bool, string) {
		b := s.find(app)
		return len(b.Spec.Clusters) == 0 && len(b.held(from)) == 1 && b.scheduled().Reason == "NoClusterFit", ""
	})
	s.awaitFailover(from, "it says that nothing fits", func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "Placing" && e.Migrations[app].Reason == "NoClusterFit"
	})

	s.recovers(from, map[string]string{app: "Restored"})
	b := s.find(app)
	require.Equal(s, []target{{Name: from, Replicas: 2}}, b.Spec.Clusters, "it is back with its replicas")
	require.Equal(s, old.UID, s.work(app, from).UID, "its Work was never replaced")
	require.Less(s, s.released(app, from).Revision, s.untaintedAt(from).Revision, "restored before the untaint")
}

// scaledToZero scales a workload to 0 replicas while its old copy is held and its new one is not ready. The scheduler
// drops every cluster. After the recovery the workload is scaled up.
//
// It guards that the hold goes without a target, and that a scheduler which drops every cluster holds nothing for ever.
//
// Rules: R4.7-17.
func scaledToZero(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")
	s.emptied = app
	scale := func(replicas int64) { s.patch(s.named(app), object{"spec": object{"replicas": replicas}}) }

	s.kill(from)
	s.awaitFailover(from, "placed, and not ready", func(e *clusterFailover) bool { return e.Migrations[app].Phase == "AwaitingHealth" })
	scale(0)
	s.phase(from, "Evacuated")
	s.released(app, from)
	require.Empty(s, s.find(app).Spec.Clusters)
	s.recovers(from, map[string]string{app: "Migrated"})
	s.purged(app, from)

	scale(1)
	s.runs(app)
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
	// An operator's taint comes and goes at once: an eviction is on its way for seconds at most.
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

// undone recovers where the scheduler would undo the restore: once because it stands at
// a later affinity group, and once because a result that it had worked out before is
// still on its way.
//
// It guards the restore of §4.9: a reschedule is asked for in the very write that puts
// the cluster back, without which the scheduler would empty the binding again; and what
// was emptied all the same is held in the next write, needs attention, and is put back
// once more.
//
// Rules: R4.9-12, R4.9-22, R4.9-23, R4.9-24, R4.9-25.
func undone(s *scene) {
	s.rule(time.Second, time.Second)
	from, backup, other := s.c(1), s.c(2), s.c(3)
	moved := s.deploy("moved", from, 2, groups(from, backup), faultStuckReadyAt+"="+backup+"=1")
	late := s.deployApart("late", from, other)

	s.killAndCordon(from, late, other)
	s.awaitFailover(from, "one is placed in its later group, the other nowhere", func(e *clusterFailover) bool {
		return e.Migrations[moved].Phase == "AwaitingHealth" && e.Migrations[late].Reason == "NoClusterFit"
	})
	require.Equal(s, "backup", s.group(moved))
	s.taintByHand(backup, cordoned, "NoSchedule", true)
	s.patch(s.named(moved), object{"spec": object{"clusters": nil}})
	s.awaitFailover(from, "neither is placed", func(e *clusterFailover) bool {
		return e.Migrations[moved].Phase == "Placing" && e.Migrations[moved].Reason == "NoClusterFit"
	})
	old := s.work(moved, from)

	restore := s.gate.stopAt(true, func(w write) bool { return w.restores(late, from) })
	s.revive(from)
	s.reaches(restore, "it is put back, and the answer is on its way")
	// The scheduler's patch lands that says that nothing fits. It carries no resourceVersion, so what
	// was written since it was worked out goes with it.
	s.emptied = late
	s.patch(s.named(late), object{"spec": object{"clusters": nil}})
	restore.letGo()
	s.became(s.ends(from, "Recovered"), map[string]string{moved: "Restored", late: "Restored"})

	require.Equal(s, []target{{Name: from, Replicas: 2}}, s.find(moved).Spec.Clusters)
	require.Equal(s, "primary", s.group(moved), "the scheduler is back where the cluster is")
	s.rescheduledWith(moved, from)
	require.Equal(s, old.UID, s.work(moved, from).UID, "its Work was never replaced")

	require.Equal(s, []target{{Name: from, Replicas: 2}}, s.find(late).Spec.Clusters)
	require.Len(s, s.evictions(late, from), 2, "it was held again")
	require.Len(s, s.releases(late, from), 2, "and put back again")
	s.needsAttention(from, late, "RestoreUndone")
	s.taintByHand(other, cordoned, "NoSchedule", false)
	s.taintByHand(backup, cordoned, "NoSchedule", false)
}

// needsAttention: a migration is flagged for a reason.
func (s *scene) needsAttention(from, key, reason string) {
	m, err := query[move](s.ctx, s.temporal, migrationID(from, key))
	require.NoError(s, err)
	require.Equal(s, reason, m.Attention)
}

// group is the affinity group at which the scheduler stands.
func (s *scene) group(key string) string {
	versions := s.versions(key)
	group, _, err := unstructured.NestedString(versions[len(versions)-1].Object.Object, "status", "schedulerObservingAffinityName")
	require.NoError(s, err)
	return group
}

// rescheduledWith: the write that put a cluster back asked for a reschedule, which no
// version had before it, and from then on the cluster was never taken out again.
func (s *scene) rescheduledWith(key, cluster string) {
	let := s.released(key, cluster)
	for _, v := range s.versions(key) {
		at, _, err := unstructured.NestedString(v.Object.Object, "spec", "rescheduleTriggeredAt")
		require.NoError(s, err)
		require.Equal(s, v.Revision >= let.Revision, at != "", "revision %d, put back in %d", v.Revision, let.Revision)
		require.True(s, v.Revision < let.Revision || s.binding(v).on(cluster), "taken out again in revision %d", v.Revision)
	}
}

// cancelledInTheUI has an operator cancel in Temporal's UI: first one migration, then the failover, and
// once more after a resume.
//
// It guards §4.9's cancel, which is the same from there: both copies of what is placed are
// left to an operator, what waits is abandoned, Lifeboat's taints go and the record of the stop stands.
//
// Rules: R4.9-34, R4.9-37, R4.9-38, R4.9-43.
func cancelledInTheUI(s *scene) {
	from, to := s.ruledPair()
	placed := s.deploy("placed", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")
	waiting := s.deploy("waiting", from, 1, tolerating(oneOf(from, to), 10*time.Minute))
	s.kill(from)
	s.awaitFailover(from, "one placed, one waiting", func(e *clusterFailover) bool {
		return e.Migrations[placed].Phase == "AwaitingHealth" && e.waits(waiting, "tolerating")
	})
	require.NoError(s, s.temporal.CancelWorkflow(s.ctx, migrationID(from, placed), ""))
	s.awaitFailover(from, "the migration is left to an operator, the failover goes on", func(e *clusterFailover) bool {
		return e.ended(placed, "NeedsOperator") && e.waits(waiting, "tolerating") && e.Phase == "Evacuating"
	})
	s.keepsBoth(placed, from)

	require.NoError(s, s.temporal.CancelWorkflow(s.ctx, failoverID(from), ""))
	s.phase(from, "Stopped")
	s.stoppedBy(from, "cancellation request")

	s.order("resume", from)
	s.awaitFailover(from, "it waits again", func(e *clusterFailover) bool { return e.Phase == "Evacuating" && e.waits(waiting, "tolerating") })
	require.NoError(s, s.temporal.CancelWorkflow(s.ctx, failoverID(from), ""), "the server takes one request in a run")
	s.phase(from, "Stopped")
	s.stoppedBy(from, "cancellation request")
	s.revive(from)
	r := s.ends(from, "Cancelled")
	require.Len(s, r.Attempts, 2)
	require.Equal(s, "Abandoned", r.Attempts[1].Results[0].Outcome)
	s.patch(s.named(placed), object{"spec": object{"gracefulEvictionTasks": nil}})
	s.await("let go by hand", func() (bool, string) { return len(s.find(placed).Spec.Tasks) == 0, "" })
}

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
	s.awaitFailover(first, "placed, and not ready", func(e *clusterFailover) bool { return e.Migrations[app].Phase == "AwaitingHealth" })
	second := s.elsewhere(app, first)
	s.revive(first)
	s.awaitFailover(first, "untainted, and its old copy is held", func(e *clusterFailover) bool {
		return e.Phase == "Settling" && e.Migrations[app].Phase == "AwaitingHealth" && len(s.cluster(first).Spec.Taints) == 0
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
