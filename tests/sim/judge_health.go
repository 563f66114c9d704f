package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
)

// minHealthy and detection are the defaults of the terms that every story runs under.
const (
	minHealthy = 10 * time.Second
	detection  = 90 * time.Second
)

// releases judges that a hold is dropped: the new placement must be placed and healthy.
func (j *judge) releases(w world.Write, b *karmada.Binding) {
	j.s.count["releases"]++
	e := j.evicted[id(w.Cluster, b)]
	if e == nil || j.bygone(w.Cluster, b) || !e.released.IsZero() {
		return // a deleted cluster's last act, or the end of a hold that stood for parents alone
	}
	e.released, e.fenced = j.s.now(), j.fenced(w.Cluster)
	j.applications.released(w.Cluster, b, e)
	if j.releasedOnOrder(w, b, e) {
		return
	}
	if why := unplaced(b, w.Cluster); why != "" {
		j.violates("1: the hold of %s for %s is dropped, and it is not placed: %s", w.Binding, w.Cluster, why)
	}
	if e.purge == karmada.PurgeDirectly {
		j.s.count["releases of Directly"]++
		j.proofOfDeath(w, b, e)
		j.keepsState(w, b, e)
		return // once placed: Karmada creates nothing before the old copy is gone
	}
	if e.purge == karmada.PurgeNever {
		j.violates("1: the hold of %s for %s is dropped, and its purge mode is Never", w.Binding, w.Cluster)
	}
	if j.unproven(w, b, e) {
		return
	}
	e.proven = j.s.now()
	j.proves(w, b, e)
}

// proves judges a release that goes by a proof of health.
func (j *judge) proves(w world.Write, b *karmada.Binding, e *eviction) {
	must := minHealthy
	if !j.everSeen(w.Cluster, func(c karmada.Cluster) bool { return !isReady(c) }) {
		must = detection
	}
	if j.endorsed(w, b) {
		if held := j.s.now().Sub(e.at); held < must {
			j.violates("1: the hold of %s for %s is dropped after %s, before %s of health", w.Binding, w.Cluster, held, must)
		}
		return
	}
	j.servesNone(w, b)
	if why := j.unhealthy(b, e); why != "" {
		j.violates("1: the hold of %s for %s is dropped, and it is not healthy: %s", w.Binding, w.Cluster, why)
	}
	j.heldFor(w, b, e, must)
	j.noWorse(w, b, e)
}

// seenWithin is how long a worker's cache may not know of an eviction.
const seenWithin = 10 * time.Second

// servesNone judges that what runs no pods stays for as long as the copy of a workload of its policy is held there, or
// has yet to leave; and for good, where all of them stay.
func (j *judge) servesNone(w world.Write, b *karmada.Binding) {
	stay, moved := 0, 0
	for _, other := range j.s.world.StandingBindings() {
		if !isServed(b, &other) {
			continue
		}
		if _, at := other.Target(w.Cluster); at >= 0 && j.evicted[id(w.Cluster, &other)] == nil {
			stay++
		} else {
			moved++
		}
		j.serves(w, &other)
	}
	lately := j.between(w.Cluster, j.readAt.Add(-seenWithin))
	away := slices.ContainsFunc(lately, func(x sight) bool { return !x.there || !isReady(x.c) })
	if stay > 0 && moved == 0 && !away && len(lately[len(lately)-1].c.Taints) == 0 {
		j.violates("1: the hold of %s for %s is dropped, which is well again, and all workloads of the same policy stay there", w.Binding, w.Cluster)
	}
}

// isServed: a workload comes from the policy of what runs no pods, in the same namespace.
func isServed(by, workload *karmada.Binding) bool {
	return !by.RunsPods() && workload.RunsPods() && by.PolicyID() != "" && workload.PolicyID() == by.PolicyID() && workload.Key.Namespace == by.Key.Namespace
}

// serves judges a release of what serves a workload.
func (j *judge) serves(w world.Write, workload *karmada.Binding) {
	e, t := j.evicted[id(w.Cluster, workload)], held(workload, w.Cluster)
	switch {
	case e == nil && j.mustLeave(w, workload):
		j.violates("1: the hold of %s for %s is dropped, and %s of the same policy has yet to leave it", w.Binding, w.Cluster, workload.Key)
	case e == nil || t == nil:
	case t.Reason == karmada.TaskReason && t.PurgeMode != karmada.PurgeDirectly && e.at.Before(j.readAt.Add(-seenWithin)):
		j.violates("1: the hold of %s for %s is dropped, and %s of the same policy is held there", w.Binding, w.Cluster, workload.Key)
	default:
		j.s.count["releases beside workloads of the policy"]++
	}
}

