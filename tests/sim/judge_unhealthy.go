package sim

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/world"
)

// standing is how a copy of an application stood from a moment on.
type standing struct {
	from time.Time
	// health is Unknown as well where the cluster of the copy itself fails, and Healthy where there is no copy.
	health   karmada.Health
	revision string
	// seen is when its failover knew of it from a look; zero where no look saw it.
	seen time.Time
}

// shortBlink is after what time a failover has seen a change, where nothing delays signals and looks.
const shortBlink = 3 * time.Second

// longBlink is longer than any failover goes without a look.
const longBlink = time.Hour

// blink is after what time a failover has seen a change for certain, whether or not the judge saw it look.
func (s Schedule) blink() time.Duration {
	if !s.onlyCuts() || slices.ContainsFunc(s.Steps, func(x Step) bool { return x.Do == "blind" }) {
		return longBlink
	}
	return shortBlink
}

// troubled reports whether a cluster is not Ready, has a failover of its own, or carries a taint that moves bindings.
func troubled(c karmada.Cluster) bool {
	own := len(c.Added)+len(c.Ordered) > 0 || c.Stopped != nil || c.Drain != nil
	return own || !isReady(c) || c.Deleting || triggers(c)
}

// changed records how the copies of a binding stand after a change.
func (a *applicationJudge) changed(old, now *karmada.Binding) {
	if !a.s.applications.followed {
		return
	}
	if now != nil {
		a.stands(now)
	} else if old != nil {
		for n := range a.s.schedule.Fleet {
			delete(a.copies, id(clusterName(n), old))
		}
	}
	a.counts()
}

// clusterChanged records how the copies on a cluster stand after a change of it.
func (a *applicationJudge) clusterChanged() {
	if !a.s.applications.followed {
		return
	}
	for _, b := range a.s.world.StandingBindings() {
		a.stands(&b)
	}
	a.counts()
}

// stands records how each copy of a binding stands now.
func (a *applicationJudge) stands(b *karmada.Binding) {
	if b.Application == nil {
		return
	}
	revision := a.s.world.StandingRevision(b.Key)
	for n := range a.s.schedule.Fleet {
		copyOf, health := id(clusterName(n), b), a.health(b, clusterName(n))
		list := a.copies[copyOf]
		if len(list) > 0 && list[len(list)-1].health == health && list[len(list)-1].revision == revision {
			continue
		}
		a.copies[copyOf] = append(list, standing{from: a.s.now(), health: health, revision: revision})
	}
}

// health is how a copy counts for its failover.
func (a *applicationJudge) health(b *karmada.Binding, cluster string) karmada.Health {
	c, there := a.s.world.Standing(cluster)
	item := b.Item(cluster)
	switch {
	case !targets(b, cluster):
		return karmada.HealthHealthy
	case item != nil && item.Health == karmada.HealthHealthy:
		return karmada.HealthHealthy
	case item == nil || !there || troubled(c):
		return karmada.HealthUnknown
	}
	return item.Health
}

// looked records what the failover of an application has seen.
func (a *applicationJudge) looked(x *attempt) {
	if x.name != activities.NameAssessApplication || x.own == nil {
		return
	}
	if mode := applicationPurge(x.own); !slices.Contains(a.modes[x.own.Key], mode) {
		a.modes[x.own.Key] = append(a.modes[x.own.Key], mode)
	}
	for n := range a.s.schedule.Fleet {
		list := a.copies[id(clusterName(n), x.own)]
		for n := len(list) - 1; n >= 0; n-- {
			at := x.ownRead
			if list[n].health == karmada.HealthUnknown {
				at = at.Add(-listed) // the fleet may have been read before the binding
			}
			if list[n].from.After(at) {
				continue
			}
			if ended := n+1 < len(list) && !list[n+1].from.After(x.ownRead); !ended && list[n].seen.IsZero() {
				list[n].seen = a.s.now()
			}
			break
		}
	}
}

// unhealthyFor is for how long a failover may count a copy as Unhealthy now. A change that it has not seen changes
// nothing, but for another revision: the write itself reads that.
func (a *applicationJudge) unhealthyFor(copyOf string) (ran time.Duration) {
	list := a.copies[copyOf]
	for n, x := range list {
		until := a.s.now()
		if n+1 < len(list) {
			until = list[n+1].from
		}
		known := x.from.Add(a.blink)
		if !x.seen.IsZero() && x.seen.Before(known) {
			known = x.seen
		}
		if n > 0 && list[n-1].revision != x.revision {
			ran = 0
		}
		switch unseen := known.After(until); {
		case x.health == karmada.HealthUnhealthy, unseen:
			ran += until.Sub(x.from)
		case x.health == karmada.HealthHealthy:
			ran = 0
		default:
			ran += known.Sub(x.from)
		}
	}
	return ran
}

// crowd is since when so many applications of a scope are Unhealthy that their release is suspected.
type crowd struct {
	since  time.Time // zero: they are not
	ended  time.Time // when they were last
	waived time.Time // when an operator let them move all the same
}

// breakerShare is above what share of a scope, and from how many Unhealthy applications on, a release is suspected.
const (
	breakerShare = 0.2
	suspectedOf  = 5
	// quietFor is for how long fewer must be Unhealthy for the suspicion to end.
	quietFor = 5 * time.Minute
)

// counts records which scopes have too many Unhealthy applications.
func (a *applicationJudge) counts() {
	all, unhealthy := map[string]int{}, map[string]int{}
	for _, b := range a.s.world.StandingBindings() {
		if b.Application == nil || b.Malformed != "" {
			continue
		}
		any := false
		for _, t := range b.Clusters {
			is := a.health(&b, t.Name) == karmada.HealthUnhealthy
			any = any || is
			count(all, unhealthy, pace.ScopeOfCluster(t.Name), is)
		}
		count(all, unhealthy, pace.ScopeFleet, any)
		if b.PolicyID() != "" {
			count(all, unhealthy, pace.ScopeOfPolicy(b.PolicyID()), any)
		}
	}
	for scope := range all {
		above := unhealthy[scope] >= suspectedOf && float64(unhealthy[scope]) > breakerShare*float64(all[scope])
		a.crowds[scope] = a.crowds[scope].next(above, a.s.now())
	}
}

// next is a crowd after a count.
func (c crowd) next(above bool, now time.Time) crowd {
	switch {
	case above && c.since.IsZero():
		c.since = now
		if !c.ended.IsZero() && now.Sub(c.ended) > quietFor {
			c.waived = time.Time{}
		}
	case !above && !c.since.IsZero():
		c.since, c.ended = time.Time{}, now
	}
	return c
}

func count(all, unhealthy map[string]int, scope string, is bool) {
	all[scope]++
	if is {
		unhealthy[scope]++
	}
}

// resumed: an operator has whatever is suspected move.
func (a *applicationJudge) resumed() {
	for scope, x := range a.crowds {
		x.waived = a.s.now()
		a.crowds[scope] = x
	}
}

// isSuspected judges that no application moves while its release is suspected.
func (a *applicationJudge) isSuspected(w world.Write, b *karmada.Binding) {
	for _, scope := range pace.ApplicationScopes(b.PolicyID(), w.Cluster) {
		x := a.crowds[scope]
		if lasts := a.s.now().Sub(x.since); !x.since.IsZero() && x.waived.IsZero() && lasts > takes+slack {
			a.violates("4.13: %s is evicted from %s, and the release is suspected for %s: %s", w.Binding, w.Cluster, lasts, scope)
		}
	}
}
