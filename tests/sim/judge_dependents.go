package sim

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"k8s.io/apimachinery/pkg/types"
)

// follower is what goes where a binding goes, and its Work where the old copy was.
type follower struct {
	key  failover.BindingKey
	work types.UID
}

// followers judges that a parent leaves: whatever its old pods read there stays.
func (j *judge) followers(w world.Write, b *failover.Binding) []follower {
	var out []follower
	for _, key := range j.s.needs[b.Key] {
		d, there := j.s.world.StandingBinding(key)
		work, stands := j.s.world.StandingWork(key, w.Cluster)
		if !there || !stands {
			continue
		}
		if t := held(&d, w.Cluster); !targets(&d, w.Cluster) && (t == nil || t.PurgeMode == failover.PurgeDirectly) && b.PurgeMode != failover.PurgeDirectly {
			j.violates("1: %s is evicted from %s, and its dependent %s is not held there", w.Binding, w.Cluster, key)
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
			own := t.Producer == failover.Producer && t.Reason != failover.TaskReasonDependent && t.PurgeMode != failover.PurgeDirectly
			if e == nil || !own || !there || c.UID != e.source || !e.released.IsZero() {
				continue
			}
			j.beholds(&b, t.FromCluster, e)
		}
	}
}

func (j *judge) beholds(b *failover.Binding, cluster string, e *eviction) {
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
