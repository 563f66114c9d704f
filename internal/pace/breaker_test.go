package pace_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/stretchr/testify/require"
)

// Rules: R4.13-8.
func TestSuspicions_OpenAboveTheShareAndEndAfterTheWindow(t *testing.T) {
	require.False(t, pace.Share{Unhealthy: 4, Of: 4}.Above(0.2), "fewer than 5")
	require.False(t, pace.Share{Unhealthy: 5, Of: 25}.Above(0.2), "the share itself")
	require.True(t, pace.Share{Unhealthy: 6, Of: 25}.Above(0.2))
	require.False(t, pace.Share{Unhealthy: 6, Of: 6}.Above(0), "off")

	begins := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	share := pace.Share{Scope: pace.ScopeOfPolicy("/web"), Unhealthy: 6, Of: 10}
	s := pace.Suspicions(nil).Next([]pace.Share{share}, begins, time.Minute)
	require.NotNil(t, s.Holds(pace.ApplicationScopes("/web", "m1")))
	require.Nil(t, s.Holds(pace.ApplicationScopes("shop/other", "m1")))
	s = s.Next(nil, begins.Add(59*time.Second), time.Minute)
	require.Len(t, s.Holding(), 1)
	require.Empty(t, s.Next(nil, begins.Add(time.Minute), time.Minute))
	s = s.Waive().Next([]pace.Share{share}, begins.Add(time.Minute), time.Minute)
	require.Empty(t, s.Holding(), "an operator has waived it for as long as it lasts")
	require.Nil(t, s.Holds(pace.ApplicationScopes("/web", "m1")))
}

// Rules: R4.13-11.
func TestForApplications_HasARateOfItsOwn(t *testing.T) {
	normal := pace.Pace{Tier: pace.TierNormal, Rate: 2}
	for name, c := range map[string]struct {
		pace   pace.Pace
		config pace.Config
		want   float64
	}{
		"a quarter":     {pace: normal, config: pace.Config{EvictionRate: 2}, want: 0.5},
		"as configured": {pace: normal, config: pace.Config{EvictionRate: 2, ApplicationRate: 1}, want: 1},
		"reduced alike": {pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.2}, config: pace.Config{EvictionRate: 2, SecondaryRate: 0.2, ApplicationRate: 1}, want: 0.1},
		"reduced alike, whatever rate is ordered":         {pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.01}, config: pace.Config{EvictionRate: 2, SecondaryRate: 0.2, ApplicationRate: 1}, want: 0.1},
		"as configured, whatever rate is ordered":         {pace: pace.Pace{Tier: pace.TierNormal, Rate: 100}, config: pace.Config{EvictionRate: 2, ApplicationRate: 1}, want: 1},
		"never quicker where it is reduced":               {pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.1}, config: pace.Config{EvictionRate: 0.1, SecondaryRate: 0.5, ApplicationRate: 1}, want: 1},
		"reduced from unlimited":                          {pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.2}, config: pace.Config{Unlimited: true, SecondaryRate: 0.2, ApplicationRate: 1}, want: 0.05},
		"reduced from unlimited, and never above its own": {pace: pace.Pace{Tier: pace.TierReduced, Rate: 20}, config: pace.Config{Unlimited: true, SecondaryRate: 20, ApplicationRate: 1}, want: 1},
		"reduced where nothing is configured":             {pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.01}, config: pace.Config{SecondaryRate: 0.2, ApplicationRate: 1}, want: 0.05},
		"halted with a rate of its own":                   {pace: pace.Pace{Tier: pace.TierHalted}, config: pace.Config{EvictionRate: 2, ApplicationRate: 1}, want: 0},
		"below unlimited":                                 {pace: pace.Pace{Tier: pace.TierNormal, Unlimited: true}, config: pace.Config{ApplicationRate: 3}, want: 3},
		"halted stays so":                                 {pace: pace.Pace{Tier: pace.TierHalted}, config: pace.Config{EvictionRate: 2}, want: 0},
		"unlimited itself":                                {pace: pace.Pace{Tier: pace.TierNormal, Unlimited: true}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.pace.ForApplications(c.config)
			require.InDelta(t, c.want, got.Rate, 1e-9)
			require.Equal(t, c.pace.Unlimited && c.config.ApplicationRate == 0, got.Unlimited)
			require.Equal(t, c.pace.Tier, got.Tier)
		})
	}
}
