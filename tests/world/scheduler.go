package world

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	corev1 "k8s.io/api/core/v1"
)

// schedulerRetry is how soon the scheduler tries again what is no fit error.
const schedulerRetry = 10 * time.Second

// schedule queues a pass of the scheduler over a binding. As in any work queue, no two
// passes over one binding are under way at once: what comes meanwhile has it looked at again.
func (w *World) schedule(key karmada.BindingKey) {
	if w.queued[key] {
		return
	}
	w.queued[key] = true
	if w.scheduling[key] {
		return
	}
	w.later(w.ScheduleAfter, func() {
		delete(w.queued, key)
		w.pass(key)
	})
}

// passed ends the pass over a binding; what came meanwhile is looked at now.
func (w *World) passed(key karmada.BindingKey) {
	delete(w.scheduling, key)
	if w.queued[key] {
		delete(w.queued, key)
		w.schedule(key)
	}
}

// requeue has every binding looked at again: a cluster came, went, or changed its taints.
func (w *World) requeue() {
	if !w.Restless {
		return
	}
	for _, key := range w.keys() {
		w.schedule(key)
	}
}

// decision is what one pass came to. It was made of a binding as it stood when the
// pass began, and is written over whatever stands when it ends.
type decision struct {
	generation int64
	clusters   []karmada.TargetCluster
	patch      bool
	affinity   string
	condition  *karmada.Condition // nil: only the generation is observed
}

func (w *World) pass(key karmada.BindingKey) {
	b, ok := w.bindings[key]
	if !ok || b.Deleting || b.Placement == nil || b.SchedulingSuspended || b.Unclaimed || b.SchedulerName != karmada.DefaultSchedulerName {
		return
	}
	uid := b.UID
	read := clone(b)
	d := w.decide(&read)
	if w.ScheduleTakes == 0 {
		w.apply(b, d)
		return
	}
	w.scheduling[key] = true
	w.later(w.ScheduleTakes, func() {
		if b, ok := w.bindings[key]; ok && b.UID == uid {
			w.apply(b, d)
		}
		w.passed(key)
	})
}

// mustPlace is the scheduler's order of decisions: what needs placing at all.
func (w *World) mustPlace(b *karmada.Binding) bool {
	if !b.Placement.Divided() || !b.Workload || rescheduled(b) {
		return true
	}
	sum := int32(0)
	for _, t := range b.Clusters {
		if c, ok := w.clusters[t.Name]; !ok || c.Deleting {
			return true
		}
		sum += t.Replicas
	}
	return sum != b.Replicas
}

// rescheduled: somebody set rescheduleTriggeredAt since it was last scheduled.
func rescheduled(b *karmada.Binding) bool {
	at, last := b.RescheduleTriggeredAt, b.Status.LastScheduled
	return at != nil && last != nil && at.After(*last)
}

func (w *World) decide(b *karmada.Binding) decision {
	d := decision{generation: b.Generation, affinity: b.Status.ObservedAffinity}
	if !w.mustPlace(b) {
		return d
	}
	no := func(reason string) decision {
		d.condition = &karmada.Condition{Type: "Scheduled", Status: corev1.ConditionFalse, Reason: reason}
		return d
	}
	tooFew := false
	for _, g := range groupsFrom(b) {
		names := w.candidates(b, g.affinity)
		limit := len(names)
		few := false
		constraints := b.Placement.SpreadConstraints
		if byStaticWeight(b) {
			constraints = nil
		}
		for _, s := range constraints {
			if s.MaxGroups > 0 {
				limit = min(limit, s.MaxGroups)
			}
			few = few || len(names) < s.MinGroups
		}
		if len(names) == 0 || few {
			tooFew = tooFew || len(names) > 0
			continue
		}
		d.affinity, d.patch, d.clusters = g.name, true, w.share(b, names, limit)
		d.condition = &karmada.Condition{Type: "Scheduled", Status: corev1.ConditionTrue, Reason: "Success"}
		return d
	}
	if tooFew {
		return no("SchedulerError")
	}
	d.patch = true
	return no(proof.ScheduledNoClusterFit)
}

