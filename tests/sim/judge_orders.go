package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
)

// wish is an order about one binding that was accepted.
type wish struct {
	at   time.Time
	verb string
	// putBack: a cancel that wants the former clusters back.
	putBack bool
}

// orderedOne notes an order about one binding.
func (j *judge) orderedOne(cluster string, key karmada.BindingKey, verb string, putBack bool) {
	b, there := j.s.world.StandingBinding(key)
	if !there {
		return
	}
	of := id(cluster, &b)
	j.wishes[of] = append(j.wishes[of], wish{at: j.s.now(), verb: verb, putBack: putBack})
}

// leftAlone judges that what an operator has snoozed or paused, by itself, stays where it is for as
// long as the failover that was told so runs.
func (j *judge) leftAlone(w world.Write, b *karmada.Binding) {
	list := j.wishes[id(w.Cluster, b)]
	if t := held(b, w.Cluster); t != nil && t.Reason != karmada.TaskReasonBanned {
		return // it is taken out again where the scheduler put it back
	}
	for n, x := range list {
		ago := j.s.now().Sub(x.at)
		if ago <= takes+slack || j.s.ran[w.Cluster].After(x.at) {
			continue
		}
		if x.verb == workflows.UpdateSnooze && ago < snoozed {
			j.violates("3: %s is evicted from %s, and was snoozed %s ago", w.Binding, w.Cluster, ago)
		}
		resumed := func(y wish) bool { return y.verb == workflows.UpdateResume }
		if x.verb == workflows.UpdatePause && !slices.ContainsFunc(list[n:], resumed) && !j.s.resumes(w.Cluster) {
			j.violates("4: %s is evicted from %s, and was paused %s ago", w.Binding, w.Cluster, ago)
		}
	}
}

// resumes tells whether somebody resumes a whole failover in this story: that ends every pause.
func (s *sim) resumes(cluster string) bool {
	return slices.ContainsFunc(s.schedule.Steps, func(x Step) bool {
		return (x.Do == "resume" || x.Do == "resume-enforce") && x.Cluster == cluster
	})
}

// vouched notes an operator's word that a cluster is dead.
func (j *judge) vouched(cluster string) { j.fences[cluster] = append(j.fences[cluster], j.s.now()) }

// wished tells whether such an order was given since a moment.
func (j *judge) wished(of string, since time.Time, is func(wish) bool) bool {
	return slices.ContainsFunc(j.wishes[of], func(w wish) bool { return !w.at.Before(since) && is(w) })
}

func (w wish) releases() bool { return w.verb == workflows.UpdateRelease }
func (w wish) putsBack() bool { return w.verb == workflows.UpdatePutBack || w.putBack }

// fenced: somebody vouched for the outage that lasts still.
func (j *judge) fenced(cluster string) bool {
	list := j.sights[cluster]
	return slices.ContainsFunc(j.fences[cluster], func(at time.Time) bool {
		return !slices.ContainsFunc(list, func(x sight) bool {
			return x.from.After(at) && !x.from.After(j.readAt) && (!x.there || isReady(x.c))
		})
	})
}

// since are the sights that the writer of the write at hand may have had.
func (j *judge) since(cluster string) []sight { return j.between(cluster, j.readAt) }

// everSeen tells whether the writer may have seen the cluster so.
func (j *judge) everSeen(cluster string, so func(karmada.Cluster) bool) bool {
	return slices.ContainsFunc(j.since(cluster), func(x sight) bool { return x.there && so(x.c) })
}

// listed is how old the list of clusters may be that a pre-check goes by.
const listed = time.Second

// everListed tells whether the writer may have listed the cluster so.
func (j *judge) everListed(cluster string, so func(karmada.Cluster) bool) bool {
	return slices.ContainsFunc(j.between(cluster, j.readAt.Add(-listed)), func(x sight) bool { return x.there && so(x.c) })
}

// directly: where the new copy must not run beside the old, the source answers or
// somebody vouches that it is dead.
func (j *judge) directly(w world.Write, purge karmada.PurgeMode) {
	if purge != karmada.PurgeDirectly || j.everSeen(w.Cluster, isReady) {
		return
	}
	if !j.fenced(w.Cluster) {
		j.violates("11: %s is evicted Directly from %s, which does not answer, and nobody vouches for it", w.Binding, w.Cluster)
		return
	}
	j.s.count["evicted behind a fence"]++
}

// proofOfDeath: the hold of a Directly move goes only when the old copy is gone, or somebody
// vouches that it is dead.
func (j *judge) proofOfDeath(w world.Write, b *karmada.Binding, e *eviction) {
	work, stands := j.s.world.StandingWork(b.Key, w.Cluster)
	if stands && (e.work == "" || work.UID == e.work) && !e.fenced {
		j.violates("11: the hold of %s for %s is dropped, its old copy stands, and nobody vouches that it is dead", w.Binding, w.Cluster)
	}
}

