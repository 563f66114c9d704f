package e2e

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

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
	halted := func(keys ...string) func(e *clusterFailover) bool {
		return func(e *clusterFailover) bool {
			return !slices.ContainsFunc(keys, func(key string) bool {
				q := e.queued(key)
				return q == nil || q.State != "ready" || q.Reason != "Halted"
			})
		}
	}
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
	want := map[string]string{}
	for _, app := range apps {
		want[app] = "Migrated"
	}
	s.became(s.ends(from, "Recovered"), want)
	s.became(s.ends(urgent, "Recovered"), map[string]string{most: "Migrated"})
	s.order("rate", "configured")
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
