package activities

import (
	"context"
)

// An activity belongs to a part, which has the ports that it needs. Parts are made at each call, so
// that the ports and the settings are those of the moment.

// reader reads Karmada, from the cache and from shared lists where they will do.
type reader struct {
	Reader
	shared   FleetReader  // nil: Reader's
	cache    BindingCache // nil: bindings are listed
	settings *Settings
}

// writer writes to Karmada; a write that lost a race is decided again.
type writer struct {
	Writer
	clock Monotonic
	meter Meter
}

// guard says whether this worker may begin anything new.
type guard struct {
	reader
	secondEvictor func() string
}

// on has each call of an activity go to its part as it is then.
func on[P, Q, R any](part func() P, do func(P, context.Context, Q) (R, error)) func(context.Context, Q) (R, error) {
	return func(ctx context.Context, request Q) (R, error) { return do(part(), ctx, request) }
}

func (a *Activities) reader() reader { return reader{a.Reader, a.Recent, a.Cached, &a.Settings} }

func (a *Activities) writer() writer { return writer{a.Writer, a.Clock, a.Meter} }

func (a *Activities) guard() guard { return guard{a.reader(), a.SecondEvictor} }

func (a *Activities) leases() leases { return leases{a.Clock, a.Manager, a.Controller} }

func (a *Activities) judge() judge { return judge{a.guard(), a.Owners, a.Migrations, a.Log} }

func (a *Activities) reporter() reporter { return reporter{a.guard(), a.Events, a.Meter} }

func (a *Activities) preChecker() preChecker {
	batch := *a
	batch.Reader = newOnce(a.Reader) // for one batch
	return preChecker{batch.judge(), a.reporter(), a.Pacer}
}

func (a *Activities) observer() observer { return observer{a.reader(), a.Clock.Now} }

func (a *Activities) actor() actor { return actor{a.observer(), a.writer()} }

func (a *Activities) evictor() evictor {
	return evictor{a.actor(), a.guard(), a.judge(), a.dependents(), a.Pacer, a.Events}
}

func (a *Activities) restorer() restorer { return restorer{a.actor(), a.Events} }

func (a *Activities) releaser() releaser { return releaser{a.actor(), a.leases(), a.Prober} }

func (a *Activities) dependents() dependents { return dependents{a.guard(), a.writer(), a.Owners} }

func (a *Activities) affectedLister() affectedLister {
	return affectedLister{a.reader(), a.reporter(), a.Clock, a.Meter}
}

func (a *Activities) orphanFinder() orphanFinder { return orphanFinder{a.reader(), a.Owners} }

func (a *Activities) fleetAssessor() fleetAssessor { return fleetAssessor{a.reader(), a.Pacer} }

func (a *Activities) applicationAssessor() applicationAssessor {
	return applicationAssessor{a.reader(), a.leases(), a.Applications}
}

func (a *Activities) leftovers() leftovers { return leftovers{a.reader(), a.writer()} }

func (a *Activities) tainter() tainter { return tainter{a.guard(), a.writer(), a.Events} }

func (a *Activities) clusterAssessor() clusterAssessor { return clusterAssessor{a.reader(), a.Meter} }
