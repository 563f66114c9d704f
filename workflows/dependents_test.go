package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

var configKey = karmada.BindingKey{Namespace: "shop", Name: "config-configmap"}

// parents makes bindings that need one ConfigMap, and its binding.
func (s *story) parents(names ...string) {
	var keys []karmada.BindingKey
	for _, name := range names {
		keys = append(keys, s.bind(name, []string{"m1"}, "m1", "m2"))
	}
	s.needConfig(keys...)
}

// needConfig has bindings need one ConfigMap.
func (s *story) needConfig(keys ...karmada.BindingKey) {
	for _, key := range keys {
		s.world.Change(key, func(b *karmada.Binding) {
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

// heldFor has a task for m1 of a reason stand on a binding, with a message.
func (s *story) heldFor(key karmada.BindingKey, reason, message string) {
	s.world.Change(key, func(b *karmada.Binding) {
		b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: karmada.Producer, Reason: reason, Message: message}}
	})
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
	s.outage(5 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"a": "Migrated", "b": "Migrated", "c": "Migrated"}, outcomes(s.play()))
	require.NotZero(t, *looks)
	require.Equal(t, 3, most, "each parent is a holder")
	require.Empty(t, s.holdersOf(configKey))
	require.True(t, s.world.HasWork(configKey, "m2"))
	require.Equal(t, 3, s.pacer.used, "dependents cost no permit")
	first := s.world.Log("holders")[0]
	require.False(t, first.At.After(s.world.Log("evict")[0].At))
}

// Rules: R4.10-3, R4.10-5.
func TestAfterARestoreADependentIsHeldUntilItIsWantedThereAgain(t *testing.T) {
	s := newStory(t)
	s.world.DistributeAfter = 7 * time.Second
	unplaceable(s)
	s.parents("app")
	looks := s.neverBare("app")
	s.outage(3 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Restored"}, outcomes(s.play()))
	require.NotZero(t, *looks)
	holders, restores := s.world.Log("holders"), s.world.Log("restore")
	require.Len(t, restores, 1)
	require.Len(t, holders, 2)
	require.GreaterOrEqual(t, holders[1].At.Sub(restores[0].At), s.world.DistributeAfter)
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
	s.at(time.Second, func() { s.heldFor(configKey, karmada.TaskReasonDependent, message) })
	seen := map[reason.Reason]bool{}
	for at := addAfter; at < 3*time.Minute; at += time.Second {
		s.at(at, func() {
			for _, i := range s.status().Items {
				seen[i.Reason] = true
			}
		})
	}
	s.outage(3 * time.Minute)
	s.run()
	require.Equal(t, map[string]phase.Outcome{"frontend": "Abandoned"}, outcomes(s.report))
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
	s.fails("evict", karmada.ErrForbidden)
	s.outage(3 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Abandoned"}, outcomes(s.play()))
	require.NotEmpty(t, s.world.Log("holders"))
}

// Rules: R4.10-9.
func TestADeadHolderIsTakenOutAndNothingIsRestored(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	s.world.Change(configKey, func(b *karmada.Binding) { b.RequiredBy = nil })
	s.heldFor(configKey, karmada.TaskReasonDependent, s.migration(karmada.BindingKey{Namespace: "shop", Name: "gone"}))
	s.outage(10 * time.Second)
	s.playTo(phase.FailoverFalseAlarm)
	require.Empty(t, s.holdersOf(configKey))
	require.Empty(t, s.world.Log("restore"))
}

// A dependent that moves itself goes by its own policy, not by the mode of the task
// that its parents left standing.
//
// Rules: R4.8-11, R4.10-6.
func TestADependentThatMovesItselfTakesTheHoldOverWithItsOwnMode(t *testing.T) {
	s, key := outage(t, 5*time.Minute)
	parent := s.migration(karmada.BindingKey{Namespace: "shop", Name: "parent"})
	s.world.SetRunning(parent, true)
	s.purging(key, karmada.PurgeNever)
	s.at(time.Second, func() {
		s.held(key, func(x *karmada.Task) {
			x.Reason, x.Message, x.ClustersBeforeFailover = karmada.TaskReasonDependent, parent, nil
		})
	})
	require.Equal(t, phase.OutcomeKept, s.playApp().Outcome)
	require.Empty(t, s.world.Log("release"), "nothing is released")
}

// A migration that left its binding to an operator, and then did not get to say so of what
// that needs: the next failover does.
//
// Rules: R4.10-9.
func TestWhatAnOperatorsBindingNeedsIsLeftToHimToo(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	parent := karmada.BindingKey{Namespace: "shop", Name: "app"}
	s.heldFor(parent, karmada.TaskReasonNeedsOperator, s.migration(parent))
	s.heldFor(configKey, karmada.TaskReasonDependent, s.migration(parent))
	s.returns(parent, "m2")
	looks := s.neverBare("app")
	s.outage(10 * time.Second)
	s.playTo(phase.FailoverFalseAlarm)
	require.NotZero(t, *looks)
	task := s.task(configKey)
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
		s.at(2*time.Second, func() {
			app := karmada.BindingKey{Namespace: "shop", Name: "app"}
			s.world.Change(app, func(b *karmada.Binding) { b.Annotations[karmada.AnnotationEnabled] = "false" }) // nothing of it moves any more
			message, _ := karmada.HoldersMessage([]string{s.migration(app)})
			s.heldFor(configKey, karmada.TaskReasonDependent, message)
		})
		return karmada.ErrUnreachable
	}
	s.outage(3 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Skipped"}, outcomes(s.play()))
	require.True(t, late)
	require.Empty(t, s.world.Log("evict"))
}

// pacerStatus asks the pacer how it stands.
func (s *story) pacerStatus() workflows.PacerStatus {
	s.t.Helper()
	var status workflows.PacerStatus
	value, err := s.env.QueryWorkflowByID(workflows.FleetPacerID(""), workflows.QueryStatus)
	require.NoError(s.t, err)
	require.NoError(s.t, value.Get(&status))
	return status
}

// Holding many dependents takes longer than a permit lasts: none is out meanwhile.
//
// Rules: R4.10-1, R4.10-8.
func TestNoPermitIsOutWhileDependentsAreHeld(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	s.slow = map[string]time.Duration{activities.NameHoldDependents: 30 * time.Second}
	s.outage(4 * time.Minute)
	s.at(addAfter+20*time.Second, func() {
		status := s.pacerStatus()
		require.Zero(t, status.Granted)
		require.Empty(t, status.Schedule.Out)
		require.Equal(t, phase.MigrationChecking, s.status().Migrations["shop/app"].Phase)
	})
	s.at(4*time.Minute-time.Second, func() {
		require.EqualValues(t, 1, s.pacerStatus().Granted)
		require.Len(t, s.used, 1)
	})
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Equal(t, 1, s.pacer.used)
}

// A migration whose permit passes waits for another one, and what it holds stays held.
//
// Rules: R4.5-11, R4.5-15.
func TestAMigrationWhosePermitPassesGetsAnother(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	s.refusal = reason.PermitPassed
	s.outage(4 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Contains(t, s.published, string(phase.MigrationQueued))
	require.Len(t, s.world.Log("evict"), 1)
	require.Len(t, s.world.Log("holders"), 2, "entered once, taken out once")
	require.EqualValues(t, 2, s.pacerStatus().Granted)
	require.Equal(t, 1, s.pacer.used)
}

// heldAhead is a story of two parents of which one waits for its permit, its dependents
// held, until after the story's end. Which of them does is known from minute three on.
func heldAhead(t *testing.T) (s *story, waits *karmada.BindingKey) {
	s, waits = newStory(t), &karmada.BindingKey{Namespace: "shop"}
	s.settings.Pace.EvictionRate = 0.001
	s.parents("a", "b")
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		waits.Name = "a"
		if s.status().Migrations["shop/b"].WantsPermit {
			waits.Name = "b"
		}
		require.True(t, s.status().Migrations[waits.String()].WantsPermit)
		require.Equal(t, reason.AwaitingPermit, s.status().Migrations[waits.String()].Reason)
		require.Contains(t, s.holdersOf(configKey), s.migration(*waits))
	})
	return s, waits
}

// A parent whose dependents are held waits for its permit: it is queued, wherever one looks.
//
// Rules: R4.7-60.
func TestParent_WaitsForItsPermit_ShowsAsQueued(t *testing.T) {
	s, waits := heldAhead(t)
	s.at(4*time.Minute, func() {
		st := s.status()
		require.Equal(t, phase.MigrationQueued, st.Migrations[waits.String()].Phase)
		require.Contains(t, s.published, string(phase.MigrationQueued))
		require.Contains(t, s.pageOf(s.migration(*waits)), "is queued: it waits for its permit")
		require.Contains(t, s.pageOf(s.migration(*waits)), "Checking ✔ → **Queued** → Evicting")
		counts := st.View(s.env.Now()).Counts
		require.Equal(t, 1, counts.Waiting)
		require.Zero(t, counts.Moving)
	})
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	require.Equal(t, phase.OutcomeAbandoned, outcomes(s.play())[waits.Name])
}

// Whatever comes while a parent waits for its permit, it lets go of its dependents.
//
// Rules: R4.7-39, R4.9-10, R4.9-32, R4.10-3.
func TestAParentThatWaitsForItsPermitLetsGoAtEveryEnd(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*story, karmada.BindingKey)
		want    phase.Outcome
		ended   phase.Failover
	}{
		"recovery": {happens: func(s *story, _ karmada.BindingKey) { s.world.SetReady("m1", true) }, want: phase.OutcomeAbandoned, ended: phase.FailoverRecovered},
		"cancelled": {
			happens: func(s *story, key karmada.BindingKey) { s.must(workflows.UpdateCancel, key, false) },
			want:    phase.OutcomeAbandoned, ended: phase.FailoverRecovered,
		},
		"binding deleted": {happens: func(s *story, key karmada.BindingKey) { s.world.DeleteBinding(key) }, want: phase.OutcomeGone, ended: phase.FailoverRecovered},
		"cluster deleted": {happens: func(s *story, _ karmada.BindingKey) { s.world.DeleteCluster("m1") }, want: phase.OutcomeAbandoned, ended: phase.FailoverGone},
		"paused, recovered": {
			happens: func(s *story, _ karmada.BindingKey) { s.order(workflows.UpdatePause, "wait") },
			want:    phase.OutcomeAbandoned, ended: phase.FailoverRecovered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, waits := heldAhead(t)
			s.at(4*time.Minute, func() { c.happens(s, *waits) })
			s.at(8*time.Minute, func() {
				if c.ended != phase.FailoverGone {
					s.world.SetReady("m1", true)
				}
			})
			r := s.playTo(c.ended)
			require.Equal(t, c.want, outcomes(r)[waits.Name])
			require.Len(t, s.world.Log("evict"), 1)
		})
	}
}

