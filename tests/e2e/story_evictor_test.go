package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// secondEvictor runs a failover beside Karmada's own taint manager, which is turned on: it evicts, outside the pace,
// a binding that Lifeboat leaves alone. It is turned off in the order that preflight names, the controller that ends
// its tasks last.
//
// It guards the halt of §4.15: nothing more is evicted until an operator resumes, a resume
// while the task stands halts again, and the failover then ends as any other.
//
// Rules: R4.15-28, R4.15-29.
func secondEvictor(s *scene) {
	s.Cleanup(func() {
		s.knobs(context.Background(), object{"taintManager": false, "gracefulEvictionEnabled": true})
	})
	s.knobs(s.ctx, object{"taintManager": true, "gracefulEvictionEnabled": false})
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), 30*time.Second))
	theirs := s.deploy("theirs", from, 1, tolerating(oneOf(from, to), 5*time.Second), prefix+"enabled=false")

	s.kill(from)
	halted := func(e *episode) bool {
		return e.Paused != nil && e.Paused.Who == "lifeboat" && strings.Contains(e.Paused.Reason, "SecondEvictor") &&
			strings.Contains(e.Paused.Reason, "--enable-no-execute-taint-eviction=false")
	}
	s.episode(from, "halted beside a second evictor", halted)
	s.knobs(s.ctx, object{"taintManager": false})
	require.Equal(s, "TaintManager", s.find(theirs).Spec.Tasks[0].Producer)
	s.episode(from, "due, and paused", func(e *episode) bool {
		q := e.queued(app)
		return q != nil && q.State == "ready" && q.Reason == "Paused"
	})
	s.order("resume", from)
	s.episode(from, "halted again", halted)
	s.remains(3*time.Second, "nothing is evicted", func() bool { return len(s.find(app).Spec.Tasks) == 0 })

	s.knobs(s.ctx, object{"gracefulEvictionEnabled": true})
	s.await("Karmada has ended its task", func() (bool, string) {
		return len(s.find(theirs).Spec.Tasks) == 0, fmt.Sprintf("%+v", s.find(theirs))
	})
	s.order("resume", from)
	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	require.Equal(s, []string{to}, s.find(theirs).targets())
	s.revive(from)
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated"})
}

// knobs changes how the lab's Karmada runs.
func (s *scene) knobs(ctx context.Context, changes object) {
	s.Helper()
	require.NoError(s, s.lab.control(ctx, "knobs", "", changes))
}
