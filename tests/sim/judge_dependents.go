package sim

import (
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"k8s.io/apimachinery/pkg/types"
)

// follower is what goes where a binding goes, and its Work where the old copy was.
type follower struct {
	key  karmada.BindingKey
	work types.UID
}

// followers judges that a parent leaves: whatever its old pods read there stays.
func (j *judge) followers(w world.Write, b *karmada.Binding, purge karmada.PurgeMode) []follower {
	var out []follower
	holder := workflows.BindingMigrationID("", w.Cluster, b.Key)
	for _, key := range j.s.needs[b.Key] {
		d, there := j.s.world.StandingBinding(key)
		work, stands := j.s.world.StandingWork(key, w.Cluster)
		if !there || !stands || work.Deleting { // what was on its way out before cannot be held
			continue
		}
		t := held(&d, w.Cluster)
		follows := t != nil && t.PurgeMode != karmada.PurgeDirectly
		switch {
		case !targets(&d, w.Cluster) && !follows && purge != karmada.PurgeDirectly:
			j.violates("1: %s is evicted from %s, and its dependent %s is not held there", w.Binding, w.Cluster, key)
		case follows && t.Reason == karmada.TaskReasonDependent && !slices.Contains(strings.Fields(t.Message), holder):
			j.violates("1: %s is evicted from %s, and nobody holds its dependent %s there for it", w.Binding, w.Cluster, key)
		}
		j.s.count["dependents held"]++
		out = append(out, follower{key, work.UID})
	}
	return out
}

// faithful judges, at any moment, that while an old copy is held all that it reads
// stands beside it.
func (j *judge) faithful() {
	if len(j.s.needs) == 0 {
		return
	}
	for _, b := range j.s.world.StandingBindings() {
		for n := range b.Tasks {
			t := &b.Tasks[n]
			e := j.evicted[id(t.FromCluster, &b)]
			c, there := j.s.world.Standing(t.FromCluster)
			own := t.Producer == karmada.Producer && t.Reason != karmada.TaskReasonDependent && t.PurgeMode != karmada.PurgeDirectly
			if e == nil || !own || !there || c.UID != e.source || !e.released.IsZero() {
				continue
			}
			j.beholds(&b, t.FromCluster, e)
		}
	}
}

func (j *judge) beholds(b *karmada.Binding, cluster string, e *eviction) {
	e.followers = slices.DeleteFunc(e.followers, func(f follower) bool {
		work, stands := j.s.world.StandingWork(f.key, cluster)
		if stands && !work.Deleting && work.UID == f.work {
			return false
		}
		if _, there := j.s.world.StandingBinding(f.key); there {
			j.violates("1: the old copy of %s is held on %s, and its dependent %s is gone from there", b.Key, cluster, f.key)
		}
		return true
	})
}

// lost judges that the hold of a dependent goes: not while a parent has just been put
// back beside it, and the dependent is not wanted there yet.
func (j *judge) lost(w world.Write, before, after *karmada.Binding) {
	if held(before, w.Cluster) == nil || held(after, w.Cluster) != nil || after.ServesOn(w.Cluster) || j.departed(w.Cluster) {
		return
	}
	for parent, needs := range j.s.needs {
		b, there := j.s.world.StandingBinding(parent)
		e := j.evicted[id(w.Cluster, &b)]
		if !there || !slices.Contains(needs, before.Key) || !targets(&b, w.Cluster) || e == nil || !e.restored {
			continue
		}
		j.violates("1: %s is put back on %s, and the hold of its dependent %s goes before that is wanted there", parent, w.Cluster, before.Key)
	}
}