// A drain with a rate of its own lets one move begin at a time. Those that hold their
// dependents and wait have not begun.
//
// Rules: R4.12-6.
func TestADrainsOwnRateCountsNoParentThatWaits(t *testing.T) {
	s := newStory(t)
	s.parents("a", "b", "c")
	s.drains(workflows.DrainOrder{Rate: 0.1}, 8*time.Minute)
	require.Equal(t, map[string]phase.Outcome{"a": "Migrated", "b": "Migrated", "c": "Migrated"}, outcomes(s.play()))
	s.evictedApart(3, 10*time.Second)
}

// A release of what waits for its permit is refused, also where the failover does not know yet how the migration
// stands; a put-back of it is a cancel.
//
// Rules: R4.9-32, R4.9-57.
func TestOrders_OfAParentThatWaitsForItsPermit_DecideNothingOfItsMove(t *testing.T) {
	s, waits := heldAhead(t)
	s.slow = map[string]time.Duration{activities.NameHoldDependents: 30 * time.Second}
	var early, late *answer
	s.at(addAfter+20*time.Second, func() {
		key := karmada.BindingKey{Namespace: "shop", Name: "a"}
		require.Equal(t, phase.MigrationChecking, s.status().Migrations[key.String()].Phase)
		early = s.orderOne(workflows.UpdateRelease, key, false)
	})
	s.at(4*time.Minute, func() {
		require.ErrorContains(t, early.err, "nothing of Lifeboat's stands yet")
		late = s.orderOne(workflows.UpdateRelease, *waits, false)
		require.Nil(t, s.standing(*waits).Intent.Held)
	})
	s.at(5*time.Minute, func() {
		require.ErrorContains(t, late.err, "nothing of Lifeboat's stands yet")
		s.must(workflows.UpdatePutBack, *waits, false)
	})
	s.at(6*time.Minute, func() { require.NotContains(t, s.status().Migrations, waits.String()) })
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, phase.OutcomeAbandoned, outcomes(r)[waits.Name])
	for _, x := range r.Attempts[0].Results {
		require.Equal(t, x.Key == *waits, x.Reason == reason.PutBackOrdered, "%+v", x)
	}
	require.Len(t, s.world.Log("evict"), 1)
	require.Empty(t, s.world.Log("restore"))
}

// A dependent that moves for its own sake is done when its hold is released, though its parents hold its old copy for
// longer, or for good.
//
// Rules: R4.10-6.
func TestMigration_ReleasedWhileAParentHoldsIt_EndsAsMigrated(t *testing.T) {
	s, key := withApp(t)
	s.maintained(8 * time.Minute)
	s.world.OnWrite = func(w world.Write, _, after karmada.Binding) {
		if w.Op == "evict" && after.Key == key {
			s.at(time.Second, func() {
				s.world.Change(key, func(b *karmada.Binding) { b.Tasks[0].Message += " " + s.migration(configKey) })
			})
		}
	}
	s.at(6*time.Minute, func() {
		require.Equal(t, karmada.TaskReasonDependent, s.task(key).Reason)
		require.Empty(t, s.status().Migrations)
		s.world.Change(key, func(b *karmada.Binding) { b.Tasks = nil }) // the parent has moved
	})
	got := s.playApp()
	require.Equal(t, phase.OutcomeMigrated, got.Outcome)
	require.Equal(t, reason.HeldForParents, got.Reason)
	require.Contains(t, got.Message, karmada.TaskReasonDependent)
}