// takesOver: a former cluster may become a target in place of the new ones only if it
// can run the copy that was held all the time.
func (j *judge) takesOver(w world.Write, b *karmada.Binding, cluster string, e *eviction, own bool) {
	work, stands := j.s.world.StandingWork(b.Key, cluster)
	switch {
	case !j.everListed(cluster, func(c karmada.Cluster) bool { return fit(c, own) }):
		j.violates("1: %s of %s gives it to %s again, which cannot take over", w.Op, w.Binding, cluster)
	case !stands || work.Deleting:
		j.violates("1: %s of %s gives it to %s again, whose old copy is gone", w.Op, w.Binding, cluster)
	case e != nil && e.work != "" && e.work != work.UID && !j.knewNoOther(b, cluster):
		j.violates("1: %s of %s gives it to %s again, whose copy is not the one that was held", w.Op, w.Binding, cluster)
	}
	if task := held(b, cluster); task != nil && task.PurgeMode == karmada.PurgeDirectly {
		j.violates("11: %s of %s gives it to %s again, whose copy Karmada deletes", w.Op, w.Binding, cluster)
	}
}

// fit: it answers, and nothing drives bindings off it; Lifeboat's: but for Lifeboat taints,
// which go with the same act.
func fit(c karmada.Cluster, own bool) bool {
	return isReady(c) && !slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool {
		mine := own && slices.ContainsFunc(c.Added, func(a karmada.AddedTaint) bool { return a.Key == t.Key && a.Effect == t.Effect })
		return drives(t) && !mine
	})
}

// drives: no scheduler puts anything where such a taint stands, and what is there leaves.
func drives(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoSchedule }

// back judges that a placed binding goes back: its new copy is given up for the old.
func (j *judge) back(w world.Write, b, after *karmada.Binding) {
	e := j.evicted[id(w.Cluster, b)]
	if w.Op != "restore" || unplaced(b, w.Cluster) != "" {
		return
	}
	since := time.Time{}
	if e != nil {
		since = e.at
	}
	ordered := j.wished(id(w.Cluster, b), since, wish.putsBack)
	if ordered {
		j.s.count["put back on an order"]++
	}
	givenUp := slices.ContainsFunc(b.Clusters, func(t karmada.TargetCluster) bool { return !targets(after, t.Name) })
	driven := j.everSeen(w.Cluster, func(c karmada.Cluster) bool { return slices.ContainsFunc(c.Taints, drives) })
	if givenUp || ordered && driven { // otherwise it runs on where it is, and the scheduler would come back by itself
		j.takesOver(w, b, w.Cluster, e, true)
	}
}

// swaps judges that a write of one migration drops the hold of another: that one's
// cluster takes over, and nothing else may.
func (j *judge) swaps(w world.Write, before, after *karmada.Binding) {
	for n := range before.Tasks {
		t := &before.Tasks[n]
		if t.Producer != karmada.Producer || t.FromCluster == w.Cluster || held(after, t.FromCluster) != nil {
			continue
		}
		if w.Op != "evict" || !targets(after, t.FromCluster) || t.Reason != karmada.TaskReason {
			j.violates("1: %s of %s for %s drops the hold for %s", w.Op, w.Binding, w.Cluster, t.FromCluster)
			continue
		}
		j.s.count["swaps"]++
		e := j.evicted[id(t.FromCluster, before)]
		j.takesOver(w, before, t.FromCluster, e, false)
		if e != nil {
			now := *e // what was asked of the scheduler since counts as well: its late patch would undo this
			now.generation = before.Generation
			j.answered(w, before, &now)
		}
	}
}

// skipped judges, once a failover has closed, that what an operator excluded before its
// write stayed where it was for the rest of the attempt. The next attempt may begin, and evict, in
// the moment in which that one ends.
func (j *judge) skipped(r workflows.FailoverReport) {
	for of, list := range j.wishes {
		e := j.evicted[of]
		if e == nil || e.application || !strings.HasPrefix(of, r.Cluster+" ") {
			continue
		}
		for _, x := range list {
			attempt := slices.IndexFunc(r.Attempts, func(o workflows.AttemptReport) bool { return !x.at.Before(o.Since) && !x.at.After(o.Until) })
			if x.verb == workflows.UpdateSkip && attempt >= 0 && e.at.Sub(x.at) > takes && e.at.Before(r.Attempts[attempt].Until) {
				j.violates("3: %s was skipped at %s and evicted at %s in the same attempt", of, x.at.Sub(begins), e.at.Sub(begins))
			}
		}
	}
}

// releasedOnOrder: an operator's recorded order needs no proof, but takes no last copy.
func (j *judge) releasedOnOrder(w world.Write, b *karmada.Binding, e *eviction) bool {
	// One that was given while the eviction was on its way is kept, and carried out after it.
	if !j.wished(id(w.Cluster, b), e.began, wish.releases) || e.purge == karmada.PurgeDirectly {
		return false
	}
	j.s.count["releases on an order"]++
	if len(b.Clusters) == 0 {
		j.violates("1: an operator's order takes the last copy of %s", w.Binding)
	}
	return true
}
