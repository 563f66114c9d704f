package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The conditions turn bad again while the removal window runs: nothing was abandoned or
// restored, and the same attempt goes on, wherever a move stands. When the window has then
// passed, the recovery table applies.
//
// Rules: R4.9-1, R4.9-2, R4.9-10, R4.9-12, R4.9-14.
func TestBadAgainWhileRecoveringIsTheSameAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*story, karmada.BindingKey)
		want    ending
	}{
		"tolerating": {arrange: func(s *story, key karmada.BindingKey) {
			seconds := int64(1200)
			s.world.Change(key, func(b *karmada.Binding) {
				b.Placement.ClusterTolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
			})
		}, want: abandoned},
		"no fit":              {arrange: noFit, want: restored},
		"placed, not healthy": {arrange: slow, want: migrated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			c.arrange(s, key)
			s.world.SetReady("m1", false)
			var before []string
			s.at(4*time.Minute, func() { before = s.writesOn(key); s.world.SetReady("m1", true) })
			s.at(4*time.Minute+wellFor/2, func() {
				require.Equal(t, phase.FailoverRecovering, s.status().Phase)
				late := s.bind("late", []string{"m1"}, "m1", "m3")
				require.Empty(t, s.writesOn(late))
			})
			s.at(4*time.Minute+wellFor-5*time.Second, func() {
				require.Empty(t, s.writesOn(karmada.BindingKey{Namespace: "shop", Name: "late"}), "nothing new is dispatched")
				s.world.SetReady("m1", false)
			})
			s.at(5*time.Minute, func() {
				status := s.status()
				require.Contains(t, []phase.Failover{phase.FailoverEvacuating, phase.FailoverEvacuated}, status.Phase)
				require.Equal(t, 1, status.Attempt)
				require.NotContains(t, outcomesOf(status.Results), "app")
				require.Equal(t, before, s.writesOn(key), "neither abandoned nor restored")
			})
			s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
			r := s.play()
			require.Len(t, r.Attempts, 1)
			require.Equal(t, want(c.want, "late"), outcomes(r))
			s.standsThere(key, c.want)
		})
	}
}

func outcomesOf(results []record.Result) map[string]phase.Outcome {
	return outcomes(workflows.FailoverReport{Attempts: []workflows.AttemptReport{{Results: results}}})
}

// want are the outcomes of app and of another that has moved.
func want(e ending, other string) map[string]phase.Outcome {
	return map[string]phase.Outcome{"app": e.outcome, other: phase.OutcomeMigrated}
}

// Somebody scales a binding while its old copy is held and nothing else fits. What comes
// back is what the cluster had; the rest is the scheduler's to divide.
//
// Rules: R4.9-21, R4.9-26.
func TestARestoreAfterAChangeOfReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, back int32 // of the binding, and what the restore puts back
	}{"scaled up": {replicas: 6, back: 4}, "scaled down": {replicas: 3, back: 4}, "not scaled": {replicas: 4, back: 4}} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.Change(key, func(b *karmada.Binding) {
				b.Replicas, b.Clusters[0].Replicas = 4, 4
				b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionWeighted}
			})
			s.settings.RoomUnknownOK = true
			noFit(s, key)
			back := int32(-1)
			s.world.OnWrite = func(w world.Write, _, after karmada.Binding) {
				if w.Op == "restore" {
					target, _ := after.Target("m1")
					back = target.Replicas
				}
			}
			s.world.SetReady("m1", false)
			s.at(3*time.Minute, func() {
				if c.replicas != 4 {
					s.world.Edit(key, func(b *karmada.Binding) { b.Replicas = c.replicas })
				}
			})
			s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
			s.play()
			require.Equal(t, phase.OutcomeRestored, s.appResult().Outcome, s.appResult().Message)
			require.Equal(t, c.back, back)
			b := s.world.Peek(key)
			require.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: c.replicas}}, b.Clusters)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// A stopped failover keeps its record until nothing has matched for the whole removal
// window, counted from the last match, and closes then. Meanwhile no rule is applied.
//
// Rules: R4.9-38, R4.9-39, R4.9-41.
func TestAStoppedFailoverWaitsUntilNothingHasMatchedForTheWholeWindow(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	tolerant := s.bind("tolerates", []string{"m1"}, "m1", "m2")
	s.tolerates(tolerant, 3600)
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.order(workflows.UpdateCancel, "it was us") })
	record := func() {
		c := s.world.PeekCluster("m1")
		require.NotNil(t, c.Stopped)
		require.Equal(t, "jane", c.Stopped.Who)
		require.Equal(t, "it was us", c.Stopped.Why)
		require.Equal(t, s.status().FailoverID, c.Stopped.FailoverID)
		require.Empty(t, c.Added, "no rule is applied")
		require.Equal(t, phase.FailoverStopped, s.status().Phase)
	}
	s.at(10*time.Minute, func() { record(); s.world.SetReady("m1", true) })
	const almost = wellFor - 2*time.Second
	s.at(10*time.Minute+almost, func() { record(); s.world.SetReady("m1", false) })
	const last = 20 * time.Minute
	s.at(last, func() { record(); s.world.SetReady("m1", true) })
	s.at(last+almost, record)
	r := s.play()
	require.Equal(t, phase.FailoverCancelled, r.Ended)
	require.Len(t, r.Attempts, 1)
	require.GreaterOrEqual(t, r.Until.Sub(storyBegins), last+wellFor)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated", "tolerates": "Abandoned"}, outcomes(r))
	require.Nil(t, s.world.PeekCluster("m1").Stopped)
	require.Len(t, s.world.Log("evict"), 1)
	require.Empty(t, s.world.Leftovers())
}

