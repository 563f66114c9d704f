package pace_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Rules: R4.5-8, R4.5-9.
func TestSchedule_Room(t *testing.T) {
	endless := pace.Pace{Tier: pace.TierNormal, Unlimited: true}
	for name, tc := range map[string]struct {
		pace pace.Pace
		last time.Time // moment of the newest permit
		room int
	}{
		"what three seconds have":                {pace: normal(5), last: time.Time{}, room: 11},
		"also at a slow rate":                    {pace: normal(0.5), last: time.Time{}, room: 2},
		"one at a rate that is slower still":     {pace: normal(0.01), last: time.Time{}, room: 1},
		"nothing while the next 1.5 s are given": {pace: normal(5), last: fixtures.At(2), room: 0},
		"the rest of three seconds":              {pace: normal(5), last: fixtures.At(1), room: 10},
		"no more than a grant can have":          {pace: normal(1000), last: time.Time{}, room: 1000},
		"while reduced":                          {pace: pace.Pace{Tier: pace.TierReduced, Rate: 0.1}, last: time.Time{}, room: 1},
		"nothing while halted":                   {pace: pace.Pace{Tier: pace.TierHalted}, last: time.Time{}, room: 0},
		"nothing before the first judgement":     {pace: pace.Pace{}, last: time.Time{}, room: 0},
		"nothing at a rate of nothing":           {pace: normal(0), last: time.Time{}, room: 0},
		"unlimited, what may be out at first":    {pace: endless, last: time.Time{}, room: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := pace.Schedule{Last: tc.last}
			require.Equal(t, tc.room, s.Room(tc.pace, limits, fixtures.T0))
		})
	}
	require.Equal(t, 1, (&pace.Schedule{}).Room(endless, pace.Config{}, fixtures.T0), "unlimited without a number still gives one")
}

// Rules: R4.5-15.
func TestApart(t *testing.T) {
	require.Equal(t, 333333334*time.Nanosecond, pace.Apart(3), "rounded up: a nanosecond early is above the pace")
	require.Greater(t, pace.Apart(1e-300), 50*365*24*time.Hour, "the slowest rate does not overflow into the past")
}

// Rules: R4.5-8, R4.5-27.
func TestSchedule_Unlimited_CountsWhatIsOut(t *testing.T) {
	endless := pace.Pace{Tier: pace.TierNormal, Unlimited: true}
	var s pace.Schedule
	require.Equal(t, fixtures.T0.Add(pace.PermitsEnd), s.Grant(endless, fixtures.T0, "m1", 3).Ends())
	require.Equal(t, 1, s.Room(endless, limits, fixtures.T0))
	for n := range int64(2) {
		require.True(t, s.Use(3-n, fixtures.T0))
		require.False(t, s.Use(3-n, fixtures.T0), "it was counted")
	}
	s.Use(0, fixtures.T0)
	s.Use(31, fixtures.T0)
	require.Equal(t, 5, s.Room(endless, limits, fixtures.T0))
	for n := range int64(99) {
		s.Use(n, fixtures.T0)
	}
	require.Equal(t, 7, s.Room(endless, limits, fixtures.T0), "whatever is reported, a grant ends no more often than it has permits; each that ended lets one more out")
	require.Zero(t, s.Expire(fixtures.At(3)))
	require.Zero(t, s.Expire(fixtures.At(4)), "all are said to have been used")
	require.Empty(t, s.Out)
}

// A machine that cannot keep up gets fewer at once, and more again once it can.
//
// Rules: R4.5-27.
func TestSchedule_Unlimited_FollowsWhatIsUsed(t *testing.T) {
	endless, now := pace.Pace{Tier: pace.TierNormal, Unlimited: true}, fixtures.T0
	var s pace.Schedule
	attempt := func(used int) (room int) {
		g := s.Grant(endless, now, "m1", s.Room(endless, limits, now))
		for n := range used {
			s.Use(g.Number+int64(n), now)
		}
		now = now.Add(pace.PermitsEnd)
		s.Expire(now)
		return s.Room(endless, limits, now)
	}
	require.Equal(t, 4, attempt(0), "never none")
	for range 50 {
		attempt(s.Room(endless, limits, now))
	}
	require.Equal(t, 50, s.Room(endless, limits, now), "no more than is configured")
	require.Equal(t, 25, attempt(0))
	require.Equal(t, 12, attempt(3))
}

