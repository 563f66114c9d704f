package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

var configKey = karmada.BindingKey{Namespace: "shop", Name: "config-configmap"}

// parents makes bindings that need one ConfigMap, and its binding.
func (s *story) parents(names ...string) {
	for _, name := range names {
		s.world.Change(s.bind(name, []string{"m1"}, "m1", "m2"), func(b *karmada.Binding) {
			b.PropagateDeps = true
			b.Annotations = map[string]string{
				karmada.AnnotationDependencies: `[{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"config"}]`,
			}
		})
	}
	s.world.AddDependent(karmada.Binding{
		Key: configKey, Resource: karmada.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "config"},
	})
	require.True(s.t, s.world.HasWork(configKey, "m1"))
}

// neverBare looks at every change: wherever the old copy of a parent may run, its
// dependent is there too.
func (s *story) neverBare(names ...string) (looks *int) {
	looks = new(int)
	s.looks = append(s.looks, func() {
		for _, name := range names {
			key := karmada.BindingKey{Namespace: "shop", Name: name}
			if s.world.HasWork(key, "m1") {
				*looks++
				require.True(s.t, s.world.HasWork(configKey, "m1"), "%s is on m1 and what it needs is not", name)
			}
		}
	})
	return looks
}

func (s *story) holdersOf(key karmada.BindingKey) []string {
	b := s.world.Peek(key)
	if task, _ := b.TaskFor("m1"); task != nil {
		return task.Holders()
	}
	return nil
}

// Karmada takes a dependent from the old cluster as soon as its parent leaves
// spec.clusters, although the old pods still run there.
//
// Rules: R4.10-1, R4.10-2, R4.10-3, R4.10-4, R4.10-8.
func TestKarmada7324DependentsMoveAlongAndStayUntilTheOldCopyGoes(t *testing.T) {
	s := newStory(t)
	s.parents("a", "b", "c")
	looks := s.neverBare("a", "b", "c")
	most := 0
	s.looks = append(s.looks, func() { most = max(most, len(s.holdersOf(configKey))) })
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"a": "Migrated", "b": "Migrated", "c": "Migrated"}, outcomes(r))
	require.NotZero(t, *looks)
	require.Equal(t, 3, most, "each parent is a holder")
	require.Empty(t, s.holdersOf(configKey))
	require.True(t, s.world.HasWork(configKey, "m2"))
	require.Equal(t, 3, s.pacer.used, "dependents cost no permit")
	require.Empty(t, s.world.Leftovers())
	first := s.world.Log("holders")[0]
	require.False(t, first.At.After(s.world.Log("evict")[0].At))
}

// Rules: R4.10-3, R4.10-5.
func TestAfterARestoreADependentIsHeldUntilItIsWantedThereAgain(t *testing.T) {
	s := newStory(t)
	s.world.DistributeAfter = 7 * time.Second
	unplaceable(s)
	s.parents("app")
	s.world.DistributeAfter = 7 * time.Second
	looks := s.neverBare("app")
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(r))
	require.NotZero(t, *looks)
	holders, restores := s.world.Log("holders"), s.world.Log("restore")
	require.Len(t, restores, 1)
	require.Len(t, holders, 2)
	require.GreaterOrEqual(t, holders[1].At.Sub(restores[0].At), s.world.DistributeAfter)
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.10-3, R4.10-7.
func TestWhatCannotBeHeldBlocksItsParentAndLeavesNothing(t *testing.T) {
	s := newStory(t)
	s.parents("frontend")
	var crowd []string
	for i := range 32 {
		crowd = append(crowd, fmt.Sprintf("binding-migration/m1/shop/n%03d", i))
		s.world.SetRunning(crowd[i], true)
	}
	message, fits := karmada.HoldersMessage(crowd)
	require.True(t, fits)
	s.at(time.Second, func() {
		s.world.Change(configKey, func(b *karmada.Binding) {
			b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonDependent, Message: message}}
		})
	})
	seen := map[reason.Reason]bool{}
	for at := addAfter; at < 3*time.Minute; at += time.Second {
		s.at(at, func() {
			value, err := s.env.QueryWorkflowByID(workflows.ClusterFailoverID("", "m1"), workflows.QueryStatus)
			require.NoError(t, err)
			var status workflows.FailoverStatus
			require.NoError(t, value.Get(&status))
			for _, i := range status.Items {
				seen[i.Reason] = true
			}
		})
	}
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"frontend": "Abandoned"}, outcomes(r))
	require.True(t, seen[reason.TooManyHolders], "%v", seen)
	require.Empty(t, s.world.Log("evict"))
	require.Equal(t, crowd, s.holdersOf(configKey))
}

