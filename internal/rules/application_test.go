package rules_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// Rules: R4.13-2, R4.13-3, R4.13-4.
func TestUnhealthyClocks_Next(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 1, 3, 0, s, 0, time.UTC) }
	ran := rules.UnhealthyClocks{{Cluster: "m1", Revision: "a", Since: at(0)}}
	stopped := rules.UnhealthyClocks{{Cluster: "m1", Revision: "a", Ran: 10 * time.Second}}
	for name, c := range map[string]struct {
		before rules.UnhealthyClocks
		copy   rules.CopyHealth
		want   rules.UnhealthyClocks
	}{
		"begins":                       {copy: rules.CopyHealth{Health: karmada.HealthUnhealthy, Revision: "a"}, want: rules.UnhealthyClocks{{Cluster: "m1", Revision: "a", Since: at(10)}}},
		"runs on":                      {before: ran, copy: rules.CopyHealth{Health: karmada.HealthUnhealthy, Revision: "a"}, want: ran},
		"Healthy restarts":             {before: ran, copy: rules.CopyHealth{Health: karmada.HealthHealthy}},
		"another revision restarts":    {before: ran, copy: rules.CopyHealth{Health: karmada.HealthUnhealthy, Revision: "b"}, want: rules.UnhealthyClocks{{Cluster: "m1", Revision: "b", Since: at(10)}}},
		"an unknown revision does not": {before: ran, copy: rules.CopyHealth{Health: karmada.HealthUnhealthy}, want: ran},
		"Unknown stops":                {before: ran, copy: rules.CopyHealth{Health: karmada.HealthUnknown}, want: stopped},
		"its cluster fails":            {before: ran, copy: rules.CopyHealth{Health: karmada.HealthUnhealthy, Revision: "a", ClusterFails: true}, want: stopped},
		"stays stopped":                {before: stopped, copy: rules.CopyHealth{Health: karmada.HealthUnknown}, want: stopped},
		"Unknown begins nothing":       {copy: rules.CopyHealth{Health: karmada.HealthUnknown}},
		"goes on": {
			before: stopped, copy: rules.CopyHealth{Health: karmada.HealthUnhealthy, Revision: "a"},
			want: rules.UnhealthyClocks{{Cluster: "m1", Revision: "a", Ran: 10 * time.Second, Since: at(10)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.copy.Cluster = "m1"
			require.Equal(t, c.want, c.before.Next([]rules.CopyHealth{c.copy}, at(10)))
		})
	}
	require.Empty(t, ran.Next(nil, at(10)), "it is no target any more")
	end, runs := rules.UnhealthyClock{Ran: 10 * time.Second, Since: at(20)}.Ends(30 * time.Second)
	require.True(t, runs)
	require.Equal(t, at(40), end)
}

// Rules: R4.13-7.
func TestArrivals_OnlyTheRevisionThatWasMovedThereCounts(t *testing.T) {
	copies := []rules.CopyHealth{{Cluster: "m1", Revision: "a"}, {Cluster: "m2", Revision: "b"}}
	a := rules.Arrivals{}.Add(copies, []string{"m1"})
	require.Equal(t, rules.Arrivals{{Cluster: "m2", Revision: "b"}}, a)
	require.True(t, a.Unhealthy(rules.UnhealthyClock{Cluster: "m2", Revision: "b"}))
	require.False(t, a.Unhealthy(rules.UnhealthyClock{Cluster: "m2", Revision: "c"}))
	require.False(t, a.Unhealthy(rules.UnhealthyClock{Cluster: "m1", Revision: "a"}))
	require.Equal(t, a, a.Without(copies))
	require.Empty(t, a.Without([]rules.CopyHealth{{Cluster: "m2", Revision: "c"}}))
}

// Rules: R4.13-7.
func TestDeparture_Arrived(t *testing.T) {
	d := &rules.Departure{Revision: "one", Before: []string{"m1", "m2"}}
	on := func(cluster, revision string) rules.CopyHealth {
		return rules.CopyHealth{Cluster: cluster, Revision: revision}
	}
	for name, tc := range map[string]struct {
		copies   []rules.CopyHealth
		arrivals rules.Arrivals
		left     *rules.Departure
	}{
		"it is not placed yet":        {copies: []rules.CopyHealth{on("m2", "one")}, left: d},
		"its revision is not known":   {copies: []rules.CopyHealth{on("m2", "one"), on("m3", "")}, left: d},
		"it arrived":                  {copies: []rules.CopyHealth{on("m2", "one"), on("m3", "one")}, arrivals: rules.Arrivals{{Cluster: "m3", Revision: "one"}}},
		"another revision came there": {copies: []rules.CopyHealth{on("m3", "two")}},
	} {
		t.Run(name, func(t *testing.T) {
			arrivals, left := d.Arrived(nil, tc.copies)
			require.Equal(t, tc.arrivals, arrivals)
			require.Equal(t, tc.left, left)
		})
	}
}
