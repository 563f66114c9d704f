package e2e

import (
	"encoding/json"
	"time"

	"github.com/stretchr/testify/require"
)

// drainTaint is the hard taint of a drain.
const drainTaint = prefix + "drain"

// drained has an operator empty a healthy cluster and give it back.
//
// It guards §4.12: nothing is tolerated, both Lifeboat's taints stand before the first
// eviction, the old copies go while their cluster answers, nothing is released before
// the new copy runs in full (invariant 1); undrain leaves nothing of Lifeboat's (6).
func drained(s *scene) {
	from, a, b := s.c(1), s.c(2), s.c(3)
	ns := s.namespace()
	s.run(
		deployment(ns, "duplicated", from, 2, oneOf(from, a)),
		deployment(ns, "divided", "", 6, dividedOver(from, a, b)),
		deployment(ns, "tolerant", from, 1, tolerating(oneOf(from, b), 10*time.Minute)),
	)
	outcomes := map[string]string{}
	for _, u := range s.bindings {
		outcomes[keyOf(u)] = "Migrated"
	}

	asked := time.Now()
	out := s.answer("drain", from, "--yes", "--wait", "--timeout", "15m", "-o", "json")
	var answer struct {
		Cluster  string
		Progress struct{ Done bool }
	}
	require.NoError(s, json.Unmarshal(out, &answer), "%s", out)
	require.Equal(s, from, answer.Cluster)
	require.True(s, answer.Progress.Done)
	s.abreast()

	for key := range outcomes {
		evicted := s.evicted(key, from)
		require.False(s, evicted.Seen.Before(asked))
		s.releasedWhenItRan(key, from)
		s.purged(key, from)
	}
	c := s.cluster(from)
	var by struct{ Who, Why string }
	require.NoError(s, json.Unmarshal([]byte(c.Annotations[prefix+"drained-by"]), &by))
	require.Equal(s, operator, by.Who)
	require.NotNil(s, c.taint(drainTaint, "NoExecute"))
	require.NotNil(s, c.taint(evacuatingTaint, "NoSchedule"))
	require.True(s, c.ready(), "it was never anything else")

	s.order("drain", from, "--end")
	s.asked[from] = true
	s.became(s.ends(from, "Recovered"), outcomes)
	require.Error(s, s.lifeboat("drain", s.lab.At.Kubeconfigs["operator"], from, "--end", "--reason", "again", "--yes").Run(), "there is no drain to end")
}

// answer is what an operator's order printed.
func (s *scene) answer(verb, cluster string, more ...string) []byte {
	args := append([]string{cluster, "--who", operator, "--reason", "told by a story"}, more...)
	return s.printed(verb, args...)
}

// printed is what a verb prints for an operator.
func (s *scene) printed(verb string, args ...string) []byte {
	cmd := s.lifeboat(verb, s.lab.At.Kubeconfigs["operator"], args...)
	cmd.Stdout = nil
	out, err := cmd.Output()
	require.NoError(s, err, "lifeboat %s printed %q and said:\n%s", verb, out, tail(s.logFile(verb), 20))
	return out
}
