package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A policy whose taint only a human can take away: when the human has, it is over.
//
// Rules: R4.1-10, R4.9-5.
func TestAHumanTakesAwayAPolicysTaintThatNothingElseRemoves(t *testing.T) {
	s := newStory(t)
	s.policy()
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.network(corev1.ConditionFalse) // what removes it never matches
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.DropTaint("m1", taintKey) })
	s.at(6*time.Minute, func() {
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Len(t, hard, 1, "while it matches, it is put again")
		s.world.SetReady("m1", true)
	})
	const taken = 20 * time.Minute
	s.at(taken, func() { s.world.DropTaint("m1", taintKey) })
	s.at(2*taken, func() { s.network(corev1.ConditionTrue) })
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Less(t, r.Until.Sub(storyBegins), taken+wellFor)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), taken)
	require.Empty(t, s.world.Leftovers())
}

// What cannot be read was not taken away: Lifeboat's taint keeps its removal window.
//
// Rules: R4.1-21, R4.2-9.
func TestWhatCannotBeReadIsNoHumanWhoTookTheTaintAway(t *testing.T) {
	for name, garble := range map[string]func(*karmada.Cluster){
		"the list of soft taints": func(c *karmada.Cluster) {
			c.Taints = slices.DeleteFunc(slices.Clone(c.Taints), func(x corev1.Taint) bool { return x.Key == softKey })
			c.SoftMalformed, c.SoftUnreadable = "soft-taints: not a list", true
		},
		"the cluster": func(c *karmada.Cluster) { c.Taints, c.Malformed = nil, "spec.taints: not a list" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			const quiet = 10 * time.Minute
			s.softRule(time.Second, quiet)
			s.bindSoftly("slow", "3600")
			s.network(corev1.ConditionFalse)
			s.at(2*time.Minute, func() { s.network(corev1.ConditionTrue) })
			var sound karmada.Cluster
			s.at(3*time.Minute, func() {
				sound = s.world.PeekCluster("m1")
				s.world.ChangeCluster("m1", garble)
			})
			s.at(5*time.Minute, func() {
				require.Len(t, s.world.PeekCluster("m1").Added, 2)
				s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
					c.Taints, c.Malformed, c.SoftMalformed, c.SoftUnreadable = sound.Taints, "", "", false
				})
			})
			r := s.play()
			require.Equal(t, phase.FailoverRecovered, r.Ended)
			require.GreaterOrEqual(t, r.Until.Sub(storyBegins), 2*time.Minute+quiet)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// Controllers lose a taint by a lost update: it is put back while its rule matches. Whoever
// takes it away twice within a minute means it: the failover is paused, as by an operator.
//
// Rules: R4.9-59, R4.9-60.
func TestATaintThatIsTakenAwayIsPutBackOnceAndTwiceWithinAMinutePauses(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.01
	for _, name := range []string{"a", "b", "c", "d"} {
		s.bind(name, []string{"m1"}, "m1", "m2")
	}
	s.world.SetReady("m1", false)
	stands := func() int {
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		return len(hard)
	}
	take := func() { s.world.DropTaint("m1", taintKey) }
	s.at(3*time.Minute, take)
	s.at(3*time.Minute+40*time.Second, func() {
		st := s.status()
		require.Equal(t, 1, stands())
		require.Nil(t, st.Paused)
		require.Equal(t, "not-ready", st.TakenAway.Rule)
	})
	s.at(5*time.Minute, take) // by accident again
	s.at(5*time.Minute+40*time.Second, func() {
		require.Equal(t, 1, stands())
		require.Nil(t, s.status().Paused)
		take()
	})
	var moved int
	s.at(6*time.Minute+20*time.Second, func() {
		st := s.status()
		require.Zero(t, stands(), "it is not put back a second time")
		require.Equal(t, "lifeboat", st.Paused.Who)
		require.Contains(t, st.Paused.Reason, "lifeboat cancel m1")
		require.Equal(t, []reason.Reason{reason.Conflict}, st.Attention)
		moved = len(s.world.Log("evict"))
	})
	s.at(9*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), moved, "nothing new moves")
		s.order(workflows.UpdateResume, "it was the pipeline")
	})
	s.at(15*time.Minute, func() {
		require.Equal(t, 1, stands())
		require.Empty(t, s.status().Attention)
		require.Greater(t, len(s.world.Log("evict")), moved)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Empty(t, s.world.Leftovers())
}

// Also where the evacuating taint was taken along, the pause holds and the recovery cleans up.
//
// Rules: R4.9-60.
func TestAFailoverWhoseTaintsAreAllTakenAwayTwiceStillRecovers(t *testing.T) {
	s := newStory(t)
	s.settings.Pace.EvictionRate = 0.01
	s.bind("a", []string{"m1"}, "m1", "m2")
	s.bind("b", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	take := func() {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) { c.Taints = nil })
		s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: rules.FactOf(s.world.PeekCluster("m1"))})
	}
	s.at(3*time.Minute, take)
	s.at(3*time.Minute+5*time.Second, take)
	s.at(5*time.Minute, func() {
		st := s.status()
		require.True(t, st.TakenAway.Twice)
		require.Equal(t, "lifeboat", st.Paused.Who)
		hard, _ := karmada.Triggering(s.world.PeekCluster("m1").Taints)
		require.Empty(t, hard)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, phase.FailoverRecovered, r.Ended)
	require.Empty(t, s.world.Leftovers())
}