// Permits that are used late are about to pass unused: fewer are out before one does.
//
// Rules: R4.5-27.
func TestSchedule_Unlimited_UsedLate_FewerAreOut(t *testing.T) {
	endless, now := pace.Pace{Tier: pace.TierNormal, Unlimited: true}, fixtures.T0
	var s pace.Schedule
	attempt := func(after time.Duration) (room int) {
		g := s.Grant(endless, now, "m1", s.Room(endless, limits, now))
		for n := range g.Size {
			s.Use(g.Number+int64(n), now.Add(after))
		}
		now = now.Add(pace.PermitsEnd)
		require.Zero(t, s.Expire(now))
		return s.Room(endless, limits, now)
	}
	require.Equal(t, 8, attempt(2*time.Second), "soon enough: one more for each")
	require.Equal(t, 16, attempt(2*time.Second))
	require.Equal(t, 23, attempt(2*time.Second), "from twenty on for each four")
	require.Equal(t, 12, attempt(2*time.Second+time.Millisecond), "late: one fewer for each two")
	for range 5 {
		attempt(4 * time.Second)
	}
	require.Equal(t, 4, attempt(4*time.Second), "never none")
	attempt(time.Second)
	require.Greater(t, attempt(time.Second), 4, "and more again")
}

// Whoever evicts as late as its permit lets it, while the rate changes, the fleet is halted,
// and requests come and go: over any time T there are at most the integral of the rate that
// was in force, one, and one second's worth of evictions.
//
// Rules: R4.5-16, R4.5-17, R4.5-18.
func TestSchedule_NeverAboveThePace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s pace.Schedule
		now, rate := fixtures.T0, rapid.Float64Range(0.1, 40).Draw(t, "rate")
		s.NotBefore = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "notBefore")) * time.Millisecond)
		most := rate
		var writes []time.Time
		for range 60 {
			now = now.Add(time.Duration(rapid.IntRange(1, 2500).Draw(t, "pass")) * time.Millisecond)
			s.Expire(now)
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				rate = rapid.Float64Range(0.1, 40).Draw(t, "rate")
				most = max(most, rate)
			}
			room := s.Room(normal(rate), limits, now)
			if size := min(room, rapid.IntRange(0, 60).Draw(t, "want")); size > 1 {
				g := s.Grant(normal(rate), now, "m1", size-1)
				lost := s.Grant(normal(rate), now, "m2", 1)
				if rapid.Bool().Draw(t, "another before it is taken back") {
					g, lost = lost, g
				}
				s.TakeBack(lost)
				for g.Size > 0 {
					var p pace.Permit
					if p, g = g.Take(); p.Earliest.Before(s.NotBefore) || p.Latest.After(now.Add(pace.PermitsEnd)) {
						t.Fatalf("a permit for %s to %s, granted at %s", p.Earliest, p.Latest, now)
					}
					late := time.Duration(rapid.IntRange(0, 1000).Draw(t, "late")) * time.Millisecond
					writes = append(writes, p.Earliest.Add(late))
				}
			}
			s.Use(int64(rapid.IntRange(0, 200).Draw(t, "used")), now)
		}
		slices.SortFunc(writes, time.Time.Compare)
		for i := range writes {
			for j := i; j < len(writes); j++ {
				allowed := most*(writes[j].Sub(writes[i])+time.Second).Seconds() + 1 + 1e-6
				if float64(j-i+1) > allowed {
					t.Fatalf("%d evictions within %s at %g/s", j-i+1, writes[j].Sub(writes[i]), most)
				}
			}
		}
	})
}

func TestSchedule_TakenBack_ItsMomentsAreFreeUnlessLaterOnesAreOut(t *testing.T) {
	var s pace.Schedule
	now := fixtures.T0
	first, second := s.Grant(normal(1), now, "m1", 2), s.Grant(normal(1), now, "m2", 1)
	s.TakeBack(first)
	require.Equal(t, second.First.Add(time.Second), s.Next(normal(1), now))
	s.TakeBack(second)
	require.Equal(t, second.First, s.Next(normal(1), now))
	require.Empty(t, s.Out)
	require.Equal(t, second.Number+1, s.Grant(normal(1), now, "m1", 1).Number, "no number is given twice")
}

func TestTheSlowestRateIsNoneToHurryAt(t *testing.T) {
	require.Equal(t, 2*time.Second, pace.Apart(0.5))
	require.Greater(t, pace.Apart(math.SmallestNonzeroFloat64), 365*24*time.Hour)
}
