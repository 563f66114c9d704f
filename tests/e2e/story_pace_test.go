package e2e

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/stretchr/testify/require"
)

// onePace has three clusters fail at once, twelve bindings in all, at one eviction
// a second; then the fleet is halted in the middle, and goes on.
//
// It guards invariant 4 by the API server's own timestamps: over no interval more
// than rate times its length, one, and one second's worth, whichever failovers they belong
// to; and none later than four seconds after a halt.
//
// Rules: R4.5-17, R4.5-18, R4.5-24, R4.5-28.
func onePace(s *scene) {
	const rate, each = 1.0, 4
	s.rule(time.Second, time.Second)
	failing, to := s.all()[:3], s.c(4)
	apps := map[string][]string{}
	for _, from := range failing {
		for i := range each {
			apps[from] = append(apps[from], s.deploy(fmt.Sprintf("%s-app%d", from, i), from, 1, oneOf(from, to)))
		}
	}
	s.order("rate", fmt.Sprint(rate))
	for _, from := range failing {
		s.kill(from)
	}
	s.await("a third of them is on the way", func() (bool, string) {
		n := s.evictedSoFar(apps)
		return n >= each, fmt.Sprint(n)
	})
	s.order("pause", "fleet")
	halted := time.Now()
	s.remains(stops, "let the permits that are out pass", func() bool { return true })
	s.catchUp()
	before := s.evictedAt(apps)
	s.remains(4*time.Second, "nothing is evicted", func() bool { return true })
	s.catchUp()
	require.Equal(s, before, s.evictedAt(apps), "halted")
	require.Less(s, len(before), 3*each, "the halt came in time for this story")
	require.False(s, before[len(before)-1].After(halted.Add(stops)), "within four seconds")
	s.order("resume", "fleet")

	for _, from := range failing {
		s.phase(from, "Evacuated")
	}
	s.catchUp()
	times := s.evictedAt(apps)
	require.Len(s, times, 3*each)
	require.Empty(s, pacelaw.Rate{First: rate}.Broken(times))
	s.Logf("%d evictions; before the halt %d in %s, the longest pause %s, at %g/s allowed",
		len(times), len(before), before[len(before)-1].Sub(before[0]), longestPause(before), rate)
	for _, from := range failing {
		s.revive(from)
	}
	for _, from := range failing {
		s.became(s.ends(from, "Recovered"), allMigrated(apps[from]))
	}
	s.order("rate", "configured")
}

// evictedSoFar counts the evictions that the chronicle has seen.
func (s *scene) evictedSoFar(apps map[string][]string) int {
	n := 0
	for from, keys := range apps {
		for _, key := range keys {
			n += len(s.evictions(key, from))
		}
	}
	return n
}

// evictedAt is when the API server received the first write of Lifeboat to each
// binding, in order: that is its eviction.
func (s *scene) evictedAt(apps map[string][]string) []time.Time {
	var times []time.Time
	for from, keys := range apps {
		for _, key := range keys {
			if len(s.evictions(key, from)) == 0 {
				continue
			}
			s.evicted(key, from)
			if writes := s.writesTo(key); len(writes) > 0 {
				times = append(times, writes[0].Received)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// byPriority fails two clusters while the fleet is paused, and resumes it at a slow pace once every binding
// is ready to move. The names are in the reverse order of the priorities.
//
// It guards the order of the queue: spec.schedulePriority decides, a binding without it counts as 0, and
// the pacer serves the cluster with the highest priority first.
//
// Rules: R4.4-1, R4.5-23.
func byPriority(s *scene) {
	s.rule(time.Second, time.Second)
	from, urgent, to := s.c(1), s.c(2), s.c(3)
	var apps []string
	for i, priority := range []int64{-1, 0, 5, 10} {
		apps = append(apps, s.prioritized(fmt.Sprintf("app%d", i), from, to, priority))
	}
	most := s.prioritized("urgent", urgent, to, 100)
	s.order("rate", "1")
	s.order("pause", "fleet")
	s.kill(from)
	s.kill(urgent)
	s.awaitFailover(from, "ready, and halted", halted(apps...))
	s.awaitFailover(urgent, "ready, and halted", halted(most))
	s.order("resume", "fleet")

	s.phase(urgent, "Evacuated")
	s.phase(from, "Evacuated")
	next := s.evicted(most, urgent).Revision
	for _, app := range slices.Backward(apps) {
		require.Greater(s, s.evicted(app, from).Revision, next, "%s went before its turn", app)
		next = s.evicted(app, from).Revision
	}
	s.revive(from)
	s.revive(urgent)
	s.became(s.ends(from, "Recovered"), allMigrated(apps))
	s.became(s.ends(urgent, "Recovered"), map[string]string{most: "Migrated"})
	s.order("rate", "configured")
}

// halted: these bindings are ready to move, and the fleet is paused.
func halted(keys ...string) func(e *clusterFailover) bool {
	return func(e *clusterFailover) bool {
		return !slices.ContainsFunc(keys, func(key string) bool {
			return !e.waits(key, "ready", "Halted")
		})
	}
}

// allMigrated is what became of each of these.
func allMigrated(keys []string) map[string]string {
	all := map[string]string{}
	for _, key := range keys {
		all[key] = "Migrated"
	}
	return all
}

// prioritized runs a Deployment with a priority of its own; 0 is none.
func (s *scene) prioritized(name, home, other string, priority int64) string {
	u := deployment(s.namespace(), name, home, 1, oneOf(home, other))
	if priority != 0 {
		specOf(u)["schedulePriority"] = object{"priority": priority}
	}
	s.run(u)
	return keyOf(u)
}
