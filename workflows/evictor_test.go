package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// evictedByKarmada has Karmada's own taint manager, or another producer, evict a binding from m1.
func (s *story) evictedByKarmada(key karmada.BindingKey, producer string) {
	now := s.env.Now()
	s.world.Edit(key, func(b *karmada.Binding) {
		b.Clusters = slices.DeleteFunc(slices.Clone(b.Clusters), func(t karmada.TargetCluster) bool { return t.Name == "m1" })
		b.Tasks = append(slices.Clone(b.Tasks), karmada.Task{
			FromCluster: "m1", PurgeMode: karmada.PurgeGracefully, Reason: "TaintUntolerated", Producer: producer, CreationTimestamp: &now,
		})
	})
}

// theirsEnd is Karmada's timeout: its tasks end.
func (s *story) theirsEnd(keys ...karmada.BindingKey) {
	for _, key := range keys {
		s.world.Edit(key, func(b *karmada.Binding) {
			b.Tasks = slices.DeleteFunc(slices.Clone(b.Tasks), func(t karmada.Task) bool { return t.Producer == karmada.TaintManager })
		})
	}
}

// A task of Karmada's own taint manager pauses the failover, however it is found; a resume
// while it stands changes nothing, and after it the failover goes on.
//
// Rules: R4.15-28, R4.15-29.
func TestATaskOfTheTaintManagerHaltsTheFailoverUntilAResumeWithoutOne(t *testing.T) {
	for name, told := range map[string]bool{"told by the controller": true, "found by the list": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Pace.EvictionRate = 0.01
			theirs := s.bind("z", []string{"m1"}, "m1", "m2")
			s.bindAll([]string{"b", "c", "d", "e", "f"}, "m1", "m2")
			s.outage(20 * time.Minute)
			var before int
			s.at(4*time.Minute, func() {
				s.evictedByKarmada(theirs, karmada.TaintManager)
				before = len(s.world.Log("evict"))
				if told {
					s.bindingsChanged(proof.BindingFact{Key: theirs, SecondEvictor: true})
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
				require.Equal(t, []reason.Reason{reason.SecondEvictor}, st.Attention)
				before = len(s.world.Log("evict"))
			})
			s.at(7*time.Minute, func() { s.order(workflows.UpdateResume, "too early") })
			s.at(10*time.Minute, func() {
				require.NotNil(t, s.status().Paused, "the task still stands: halted again")
				require.Len(t, s.world.Log("evict"), before, "nothing is dispatched in between")
				s.theirsEnd(theirs)
			})
			s.at(11*time.Minute, func() { s.order(workflows.UpdateResume, "the flags are set") })
			s.at(15*time.Minute, func() {
				require.Nil(t, s.status().Paused)
				require.Empty(t, s.status().Attention)
				require.Greater(t, len(s.world.Log("evict")), before, "it goes on")
			})
			s.play()
		})
	}
}

// A binding that Karmada evicts, too, and that runs nowhere else gets a Lifeboat hold task beside
// that of Karmada: the end of that one would be the end of its last copy. It goes on as any hold
// that is taken over. Where a copy elsewhere is proven, where Directly has ended the old one, and
// where the binding is opted out, nothing is held.
//
// Rules: R4.15-31.
func TestTheLastCopyIsHeldBesideTheTaskOfTheTaintManager(t *testing.T) {
	for name, told := range map[string]bool{"told by the controller": true, "found by the list": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Pace.EvictionRate = 0.01
			last, served, direct, optedOut := s.bind("z", []string{"m1"}, "m1"), s.bind("y", []string{"m1", "m2"}, "m1", "m2", "m3"),
				s.bind("x", []string{"m1"}, "m1"), s.bind("w", []string{"m1"}, "m1")
			never := s.bind("v", []string{"m1"}, "m1")
			s.world.Edit(never, func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationPurgeMode: "Never"} })
			s.world.Edit(optedOut, func(b *karmada.Binding) { b.Annotations = map[string]string{karmada.AnnotationEnabled: "false"} })
			s.outage(9 * time.Minute)
			s.at(4*time.Minute, func() {
				for _, key := range []karmada.BindingKey{last, never, served, direct, optedOut} {
					s.evictedByKarmada(key, karmada.TaintManager)
				}
				s.world.Edit(direct, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = karmada.PurgeDirectly })
				if told {
					s.bindingsChanged(proof.BindingFact{Key: last, SecondEvictor: true})
				}
			})
			s.at(6*time.Minute, func() {
				b, _ := s.world.Binding(t.Context(), last)
				require.Len(t, b.Tasks, 2)
				require.Equal(t, karmada.TaintManager, b.Tasks[0].Producer, "theirs stays as it was")
				require.True(t, b.Tasks[1].IsLifeboat())
				require.Equal(t, s.migration(last), b.Tasks[1].Message)
				require.NotNil(t, s.status().Paused)
				for _, key := range []karmada.BindingKey{served, direct, optedOut} {
					b, _ := s.world.Binding(t.Context(), key)
					require.Len(t, b.Tasks, 1, key.String())
				}
				require.Len(t, s.world.Log("hold"), 2)
				kept, _ := s.world.Binding(t.Context(), never)
				require.Equal(t, karmada.PurgeNever, kept.Tasks[1].PurgeMode, "as its annotation says")
			})
			s.at(7*time.Minute, func() { s.theirsEnd(last, never) })
			s.at(9*time.Minute-time.Second, func() {
				b, _ := s.world.Binding(t.Context(), last)
				require.Len(t, b.Tasks, 1, "Lifeboat's holds on")
			})
			s.at(12*time.Minute, func() {
				b, _ := s.world.Binding(t.Context(), last)
				require.Empty(t, b.Tasks)
				require.Equal(t, "m1", b.Clusters[0].Name, "put back at recovery")
			})
			s.play()
		})
	}
}