// mustLeave: a binding without tolerations is on a cluster that has answered and has been tainted for a while.
func (j *judge) mustLeave(w world.Write, b *karmada.Binding) bool {
	_, at := b.Target(w.Cluster)
	return at >= 0 && b.Placement != nil && len(b.Placement.ClusterTolerations) == 0 &&
		!slices.ContainsFunc(j.between(w.Cluster, j.readAt.Add(-seenWithin)), func(x sight) bool {
			return !x.there || !isReady(x.c) || !slices.ContainsFunc(x.c.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
		})
}

// ready are the copies that stay where they are and are well at an eviction for certain, also in the
// list of the fleet that it used, with how many of their replicas are ready.
func (j *judge) ready(w world.Write, b *karmada.Binding) map[string]int64 {
	out := map[string]int64{}
	for _, t := range b.Clusters {
		troubled := func(x sight) bool { return !x.there || !isReady(x.c) || x.c.Deleting || len(x.c.Taints) > 0 }
		item := b.Item(t.Name)
		if t.Name == w.Cluster || item == nil || item.Health != karmada.HealthHealthy || slices.ContainsFunc(j.between(t.Name, j.readAt.Add(-listed)), troubled) {
			continue
		}
		out[t.Name] = -1
		if item.ReadyReplicas != nil {
			out[t.Name] = *item.ReadyReplicas
		}
	}
	return out
}

// noWorse judges that a release leaves no target worse than its copy was at the eviction.
func (j *judge) noWorse(w world.Write, b *karmada.Binding, e *eviction) {
	for _, t := range b.Clusters {
		was, known := e.ready[t.Name]
		if !known {
			continue
		}
		why := ""
		switch item := b.Item(t.Name); {
		case !j.everSeen(t.Name, isReady):
			why = t.Name + " is not Ready"
		case !isWell(b, item):
			why = "it is not healthy"
		case item.ReadyReplicas != nil && *item.ReadyReplicas < min(was, int64(t.Replicas)):
			why = fmt.Sprintf("%d of %d are ready", *item.ReadyReplicas, was)
		}
		if why != "" {
			j.violates("1: the hold of %s for %s is dropped, and the copy on %s, well at the eviction, is worse now: %s", w.Binding, w.Cluster, t.Name, why)
		}
		j.s.count["other targets no worse"]++
	}
}

// heldFor judges for how long each copy that must prove itself has been well without a
// break, as far as its migration could see: from the look that first found it so to the
// one of the release, and in none between was it ill or elsewhere.
func (j *judge) heldFor(w world.Write, b *karmada.Binding, e *eviction, must time.Duration) {
	move := workflows.BindingMigrationID("", w.Cluster, b.Key)
	for _, t := range e.proving(b) {
		since, known := j.shown[move][t.Name]
		switch {
		case !known || since.Before(j.s.ran[move]):
			j.violates("1: the hold of %s for %s is dropped, and no look before has found its copy on %s well", w.Binding, w.Cluster, t.Name)
		case j.readAt.Sub(since) < must:
			j.violates("1: the hold of %s for %s is dropped after %s of health on %s, before %s", w.Binding, w.Cluster, j.readAt.Sub(since), t.Name, must)
		}
	}
}

// looked notes, once a migration has the answer of a look, since when every look has found
// each copy well, and when a failover has last read its cluster. What it looked at is judged
// as it was read.
func (j *judge) looked(a *attempt) {
	if a.name == activities.NameAssessCluster || a.name == activities.NameWriteTaints {
		j.assessed[a.id] = append(j.assessed[a.id], a.read)
	}
	j.applications.looked(a)
	if a.name != activities.NameObserve || a.own == nil {
		return
	}
	was, is := j.well[a.id], map[string]time.Time{}
	for _, t := range a.own.Clusters {
		if illCopy(a.own, t) != "" || j.awayInLook(t.Name, a) {
			continue
		}
		is[t.Name] = a.ownRead
		if since, known := was[t.Name]; known && !since.Before(j.s.ran[a.id]) {
			is[t.Name] = since
		}
	}
	if rules.IsOlder(a.own.ResourceVersion, j.newest[a.id]) {
		is = j.toldSince(a.id, is)
	} else {
		j.newest[a.id] = a.own.ResourceVersion
	}
	j.well[a.id] = is
}

// awayInLook: the cluster was not Ready where a look read it, or, where that took the fleet from
// at most a second before, at that time.
func (j *judge) awayInLook(cluster string, a *attempt) bool {
	if !a.read.Before(a.ownRead) {
		return j.awayAt(cluster, a.read)
	}
	return j.awayAt(cluster, a.ownRead) && j.awayAt(cluster, a.ownRead.Add(-time.Second))
}

// awayAt: the cluster was not Ready at a moment, in whichever order all of that moment came.
func (j *judge) awayAt(cluster string, at time.Time) bool {
	list := j.sights[cluster]
	for n := len(list) - 1; n >= 0; n-- {
		if list[n].from.After(at) {
			continue
		}
		if list[n].there && isReady(list[n].c) {
			return false
		}
		if list[n].from.Before(at) {
			break
		}
	}
	return true
}

func unplaced(b *karmada.Binding, failed string) string {
	sum := int32(0)
	for _, t := range b.Clusters {
		sum += t.Replicas
	}
	scheduled := b.Status.Scheduled != nil && b.Status.Scheduled.Status == corev1.ConditionTrue
	divided := b.Placement.ReplicaScheduling.Type == karmada.SchedulingDivided
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
func (j *judge) unhealthy(b *karmada.Binding, e *eviction) string {
	for _, t := range e.proving(b) {
		if why := j.ill(b, t); why != "" {
			return why
		}
	}
	return ""
}

// proving are the targets that must prove themselves: those that came or grew since the
// eviction, or all where none did.
func (e *eviction) proving(b *karmada.Binding) []karmada.TargetCluster {
	var must []karmada.TargetCluster
	for _, t := range b.Clusters {
		was := slices.IndexFunc(e.clusters, func(x karmada.TargetCluster) bool { return x.Name == t.Name })
		if was < 0 || e.clusters[was].Replicas < t.Replicas {
			must = append(must, t)
		}
	}
	if len(must) == 0 {
		return b.Clusters
	}
	return must
}

// downForLong: a late write was sent while the cluster still was Ready.
func (j *judge) downForLong(c karmada.Cluster) bool {
	return slices.ContainsFunc(c.Conditions, func(x karmada.Condition) bool {
		return x.Type == karmada.ConditionReady && x.Status != corev1.ConditionTrue && j.s.now().Sub(x.LastTransition) > takes
	})
}

// keepsItsCopies: nothing has tainted the cluster so that its copies leave.
func keepsItsCopies(c karmada.Cluster) bool {
	return !slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.Effect == corev1.TaintEffectNoExecute })
}

// ill says why one copy proves nothing.
func (j *judge) ill(b *karmada.Binding, t karmada.TargetCluster) string {
	c, there := j.s.world.Standing(t.Name)
	if !there || j.downForLong(c) && !j.everSeen(t.Name, isReady) {
		return t.Name + " is not Ready"
	}
	if !j.everSeen(t.Name, keepsItsCopies) {
		return t.Name + " has a failover of its own"
	}
	return illCopy(b, t)
}

// isWell: Karmada calls a copy Healthy, or nobody says how it is and its kind has no health (R4.7-28).
func isWell(b *karmada.Binding, item *karmada.AggregatedItem) bool {
	return item != nil && (item.Health == karmada.HealthHealthy || item.Health == karmada.HealthUnknown && !b.Workload)
}

// illCopy says why what is reported of one copy proves nothing.
func illCopy(b *karmada.Binding, t karmada.TargetCluster) string {
	item := b.Item(t.Name)
	if !isWell(b, item) {
		return "the copy on " + t.Name + " is not healthy"
	}
	if ready := item.ReadyReplicas; ready != nil && *ready < int64(t.Replicas) {
		return fmt.Sprintf("the copy on %s has %d of %d ready", t.Name, *ready, t.Replicas)
	}
	return ""
}