// A failover and its migration were terminated. What the next one finds of them it takes
// over, each by where it stands: onwards while the cluster fails, and by the recovery table
// once it is well.
//
// Rules: R4.9-46, R4.9-48, R4.9-53.
func TestWhatATerminatedFailoverLeftIsAdoptedWhereItStands(t *testing.T) {
	for name, c := range map[string]struct {
		fails   bool
		arrange func(*story, karmada.BindingKey)
		want    ending
		writes  []string
	}{
		"well, no fit": {fails: false, arrange: unplacedNow, want: restored, writes: []string{"restore"}},
		"well, placed": {fails: false, arrange: placedNow, want: migrated, writes: []string{"release"}},
		"well, placed, and it would go straight back": {fails: false, arrange: all(placedNow, func(s *story, key karmada.BindingKey) {
			s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
		}), want: ending{outcome: phase.OutcomeRestored, on: "m1 m2"}, writes: []string{"restore"}},
		"well, Directly, placed": {fails: false, arrange: all(placedNow, taskMode(karmada.PurgeDirectly)), want: migrated, writes: []string{"release"}},
		"well, Never":            {fails: false, arrange: all(placedNow, taskMode(karmada.PurgeNever)), want: kept, writes: []string{"mark"}},
		"well, put back by the scheduler": {fails: false, arrange: func(s *story, key karmada.BindingKey) {
			s.holdNow(key, "m1")
		}, want: restored, writes: []string{"restore"}},
		"fails, no fit": {fails: true, arrange: all(unplacedNow, fitsLater), want: migrated, writes: []string{"release"}},
		"fails, placed": {fails: true, arrange: placedNow, want: migrated, writes: []string{"release"}},
		"fails, put back by the scheduler": {fails: true, arrange: func(s *story, key karmada.BindingKey) {
			s.holdNow(key, "m1")
		}, want: migrated, writes: []string{"evict", "release"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			c.arrange(s, key)
			if c.fails {
				s.world.PutTaint("m1", corev1.Taint{Key: maintenance, Effect: corev1.TaintEffectNoExecute})
				s.at(12*time.Minute, s.well)
			}
			r := s.play()
			require.Equal(t, phase.FailoverRecovered, r.Ended)
			require.Equal(t, c.want.outcome, s.appResult().Outcome)
			require.Equal(t, c.writes, s.writesOn(key))
			s.standsThere(key, c.want)
		})
	}
}

// holdNow lets a hold task for m1 stand that a terminated migration wrote, with targets.
func (s *story) holdNow(key karmada.BindingKey, on ...string) {
	hold, replicas := true, int32(2)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Clusters = nil
		for _, name := range on {
			b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: name, Replicas: 2})
			up := b.Status.Aggregated[0]
			up.Cluster = name
			b.Status.Aggregated = append(b.Status.Aggregated, up)
		}
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Replicas: &replicas, Reason: karmada.TaskReason, Producer: karmada.Producer, PurgeMode: karmada.PurgeGracefully,
			Message: s.migration(key), SuppressDeletion: &hold, ClustersBeforeFailover: []string{"m1"},
		}}
		b.Generation++
		b.Status.ObservedGeneration = b.Generation
	})
}

func placedNow(s *story, key karmada.BindingKey) { s.holdNow(key, "m2") }

// unplacedNow: the scheduler has answered that nothing fits.
func unplacedNow(s *story, key karmada.BindingKey) {
	s.world.PutTaint("m2", corev1.Taint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule})
	s.holdNow(key)
	s.world.Change(key, func(b *karmada.Binding) {
		b.Status.Scheduled = &karmada.Condition{
			Type: "Scheduled", Status: corev1.ConditionFalse, Reason: proof.ScheduledNoClusterFit, LastTransition: s.env.Now(),
		}
	})
}

func fitsLater(s *story, key karmada.BindingKey) {
	s.at(5*time.Minute, func() { s.world.DropTaint("m2", "cordon"); s.world.Requeue(key) })
}

func taskMode(mode karmada.PurgeMode) func(*story, karmada.BindingKey) {
	return func(s *story, key karmada.BindingKey) {
		s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].PurgeMode = mode })
	}
}