// No more migrations hold last copies at once than may wait; the others are held when there is room.
//
// Rules: R4.15-31.
func TestLastCopiesAreHeldAsManyAtOnceAsMayWait(t *testing.T) {
	s := newStory(t)
	s.settings.Terms.Waiting = 2
	s.settings.Pace.EvictionRate = 0.001
	var keys []karmada.BindingKey
	for _, name := range []string{"a", "b", "c", "d"} {
		keys = append(keys, s.bind(name, []string{"m1"}, "m1"))
	}
	s.outage(12 * time.Minute)
	s.at(4*time.Minute, func() {
		for _, key := range keys {
			s.evictedByKarmada(key, karmada.TaintManager)
		}
	})
	s.at(6*time.Minute, func() {
		require.Len(t, s.world.Log("hold"), 2)
		for _, w := range s.world.Log("hold") { // an operator ends them
			key, _ := karmada.ParseBindingKey(w.Binding)
			s.world.Edit(key, func(b *karmada.Binding) { b.Tasks = nil })
		}
	})
	s.at(12*time.Minute-time.Second, func() {
		require.Len(t, s.world.Log("hold"), 4)
		s.theirsEnd(keys...) // until then Karmada's scheduler takes no such cluster
	})
	s.play()
}

// A write to the cluster that was refused needs attention until one stands.
//
// Rules: R4.15-33.
func TestAttention_RefusedTaintWrite_EndsWhenOneStands(t *testing.T) {
	s, _ := outage(t, 8*time.Minute)
	s.fails("taint", karmada.ErrInvalid)
	s.at(3*time.Minute, func() {
		require.Equal(t, []reason.Reason{reason.Invalid}, s.status().Attention)
		s.world.Fail = nil
	})
	s.at(8*time.Minute-time.Second, func() {
		require.Empty(t, s.status().Attention)
		require.Equal(t, phase.FailoverEvacuated, s.status().Phase)
	})
	s.play()
}

// Causes stand side by side: the end of one shows the other.
//
// Rules: R4.15-33.
func TestAttention_TwoCauses_StandSideBySide(t *testing.T) {
	s, _ := outage(t, 6*time.Minute)
	s.settings.Terms.Waiting = 1
	s.world.HealthyAfter = time.Hour
	theirs := s.bind("theirs", []string{"m1", "m3"}, "m1", "m3")
	s.bind("waits", []string{"m1"}, "m1", "m2")
	s.at(4*time.Minute, func() {
		require.Equal(t, []reason.Reason{reason.WaitingFull}, s.status().Attention)
		s.evictedByKarmada(theirs, karmada.TaintManager)
	})
	s.at(6*time.Minute-time.Second, func() {
		require.Equal(t, []reason.Reason{reason.SecondEvictor, reason.WaitingFull}, s.status().Attention)
	})
	s.at(6*time.Minute+wellFor+10*time.Second, func() {
		require.NotContains(t, s.status().Attention, reason.WaitingFull, "it dispatches nothing any more")
	})
	s.at(40*time.Minute, func() { s.world.HealthyAfter = 0 })
	s.play()
}

// A failover that is halted from the start puts no taint that moves bindings: Karmada would evict on
// it. A task of another producer blocks its own binding alone, and an observed failover has nothing
// to halt.
//
// Rules: R4.15-28.
func TestSecondEvictor_BeforeTheFailure_HaltsWhatEnforces(t *testing.T) {
	const another = "resource-binding-application-failover-controller"
	for _, tc := range []struct {
		name           string
		producer       string
		mode           rules.Mode
		halted         bool
		taints, evicts int
	}{
		{name: "taint manager", producer: karmada.TaintManager, mode: rules.ModeEnforce, halted: true},
		{name: "another producer", producer: another, mode: rules.ModeEnforce, taints: 2, evicts: 1},
		{name: "observe", producer: karmada.TaintManager, mode: rules.ModeObserve},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(t)
			s.settings.Terms.Mode = tc.mode
			s.bindAll([]string{"a", "b"}, "m1", "m2")
			s.evictedByKarmada(karmada.BindingKey{Namespace: "shop", Name: "a"}, tc.producer)
			s.outage(6 * time.Minute)
			s.at(5*time.Minute, func() { require.Equal(t, tc.halted, s.status().Paused != nil) })
			s.play()
			require.Len(t, s.world.Log("taint"), tc.taints)
			require.Len(t, s.world.Log("evict"), tc.evicts)
		})
	}
}
