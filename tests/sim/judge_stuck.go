package sim

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// stuckFor is how much longer than its binding tolerates a copy is Unhealthy until its application has left, where
// nothing keeps it.
const stuckFor = 6 * time.Minute

// mostMoves is how often an application moves within an hour.
const mostMoves = 3

// free reports whether nothing in a schedule keeps an application where it is.
func (s Schedule) free() bool {
	return s.Mode == "enforce" && len(s.Asks) == 0 && s.onlyCuts() && s.only("ail", "heal", "unknown", "spoil", "revise", "bump", "replicas")
}

// owe judges that an application which may move has left a cluster where it was Unhealthy for long.
func (a *applicationJudge) owe() {
	if !a.s.applications.followed || a.s.dice.calm || !a.s.schedule.free() {
		return
	}
	for _, x := range a.s.schedule.Bindings {
		b, there := a.s.world.StandingBinding(x.key())
		if !there || !a.mayLeave(x, &b) {
			continue
		}
		for _, t := range b.Clusters {
			list := a.copies[id(t.Name, &b)]
			last := list[len(list)-1]
			if stands := a.s.now().Sub(last.from); last.health == karmada.HealthUnhealthy && stands > time.Duration(x.Application.Seconds)*time.Second+stuckFor {
				a.violates("4.13: %s is Unhealthy on %s for %s, and tolerates %ds", b.Key, t.Name, stands, x.Application.Seconds)
			}
		}
	}
}

// mayLeave reports whether a binding has somewhere to go, and no reason to stay.
func (a *applicationJudge) mayLeave(x Binding, b *karmada.Binding) bool {
	tied := len(x.May) > 0 || len(x.Needs) > 0 || x.Stateful || len(b.Tasks) > 0
	if tied || x.Application == nil || x.Application.Seconds < 0 {
		return false
	}
	if len(b.Clusters) >= a.s.schedule.Fleet || len(a.moved[bindingID(b)]) >= mostMoves {
		return false
	}
	revision := string(b.UID) + " " + a.s.world.StandingRevision(b.Key)
	if slices.ContainsFunc(a.moved[bindingID(b)], func(m arrival) bool { return m.revision == revision }) {
		return false
	}
	if a.everSuspected() {
		return false
	}
	a.s.count["applications that may leave"]++
	return true
}

// everSuspected reports whether so many applications were ever Unhealthy that their release was suspected.
func (a *applicationJudge) everSuspected() bool {
	for _, x := range a.crowds {
		if !x.since.IsZero() || !x.ended.IsZero() {
			return true
		}
	}
	return false
}

// reports judges why a migration says that it has not moved an application.
func (a *applicationJudge) reports(cluster string, saw *karmada.Binding, r activities.MigrationReport) {
	item := saw.Item(cluster)
	if saw.UID == r.UID && r.Result.Reason == reason.ClockStopped && item != nil && item.Health == karmada.HealthHealthy {
		a.violates("4.13: %s has not left %s, where it was Healthy, and the reason given is %s", r.Key, cluster, r.Result.Reason)
	}
}
