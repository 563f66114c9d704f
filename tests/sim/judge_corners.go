package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
)

// untargeted judges that an eviction takes out what is there: a hold for a cluster that the
// binding has left holds nothing, and keeps the scheduler away for nothing.
func (j *judge) untargeted(w world.Write, before, after *karmada.Binding) {
	if w.Op == "evict" && !targets(before, w.Cluster) && held(before, w.Cluster) == nil && held(after, w.Cluster) != nil {
		j.violates("3: %s is evicted from %s, which it does not target", w.Binding, w.Cluster)
	}
}

// againStopped judges that a removal that repeats one obeys a halt and a pause like any other.
func (j *judge) againStopped(w world.Write) {
	law := &j.law
	if j.applications.writes {
		law = &j.applications.pace
	}
	if broken := law.stopped(j.s.now(), w.Cluster); broken != "" {
		j.violates("4: %s is taken out of %s again: %s", w.Binding, w.Cluster, broken)
	}
}

// returnedOnce judges, once a failover has closed, that what the scheduler put back after a
// release stayed there for the rest of that attempt, unless it had died there: the one that it was evicted in, for a move
// of an older attempt goes on into the next and is none of it.
func (j *judge) returnedOnce(r workflows.FailoverReport) {
	if j.s.count["terminated"] > 0 {
		return // nobody knows any more what was released
	}
	for of, e := range j.evicted {
		if e.returned.IsZero() || !strings.HasPrefix(of, r.Cluster+" ") {
			continue
		}
		within := func(o workflows.AttemptReport) bool { return !e.left.Before(o.Since) && e.at.Before(o.Until) }
		if slices.ContainsFunc(r.Attempts, within) {
			j.violates("3: %s was released at %s, put back by the scheduler, and evicted again at %s in the same attempt",
				of, e.returned.Sub(begins), e.at.Sub(begins))
		}
	}
}

// diedThere: since its release the scheduler has it on that cluster alone, and the cluster was
// not Ready. Nothing of it is known to live, so it moves once more.
func (j *judge) diedThere(cluster string, b *karmada.Binding, e *eviction) bool {
	return len(b.Clusters) == 1 && slices.ContainsFunc(j.between(cluster, e.released), func(x sight) bool { return x.there && !isReady(x.c) })
}

// leftovers judges what a write leaves on a cluster: the evacuation taint keeps the scheduler away
// for as long as a taint moves bindings, and a cancel takes the order of a drain along.
func (j *judge) leftovers(w world.Write, before, after karmada.Cluster) {
	if !carries(after, karmada.EvacuatingTaintKey) && carries(before, karmada.EvacuatingTaintKey) && after.Stopped == nil && triggers(after) {
		j.violates("6: %s loses its evacuation taint, and a taint that moves bindings stands", w.Cluster)
	}
	if before.Stopped == nil && after.Stopped != nil && after.Drain != nil {
		j.violates("6: the failover of %s is cancelled, and the record of its drain stands", w.Cluster)
	}
	if softs(before) != softs(after) && before.SoftUnreadable {
		j.violates("9: the soft taints of %s are changed, and nobody can read them", w.Cluster)
	}
	j.hasty(w, before, after)
	if j.onlooker(w.Cluster) {
		j.violates("10: the taints of %s are changed by a failover that observes", w.Cluster)
	}
}

// answersIn is within what time the answers have come that a write waits for, however often they are lost.
const answersIn = 5 * time.Minute

// wellLately is for how long a cluster was well at a stretch, of late: a failure that comes
// and goes between the confirmation of its recovery and the write is none of that write's.
// Where no rule was there none matched, which is all that a window asks for.
func (j *judge) wellLately(cluster string, window time.Duration) (longest time.Duration) {
	var since time.Time
	list := append(slices.Clone(j.between(cluster, j.s.now().Add(-window-answersIn))), sight{from: j.s.now()})
	for n, x := range list {
		if !since.IsZero() {
			longest = max(longest, x.from.Sub(since))
		}
		switch well := x.unmatched(); {
		case !well && j.missed(cluster, list, n):
		case !well:
			since = time.Time{}
		case since.IsZero():
			since = x.from
		}
	}
	return longest
}

// unmatched: the cluster is there, and no rule matches it.
func (x sight) unmatched() bool { return x.there && (!x.ruled || isReady(x.c)) }