// A parent whose own write is refused has taken itself out again.
//
// Rules: R4.10-3.
func TestABlockedParentHoldsNothing(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	s.world.Fail = func(op, _ string) error {
		if op == "evict" {
			return karmada.ErrForbidden
		}
		return nil
	}
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(r))
	require.NotEmpty(t, s.world.Log("holders"))
	require.Empty(t, s.world.Leftovers())
}

// Rules: R4.10-9.
func TestADeadHolderIsTakenOutAndNothingIsRestored(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	s.world.Change(configKey, func(b *karmada.Binding) {
		b.RequiredBy = nil
		b.Tasks = []karmada.Task{{
			FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonDependent,
			Message: workflows.BindingMigrationID("", "m1", karmada.BindingKey{Namespace: "shop", Name: "gone"}),
		}}
	})
	s.world.SetReady("m1", false)
	s.at(10*time.Second, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Empty(t, s.holdersOf(configKey))
	require.Empty(t, s.world.Log("restore"))
	require.Empty(t, s.world.Leftovers())
}

// A dependent that moves itself goes by its own policy, not by the mode of the task
// that its parents left standing.
//
// Rules: R4.8-11, R4.10-6.
func TestADependentThatMovesItselfTakesTheHoldOverWithItsOwnMode(t *testing.T) {
	s := newStory(t)
	parent := workflows.BindingMigrationID("", "m1", karmada.BindingKey{Namespace: "shop", Name: "parent"})
	s.world.SetRunning(parent, true)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.purging(key, karmada.PurgeNever)
	hold := true
	s.at(time.Second, func() {
		s.world.Change(key, func(b *karmada.Binding) {
			b.Tasks = []karmada.Task{{
				FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonDependent, Message: parent,
				PurgeMode: karmada.PurgeGracefully, SuppressDeletion: &hold,
			}}
		})
	})
	s.world.SetReady("m1", false)
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()
	require.Equal(t, phase.OutcomeKept, s.appResult().Outcome)
	require.Empty(t, s.world.Log("release"), "nothing is released")
}

// A migration that left its binding to a human, and then did not get to say so of what
// that needs: the next failover does.
//
// Rules: R4.10-9.
func TestWhatAHumansBindingNeedsIsLeftToHimToo(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	parent := karmada.BindingKey{Namespace: "shop", Name: "app"}
	owner := workflows.BindingMigrationID("", "m1", parent)
	for key, reason := range map[karmada.BindingKey]string{parent: karmada.TaskReasonNeedsOperator, configKey: karmada.TaskReasonDependent} {
		s.world.Change(key, func(b *karmada.Binding) {
			b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: reason, Message: owner}}
		})
	}
	s.world.Change(parent, func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}} })
	looks := s.neverBare("app")
	s.world.SetReady("m1", false)
	s.at(10*time.Second, func() { s.world.SetReady("m1", true) })
	s.play()
	require.NotZero(t, *looks)
	b := s.world.Peek(configKey)
	task, _ := b.TaskFor("m1")
	require.NotNil(t, task)
	require.Equal(t, karmada.TaskReasonNeedsOperator, task.Reason)
}

// A hold of which no answer came may land later: it is taken back after that.
//
// Rules: R4.10-3.
func TestALateHoldOfADependentIsTakenBackToo(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	late := false
	s.world.Fail = func(op, _ string) error {
		if op != "holders" || late {
			return nil
		}
		late = true
		s.env.RegisterDelayedCallback(func() {
			s.world.Change(karmada.BindingKey{Namespace: "shop", Name: "app"}, func(b *karmada.Binding) {
				b.Annotations[karmada.AnnotationEnabled] = "false" // nothing of it moves any more
			})
			s.world.Change(configKey, func(b *karmada.Binding) {
				message, _ := karmada.HoldersMessage([]string{workflows.BindingMigrationID("", "m1", karmada.BindingKey{Namespace: "shop", Name: "app"})})
				b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: karmada.TaskReasonDependent, Message: message}}
			})
		}, 2*time.Second)
		return karmada.ErrUnreachable
	}
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Skipped"}, outcomes(r))
	require.True(t, late)
	require.Empty(t, s.world.Log("evict"))
	require.Empty(t, s.world.Leftovers())
}
