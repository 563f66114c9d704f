package failover_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

var limits = failover.PaceConfig{EvictionRate: 0.5, UnhealthyThreshold: 0.55, SecondaryRate: 0.1, LargeFleet: 10, UnlimitedChunk: 50}

func faulty(n, total int) failover.FleetHealth {
	h := failover.FleetHealth{Total: total}
	for i := range n {
		h.Faulty = append(h.Faulty, string(rune('a'+i)))
	}
	return h
}

// Tiers and their boundaries. Karmada#6746 proposed the same tiers and
// shipped one rate only.
// Rules: R4.5-2, R4.5-5, R4.5-3, R4.5-4.
func TestKarmada6746TheTierFollowsFromTheFleet(t *testing.T) {
	unlimited, stopped, patient, never := limits, limits, limits, limits
	unlimited.Unlimited, stopped.EvictionRate, patient.EvictionRate, never.SecondaryRate = true, 0, 0.02, 0
	for name, tc := range map[string]struct {
		health failover.FleetHealth
		config failover.PaceConfig
		tier   failover.Tier
		rate   float64
		reason failover.Reason
	}{
		"a healthy fleet":                         {faulty(0, 6), limits, failover.TierNormal, 0.5, failover.ReasonFleetHealthy},
		"one of six":                              {faulty(1, 6), limits, failover.TierNormal, 0.5, failover.ReasonFleetHealthy},
		"exactly at the threshold is normal":      {faulty(11, 20), limits, failover.TierNormal, 0.5, failover.ReasonFleetHealthy},
		"one above slows a large fleet":           {faulty(12, 20), limits, failover.TierSlow, 0.1, failover.ReasonFleetUnhealthy},
		"almost all of a large fleet":             {faulty(19, 20), limits, failover.TierSlow, 0.1, failover.ReasonFleetUnhealthy},
		"all of a large fleet":                    {faulty(20, 20), limits, failover.TierHalted, 0, failover.ReasonAllFaulty},
		"eleven clusters are a large fleet":       {faulty(7, 11), limits, failover.TierSlow, 0.1, failover.ReasonFleetUnhealthy},
		"ten are not":                             {faulty(6, 10), limits, failover.TierHalted, 0, failover.ReasonFleetUnhealthy},
		"slow is never quicker than normal":       {faulty(12, 20), patient, failover.TierSlow, 0.02, failover.ReasonFleetUnhealthy},
		"a secondary rate of nothing halts":       {faulty(12, 20), never, failover.TierHalted, 0, failover.ReasonFleetUnhealthy},
		"unlimited has a limit when slow":         {faulty(12, 20), unlimited, failover.TierSlow, 0.1, failover.ReasonFleetUnhealthy},
		"a halt by hand is one when slow":         {faulty(12, 20), stopped, failover.TierHalted, 0, failover.ReasonHaltedByHuman},
		"all of them are probably us":             {faulty(6, 6), limits, failover.TierHalted, 0, failover.ReasonAllFaulty},
		"also the only one":                       {faulty(1, 1), limits, failover.TierHalted, 0, failover.ReasonAllFaulty},
		"also where the threshold would allow it": {faulty(2, 2), failover.PaceConfig{EvictionRate: 1, UnhealthyThreshold: 1}, failover.TierHalted, 0, failover.ReasonAllFaulty},
		"a fleet that nobody can count":           {faulty(0, 0), limits, failover.TierHalted, 0, failover.ReasonFleetUnknown},
		"unlimited has no rate":                   {faulty(1, 6), unlimited, failover.TierNormal, 0, failover.ReasonFleetHealthy},
		"unlimited halts all the same":            {faulty(4, 6), unlimited, failover.TierHalted, 0, failover.ReasonFleetUnhealthy},
		"a rate of nothing is a halt":             {faulty(1, 6), stopped, failover.TierHalted, 0, failover.ReasonHaltedByHuman},
	} {
		t.Run(name, func(t *testing.T) {
			p := failover.JudgePace(tc.health, tc.config)
			require.Equal(t, tc.tier, p.Tier)
			require.InDelta(t, tc.rate, p.Rate, 0)
			require.Equal(t, tc.reason, p.Reason)
			require.Equal(t, tc.config.Unlimited && tc.tier == failover.TierNormal, p.Unlimited)
			require.Equal(t, tc.health, p.FleetHealth)
			if tc.health.Total > 0 {
				require.InDelta(t, float64(len(tc.health.Faulty))/float64(tc.health.Total), p.FaultRate, 1e-9)
			}
		})
	}
}

func normal(rate float64) failover.Pace { return failover.Pace{Tier: failover.TierNormal, Rate: rate} }

func TestETA(t *testing.T) {
	for name, tc := range map[string]struct {
		due      []time.Time
		inFlight int
		pace     failover.Pace
		want     time.Time
		ok       bool
	}{
		"the queue at the pace":             {[]time.Time{t0, t0, t0}, 0, normal(0.5), at(6), true},
		"behind those in flight":            {[]time.Time{t0}, 2, normal(0.5), at(6), true},
		"a late toleration is waited for":   {[]time.Time{at(100), t0}, 0, normal(0.5), at(102), true},
		"nothing left is now":               {nil, 0, normal(0.5), t0, true},
		"unlimited ends with the last due":  {[]time.Time{at(9), t0}, 4, failover.Pace{Tier: failover.TierNormal, Unlimited: true}, at(9), true},
		"slow is slow":                      {[]time.Time{t0, t0}, 0, failover.Pace{Tier: failover.TierSlow, Rate: 0.1}, at(20), true},
		"nobody can say while it is halted": {[]time.Time{t0}, 0, failover.Pace{Tier: failover.TierHalted}, time.Time{}, false},
		"nor before the first judgement":    {[]time.Time{t0}, 0, failover.Pace{}, time.Time{}, false},
		"nor at a rate of nothing":          {[]time.Time{t0}, 0, normal(0), time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := failover.ETA(t0, tc.due, tc.inFlight, tc.pace)
			require.Equal(t, tc.ok, ok)
			require.True(t, tc.want.Equal(got), "%s", got)
		})
	}
}
