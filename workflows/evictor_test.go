package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// evictedByKarmada has Karmada's own taint manager, or another producer, evict a binding from m1.
func (s *story) evictedByKarmada(key failover.BindingKey, producer string) {
	now := s.env.Now()
	s.world.Edit(key, func(b *failover.Binding) {
		b.Clusters = slices.DeleteFunc(slices.Clone(b.Clusters), func(t failover.TargetCluster) bool { return t.Name == "m1" })
		b.Tasks = append(slices.Clone(b.Tasks), failover.Task{
			FromCluster: "m1", PurgeMode: failover.PurgeGracefully, Reason: "TaintUntolerated", Producer: producer, CreationTimestamp: &now,
		})
	})
}

// A task of Karmada's own taint manager halts the failover, however it is found; a resume
// while it stands changes nothing, and after it the failover goes on.
//
// Rules: R4.15-28, R4.15-29.
func TestATaskOfTheTaintManagerHaltsTheFailoverUntilAResumeWithoutOne(t *testing.T) {
	for name, told := range map[string]bool{"told by the controller": true, "found by the list": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Pace.EvictionRate = 0.01
			theirs := s.bind("z", []string{"m1"}, "m1", "m2")
			for _, name := range []string{"b", "c", "d", "e", "f"} {
				s.bind(name, []string{"m1"}, "m1", "m2")
			}
			s.world.SetReady("m1", false)
			var before int
			s.at(4*time.Minute, func() {
				s.evictedByKarmada(theirs, failover.TaintManager)
				before = len(s.world.Log("evict"))
				if told {
					s.signal(workflows.ClusterFailoverID("", "m1"), workflows.SignalBindingsChanged, workflows.BindingsChanged{
						Bindings: []failover.BindingFact{{Key: theirs, SecondEvictor: true}},
					})
				}
			})
			wait := 15 * time.Second
			if !told {
				wait = 100 * time.Second // the safety list, at the first turn after its minute
			}
			s.at(4*time.Minute+wait, func() {
				st := s.status()
				require.NotNil(t, st.Paused)
				require.Equal(t, "lifeboat", st.Paused.Who)
				require.Contains(t, st.Paused.Reason, "SecondEvictor")
				require.Contains(t, st.Paused.Reason, "--enable-no-execute-taint-eviction=false")
				require.Contains(t, st.Paused.Reason, theirs.String())
				require.Equal(t, failover.ReasonSecondEvictor, st.NeedsAttention)
				before = len(s.world.Log("evict"))
			})
			s.at(7*time.Minute, func() { s.order(workflows.UpdateResume, "too early") })
			s.at(10*time.Minute, func() {
				require.NotNil(t, s.status().Paused, "the task still stands: halted again")
				require.Len(t, s.world.Log("evict"), before, "nothing is dispatched in between")
				s.world.Edit(theirs, func(b *failover.Binding) {
					b.Tasks = slices.DeleteFunc(slices.Clone(b.Tasks), func(t failover.Task) bool { return t.Producer == failover.TaintManager })
				})
			})
			s.at(11*time.Minute, func() { s.order(workflows.UpdateResume, "the flags are set") })
			s.at(15*time.Minute, func() {
				require.Nil(t, s.status().Paused)
				require.Empty(t, s.status().NeedsAttention)
				require.Greater(t, len(s.world.Log("evict")), before, "it goes on")
			})
			s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
		})
	}
}

// A failover that is halted from the start puts no taint that moves bindings: Karmada
// would evict on it. It recovers as any other.
//
// Rules: R4.15-28.
func TestAFailoverBesideASecondEvictorPutsNoTaintThatMovesBindings(t *testing.T) {
	s := newStory(t)
	theirs := s.bind("a", []string{"m1"}, "m1", "m2")
	s.bind("b", []string{"m1"}, "m1", "m2")
	s.evictedByKarmada(theirs, failover.TaintManager)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() {
		require.NotNil(t, s.status().Paused)
		require.Empty(t, s.world.Log("taint"))
		require.Empty(t, s.world.Log("evict"))
	})
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Empty(t, s.world.Log("taint"))
}

// A task of another producer blocks its own binding alone.
//
// Rules: R4.15-28.
func TestATaskOfAnotherProducerHaltsNothing(t *testing.T) {
	s := newStory(t)
	theirs := s.bind("a", []string{"m1"}, "m1", "m2")
	s.bind("b", []string{"m1"}, "m1", "m2")
	s.evictedByKarmada(theirs, "resource-binding-application-failover-controller")
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { require.Nil(t, s.status().Paused) })
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Len(t, s.world.Log("evict"), 1, "the other one moved")
}

// An observed failover writes nothing, so it halts nothing.
//
// Rules: R4.15-28.
func TestAnObservedFailoverIsNotHaltedBesideASecondEvictor(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Mode = failover.ModeObserve
	theirs := s.bind("a", []string{"m1"}, "m1", "m2")
	s.bind("b", []string{"m1"}, "m1", "m2")
	s.evictedByKarmada(theirs, failover.TaintManager)
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { require.Nil(t, s.status().Paused) })
	s.at(6*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
}
