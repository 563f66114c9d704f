package sim

import (
	"reflect"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
)

// forLong is after what time under something that moves it, and on its cluster, a binding
// has been listed for certain.
const forLong = 3 * time.Minute

// owe notes, now and then, who has stood for long on a cluster whose failover runs and
// whose taint moves it, or would, where that only observes. They owe an outcome.
func (j *judge) owe() {
	j.faithful()
	all := j.s.world.Everything()
	for n := range j.s.schedule.Fleet {
		cluster := clusterName(n)
		if j.s.state[workflows.ClusterFailoverID("", cluster)] != running {
			delete(j.stood, cluster)
			continue
		}
		j.standOn(cluster, all)
	}
}

// standOn notes who stands on a cluster, and has whoever did so for long owe an outcome:
// one who came since may not be listed yet.
func (j *judge) standOn(cluster string, all []karmada.Binding) {
	stood := map[string]time.Time{}
	for _, b := range all {
		if !stands(&b, cluster) {
			continue
		}
		key := b.Key.String() + " " + string(b.UID)
		first, known := j.stood[cluster][key]
		if !known {
			first = j.s.now()
		}
		stood[key] = first
		since := j.s.now().Add(-forLong - j.listsLost[workflows.ClusterFailoverID("", cluster)])
		if first.After(since) || j.s.ran[cluster].After(since) || j.owed[cluster][key] || !j.frozen(cluster, &b) {
			continue
		}
		if why := j.owes(cluster, &b, since); why != "" {
			if j.owed[cluster] == nil {
				j.owed[cluster] = map[string]bool{}
			}
			j.owed[cluster][key] = true
			j.s.count["owed an outcome: "+why]++
		}
	}
	j.stood[cluster] = stood
}

// stands: it has a copy of its own there, and nothing keeps it out of a failover.
func stands(b *karmada.Binding, cluster string) bool {
	return b.Placement != nil && targets(b, cluster) && b.Annotations[karmada.AnnotationEnabled] == "" && b.Malformed == ""
}

// frozen: its tolerations are those that it came with, and the attempt knows no others: they may have been edited
// before it began, and back since.
func (j *judge) frozen(cluster string, b *karmada.Binding) bool {
	now := b.Placement.ClusterTolerations
	if kept := j.froze[id(cluster, b)]; len(kept) > 0 {
		if last := kept[len(kept)-1]; last.until.IsZero() && !reflect.DeepEqual(last.tolerations, now) {
			return false
		}
	}
	at := slices.IndexFunc(j.s.schedule.Bindings, func(x Binding) bool { return x.key() == b.Key })
	return at >= 0 && reflect.DeepEqual(j.s.schedule.Bindings[at].tolerations(), now)
}

// listLost notes for how long a failover waited in vain for the answer to an activity: a list, and the look for hold tasks
// before it, have many pages, and the answer to each can be lost several times.
func (j *judge) listLost(id, name string, took time.Duration) {
	if name == activities.NameListTargeting || name == activities.NameFindOrphans {
		j.listsLost[id] += took
	}
}

// owes says why a binding owes an outcome, empty where it may owe none: all the time since
// a moment a taint has moved it that counted, its own toleration having run out before.
func (j *judge) owes(cluster string, b *karmada.Binding, since time.Time) string {
	if j.onlyWould() {
		return j.wouldMove(cluster, b, since)
	}
	if j.switched() {
		return "" // one that was told to observe since begins nothing
	}
	spared := func(x sight) bool {
		return x.unsure() || !slices.ContainsFunc(x.c.Taints, func(t corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoExecute && x.moves(t, freezes(b), since)
		})
	}
	list := j.between(cluster, since)
	if len(list) == 0 || slices.ContainsFunc(list, spared) {
		return ""
	}
	switch c := list[len(list)-1].c; {
	case c.Drain != nil:
		return "drained"
	case len(b.Placement.ClusterTolerations) > 0:
		return "its toleration has run out"
	case carries(c, taintKey):
		return "tainted by the rule"
	case carries(c, policyTaint):
		return "tainted by the policy"
	}
	return "tainted by others"
}

// unsure: a failover may hold back for reasons of its own.
func (at sight) unsure() bool {
	return !at.there || at.c.Malformed != "" || at.c.Stopped != nil || aboutUs(at.c)
}

// onlyWould: nothing but observe was ever said in this story.
func (j *judge) onlyWould() bool {
	return j.s.schedule.Mode == string(rules.ModeObserve) && !j.switched() && len(j.enforced) == 0
}

// wouldMove: where nothing is written the rule itself says who is affected: it has matched
// for its window, and the taint that would stand since then has not been tolerated since. A cancelled failover observes
// no more, and one that was resumed begins its windows anew.
func (j *judge) wouldMove(cluster string, b *karmada.Binding, since time.Time) string {
	since = since.Add(-addAfter)
	for _, x := range b.Placement.ClusterTolerations {
		if x.TolerationSeconds == nil {
			return ""
		}
		since = since.Add(-time.Duration(*x.TolerationSeconds) * time.Second)
	}
	matches := func(x sight) bool {
		return !x.unsure() && x.ruled && x.add == addAfter && !x.externallyProbed && x.c.Conditions[0].Status == corev1.ConditionFalse
	}
	list := j.between(cluster, since)
	if since.Before(begins) || since.Before(j.cancelled[cluster]) || len(list) == 0 || slices.ContainsFunc(list, func(x sight) bool { return !matches(x) }) {
		return ""
	}
	return "observed"
}

// owedAt: whoever owes an outcome, and is still there, has one.
func (j *judge) owedAt(r workflows.FailoverReport, known map[string]bool) {
	for _, b := range j.s.world.Everything() {
		key := b.Key.String() + " " + string(b.UID)
		if j.owed[r.Cluster][key] && !known[key] && b.Annotations[karmada.AnnotationEnabled] == "" {
			j.violates("7: %s stood on the failed %s for long and has no outcome", key, r.Cluster)
		}
	}
}
