package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outagesApart are the stories of `make outages` that take a minute and a lab of their own each.
var outagesApart = []story{
	{name: "karmada_restored_from_a_backup", short: "past", size: 3, tell: karmadaRestored},
	{name: "etcd_loses_one_of_three_members", short: "third", size: 2, tell: etcdMemberLost, lab: []string{"--etcd-members", "3"}},
	{name: "temporal_without_its_search_attributes", short: "blank", size: 2, tell: attributesMissing},
}

// TestOutagesApart tells them, one by one.
func TestOutagesApart(t *testing.T) {
	if *chaosTo == "" {
		t.Skip("make outages plays them")
	}
	told := &ledger{times: map[string]time.Duration{}}
	for _, s := range outagesApart {
		s.own = true
		told.run(t, s, shared)
		if took, ok := told.times[s.name]; ok {
			say("outages: %-53s ok, %3.0f s", s.name, took.Seconds())
		}
	}
}

// karmadaRestored has Karmada's etcd restored from a backup in the middle of a failover. The
// backup is from when a new copy ran; since then the cluster under it has died as well. What
// the API server says again is over, and nobody corrects it until Karmada's controllers run.
//
// It guards invariants 1 and 2: no hold is let go on evidence from before the restore; and 6,
// for all of it ends as it should.
//
// Rules: R4.7-41.
func karmadaRestored(s *scene) {
	// Long enough for Karmada's controllers to be started meanwhile, on a busy machine too.
	s.more = []string{"health.detection=20s"}
	require.NoError(s, s.stopProduct())
	require.NoError(s, s.inMode(s.ctx, "enforce"))
	from, to, other := s.c(1), s.c(2), s.c(3)
	s.create(taintRule(s.story.short, "Ready", time.Second, time.Second, from))
	held := s.deploy("held", from, 2, oneOf(from, to))
	late := s.deploy("late", from, 1, oneOf(from, other), prefix+"enabled=false")

	release := s.gate.stopAt(false, func(w write) bool { return w.releases(held, from) })
	s.kill(from)
	s.reaches(release, "the new copy runs, the release is on its way")
	s.control("snapshot", "", nil)
	s.kill(to)
	s.annotate(held, "example.com/touched", "yes") // so that the release loses a race
	release.letGo()
	s.annotate(late, prefix+"enabled", "")
	s.awaitFailover(from, "one has moved, the other's new copy is not proven any more", func(e *clusterFailover) bool {
		return e.ended(late, "Migrated") && e.Moves[held].Reason == "TargetNotReady"
	})
	for _, key := range []string{held, late} {
		s.evicted(key, from)
		s.neverWrong(key)
	}
	s.releasedWhenItRan(late, from)

	s.goesBack(held, late)
	s.control("start-controllers", "", nil)
	s.await("it is not Ready, says Karmada", func() (bool, string) { return !s.cluster(to).ready(), "" })
	require.Len(s, s.find(held).held(from), 1, "and held still")
	s.control("revive", to, nil)
	s.awaitFailover(from, "moved", func(e *clusterFailover) bool { o := e.outcome(held); return o != nil && o.Outcome == "Migrated" })
	s.releasedWhenItRan(held, from)
	require.Empty(s, s.evictions(held, from)[1:], "it was evicted once")
	s.annotate(late, prefix+"enabled", "")
	s.await("moved once more: where the backup has it, nothing of it lives", func() (bool, string) {
		on := s.find(late).targets()
		return slices.Equal(on, []string{other}), strings.Join(on, ",")
	})
	s.revive(from)
	s.ends(from, "Recovered")
}

// goesBack restores the backup: of two bindings one is held and its new copy runs, so it says,
// and the other has not moved. The restore is noticed, and nothing let go.
func (s *scene) goesBack(held, late string) {
	from, to := s.c(1), s.c(2)
	s.control("restore", "", nil)
	require.NoError(s, s.chronicles(s.ctx))
	require.True(s, s.cluster(to).ready(), "so it says")
	require.True(s, s.find(held).settled(), "so it says")
	require.Equal(s, []string{from}, s.find(late).targets(), "so it says")
	s.awaitFailover(from, "it has noticed", func(e *clusterFailover) bool { return e.Moves[held].Attention != "" })
	s.needsAttention(from, held, "StaleRead")
	s.remains(minHealthy+3*time.Second, "nothing is let go on it", func() bool { return len(s.find(held).held(from)) == 1 })
}
