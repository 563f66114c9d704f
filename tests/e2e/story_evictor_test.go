package e2e

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// secondEvictor has Karmada's own taint manager evict a binding in mid-failover, outside
// the pace: its task is written as the taint manager writes it.
//
// It guards the halt of §4.15: nothing more is evicted until an operator resumes, a resume
// while the task stands halts again, and the failover then ends as any other.
//
// Rules: R4.15-28, R4.15-29.
func secondEvictor(s *scene) {
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), 15*time.Second))
	theirs := s.deploy("theirs", from, 1, tolerating(oneOf(from, to), 600*time.Second))

	s.kill(from)
	s.episode(from, "both tolerate", func(e *episode) bool {
		a, b := e.queued(app), e.queued(theirs)
		return a != nil && b != nil && a.State == "tolerating" && b.State == "tolerating"
	})
	s.patch(s.named(theirs), object{"spec": object{"clusters": []any{}, "gracefulEvictionTasks": []any{object{
		"fromCluster": from, "producer": "TaintManager", "reason": "TaintUntolerated", "purgeMode": "Gracefully", "suppressDeletion": true,
	}}}})
	halted := func(e *episode) bool {
		return e.Paused != nil && e.Paused.Who == "lifeboat" && strings.Contains(e.Paused.Reason, "SecondEvictor") &&
			strings.Contains(e.Paused.Reason, "--enable-no-execute-taint-eviction=false")
	}
	s.episode(from, "halted beside a second evictor", halted)
	s.episode(from, "due, and paused", func(e *episode) bool {
		q := e.queued(app)
		return q != nil && q.State == "ready" && q.Reason == "Paused"
	})
	s.order("resume", from)
	s.episode(from, "halted again", halted)
	s.remains(3*time.Second, "nothing is evicted", func() bool { return len(s.evictions(app, from)) == 0 })

	s.patch(s.named(theirs), object{"spec": object{"gracefulEvictionTasks": nil}})
	s.order("resume", from)
	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	require.True(s, s.find(theirs).on(to))
	s.revive(from)
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated", theirs: "MovedByOthers"})
}
