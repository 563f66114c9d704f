package pace_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
		"a healthy fleet":                             {health: fixtures.Faulty(0, 6), config: limits, tier: pace.TierNormal, rate: 0.5, reason: reason.FleetHealthy},
		"one of six":                                  {health: fixtures.Faulty(1, 6), config: limits, tier: pace.TierNormal, rate: 0.5, reason: reason.FleetHealthy},
		"exactly at the threshold is normal":          {health: fixtures.Faulty(11, 20), config: limits, tier: pace.TierNormal, rate: 0.5, reason: reason.FleetHealthy},
		"one above reduces the rate of a large fleet": {health: fixtures.Faulty(12, 20), config: limits, tier: pace.TierReduced, rate: 0.1, reason: reason.FleetUnhealthy},
		"almost all of a large fleet":                 {health: fixtures.Faulty(19, 20), config: limits, tier: pace.TierReduced, rate: 0.1, reason: reason.FleetUnhealthy},
		"all of a large fleet":                        {health: fixtures.Faulty(20, 20), config: limits, tier: pace.TierHalted, rate: 0, reason: reason.AllFaulty},
		"eleven clusters are a large fleet":           {health: fixtures.Faulty(7, 11), config: limits, tier: pace.TierReduced, rate: 0.1, reason: reason.FleetUnhealthy},
		"ten are not":                                 {health: fixtures.Faulty(6, 10), config: limits, tier: pace.TierHalted, rate: 0, reason: reason.FleetUnhealthy},
		"reduced is never quicker than normal":        {health: fixtures.Faulty(12, 20), config: patient, tier: pace.TierReduced, rate: 0.02, reason: reason.FleetUnhealthy},
		"a secondary rate of nothing halts":           {health: fixtures.Faulty(12, 20), config: never, tier: pace.TierHalted, rate: 0, reason: reason.FleetUnhealthy},
		"unlimited has a limit when reduced":          {health: fixtures.Faulty(12, 20), config: unlimited, tier: pace.TierReduced, rate: 0.1, reason: reason.FleetUnhealthy},
		"a halt by hand is one when reduced":          {health: fixtures.Faulty(12, 20), config: stopped, tier: pace.TierHalted, rate: 0, reason: reason.HaltedByOperator},
		"all of them are probably us":                 {health: fixtures.Faulty(6, 6), config: limits, tier: pace.TierHalted, rate: 0, reason: reason.AllFaulty},
		"also the only one":                           {health: fixtures.Faulty(1, 1), config: limits, tier: pace.TierHalted, rate: 0, reason: reason.AllFaulty},
		"also where the threshold would allow it":     {health: fixtures.Faulty(2, 2), config: pace.Config{EvictionRate: 1, UnhealthyThreshold: 1}, tier: pace.TierHalted, rate: 0, reason: reason.AllFaulty},
		"a fleet that nobody can count":               {health: fixtures.Faulty(0, 0), config: limits, tier: pace.TierHalted, rate: 0, reason: reason.FleetUnknown},
		"unlimited has no rate":                       {health: fixtures.Faulty(1, 6), config: unlimited, tier: pace.TierNormal, rate: 0, reason: reason.FleetHealthy},
		"unlimited halts all the same":                {health: fixtures.Faulty(4, 6), config: unlimited, tier: pace.TierHalted, rate: 0, reason: reason.FleetUnhealthy},
		"a rate of nothing is a halt":                 {health: fixtures.Faulty(1, 6), config: stopped, tier: pace.TierHalted, rate: 0, reason: reason.HaltedByOperator},
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
		"the queue at the pace":             {due: []time.Time{fixtures.T0, fixtures.T0, fixtures.T0}, inFlight: 0, pace: normal(0.5), want: fixtures.At(6), ok: true},
		"behind those in flight":            {due: []time.Time{fixtures.T0}, inFlight: 2, pace: normal(0.5), want: fixtures.At(6), ok: true},
		"a late toleration is waited for":   {due: []time.Time{fixtures.At(100), fixtures.T0}, inFlight: 0, pace: normal(0.5), want: fixtures.At(102), ok: true},
		"a drain has a rate of its own":     {due: []time.Time{fixtures.T0, fixtures.T0}, pace: normal(0.5).AtMost(0.1), want: fixtures.At(20), ok: true},
		"also where the fleet has no limit": {due: []time.Time{fixtures.T0, fixtures.T0}, pace: pace.Pace{Tier: pace.TierNormal, Unlimited: true}.AtMost(0.1), want: fixtures.At(20), ok: true},
		"which the fleet's bounds":          {due: []time.Time{fixtures.T0, fixtures.T0}, pace: normal(0.5).AtMost(2), want: fixtures.At(4), ok: true},
		"nothing left is now":               {inFlight: 0, pace: normal(0.5), want: fixtures.T0, ok: true},
		"unlimited ends with the last due":  {due: []time.Time{fixtures.At(9), fixtures.T0}, inFlight: 4, pace: pace.Pace{Tier: pace.TierNormal, Unlimited: true}, want: fixtures.At(9), ok: true},
		"reduced is reduced":                {due: []time.Time{fixtures.T0, fixtures.T0}, inFlight: 0, pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.1}, want: fixtures.At(20), ok: true},
		"a halt holds for a drain":          {due: []time.Time{fixtures.T0}, pace: pace.Pace{Tier: pace.TierHalted}.AtMost(1)},
		"nobody can say while it is halted": {due: []time.Time{fixtures.T0}, inFlight: 0, pace: pace.Pace{Tier: pace.TierHalted}, want: time.Time{}, ok: false},
		"nor before the first judgement":    {due: []time.Time{fixtures.T0}, inFlight: 0, pace: pace.Pace{}, want: time.Time{}, ok: false},
		"nor at a rate of nothing":          {due: []time.Time{fixtures.T0}, inFlight: 0, pace: normal(0), want: time.Time{}, ok: false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := pace.ETA(fixtures.T0, tc.due, tc.inFlight, tc.pace)
			require.Equal(t, tc.ok, ok)
			require.True(t, tc.want.Equal(got), "%s", got)
		})
	}
}