type group struct {
	name     string
	affinity *karmada.ClusterAffinity
}

// groupsFrom are the affinity groups that the scheduler tries: it only moves forward,
// but for a reschedule.
func groupsFrom(b *karmada.Binding) []group {
	if len(b.Placement.ClusterAffinities) == 0 {
		return []group{{affinity: b.Placement.ClusterAffinity}}
	}
	var out []group
	at := 0
	for i := range b.Placement.ClusterAffinities {
		t := &b.Placement.ClusterAffinities[i]
		if t.AffinityName == b.Status.ObservedAffinity && !rescheduled(b) {
			at = i
		}
		out = append(out, group{t.AffinityName, &t.ClusterAffinity})
	}
	return out[at:]
}

func (w *World) candidates(b *karmada.Binding, affinity *karmada.ClusterAffinity) []string {
	var out []string
	for name, c := range w.clusters {
		if _, i := b.TaskFor(name); i >= 0 || c.Deleting {
			continue
		}
		affine, err := affinity.Selects(*c)
		if err != nil || !affine {
			continue
		}
		_, already := b.Target(name)
		if already < 0 && slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool { return bans(b, t) }) {
			continue
		}
		out = append(out, name)
	}
	// Locality: those that serve it already come first.
	slices.SortFunc(out, func(x, y string) int {
		_, xAt := b.Target(x)
		_, yAt := b.Target(y)
		switch {
		case (xAt >= 0) != (yAt >= 0) && xAt >= 0, (xAt >= 0) == (yAt >= 0) && x < y:
			return -1
		}
		return 1
	})
	return out
}

// bans: the scheduler knows NoSchedule and NoExecute, and no soft effect.
func bans(b *karmada.Binding, t corev1.Taint) bool {
	return t.Effect != karmada.EffectPreferNoExecute && !tolerated(b, t)
}

func tolerated(b *karmada.Binding, t corev1.Taint) bool {
	return slices.ContainsFunc(b.Placement.ClusterTolerations, func(x corev1.Toleration) bool {
		same := x.Operator == corev1.TolerationOpExists || x.Value == t.Value
		return (x.Key == "" || x.Key == t.Key) && (x.Effect == "" || x.Effect == t.Effect) && same
	})
}

// share gives a Duplicated binding the candidates up to the limit. One that is divided
// by room keeps what serves it and gets its missing replicas evenly, from scratch on a
// reschedule: no cluster is said to be larger than another.
func (w *World) share(b *karmada.Binding, names []string, limit int) []karmada.TargetCluster {
	if !b.Placement.Divided() || !b.Workload {
		var out []karmada.TargetCluster
		if b.Replicas == 0 && b.Assigned() {
			return nil // every cluster gets none, and is dropped
		}
		for _, n := range names[:limit] {
			out = append(out, karmada.TargetCluster{Name: n, Replicas: b.Replicas})
		}
		return out
	}
	if byStaticWeight(b) {
		return w.seats(b, names)
	}
	names = names[:limit]
	var out []karmada.TargetCluster
	missing := b.Replicas
	for _, t := range b.Clusters {
		if slices.Contains(names, t.Name) && !rescheduled(b) {
			t.Replicas = min(t.Replicas, missing)
			missing -= t.Replicas
			out = append(out, t)
		}
	}
	for i := 0; missing > 0; i++ {
		name := names[i%len(names)]
		at := slices.IndexFunc(out, func(t karmada.TargetCluster) bool { return t.Name == name })
		if at < 0 {
			out = append(out, karmada.TargetCluster{Name: name})
			at = len(out) - 1
		}
		out[at].Replicas++
		missing--
	}
	return slices.DeleteFunc(out, func(t karmada.TargetCluster) bool { return t.Replicas == 0 })
}

