package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// applicationJudge judges what the failovers of applications do. Its truth is the record of how each copy stood.
type applicationJudge struct {
	*judge
	// writes: the write at hand moves an application; writer is the workflow that makes it.
	writes bool
	writer string
	pace   law
	// copies are how each copy stood, oldest first, by cluster, binding and uid.
	copies map[string][]standing
	// moved are the moves of applications, by binding and uid.
	moved map[string][]arrival
	// orders are those that an application's failover accepted, oldest first.
	orders map[karmada.BindingKey][]wish
	// enforced are those whose failover was ordered to enforce.
	enforced map[karmada.BindingKey]bool
	// modes are the purge modes that the looks of a failover have found.
	modes  map[karmada.BindingKey][]karmada.PurgeMode
	crowds map[string]crowd
	blink  time.Duration
}

// arrival is a revision that was moved. To are the clusters where it arrived, empty before its release.
type arrival struct {
	from, revision string
	to             []string
	at             time.Time // when its old copy was released
}

func newApplicationJudge(j *judge) *applicationJudge {
	return &applicationJudge{
		judge: j, pace: newLaw(j.s.schedule.Rate * quarter), copies: map[string][]standing{}, moved: map[string][]arrival{},
		orders: map[karmada.BindingKey][]wish{}, enforced: map[karmada.BindingKey]bool{}, modes: map[karmada.BindingKey][]karmada.PurgeMode{}, crowds: map[string]crowd{}, blink: j.s.schedule.blink(),
	}
}

// quarter is the share of the pace that applications have by default.
const quarter = 0.25

func bindingID(b *karmada.Binding) string { return b.Key.String() + " " + string(b.UID) }

// ordered records an order that the failover of an application accepted.
func (a *applicationJudge) ordered(key karmada.BindingKey, verb string, putBack bool) {
	a.orders[key] = append(a.orders[key], wish{at: a.s.now(), verb: verb, putBack: putBack})
	for n := range a.s.schedule.Fleet {
		if putBack || verb == workflows.UpdatePutBack || verb == workflows.UpdateRelease { // the migration obeys, whoever owns it
			a.orderedOne(clusterName(n), key, verb, putBack)
		}
		if verb == workflows.UpdateApprove {
			a.approved(clusterName(n), key.Name)
		}
	}
}

// restored: an application that an operator had put back stays there as after a cancel.
func (a *applicationJudge) restored(b *karmada.Binding, e *eviction) {
	list := a.orders[b.Key]
	for n := range list {
		if x := &list[n]; e.application && x.verb == workflows.UpdatePutBack && !x.at.Before(e.at) {
			x.verb = workflows.UpdateCancel
			a.s.count["applications put back"]++
		}
	}
}

// closed: the next failover of this application knows no order of this one.
func (a *applicationJudge) closed(key karmada.BindingKey) {
	delete(a.orders, key)
	delete(a.enforced, key)
	if known := a.modes[key]; len(known) > 0 {
		a.modes[key] = known[len(known)-1:] // a move may outlive its failover
	}
}

// onlooks judges that an application is not moved whose failover began while every cluster was observed.
func (a *applicationJudge) onlooks(w world.Write, b *karmada.Binding) {
	began, now := a.s.ran[workflows.ApplicationFailoverID("", b.Key)], a.s.now()
	until := began.Add(soonest)
	if until.After(now) {
		until = now
	}
	for n := range a.s.schedule.Fleet {
		if !a.observes(clusterName(n), began, until) {
			return
		}
	}
	if !a.enforced[b.Key] {
		a.violates("4.15: %s is evicted from %s by a failover of its application that observes", w.Binding, w.Cluster)
	}
}

// byApplication reports whether the failover of an application began the migration that writes.
func (a *applicationJudge) byApplication() bool { return a.s.applications.began[a.writer] }

// evicts judges the first eviction of an application off a cluster.
func (a *applicationJudge) evicts(w world.Write, b *karmada.Binding) {
	a.s.count["applications evicted"]++
	item := b.Item(w.Cluster)
	switch {
	case b.Application == nil || b.Application.TolerationSeconds < 0:
		a.violates("4.13: %s is evicted from %s, and its spec.failover.application does not say so", w.Binding, w.Cluster)
		return
	case item == nil || item.Health != karmada.HealthUnhealthy:
		a.violates("4.13: %s is evicted from %s, where it is not Unhealthy", w.Binding, w.Cluster)
	case !a.everListed(w.Cluster, func(c karmada.Cluster) bool { return !troubled(c) }):
		a.violates("4.13: %s is evicted from %s because it is Unhealthy, and the cluster itself fails", w.Binding, w.Cluster)
	}
	a.onlooks(w, b)
	a.tolerates(w, b)
	a.movesOnce(w, b)
	a.isSuspected(w, b)
	a.obeys(w, b)
}