// missed: this sight is of a time in which a rule that was put back matched, and which passed before its failover
// looked. Nothing tells of it: the cluster was not Ready before either, and has turned once.
func (j *judge) missed(cluster string, list []sight, n int) bool {
	first := n
	for first > 0 && !list[first-1].unmatched() {
		first--
	}
	end := n + slices.IndexFunc(list[n:], sight.unmatched)
	if end < n || first == 0 || list[first-1].ruled || isReady(list[first-1].c) {
		return false
	}
	return !slices.ContainsFunc(j.assessed[workflows.ClusterFailoverID("", cluster)], func(look time.Time) bool {
		return !look.Before(list[first].from) && look.Before(list[end].from)
	})
}

// hasty judges that a taint of a rule goes only after its cluster was well for the window.
func (j *judge) hasty(w world.Write, before, after karmada.Cluster) {
	unruled := func(x sight) bool {
		return !x.ruled || x.externallyProbed || !x.there || len(x.c.Added) == 0 || x.c.Malformed != ""
	}
	window := j.shortest(w.Cluster, j.readAt.Add(-latelyRead))
	if after.Stopped != nil || slices.ContainsFunc(j.between(w.Cluster, j.s.now().Add(-window)), unruled) {
		return
	}
	for _, a := range before.Added {
		if a.Key != taintKey && a.Key != softRuleKey || slices.Contains(after.Added, a) {
			continue
		}
		if well := j.wellLately(w.Cluster, window); well < window-2*time.Second {
			j.violates("4.1: %s loses %s after it was well for %s", w.Cluster, a.Key, well)
		}
	}
}

func carries(c karmada.Cluster, key string) bool {
	return slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func triggers(c karmada.Cluster) bool {
	return slices.ContainsFunc(c.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoSchedule })
}

// softs is how many soft taints of a cluster are recorded as Lifeboat's.
func softs(c karmada.Cluster) (n int) {
	for _, a := range c.Added {
		if a.Effect == karmada.EffectPreferNoExecute {
			n++
		}
	}
	return n
}

// onlooker tells that the failover of a cluster that runs now began in observe for certain,
// and that what an earlier one had under way has arrived.
func (j *judge) onlooker(cluster string) bool {
	starts := j.starts[cluster]
	if len(starts) == 0 || len(j.enforced[cluster]) > 0 {
		return false
	}
	began, now := starts[len(starts)-1], j.s.now()
	until := began.Add(soonest)
	if until.After(now) {
		until = now
	}
	return now.Sub(began) > 2*takes && j.observes(cluster, began, until)
}

// karmadaFault is what Karmada says where it is not the cluster that it could not reach.
const karmadaFault = "StatusCollectionFailed"

// aboutUs: what makes a cluster not Ready speaks of Lifeboat's own side.
func aboutUs(c karmada.Cluster) bool {
	return len(c.Conditions) > 0 && c.Conditions[0].Reason == karmadaFault
}

// lateBy is what a taint may come after its window, where nothing goes wrong but that runs
// are cut.
const lateBy = 20 * time.Second

// prompt tells that a story has nothing that may keep a taint back.
func (s Schedule) prompt() bool {
	return s.Mode == "enforce" && s.onlyCuts() && s.only(
		"down", "up", "sever", "mend", "put-policy", "taint", "untaint", "soft", "unsoft", "smudge", "unsmudge", "soft-rule", "bump", "edit-rule", "aim-away", "aim-at",
	)
}

// onlyCuts: nothing goes wrong but that runs are cut.
func (s Schedule) onlyCuts() bool {
	for fault, odds := range s.Odds {
		if odds > 0 && fault != "cut" {
			return false
		}
	}
	return true
}

// only: there are no other steps than these.
func (s Schedule) only(do ...string) bool {
	return !slices.ContainsFunc(s.Steps, func(x Step) bool { return !slices.Contains(do, x.Do) })
}

