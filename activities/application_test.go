package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
)

// The signal that a cluster fails has the failover look: a list of before would have its clock run on.
//
// Rules: R4.13-4.
func TestAssessApplication_ClusterFailsSinceTheFleetWasListed_StopsTheClock(t *testing.T) {
	b := newBench(t)
	b.acts.Recent = activities.NewRecent(b.world, world.Clock{W: b.world})
	b.acts.Settings.Applications = true
	b.does(app(application(karmada.HealthUnhealthy)))
	look := func() bool {
		return must[activities.Application](b, activities.NameAssessApplication, activities.ApplicationRequest{Key: appKey("app")}).Copies[0].ClusterFails
	}
	require.False(t, look())
	b.world.SetReady("m1", false)
	require.True(t, look())
}

// Rules: R4.15-8, R4.15-9.
func TestAssessApplication_ModesOfItsClusters_ObserveWins(t *testing.T) {
	observe := rules.ModeExceptions{Observe: rules.ClusterSelection{Names: []string{"m1"}}}
	for name, c := range map[string]struct {
		on         []string
		exceptions rules.ModeExceptions
		change     func(*karmada.Binding)
		mode       rules.Mode
	}{
		"one cluster":              {on: []string{"m2"}, exceptions: observe, mode: rules.ModeEnforce},
		"one of two observes":      {on: []string{"m2", "m1"}, exceptions: observe, mode: rules.ModeObserve},
		"the first is not known":   {on: []string{"lost", "m1"}, exceptions: observe, mode: rules.ModeObserve},
		"none is known":            {on: []string{"lost"}},
		"the binding is malformed": {on: []string{"m1"}, change: func(x *karmada.Binding) { x.Malformed = "spec.clusters: not a list" }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Settings.Applications, b.acts.Settings.ModeExceptions = true, c.exceptions
			b.does(app(application(karmada.HealthUnhealthy)))
			b.does(app(func(x *karmada.Binding) {
				x.Status.Aggregated, x.Clusters = nil, nil
				for _, cluster := range c.on {
					x.Clusters = append(x.Clusters, karmada.TargetCluster{Name: cluster, Replicas: 1})
					x.Status.Aggregated = append(x.Status.Aggregated, karmada.AggregatedItem{Cluster: cluster, Health: karmada.HealthHealthy})
				}
				if c.change != nil {
					c.change(x)
				}
			}))
			look := must[activities.Application](b, activities.NameAssessApplication, activities.ApplicationRequest{Key: appKey("app")})
			require.Equal(t, c.mode, look.Terms.Mode)
		})
	}
}

// application makes a binding one that fails over by its own health, which it reports from m1.
func application(health karmada.Health) func(*karmada.Binding) {
	return func(x *karmada.Binding) {
		x.Application = &karmada.ApplicationFailover{}
		x.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m1", Applied: true, Health: health}}
	}
}

// The request for a permit is sent with the pre-check where nothing else is missing.
//
// Rules: R4.13-5, R4.13-6, R4.13-10.
func TestPreCheck_OfAnApplication_RequestsAPermit(t *testing.T) {
	for name, c := range map[string]struct {
		mode      rules.Mode
		arrange   func(b *bench)
		sent      int
		requested bool
	}{
		"it passes":                     {mode: rules.ModeEnforce, sent: 1, requested: true},
		"it is blocked":                 {mode: rules.ModeEnforce, arrange: nothingFits},
		"observe":                       {mode: rules.ModeObserve},
		"the pacer is not told":         {mode: rules.ModeEnforce, arrange: func(b *bench) { b.deaf = karmada.ErrUnreachable }, sent: 1},
		"its dependents are held first": {mode: rules.ModeEnforce, arrange: (*bench).withConfig},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.does(c.arrange)
			key := appKey("app")
			request := activities.PermitRequest{Cluster: "m1", FailoverID: "f", Want: 1, Open: true, Application: &key}
			out := b.preChecks(activities.PreCheckRequest{
				Cluster: "m1", Mode: c.mode, Items: []activities.Checked{{Key: key}}, Application: true, Request: &request,
			})
			require.Len(t, b.requests, c.sent, "%+v", out)
			require.Equal(t, c.requested, out.Requested)
		})
	}
}

// Rules: R4.13-4, R4.13-6.
func TestEvict_ApplicationThatIsNotUnhealthyAnyMore_WritesNothing(t *testing.T) {
	for name, c := range map[string]evictRow{
		"unhealthy":            {end: activities.EvictWritten, reason: reason.Written},
		"healthy again":        {world: app(application(karmada.HealthHealthy)), end: activities.EvictNotAffected, reason: reason.Healed},
		"its health not known": {world: app(application(karmada.HealthUnknown)), reason: reason.ClockStopped},
		"no status of it":      {world: app(func(x *karmada.Binding) { x.Status.Aggregated = nil }), reason: reason.ClockStopped},
		"its cluster fails":    {world: notReady("m1"), reason: reason.ClockStopped},
		"another revision": {
			world: func(b *bench) { b.world.SetRevision(appKey("app"), "second") }, end: activities.EvictNotAffected, reason: reason.Healed,
		},
		"it does not say so any more": {
			world: app(func(x *karmada.Binding) { x.Application = nil }), end: activities.EvictNotAffected, reason: reason.Healed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.does(app(application(karmada.HealthUnhealthy)))
			r := b.evictRequest()
			r.Unhealthy = &rules.Arrival{Cluster: "m1", Revision: "/first"}
			c.run(t, b, r)
		})
	}
}
