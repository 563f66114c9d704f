package pace_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

var limits = pace.Config{EvictionRate: 0.5, UnhealthyThreshold: 0.55, SecondaryRate: 0.1, LargeFleet: 10, UnlimitedChunk: 50}

// Tiers and their boundaries. Karmada#6746 proposed the same tiers and
// shipped one rate only.
// Rules: R4.5-2, R4.5-5, R4.5-3, R4.5-4.
func TestKarmada6746TheTierFollowsFromTheFleet(t *testing.T) {
	unlimited, stopped, patient, never := limits, limits, limits, limits
	unlimited.Unlimited, stopped.EvictionRate, patient.EvictionRate, never.SecondaryRate = true, 0, 0.02, 0
	for name, tc := range map[string]struct {
		health pace.FleetHealth
		config pace.Config
		tier   pace.Tier
		rate   float64
		reason reason.Reason
	}{
		"a healthy fleet":                         {fixtures.Faulty(0, 6), limits, pace.TierNormal, 0.5, reason.FleetHealthy},
		"one of six":                              {fixtures.Faulty(1, 6), limits, pace.TierNormal, 0.5, reason.FleetHealthy},
		"exactly at the threshold is normal":      {fixtures.Faulty(11, 20), limits, pace.TierNormal, 0.5, reason.FleetHealthy},
		"one above slows a large fleet":           {fixtures.Faulty(12, 20), limits, pace.TierSlow, 0.1, reason.FleetUnhealthy},
		"almost all of a large fleet":             {fixtures.Faulty(19, 20), limits, pace.TierSlow, 0.1, reason.FleetUnhealthy},
		"all of a large fleet":                    {fixtures.Faulty(20, 20), limits, pace.TierHalted, 0, reason.AllFaulty},
		"eleven clusters are a large fleet":       {fixtures.Faulty(7, 11), limits, pace.TierSlow, 0.1, reason.FleetUnhealthy},
		"ten are not":                             {fixtures.Faulty(6, 10), limits, pace.TierHalted, 0, reason.FleetUnhealthy},
		"slow is never quicker than normal":       {fixtures.Faulty(12, 20), patient, pace.TierSlow, 0.02, reason.FleetUnhealthy},
		"a secondary rate of nothing halts":       {fixtures.Faulty(12, 20), never, pace.TierHalted, 0, reason.FleetUnhealthy},
		"unlimited has a limit when slow":         {fixtures.Faulty(12, 20), unlimited, pace.TierSlow, 0.1, reason.FleetUnhealthy},
		"a halt by hand is one when slow":         {fixtures.Faulty(12, 20), stopped, pace.TierHalted, 0, reason.HaltedByHuman},
		"all of them are probably us":             {fixtures.Faulty(6, 6), limits, pace.TierHalted, 0, reason.AllFaulty},
		"also the only one":                       {fixtures.Faulty(1, 1), limits, pace.TierHalted, 0, reason.AllFaulty},
		"also where the threshold would allow it": {fixtures.Faulty(2, 2), pace.Config{EvictionRate: 1, UnhealthyThreshold: 1}, pace.TierHalted, 0, reason.AllFaulty},
		"a fleet that nobody can count":           {fixtures.Faulty(0, 0), limits, pace.TierHalted, 0, reason.FleetUnknown},
		"unlimited has no rate":                   {fixtures.Faulty(1, 6), unlimited, pace.TierNormal, 0, reason.FleetHealthy},
		"unlimited halts all the same":            {fixtures.Faulty(4, 6), unlimited, pace.TierHalted, 0, reason.FleetUnhealthy},
		"a rate of nothing is a halt":             {fixtures.Faulty(1, 6), stopped, pace.TierHalted, 0, reason.HaltedByHuman},
	} {
		t.Run(name, func(t *testing.T) {
			p := pace.Judge(tc.health, tc.config)
			require.Equal(t, tc.tier, p.Tier)
			require.InDelta(t, tc.rate, p.Rate, 0)
			require.Equal(t, tc.reason, p.Reason)
			require.Equal(t, tc.config.Unlimited && tc.tier == pace.TierNormal, p.Unlimited)
			require.Equal(t, tc.health, p.FleetHealth)
			if tc.health.Total > 0 {
				require.InDelta(t, float64(len(tc.health.Faulty))/float64(tc.health.Total), p.FaultRate, 1e-9)
			}
		})
	}
}

func normal(rate float64) pace.Pace { return pace.Pace{Tier: pace.TierNormal, Rate: rate} }

func TestETA(t *testing.T) {
	for name, tc := range map[string]struct {
		due      []time.Time
		inFlight int
		pace     pace.Pace
		want     time.Time
		ok       bool
	}{
		"the queue at the pace":             {[]time.Time{fixtures.T0, fixtures.T0, fixtures.T0}, 0, normal(0.5), fixtures.At(6), true},
		"behind those in flight":            {[]time.Time{fixtures.T0}, 2, normal(0.5), fixtures.At(6), true},
		"a late toleration is waited for":   {[]time.Time{fixtures.At(100), fixtures.T0}, 0, normal(0.5), fixtures.At(102), true},
		"nothing left is now":               {nil, 0, normal(0.5), fixtures.T0, true},
		"unlimited ends with the last due":  {[]time.Time{fixtures.At(9), fixtures.T0}, 4, pace.Pace{Tier: pace.TierNormal, Unlimited: true}, fixtures.At(9), true},
		"slow is slow":                      {[]time.Time{fixtures.T0, fixtures.T0}, 0, pace.Pace{Tier: pace.TierSlow, Rate: 0.1}, fixtures.At(20), true},
		"nobody can say while it is halted": {[]time.Time{fixtures.T0}, 0, pace.Pace{Tier: pace.TierHalted}, time.Time{}, false},
		"nor before the first judgement":    {[]time.Time{fixtures.T0}, 0, pace.Pace{}, time.Time{}, false},
		"nor at a rate of nothing":          {[]time.Time{fixtures.T0}, 0, normal(0), time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := pace.ETA(fixtures.T0, tc.due, tc.inFlight, tc.pace)
			require.Equal(t, tc.ok, ok)
			require.True(t, tc.want.Equal(got), "%s", got)
		})
	}
}