// overdue judges that what has matched a rule for its whole window carries its taint.
func (j *judge) overdue() {
	if !j.prompt || !j.law.crowd.IsZero() {
		return
	}
	for n := range j.s.schedule.Fleet {
		cluster := clusterName(n)
		down := func(x sight) bool { return x.there && x.ruled && !isReady(x.c) && !aboutUs(x.c) }
		cutOff := func(x sight) bool { return x.there && x.policed && networkIs(x.c) == corev1.ConditionFalse }
		j.overdueFor(cluster, taintKey, down, func(x sight) time.Duration { return x.add })
		j.overdueFor(cluster, policyTaint, cutOff, func(sight) time.Duration { return addAfter })
	}
}

func (j *judge) overdueFor(cluster, key string, matches func(sight) bool, window func(sight) time.Duration) {
	list := j.sights[cluster]
	if len(list) == 0 || carries(list[len(list)-1].c, key) {
		return
	}
	now, must := j.s.now(), window(list[len(list)-1])
	since, said := now, now
	for n := len(list) - 1; n >= 0 && matches(list[n]) && !carries(list[n].c, key); n-- {
		since = list[n].from
	}
	for n := len(list) - 1; n >= 0 && window(list[n]) == must; n-- {
		said = list[n].from // a window that runs is measured by what the rule says since then
	}
	if late := min(now.Sub(since)-must, now.Sub(said)); late > lateBy {
		j.violates("4.1: %s matches for %s and does not carry %s", cluster, now.Sub(since), key)
	}
}

// late judges that a write goes out before its permit has passed.
func (j *judge) late(binding karmada.BindingKey, until time.Time) {
	if over := j.s.now().Sub(until); !until.IsZero() && over > slowest {
		j.violates("4: the eviction of %s is sent %s after its permit has passed", binding, over)
	}
}

// slowest is by how much the simulated clocks are rounded.
const slowest = time.Second

// sane judges what the pacer has made of what nobody should have told it.
func (s *sim) sane() {
	id := workflows.FleetPacerID("")
	if s.state[id] != running {
		return
	}
	p, err := query[workflows.PacerStatus](s, id, workflows.QueryStatus)
	if err != nil {
		return
	}
	for cluster, r := range p.Requests {
		if r.FailoverID == "" || r.Want < 0 {
			s.judge.violates("12: the pacer has taken a request of %s for %d permits, for %q", cluster, r.Want, r.FailoverID)
		}
	}
	if p.Written < 0 || p.Unused < 0 || p.Unused > p.Granted || p.Written > p.Granted {
		s.judge.violates("12: the pacer counts %d written and %d unused of %d granted", p.Written, p.Unused, p.Granted)
	}
}

// told judges by itself what a verdict of the controller is about, as the controller could see it when
// it signalled; what it returns is to be called when the signal has reached its migration. A verdict
// counts as a look does: from when it is heard, and only where no newer version was read or told.
func (j *judge) told(migration string, fact proof.BindingFact) func() {
	b, known := j.versions[fact.ResourceVersion]
	if fact.Verdict == nil || !known {
		return func() {}
	}
	sent := j.s.now()
	var well []string
	for _, t := range b.Clusters {
		away := j.awayAt(t.Name, sent) && j.awayAt(t.Name, sent.Add(-watchLag))
		if illCopy(b, t) == "" && !away {
			well = append(well, t.Name)
		}
	}
	return func() {
		if newest := j.newest[migration]; newest != "" && !rules.IsOlder(newest, fact.ResourceVersion) {
			return
		}
		j.newest[migration], j.said[migration] = fact.ResourceVersion, well
		was, is := j.well[migration], map[string]time.Time{}
		for _, name := range well {
			is[name] = j.s.now()
			if since, known := was[name]; known && !since.Before(j.s.ran[migration]) {
				is[name] = since
			}
		}
		j.well[migration] = is
		j.s.count["verdicts heard"]++
	}
}

// toldSince is what a look comes to that ended after a verdict about a newer version than it read: the
// verdict is followed next.
func (j *judge) toldSince(migration string, looked map[string]time.Time) map[string]time.Time {
	is := map[string]time.Time{}
	for _, name := range j.said[migration] {
		is[name] = j.s.now()
		if since, known := looked[name]; known {
			is[name] = since
		}
	}
	return is
}

// requests notes what a migration could say when it asks for its release.
func (j *judge) requests(migration, activity string) {
	if activity == activities.NameRelease {
		j.shown[migration] = maps.Clone(j.well[migration])
	}
}

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
		j.applications.restored(b, e)
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
