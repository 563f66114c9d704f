package sim

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"go.temporal.io/sdk/workflow"
)

// theirs is who else evicts in some stories: a producer that blocks its bindings alone. A task
// of Karmada's own taint manager would halt the failover until an operator resumes it.
const theirs = "resource-binding-application-failover-controller"

// theirTask is the place of another producer's task for a cluster, -1 for none.
func theirTask(b *karmada.Binding, cluster string) int {
	return slices.IndexFunc(b.Tasks, func(t karmada.Task) bool { return t.FromCluster == cluster && t.Producer != karmada.Producer })
}

// holdTheirs has another evictor put its task for a cluster, where there is none. It takes the
// cluster out of the targets, as Karmada does, or with n 0 a late patch of the scheduler has put
// it back already.
func (s *sim) holdTheirs(_ workflow.Context, x Step) {
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) {
		t, at := b.Target(x.Cluster)
		if _, any := b.TaskFor(x.Cluster); at < 0 || any >= 0 {
			return
		}
		replicas, now := t.Replicas, s.now()
		b.Tasks = append(slices.Clone(b.Tasks), karmada.Task{
			FromCluster: x.Cluster, PurgeMode: karmada.PurgeGracefully, Replicas: &replicas, Reason: "TaintUntolerated",
			Producer: theirs, CreationTimestamp: &now,
		})
		if x.N > 0 {
			b.Clusters = slices.Delete(slices.Clone(b.Clusters), at, at+1)
		}
		s.count["tasks of another evictor"]++
	})
}

// dropTheirs ends what another evictor has put, for one cluster or for all.
func (s *sim) dropTheirs(_ workflow.Context, x Step) {
	for _, b := range s.world.Everything() {
		is := func(t karmada.Task) bool {
			return t.Producer == theirs && (x.Cluster == "" || t.FromCluster == x.Cluster)
		}
		if (x.Binding == "" || b.Key.Name == x.Binding) && slices.ContainsFunc(b.Tasks, is) {
			s.world.Edit(b.Key, func(b *karmada.Binding) { b.Tasks = slices.DeleteFunc(slices.Clone(b.Tasks), is) })
		}
	}
}

// twoEvictors judges that nothing is evicted where another evictor is at work already.
func (j *judge) twoEvictors(w world.Write, before *karmada.Binding) {
	if at := theirTask(before, w.Cluster); w.Op == "evict" && at >= 0 {
		j.violates("4.7: %s is evicted from %s, for which a task of %s stands", w.Binding, w.Cluster, before.Tasks[at].Producer)
	}
}

// meter counts what the activities find.
type meter struct {
	world.Meter
	s *sim
}

// Blocked implements activities.Meter.
func (m meter) Blocked(why reason.Reason) { m.s.count["found blocked: "+string(why)]++ }
