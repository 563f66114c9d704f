package sim

import (
	"reflect"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	corev1 "k8s.io/api/core/v1"
)

// sight is a cluster as it stood from a moment on.
type sight struct {
	from  time.Time
	there bool
	// ruled: the rule was there and aimed at it, with these windows.
	ruled       bool
	add, remove time.Duration
	// policed: the ClusterTaintPolicy was there.
	policed bool
	// externally probed: the rule required the external probe, and word is what that said.
	externallyProbed bool
	word             rules.ExternalProbe
	c                karmada.Cluster
}

// sees notes how a cluster stands now.
func (j *judge) sees(name string) {
	c, there := j.s.world.Standing(name)
	j.sights[name] = append(j.sights[name], sight{
		from: j.s.now(), there: there, ruled: j.aimsAt(name), add: j.s.add, remove: j.s.remove,
		policed: j.s.policed, externallyProbed: j.s.externallyProbed, word: externalProbe{j.s}.Result(name), c: c,
	})
}

// excused: the restore of a binding is not waited for: it was undone, its cluster fails in a chain, or an operator ordered it
// long enough ago.
func (j *judge) excused(b *karmada.Binding, cluster string, since time.Time) bool {
	long := func(x wish) bool { return x.putsBack() && j.s.now().Sub(x.at) >= restoreWait }
	began := since
	if e := j.evicted[id(cluster, b)]; e != nil {
		began = e.at
	}
	return j.wished(id(cluster, b), began, long) || j.undone(b, cluster) || j.chained(b, cluster, since)
}

// untaints judges that Lifeboat's taint goes: restores come first, for as long as they may take.
// What moves Directly is not restored: it goes on.
func (j *judge) untaints(w world.Write, after karmada.Cluster) {
	if !isReady(after) || after.Stopped != nil || j.s.count["terminated"] > 0 {
		return
	}
	since := j.wellSince(w.Cluster)
	if j.s.now().Sub(since) >= j.shortest(w.Cluster, since)+restoreWait {
		return
	}
	for _, b := range j.s.world.StandingBindings() {
		t := held(&b, w.Cluster)
		owed := t != nil && t.Reason == karmada.TaskReason && t.PurgeMode != karmada.PurgeDirectly && len(b.Clusters) == 0
		if owed && !j.excused(&b, w.Cluster, since) {
			j.violates("6: %s is untainted %s after it was well, and %s is not restored yet", w.Cluster, j.s.now().Sub(since), b.Key)
		}
	}
}

// undone: it was put back in time, and the scheduler took it out again: it is held anew
// until somebody has looked.
func (j *judge) undone(b *karmada.Binding, cluster string) bool {
	e := j.evicted[id(cluster, b)]
	return e != nil && e.restored
}

// chained: it was placed when its cluster came back, and has been taken from there since
// by a failover of its new home.
func (j *judge) chained(b *karmada.Binding, cluster string, since time.Time) bool {
	return slices.ContainsFunc(b.Tasks, func(t karmada.Task) bool {
		e := j.evicted[id(t.FromCluster, b)]
		return t.FromCluster != cluster && e != nil && e.at.After(since)
	})
}

// wellSince is since when a cluster has been Ready, or no rule has aimed at it.
func (j *judge) wellSince(cluster string) time.Time {
	list := j.sights[cluster]
	since := j.s.now()
	for n := len(list) - 1; n >= 0 && list[n].there && (isReady(list[n].c) || !list[n].ruled); n-- {
		since = list[n].from
	}
	return since
}

// tainted judges a write on a cluster: others' taints stay, and nothing of Lifeboat's is put
// on a cluster that is well.
func (j *judge) tainted(w world.Write, before, after karmada.Cluster) {
	put := len(after.Added) > len(before.Added)
	j.leftovers(w, before, after)
	j.thawsWith(w.Cluster, before, after)
	j.observing(w, put || before.Drain == nil && after.Drain != nil)
	others := func(c karmada.Cluster) []corev1.Taint {
		return slices.DeleteFunc(slices.Clone(c.Taints), func(t corev1.Taint) bool {
			return slices.Contains([]string{taintKey, policyTaint, softRuleKey, karmada.EvacuatingTaintKey, karmada.DrainTaintKey}, t.Key)
		})
	}
	same := func(x, y corev1.Taint) bool { return reflect.DeepEqual(x, y) }
	if !slices.EqualFunc(others(before), others(after), same) {
		j.violates("9: others' taints on %s changed", w.Cluster)
	}
	if len(after.Added) == 0 && slices.ContainsFunc(before.Added, func(a karmada.AddedTaint) bool { return a.Key == taintKey }) {
		j.untaints(w, after)
	}
	if put && before.Malformed != "" {
		j.violates("12: a taint is put on %s, which nobody understands", w.Cluster)
	}
	if of := func(a karmada.AddedTaint) bool { return a.Key == taintKey }; slices.ContainsFunc(after.Added, of) && !slices.ContainsFunc(before.Added, of) {
		j.agreed(w)
		j.rash(w)
	}
	if put && j.wellThroughout(w.Cluster) {
		j.violates("3: a taint is put on %s, which is well", w.Cluster)
	}
}

// wellThroughout: the cluster has been well ever since the writer read it.
func (j *judge) wellThroughout(cluster string) bool {
	list := j.sights[cluster]
	for n := len(list) - 1; n >= 0; n-- {
		if x := list[n]; !x.there || !unsuspected(x.c) {
			return false
		}
		if !list[n].from.After(j.readAt) {
			break
		}
	}
	return true
}

// unsuspected: it answers, or what says that it does not is about us; no order and nobody
// else's taint moves anything off it.
func unsuspected(c karmada.Cluster) bool {
	foreign := slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectNoSchedule && !slices.Contains([]string{taintKey, softRuleKey, policyTaint, karmada.DrainTaintKey}, t.Key)
	})
	answers := isReady(c) || aboutUs(c)
	return answers && !foreign && c.Drain == nil && networkIs(c) != corev1.ConditionFalse
}

// accompanied judges an eviction by the evacuation taint, which keeps the scheduler from where it
// has just taken something away: it must stand before.
func (j *judge) accompanied(w world.Write) {
	if !j.everSeen(w.Cluster, func(c karmada.Cluster) bool { return carries(c, karmada.EvacuatingTaintKey) }) {
		j.violates("3: %s is evicted from %s, whose evacuation taint does not stand", w.Binding, w.Cluster)
	}
}
