package sim

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	corev1 "k8s.io/api/core/v1"
)

// causes judges that a cluster which is taken out fails, where no application is the cause.
func (j *judge) causes(w world.Write, b *karmada.Binding) {
	if !j.applications.writes && !j.moved(w.Cluster, b) {
		j.violates("3: %s is evicted from %s, and nothing moves it", w.Binding, w.Cluster)
	}
}

// paces judges the pace of an eviction: clusters and applications have one each.
func (j *judge) paces(w world.Write) {
	law := &j.law
	if j.applications.writes {
		law = &j.applications.pace
	}
	slowed := law.slowed
	if broken := law.evict(j.s.now(), w.Cluster); broken != "" {
		j.violates("4: %s from %s: %s", w.Binding, w.Cluster, broken)
	}
	j.s.count["slow evictions of a large fleet"] += law.slowed - slowed
}

// affects records an eviction by the failover of a cluster.
func (j *judge) affects(w world.Write, b *karmada.Binding) {
	j.drained(w)
	if old := j.affected[w.Cluster]; old == nil {
		j.affected[w.Cluster] = map[string]time.Time{}
	}
	j.affected[w.Cluster][w.Binding+" "+string(b.UID)] = j.s.now()
	j.accompanied(w)
}

// moved: something moves the binding now, or did when its writer read the cluster:
// between that and the write lies a request that was already under way. Rules may have been listed a second before.
func (j *judge) moved(cluster string, b *karmada.Binding) bool {
	list, kept := j.sights[cluster], j.kept(cluster, b)
	for n := len(list) - 1; n >= 0; n-- {
		if slices.ContainsFunc(kept, func(f frozen) bool { return j.moves(list[n], f) }) {
			return true
		}
		if !list[n].from.After(j.readAt.Add(-listed)) {
			break
		}
	}
	return false
}

// moves: a NoExecute taint stands that such a policy does not tolerate, or not any more;
// and where the taint is Lifeboat's, its rule's condition holds.
func (j *judge) moves(at sight, f frozen) bool {
	return at.there && slices.ContainsFunc(at.c.Taints, func(t corev1.Taint) bool {
		switch t.Effect {
		case karmada.EffectPreferNoExecute:
			return f.movesSoftly(t, j.s.now()) && at.supports(t)
		case corev1.TaintEffectNoExecute:
			return at.moves(t, f, j.s.now())
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule:
		}
		return false
	})
}

// moves: a hard taint that counts moves, at a moment, what goes by such a policy.
func (at sight) moves(t corev1.Taint, f frozen, now time.Time) bool {
	if !at.supports(t) {
		return false
	}
	return t.Key == karmada.DrainTaintKey || f.moves(t, now) // a drain as ordered here nothing tolerates
}

// supports: where a taint is Lifeboat's, whatever it was put for still holds.
func (at sight) supports(t corev1.Taint) bool {
	c := at.c
	switch t.Key {
	case karmada.DrainTaintKey:
		return c.Drain != nil
	case policyTaint:
		return at.policed && networkIs(c) == corev1.ConditionFalse
	}
	own := slices.ContainsFunc(c.Added, func(a karmada.AddedTaint) bool { return a.Key == t.Key && a.Effect == t.Effect })
	return !own || at.ruled && !isReady(c)
}
