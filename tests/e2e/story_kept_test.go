package e2e

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// keptTwice fails the same cluster twice with a binding whose purge mode is Never: the first failover keeps
// the old copy, and the second finds nothing to do. The operator ends it.
//
// It guards that a kept copy belongs to no failover: none adopts it, evicts it again or deletes it, and the
// new copy runs throughout.
//
// Rules: R4.8-1, R4.8-11, R4.9-49.
func keptTwice(s *scene) {
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to), purgeMode+"=Never")
	old := s.work(app, from)
	kept := func() bool {
		b, w := s.find(app), s.work(app, from)
		tasks := b.held(from)
		return len(tasks) == 1 && tasks[0].Reason == "LifeboatKept" && len(b.targets()) == 1 && b.on(to) &&
			w != nil && w.UID == old.UID && w.DeletionTimestamp == nil
	}

	s.kill(from)
	s.phase(from, "Evacuated")
	require.True(s, kept(), "%+v", s.find(app))
	s.revive(from)
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Kept"})
	require.True(s, kept(), "the recovery leaves it: %+v", s.find(app))
	s.catchUp()
	before := s.writesTo(app)

	s.kill(from)
	s.phase(from, "Evacuated")
	s.remains(2*time.Second, "kept, and running on the new cluster", func() bool { return kept() && s.find(app).runs(target{Name: to, Replicas: 1}) })
	s.revive(from)
	s.became(s.ends(from, "Recovered"), map[string]string{})
	require.True(s, kept(), "the second recovery leaves it: %+v", s.find(app))
	s.evicted(app, from)
	s.catchUp()
	require.Equal(s, before, s.writesTo(app), "the second failover wrote nothing")

	s.order("release", app, "--cluster", from)
	s.await("the operator released it", func() (bool, string) {
		return len(s.find(app).Spec.Tasks) == 0, fmt.Sprintf("%+v", s.find(app).Spec.Tasks)
	})
	s.purged(app, from)
}