// apply writes a decision: the targets without a resourceVersion, then the status. What
// was scheduled is observed with the generation that was read; a patch that changed the
// targets makes a new one, which takes a second pass.
func (w *World) apply(b *karmada.Binding, d decision) {
	if d.patch && !slices.Equal(b.Clusters, d.clusters) {
		w.begin(b, d.clusters)
		b.Clusters = slices.Clone(d.clusters)
		b.Generation++
		if w.Restless {
			w.schedule(b.Key)
		} else {
			d.generation = b.Generation
		}
	}
	w.observeDecision(b, d)
	w.changed(b)
	w.sweepWorks(b)
}

func (w *World) observeDecision(b *karmada.Binding, d decision) {
	now := w.now()
	switch {
	case d.condition == nil:
		b.Status.ObservedGeneration = d.generation
		return
	case d.condition.Status == corev1.ConditionTrue:
		b.Status.ObservedGeneration = d.generation
		b.Status.LastScheduled = &now
		b.Status.ObservedAffinity = d.affinity
	case d.condition.Reason != proof.ScheduledNoClusterFit:
		w.later(schedulerRetry, func() { w.schedule(b.Key) })
	}
	c := *d.condition
	c.LastTransition = now
	if old := b.Status.Scheduled; old != nil && old.Status == c.Status {
		c.LastTransition = old.LastTransition
	}
	b.Status.Scheduled = &c
}

// byStaticWeight: static weights divide from scratch, and no spread constraint binds them.
func byStaticWeight(b *karmada.Binding) bool {
	if !b.Placement.Divided() || !b.Workload || b.Placement.ReplicaScheduling.DivisionPreference != karmada.DivisionWeighted {
		return false
	}
	preference := b.Placement.ReplicaScheduling.WeightPreference
	return preference == nil || (preference.DynamicWeight == "" && len(preference.StaticWeightList) > 0)
}

// seats gives out replicas one by one, each to the cluster with the largest
// weight/(2·replicas+1) (Webster's method). Ties go to the one with fewer replicas,
// then by name, backwards where the hash of the resource's uid is odd.
func (w *World) seats(b *karmada.Binding, names []string) []karmada.TargetCluster {
	weights := w.weights(b, names)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(b.Resource.UID)) // never fails
	backwards := b.Resource.UID != "" && hash.Sum32()%2 == 1
	given := map[string]int32{}
	before := func(x, y string) bool {
		qx, qy := float64(weights[x])/float64(2*given[x]+1), float64(weights[y])/float64(2*given[y]+1)
		switch {
		case qx != qy:
			return qx > qy
		case given[x] != given[y]:
			return given[x] < given[y]
		default:
			return (x < y) != backwards
		}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return weights[n] <= 0 })
	for range b.Replicas {
		next := names[0]
		for _, n := range names[1:] {
			if before(n, next) {
				next = n
			}
		}
		given[next]++
	}
	var out []karmada.TargetCluster
	for n, replicas := range given {
		out = append(out, karmada.TargetCluster{Name: n, Replicas: replicas})
	}
	slices.SortFunc(out, func(x, y karmada.TargetCluster) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// weights are the highest that a cluster's rules give it; where no rule matches any
// cluster, all weigh the same.
func (w *World) weights(b *karmada.Binding, names []string) map[string]int64 {
	out, sum := map[string]int64{}, int64(0)
	if preference := b.Placement.ReplicaScheduling.WeightPreference; preference != nil {
		for _, rule := range preference.StaticWeightList {
			for _, n := range names {
				if ok, err := rule.TargetCluster.Selects(*w.clusters[n]); err == nil && ok {
					out[n] = max(out[n], rule.Weight)
				}
			}
		}
	}
	for _, weight := range out {
		sum += weight
	}
	for _, n := range names {
		if sum == 0 {
			out[n] = 1
		}
	}
	return out
}
