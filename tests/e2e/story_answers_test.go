package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
)

// garbledCredential is a member whose credential Karmada loses, twice: once it gets it back, and once
// the member dies meanwhile. The controller is killed and started anew in between.
//
// It guards the external probe of §4.1: what looks like a dead cluster to Karmada is not failed over
// while its API server answers, whoever leads; and a member that dies is, after its whole window.
//
// Rules: R4.1-48, R4.1-49, R4.1-50, R4.1-54, R4.1-55.
func garbledCredential(s *scene) {
	const window = 3 * time.Second
	s.rule(window, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to))

	s.garble(from)
	suspected := s.answers(from)
	require.Equal(s, "ClusterNotReachable", s.cluster(from).readiness().Reason)
	s.remains(3*window, "nothing is moved", func() bool { return s.find(app).on(from) && s.cluster(from).taint(failedTaint, "NoExecute") == nil })
	require.Contains(s, s.shows("status", from), "MemberAnswers")
	s.warned("default", from, "MemberAnswers")

	require.NoError(s, s.controller.kill())
	require.NoError(s, s.startController(s.ctx))
	s.await("the next controller leads", func() (bool, string) { return s.leads(s.controller), "" })
	s.remains(3*window, "still nothing is moved", func() bool { return s.cluster(from).taint(failedTaint, "NoExecute") == nil })
	require.Equal(s, suspected.FailoverID, s.answers(from).FailoverID)

	s.ungarble(from)
	s.became(s.ends(from, "FalseAlarm"), map[string]string{})
	s.leftAlone(app)

	s.garble(from)
	s.answers(from)
	s.control("kill", from, nil)
	died := time.Now()
	s.phase(from, "Evacuated")
	require.False(s, s.taintedAt(from).Seen.Before(died.Add(window)), "tainted before its window had run out")
	s.releasedWhenItRan(app, from)
	s.control("ungarble", from, nil)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// garble makes the credential worthless by which Karmada reaches a member, and waits until Karmada has
// noticed; ungarble puts the good one back.
func (s *scene) garble(name string) { s.member("garble", name, false) }

func (s *scene) ungarble(name string) { s.member("ungarble", name, true) }

// answers waits until a failover says that its member answers the external probe.
func (s *scene) answers(cluster string) *clusterFailover {
	return s.awaitFailover(cluster, "its member answers", func(e *clusterFailover) bool {
		return e.Phase == "Suspected" && e.Reason == "MemberAnswers"
	})
}
