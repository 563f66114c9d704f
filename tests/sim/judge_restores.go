package sim

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	corev1 "k8s.io/api/core/v1"
)

// took notes what an eviction took out, and judges what it took along.
func (j *judge) took(w world.Write, before, after *karmada.Binding, first bool) {
	if first {
		j.states(w, before, after)
	}
	if e := j.evicted[id(w.Cluster, before)]; e != nil && e.generation == 0 {
		e.generation = after.Generation
	}
}

// restoreWait is the default of the terms that every story runs under.
const restoreWait = 30 * time.Second

// restores judges that a cluster is put back: the scheduler must have answered the
// eviction, or its answer on the way would undo it.
func (j *judge) restores(w world.Write, b *karmada.Binding) {
	j.s.count["restores"]++
	e := j.evicted[id(w.Cluster, b)]
	if e != nil && !j.bygone(w.Cluster, b) && w.Op == "restore" { // else a deleted cluster's last act
		j.answered(w, b, e)
		e.restored = true
	}
}

// answered judges that the scheduler has answered an eviction.
func (j *judge) answered(w world.Write, b *karmada.Binding, e *eviction) {
	if b.Status.ObservedGeneration >= e.generation {
		return
	}
	now := j.s.now()
	if s := b.Status.Scheduled; s != nil && s.Status == corev1.ConditionFalse {
		since := s.LastTransition
		if !since.Before(e.at.Truncate(time.Second)) || now.Sub(e.at) >= restoreWait {
			return
		}
	}
	j.violates("2: %s is put back on %s before the scheduler has answered its eviction", w.Binding, w.Cluster)
}