// tolerates judges that the copy was Unhealthy for as long as its binding tolerates.
func (a *applicationJudge) tolerates(w world.Write, b *karmada.Binding) {
	must := time.Duration(b.Application.TolerationSeconds) * time.Second
	if ran := a.unhealthyFor(id(w.Cluster, b)); ran < must-50*tick {
		a.violates("4.13: %s is evicted from %s after it was Unhealthy for %s of %s", w.Binding, w.Cluster, ran, must)
	}
}

// movesOnce judges that a revision does not leave a cluster to which it was moved, unless that was approved since.
func (a *applicationJudge) movesOnce(w world.Write, b *karmada.Binding) {
	revision := string(b.UID) + " " + a.s.world.StandingRevision(b.Key)
	for _, x := range a.moved[bindingID(b)] {
		approved := slices.ContainsFunc(a.orders[b.Key], func(o wish) bool { return o.verb == workflows.UpdateApprove && !o.at.Before(x.at) })
		if x.revision == revision && slices.Contains(x.to, w.Cluster) && !approved {
			a.violates("4.13: %s is evicted from %s, to which the same revision was moved from %s", w.Binding, w.Cluster, x.from)
		}
	}
	a.moved[bindingID(b)] = append(a.moved[bindingID(b)], arrival{from: w.Cluster, revision: revision})
}

// released records where an application arrived, once the hold of its old copy is dropped.
func (a *applicationJudge) released(cluster string, b *karmada.Binding, e *eviction) {
	if !e.application || !a.byApplication() {
		return
	}
	a.s.count["applications released"]++
	list := a.moved[bindingID(b)]
	revision := string(b.UID) + " " + a.s.world.StandingRevision(b.Key)
	for n := range list {
		if x := &list[n]; x.from == cluster && x.to == nil {
			x.at = a.s.now()
			x.revision = revision // one that came while it moved was moved as well
			for _, t := range b.Clusters {
				if !slices.ContainsFunc(e.clusters, func(was karmada.TargetCluster) bool { return was.Name == t.Name }) {
					x.to = append(x.to, t.Name)
				}
			}
		}
	}
}

// obeys judges that an application stays where it is after a pause, a cancel and a snooze.
func (a *applicationJudge) obeys(w world.Write, b *karmada.Binding) {
	list := a.orders[b.Key]
	for n, x := range list {
		ago := a.s.now().Sub(x.at)
		if ago <= takes+slack {
			continue
		}
		resumed := slices.ContainsFunc(list[n:], func(y wish) bool { return y.verb == workflows.UpdateResume })
		switch {
		case x.verb == workflows.UpdateSnooze && ago < snoozed:
			a.violates("4.13: %s is evicted from %s, and its application was snoozed %s ago", w.Binding, w.Cluster, ago)
		case (x.verb == workflows.UpdatePause || x.verb == workflows.UpdateCancel) && !resumed:
			a.violates("4.13: %s is evicted from %s after %s of its application, %s ago", w.Binding, w.Cluster, x.verb, ago)
		}
	}
}

// terminated: the next failover of this application knows no order, and nowhere where it was moved.
func (a *applicationJudge) terminated(id string) {
	for _, b := range a.s.world.Everything() {
		if id == workflows.ApplicationFailoverID("", b.Key) {
			delete(a.orders, b.Key)
			delete(a.moved, bindingID(&b))
		}
	}
}

// purges judges that an application leaves by its own purge mode, as a look of its failover found it.
func (a *applicationJudge) purges(w world.Write, b *karmada.Binding, task *karmada.Task) karmada.PurgeMode {
	must := a.modes[b.Key]
	if len(must) == 0 {
		must = []karmada.PurgeMode{applicationPurge(b)}
	}
	if !slices.Contains(must, task.PurgeMode) {
		a.violates("4.13: %s is evicted %s from %s, and its application says %s", w.Binding, task.PurgeMode, w.Cluster, must)
	}
	return task.PurgeMode
}

// applicationPurge is how the old copy of an application goes: its annotation stands above its spec.
func applicationPurge(b *karmada.Binding) karmada.PurgeMode {
	switch own := b.Annotations[karmada.AnnotationPurgeMode]; {
	case own != "":
		return karmada.PurgeMode(own)
	case b.Application != nil && b.Application.PurgeMode != "":
		return b.Application.PurgeMode
	}
	return karmada.PurgeGracefully
}

// goesOn reports whether the migration of an application that still runs has a hold: it stands longer than the failover
// of its cluster.
func (a *applicationJudge) goesOn(hold *karmada.Task) bool {
	return slices.ContainsFunc(strings.Fields(hold.Message), func(owner string) bool {
		return a.s.applications.began[owner] && a.s.state[owner] != gone
	})
}

// takenOver: the failover of a cluster goes on with the move of an application, which does not learn where it arrives.
func (a *applicationJudge) takenOver(r activities.MigrationReport) {
	a.s.count["moves of applications taken over"]++
	moved := r.Key.String() + " " + string(r.UID)
	a.moved[moved] = slices.DeleteFunc(a.moved[moved], func(x arrival) bool { return x.to == nil })
}
