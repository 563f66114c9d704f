package karmada_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// placesAtItsRate: by the API's own times, which are in whole seconds, the scheduler places the last of many bindings
// no sooner than the knob schedulerRate allows.
func placesAtItsRate(s *scene) {
	const count, perSecond = 21, 4
	normal := s.sim.Knobs()
	slow := normal
	slow.SchedulerRate = -1
	require.ErrorContains(s.t, s.sim.SetKnobs(slow), "schedulerRate is -1, must not be negative")
	slow.SchedulerRate = perSecond
	require.NoError(s.t, s.sim.SetKnobs(slow))
	defer func() { require.NoError(s.t, s.sim.SetKnobs(normal)) }()

	all := make([]*scene, count)
	for i := range all {
		all[i] = &scene{world: s.world, t: s.t, home: fmt.Sprintf("%s-%d", s.home, i), away: s.away} // only away is a cluster
		all[i].create(1, "Duplicated", nil)
	}
	var last time.Time
	for _, each := range all {
		each.await("placed", func(b *api.Binding) bool { return b.Status.LastScheduledTime != nil })
		if at := each.get().Status.LastScheduledTime.Time; at.After(last) {
			last = at
		}
	}
	require.GreaterOrEqual(s.t, last.Sub(all[0].get().CreationTimestamp.Time), (count-1)*time.Second/perSecond-time.Second)
}
