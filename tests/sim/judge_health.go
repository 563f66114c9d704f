package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	corev1 "k8s.io/api/core/v1"
)

// minHealthy and detection are the defaults of the terms that every story runs under.
const (
	minHealthy = 10 * time.Second
	detection  = 90 * time.Second
)

// releases judges that a hold is dropped: the new placement must be placed and healthy.
func (j *judge) releases(w world.Write, b *failover.Binding) {
	j.s.count["releases"]++
	e := j.evicted[id(w.Cluster, b)]
	if e == nil || j.bygone(w.Cluster, b) {
		return // a deleted cluster's last act
	}
	e.released, e.fenced = j.s.now(), j.fenced(w.Cluster)
	if j.releasedOnOrder(w, b, e) {
		return
	}
	if why := unplaced(b, w.Cluster); why != "" {
		j.violates("1: the hold of %s for %s is dropped, and it is not placed: %s", w.Binding, w.Cluster, why)
	}
	if b.PurgeMode == failover.PurgeDirectly {
		j.s.count["releases of Directly"]++
		j.proofOfDeath(w, b, e)
		j.keepsState(w, b, e)
		return // once placed: Karmada creates nothing before the old copy is gone
	}
	if b.PurgeMode == failover.PurgeNever {
		j.violates("1: the hold of %s for %s is dropped, and its purge mode is Never", w.Binding, w.Cluster)
	}
	if j.unproven(w, b, e) {
		return
	}
	if why := j.unhealthy(b, e); !j.endorsed(w, b) && why != "" {
		j.violates("1: the hold of %s for %s is dropped, and it is not healthy: %s", w.Binding, w.Cluster, why)
	}
	must := minHealthy
	if !j.everSeen(w.Cluster, func(c failover.Cluster) bool { return !isReady(c) }) {
		must = detection
	}
	e.proven = j.s.now()
	if held := j.s.now().Sub(e.at); held < must {
		j.violates("1: the hold of %s for %s is dropped after %s, before %s of health", w.Binding, w.Cluster, held, must)
	}
}

func unplaced(b *failover.Binding, failed string) string {
	sum := int32(0)
	for _, t := range b.Clusters {
		sum += t.Replicas
	}
	scheduled := b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionTrue
	divided := b.Placement.ReplicaScheduling.Type == failover.SchedulingDivided
	switch {
	case len(b.Clusters) == 0:
		return "no target"
	case targets(b, failed):
		return "the failed cluster is a target"
	case b.Generation != b.Status.ObservedGeneration:
		return "the scheduler has not seen it"
	case !scheduled && (!divided || b.Replicas == 0 || sum != b.Replicas):
		return "not scheduled"
	}
	return ""
}

// unhealthy: every target that came or grew since the eviction must be healthy on a
// cluster that is well; where none did, every target must.
func (j *judge) unhealthy(b *failover.Binding, e *eviction) string {
	var must []failover.TargetCluster
	for _, t := range b.Clusters {
		was := slices.IndexFunc(e.clusters, func(x failover.TargetCluster) bool { return x.Name == t.Name })
		if was < 0 || e.clusters[was].Replicas < t.Replicas {
			must = append(must, t)
		}
	}
	if len(must) == 0 {
		must = b.Clusters
	}
	for _, t := range must {
		if why := j.ill(b, t); why != "" {
			return why
		}
	}
	return ""
}

// downForLong: a late write was sent while the cluster still was Ready.
func (j *judge) downForLong(c failover.Cluster) bool {
	return slices.ContainsFunc(c.Conditions, func(x failover.Condition) bool {
		return x.Type == failover.ConditionReady && x.Status != corev1.ConditionTrue && j.s.now().Sub(x.LastTransition) > lease
	})
}

// keepsItsCopies: nothing has tainted the cluster so that its copies leave.
func keepsItsCopies(c failover.Cluster) bool {
	return !slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Effect == corev1.TaintEffectNoExecute })
}

// ill says why one copy proves nothing.
func (j *judge) ill(b *failover.Binding, t failover.TargetCluster) string {
	c, there := j.s.world.Standing(t.Name)
	if !there || j.downForLong(c) {
		return t.Name + " is not Ready"
	}
	if !j.everSeen(t.Name, keepsItsCopies) {
		return t.Name + " has a failover of its own"
	}
	at := slices.IndexFunc(b.Status.Aggregated, func(x failover.AggregatedItem) bool { return x.Cluster == t.Name })
	if at < 0 || b.Status.Aggregated[at].Health != failover.HealthHealthy {
		return "the copy on " + t.Name + " is not healthy"
	}
	if ready := b.Status.Aggregated[at].ReadyReplicas; ready != nil && *ready < int64(t.Replicas) {
		return fmt.Sprintf("the copy on %s has %d of %d ready", t.Name, *ready, t.Replicas)
	}
	return ""
}
