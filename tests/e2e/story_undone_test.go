package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
		return e.Moves[moved].Phase == "AwaitingHealth" && e.Moves[late].Reason == "NoClusterFit"
	})
	require.Equal(s, "backup", s.group(moved))
	s.taintByHand(backup, cordoned, "NoSchedule", true)
	s.patch(s.named(moved), object{"spec": object{"clusters": nil}})
	s.awaitFailover(from, "neither is placed", func(e *clusterFailover) bool {
		return e.Moves[moved].Phase == "Placing" && e.Moves[moved].Reason == "NoClusterFit"
	})
	old := s.work(moved, from)

	restore := s.gate.stopAt(true, func(w write) bool { return w.restores(late, from) })
	s.revive(from)
	s.reaches(restore, "it is put back, and the answer is on its way")
	s.emptiesLate(late)
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

// emptiesLate has the scheduler's patch land that says that nothing fits. It carries no
// resourceVersion, so what was written since it was worked out goes with it.
func (s *scene) emptiesLate(key string) {
	s.emptied = key
	s.patch(s.named(key), object{"spec": object{"clusters": nil}})
}

// cancelledInTheUI has somebody cancel in Temporal's UI: first one move, then the failover.
//
// It guards §4.9's cancel, which is the same from there: both copies of what is placed are
// left to a human, what waits is abandoned, Lifeboat's taints go and the record of the stop stands.
//
// Rules: R4.9-34, R4.9-37, R4.9-38, R4.9-43.
func cancelledInTheUI(s *scene) {
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	placed := s.deploy("placed", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")
	waiting := s.deploy("waiting", from, 1, tolerating(oneOf(from, to), 10*time.Minute))
	s.kill(from)
	s.awaitFailover(from, "one placed, one waiting", func(e *clusterFailover) bool {
		return e.Moves[placed].Phase == "AwaitingHealth" && e.waits(waiting, "tolerating")
	})
	require.NoError(s, s.temporal.CancelWorkflow(s.ctx, migrationID(from, placed), ""))
	s.awaitFailover(from, "the move is left to a human, the failover goes on", func(e *clusterFailover) bool {
		return e.ended(placed, "NeedsOperator") && e.waits(waiting, "tolerating") && e.Phase == "Evacuating"
	})
	s.keepsBoth(placed, from)

	require.NoError(s, s.temporal.CancelWorkflow(s.ctx, failoverID(from), ""))
	s.phase(from, "Stopped")
	s.stoppedBy(from, "cancellation request")
	s.revive(from)
	s.became(s.ends(from, "Cancelled"), map[string]string{placed: "NeedsOperator", waiting: "Abandoned"})
	s.dropTasks(placed)
}
