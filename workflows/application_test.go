package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// hostApplication starts the pacer and the failover of an application, as the controller does, and waits for its end. The
// failover of m1 may begin meanwhile, and is waited for as well.
func hostApplication(ctx workflow.Context, p *workflows.ApplicationFailoverParams, takesOver *time.Duration) (r workflows.ApplicationReport, err error) {
	pacer := begin(ctx, workflows.FleetPacerID(""), workflows.TypeFleetPacer, workflows.FleetPacerParams{})
	if err := pacer.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return r, err
	}
	if p.State != nil && p.State.Move != nil {
		if err := begin(ctx, workflows.BindingMigrationID("", p.State.Cluster, p.Binding), "ended", nil).Get(ctx, nil); err != nil {
			return r, err
		}
	}
	id := workflows.ApplicationFailoverID("", p.Binding)
	application := begin(ctx, id, workflows.TypeApplicationFailover, *p)
	if *takesOver > 0 {
		_ = workflow.Sleep(ctx, *takesOver)
		if err := failover(ctx, "m1").Get(ctx, nil); err != nil {
			return r, err
		}
	}
	err = application.Get(ctx, &r)
	return r, err
}

const tolerated = 2 * time.Minute

// unhealthy is a story of an application on m1 that tolerates two minutes, and is Unhealthy from the beginning on.
func unhealthy(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := withApp(t)
	s.application, s.params.Binding = true, key
	s.host, s.args = hostApplication, []any{&s.params, &s.takesOver}
	s.world.Change(key, func(b *karmada.Binding) {
		b.Application = &karmada.ApplicationFailover{TolerationSeconds: int64(tolerated.Seconds())}
	})
	s.health(key, "m1", karmada.HealthUnhealthy)
	return s, key
}

// health turns the health of a copy.
func (s *story) health(key karmada.BindingKey, cluster string, health karmada.Health) {
	s.world.Change(key, func(b *karmada.Binding) {
		at := slices.IndexFunc(b.Status.Aggregated, func(i karmada.AggregatedItem) bool { return i.Cluster == cluster })
		if at < 0 {
			at = len(b.Status.Aggregated)
			b.Status.Aggregated = append(b.Status.Aggregated, karmada.AggregatedItem{Cluster: cluster, Applied: true})
		}
		b.Status.Aggregated[at].Health = health
	})
}

// orderApp gives an order to the failover of the application that must be accepted.
func (s *story) orderApp(key karmada.BindingKey, update string, o any) {
	s.accept(s.update(workflows.ApplicationFailoverID("", key), update, update, o))
}

// applicationStatus queries the failover of an application.
func (s *story) applicationStatus(key karmada.BindingKey) (status workflows.ApplicationStatus) {
	s.t.Helper()
	value, err := s.env.QueryWorkflowByID(workflows.ApplicationFailoverID("", key), workflows.QueryStatus)
	require.NoError(s.t, err)
	require.NoError(s.t, value.Get(&status))
	return status
}

// movedOnce: it was evicted once, and not before a moment of the story.
func (s *story) movedOnce(after time.Duration) {
	s.t.Helper()
	evicted := s.world.Log("evict")
	require.Len(s.t, evicted, 1)
	require.False(s.t, evicted[0].At.Before(storyBegins.Add(after)))
}

// applicationEnds plays the story to an end of the application's failover.
func (s *story) applicationEnds(end phase.Application) {
	s.t.Helper()
	s.run()
	require.Equal(s.t, end, s.ended.Ended)
}

// Rules: R4.13-1, R4.13-2, R4.13-6.
func TestApplicationFailover_UnhealthyForItsToleration_MovesAndHoldsTheOldCopyUntilTheNewOneIsProven(t *testing.T) {
	s, key := unhealthy(t)
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
	require.GreaterOrEqual(t, s.sinceEviction(), s.settings.Terms.Detection, "its old cluster answers")
	require.Equal(t, []karmada.TargetCluster{{Name: "m2", Replicas: 2}}, s.world.Peek(key).Clusters)
	require.False(t, s.world.HasWork(key, "m1"))
	require.Empty(t, s.world.Log("taint"), "nothing is wrong with its cluster")
	require.Equal(t, phase.OutcomeMigrated, s.ended.Last.Outcome)
	require.Equal(t, "application", s.ended.Last.Cause)
	require.Len(t, s.ended.Arrivals, 1)
	require.Equal(t, "m2", s.ended.Arrivals[0].Cluster)
}

// Rules: R4.13-6, R4.8-1, R4.8-11, R4.8-13.
func TestApplicationFailover_PurgeModeOfTheBinding_SaysHowTheOldCopyGoes(t *testing.T) {
	for mode, outcome := range map[karmada.PurgeMode]phase.Outcome{
		karmada.PurgeGracefully: phase.OutcomeMigrated, karmada.PurgeDirectly: phase.OutcomeMigrated, karmada.PurgeNever: phase.OutcomeKept,
	} {
		byMode := func(t *testing.T, annotated bool) {
			s, key := unhealthy(t)
			s.world.Change(key, func(b *karmada.Binding) {
				if b.Application.PurgeMode = mode; annotated {
					b.Application.PurgeMode, b.Annotations = karmada.PurgeGracefully, map[string]string{karmada.AnnotationPurgeMode: string(mode)}
				}
			})
			both := false
			s.looks = append(s.looks, func() { both = both || s.world.HasWork(key, "m1") && s.world.HasWork(key, "m2") })
			s.applicationEnds(phase.ApplicationMigrated)
			require.Equal(t, outcome, s.ended.Last.Outcome)
			require.Len(t, s.world.Log("evict"), 1)
			require.Equal(t, mode != karmada.PurgeDirectly, both, "both copies stand at some time")
			require.Equal(t, mode == karmada.PurgeNever, s.world.HasWork(key, "m1"), "the old copy stays")
			require.True(t, s.world.HasWork(key, "m2"))
		}
		t.Run(string(mode), func(t *testing.T) { byMode(t, false) })
		t.Run(string(mode)+" by its annotation", func(t *testing.T) { byMode(t, true) })
	}
}

// Rules: R4.13-2.
func TestApplicationFailover_HealthyInTime_MovesNothing(t *testing.T) {
	s, key := unhealthy(t)
	s.at(tolerated-10*time.Second, func() { s.health(key, "m1", karmada.HealthHealthy) })
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.13-2, R4.13-3, R4.13-4.
func TestApplicationFailover_TimeThatDoesNotCount_MovesItLater(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile, back func(*story, karmada.BindingKey)
		later           time.Duration
	}{
		"its health is not known": {
			meanwhile: func(s *story, key karmada.BindingKey) { s.health(key, "m1", karmada.HealthUnknown) },
			back:      func(s *story, key karmada.BindingKey) { s.health(key, "m1", karmada.HealthUnhealthy) },
			later:     5 * time.Minute,
		},
		"its cluster is not ready": {
			meanwhile: func(s *story, key karmada.BindingKey) {
				s.world.SetReady("m1", false)
				s.world.Change(key, func(*karmada.Binding) {})
			},
			back: func(s *story, key karmada.BindingKey) {
				s.world.SetReady("m1", true)
				s.health(key, "m1", karmada.HealthUnhealthy)
			},
			later: 5 * time.Minute,
		},
		"another revision": {
			meanwhile: func(s *story, key karmada.BindingKey) {
				s.world.SetRevision(key, "second")
				s.world.Change(key, func(b *karmada.Binding) { b.Generation++ })
			},
			back:  func(*story, karmada.BindingKey) {},
			later: time.Minute,
		},
		"it is scaled": {
			meanwhile: func(s *story, key karmada.BindingKey) {
				s.world.Change(key, func(b *karmada.Binding) { b.Generation++ })
			},
			back: func(*story, karmada.BindingKey) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			s.at(time.Minute, func() { c.meanwhile(s, key) })
			s.at(6*time.Minute, func() { c.back(s, key) })
			s.applicationEnds(phase.ApplicationMigrated)
			evicted := s.world.Log("evict")
			require.Len(t, evicted, 1)
			require.WithinDuration(t, storyBegins.Add(tolerated+c.later), evicted[0].At, 20*time.Second)
		})
	}
}

// Rules: R4.13-7.
func TestApplicationFailover_SameRevisionUnhealthyOnItsNewCluster_KeepsBothCopies(t *testing.T) {
	s, key := unhealthy(t)
	s.world.HealthyAfter = time.Hour
	s.at(4*time.Minute, func() { s.health(key, "m2", karmada.HealthUnhealthy) })
	s.at(20*time.Minute, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationNeedsOperator, stands.Phase, stands.Message)
		require.Equal(t, reason.SameRevision, stands.Attention)
		require.True(t, s.world.HasWork(key, "m1") && s.world.HasWork(key, "m2"))
		s.orderApp(key, workflows.UpdateRelease, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: jane}})
	})
	s.at(30*time.Minute, func() { s.health(key, "m2", karmada.HealthHealthy) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Len(t, s.world.Log("evict"), 1)
}

// Nothing else tells an operator of a migration that no cluster's failover has.
//
// Rules: R4.13-6.
func TestApplicationFailover_ItsMigrationNeedsAttention_SoDoesTheFailover(t *testing.T) {
	s, key := unhealthy(t)
	s.world.HealthyAfter = time.Hour
	s.at(4*time.Minute, func() { s.health(key, "m2", karmada.HealthUnknown) })
	s.at(30*time.Minute, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationMoving, stands.Phase)
		require.Equal(t, reason.GracefulTimeout, stands.Attention)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, reason.None, s.applicationStatus(key).Attention)
}

// Rules: R4.13-5.
func TestApplicationFailover_BindingThatCannotMove_IsBlockedAndGetsNoPermit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*karmada.Binding)
		reason reason.Reason
	}{
		"a negative toleration": {change: func(b *karmada.Binding) { b.Application.TolerationSeconds = -1 }, reason: reason.Malformed},
		"no such purge mode":    {change: func(b *karmada.Binding) { b.Application.PurgeMode = "Softly" }, reason: reason.Malformed},
		"no other candidate":    {change: func(b *karmada.Binding) { b.Placement.ClusterAffinity.ClusterNames = []string{"m1"} }, reason: reason.Pinned},
		"a malformed binding":   {change: func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" }, reason: reason.Malformed},
		"a second evictor":      {change: func(b *karmada.Binding) { b.Tasks = []karmada.Task{{FromCluster: "m1", Producer: "other"}} }, reason: reason.ForeignTask},
		"no replicas":           {change: func(b *karmada.Binding) { b.Replicas, b.HasRequirements = 0, true }, reason: reason.NoReplicas},
		"state, and no status": {change: func(b *karmada.Binding) {
			b.Application.PurgeMode = karmada.PurgeDirectly // Karmada hands state on in no other
			b.Application.StateRules = []karmada.StateRule{{Label: "job", Path: "{.jobID}"}}
		}, reason: reason.StateNotCollected},
		"suspended dispatching": {change: func(b *karmada.Binding) { b.DispatchingSuspended = true }, reason: reason.DispatchingSuspended},
		"suspended scheduling":  {change: func(b *karmada.Binding) { b.SchedulingSuspended = true }, reason: reason.SchedulingSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			s.world.Change(key, c.change)
			s.at(10*time.Minute, func() {
				stands := s.applicationStatus(key)
				require.Equal(t, phase.ApplicationBlocked, stands.Phase)
				require.Equal(t, c.reason, stands.Reason, stands.Message)
				require.Zero(t, stands.Newest, "no permit was granted")
				s.world.Change(key, func(b *karmada.Binding) { b.Application, b.Malformed = nil, "" })
			})
			s.applicationEnds(phase.ApplicationGone)
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// Rules: R4.13-1, R4.13-5.
func TestApplicationFailover_NegativeTolerationThatIsHealthyAgain_Ends(t *testing.T) {
	s, key := unhealthy(t)
	s.world.Change(key, func(b *karmada.Binding) { b.Application.TolerationSeconds = -1 })
	s.at(10*time.Minute, func() {
		require.Equal(t, reason.Malformed, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.13-9.
func TestApplicationFailover_Orders(t *testing.T) {
	s, key := unhealthy(t)
	mine := by(queue.ScopeOf(key))
	s.at(time.Minute, func() { s.orderApp(key, workflows.UpdateSnooze, snooze(mine.Scope, "5m")) })
	s.at(3*time.Minute, func() {
		require.Equal(t, reason.Snoozed, s.applicationStatus(key).Reason)
		s.orderApp(key, workflows.UpdatePause, mine)
	})
	s.at(10*time.Minute, func() {
		require.Equal(t, reason.Paused, s.applicationStatus(key).Reason)
		s.orderApp(key, workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: mine.Order}, Binding: key})
	})
	s.at(15*time.Minute, func() {
		require.Equal(t, phase.ApplicationStopped, s.applicationStatus(key).Phase)
		require.Empty(t, s.world.Log("evict"))
		s.orderApp(key, workflows.UpdateResume, workflows.Resume{ScopedOrder: mine})
	})
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(15 * time.Minute)
}

// A put-back that the migration refuses has that for its answer.
//
// Rules: R4.9-57, R4.13-9.
func TestApplicationFailover_PutBackThatIsRefused_IsAnsweredSo(t *testing.T) {
	s, key := unhealthy(t)
	s.world.HealthyAfter = 5 * time.Minute
	var asked *answer
	s.at(tolerated+2*time.Minute, func() {
		s.world.SetReady("m1", false)
		order := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: jane}}
		asked = s.update(workflows.ApplicationFailoverID("", key), workflows.UpdatePutBack, "back", order)
	})
	s.at(tolerated+3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.ErrorContains(t, asked.err, "not Ready")
}

// Where an operator places it by hand after a cancel, the cancel holds until the new copy is Healthy.
//
// Rules: R4.13-9.
func TestApplicationFailover_CancelledAndPlacedByHand_HoldsUntilItIsHealthy(t *testing.T) {
	s, key := unhealthy(t)
	open := false
	s.at(time.Minute, func() {
		s.orderApp(key, workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: jane}, Binding: key})
	})
	s.at(90*time.Second, func() {
		s.world.Change(key, func(b *karmada.Binding) { b.Clusters = []karmada.TargetCluster{{Name: "m3", Replicas: 2}} })
		s.health(key, "m3", karmada.HealthUnknown)
	})
	s.at(20*time.Minute, func() {
		open = true
		require.Equal(t, phase.ApplicationStopped, s.applicationStatus(key).Phase, "nothing is known of the new copy")
		s.health(key, "m3", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationCancelled)
	require.True(t, open)
	require.Empty(t, s.world.Log("evict"))
}

// A migration holds the dependents before it needs a permit. An order that comes meanwhile counts.
//
// Rules: R4.13-9, R4.10-1.
func TestApplicationFailover_IsHeldBackWhileItsMigrationWaitsForAPermit_MovesAfterwards(t *testing.T) {
	mine := by(queue.ScopeOf(karmada.BindingKey{Namespace: "shop", Name: "app"}))
	for verb, order := range map[string]any{workflows.UpdatePause: mine, workflows.UpdateSnooze: snooze(mine.Scope, "10m")} {
		t.Run(verb, func(t *testing.T) {
			s, key := unhealthy(t)
			s.needConfig(key)
			s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
			s.at(4*time.Minute, func() { require.True(t, s.applicationStatus(key).Move.WantsPermit) })
			s.at(5*time.Minute, func() { s.orderApp(key, verb, order) })
			s.at(6*time.Minute, func() { s.fleetOrder(workflows.UpdateResume) })
			if verb == workflows.UpdatePause {
				s.at(15*time.Minute, func() { s.orderApp(key, workflows.UpdateResume, workflows.Resume{ScopedOrder: mine}) })
			}
			s.applicationEnds(phase.ApplicationMigrated)
			s.movedOnce(15 * time.Minute)
		})
	}
}

// Its clock goes on while its migration waits for a permit: Healthy calls the move off, whatever keeps that from its permit, and
// lets go of the dependents.
//
// Rules: R4.13-1, R4.13-2.
func TestApplicationFailover_HealthyWhileItsMigrationWaitsForAPermit_IsNotMoved(t *testing.T) {
	s, key := unhealthy(t)
	s.needConfig(key)
	s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
	s.at(4*time.Minute, func() {
		require.True(t, s.applicationStatus(key).Move.WantsPermit)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.at(6*time.Minute, func() { s.fleetOrder(workflows.UpdateResume) }) // a move that still waits would go on
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log("evict"))
	require.Empty(t, s.world.Peek(configKey).Tasks, "its dependents are held no more")
	require.Equal(t, reason.Healed, s.ended.Last.Reason)
	require.Less(t, s.ended.Until.Sub(storyBegins), 5*time.Minute)
}

// Rules: R4.13-8.
func TestApplicationFailover_ManyUnhealthyOfOnePolicy_NoneMovesUntilAnOperatorResumes(t *testing.T) {
	s, key := unhealthy(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		other := s.bind(name, []string{"m1"}, "m1", "m2")
		s.world.Change(other, func(b *karmada.Binding) { b.Application = &karmada.ApplicationFailover{TolerationSeconds: 3600} })
		s.health(other, "m1", karmada.HealthUnhealthy)
	}
	s.settings.Pace.BreakerShare, s.settings.Pace.BreakerWindow = 0.2, time.Minute
	s.at(10*time.Minute, func() {
		stands := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationBlocked, stands.Phase, stands.Message)
		require.Equal(t, reason.ReleaseSuspected, stands.Attention)
		require.Empty(t, s.world.Log("evict"))
		s.fleetOrder(workflows.UpdateResume)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(10 * time.Minute)
}

// Rules: R4.13-10.
func TestApplicationFailover_InObserve_WritesNothing(t *testing.T) {
	s, key := unhealthy(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.at(10*time.Minute, func() {
		require.Equal(t, reason.WouldMove, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log(""))
}

// Rules: R4.13-12.
func TestApplicationFailover_ItsClusterFailsInMidMove_TheFailoverOfTheClusterGoesOnWithTheSameMigration(t *testing.T) {
	s, key := unhealthy(t)
	s.world.HealthyAfter = 20 * time.Minute
	s.takesOver = 3 * time.Minute
	s.at(3*time.Minute-time.Second, func() { s.world.SetReady("m1", false) })
	s.at(40*time.Minute, func() { s.world.SetReady("m1", true) })
	s.applicationEnds(phase.ApplicationTakenOver)
	require.Equal(t, &rules.Departure{Revision: "/first", Before: []string{"m1"}}, s.ended.Left)
	require.Len(t, s.world.Log("evict"), 1, "one migration, not two")
	require.Len(t, s.world.Log("release"), 1)
	require.Empty(t, s.world.Leftovers())
	last := s.reports[len(s.reports)-1]
	require.Equal(t, phase.OutcomeMigrated, last.Result.Outcome)
	require.NotEqual(t, s.ended.FailoverID, last.FailoverID)
	require.True(t, s.world.HasWork(key, "m2"))
}

// The scheduler's late patch puts the old cluster back, whose copy is Healthy by then: it stays there.
//
// Rules: R4.13-6.
func TestApplicationFailover_PutBackByTheSchedulerAndHealed_IsRestored(t *testing.T) {
	s, key := unhealthy(t)
	noFit(s, key)
	s.onEvict(func() {
		s.at(time.Minute, func() {
			s.health(key, "m1", karmada.HealthHealthy)
			s.returns(key, "m1")
		})
	})
	s.at(tolerated+3*time.Minute, func() { require.Len(t, s.world.Log("restore"), 1) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Len(t, s.world.Log("evict"), 1)
	require.Equal(t, phase.OutcomeRestored, s.ended.Last.Outcome)
	require.Equal(t, reason.Healed, s.ended.Last.Reason)
}

// While the old cluster cannot take it back, nothing is tried over and over.
//
// Rules: R4.13-6.
func TestApplicationFailover_PutBackByTheSchedulerOnAClusterThatFails_IsTriedAtARecheck(t *testing.T) {
	s, key := unhealthy(t)
	noFit(s, key)
	tries := 0
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == activities.NameRestore {
			tries++
		}
		if tries == 500 {
			s.world.DropTaint("m1", maintenance)
		}
	})
	s.at(3*time.Minute, func() {
		s.maintain()
		s.health(key, "m1", karmada.HealthHealthy)
		s.returns(key, "m1")
	})
	s.at(8*time.Minute, func() { s.world.DropTaint("m1", maintenance) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Greater(t, tries, 1)
	require.Less(t, tries, 50)
	require.Equal(t, phase.OutcomeRestored, s.ended.Last.Outcome)
}

// Whether it is Healthy is not known: it is not taken out, and needs attention.
//
// Rules: R4.5-20, R4.7-37.
func TestApplicationFailover_PutBackByTheSchedulerForLong_NeedsAttention(t *testing.T) {
	s, key := unhealthy(t)
	noFit(s, key)
	s.settings.Terms.GracefulTimeout = 5 * time.Minute
	s.at(3*time.Minute, func() {
		s.health(key, "m1", karmada.HealthUnknown)
		s.returns(key, "m1")
	})
	s.at(12*time.Minute, func() {
		require.Len(t, s.world.Log("evict"), 1)
		require.Equal(t, reason.GracefulTimeout, s.standing(key).Attention)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, phase.OutcomeRestored, s.ended.Last.Outcome)
}

// What the scheduler puts back after the failover of the cluster has taken over moves because the cluster fails. A pause
// of the application has ended with its failover.
//
// Rules: R4.13-12, R4.5-20.
func TestApplicationFailover_TakenOverAndPutBackByTheScheduler_IsTakenOutAgain(t *testing.T) {
	for name, paused := range map[string]bool{"": false, "it was paused": true} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			noFit(s, key)
			s.takesOver = 3 * time.Minute
			if paused {
				s.at(tolerated+30*time.Second, func() { s.orderApp(key, workflows.UpdatePause, by(queue.ScopeOf(key))) })
			}
			s.at(3*time.Minute-time.Second, func() { s.world.SetReady("m1", false) })
			s.at(10*time.Minute, func() { s.returns(key, "m1") })
			s.at(12*time.Minute, func() {
				require.Len(t, s.world.Log("evict"), 2)
				s.world.SetReady("m1", true)
			})
			s.applicationEnds(phase.ApplicationTakenOver)
		})
	}
}

// A cluster that is suspected for less than its window takes no move over, and undoes none.
//
// Rules: R4.1-40, R4.13-12.
func TestApplicationFailover_ItsClusterIsSuspectedInMidMove_GoesOnWithItsMigration(t *testing.T) {
	s, _ := unhealthy(t)
	s.world.HealthyAfter = 20 * time.Minute
	s.takesOver = 3 * time.Minute
	s.at(3*time.Minute-time.Second, func() { s.world.SetReady("m1", false) })
	s.at(3*time.Minute+20*time.Second, func() { s.world.SetReady("m1", true) })
	s.applicationEnds(phase.ApplicationMigrated)
	require.Equal(t, phase.OutcomeMigrated, s.ended.Last.Outcome)
	require.Len(t, s.world.Log("evict"), 1)
	require.Empty(t, s.world.Log("restore"))
	require.Empty(t, s.world.Log("taint"))
}

// A thousand applications at once take nothing of a cluster's pace, and a cluster nothing of theirs: each class
// keeps the law of the pace.
//
// Rules: R4.13-11.
func TestPacer_ApplicationsAndClusters_HaveAPaceEach(t *testing.T) {
	p := newPacing(t)
	p.pace.EvictionRate, p.pace.ApplicationRate = 2, 1
	p.onGrant = p.evictAll()
	p.at(time.Second, func() {
		p.ask("m1", 500)
		for n := range 300 {
			p.askFor(karmada.BindingKey{Namespace: "shop", Name: fmt.Sprintf("app%d", n)})
		}
	})
	status := p.run(2 * time.Minute)
	moments := map[bool][]time.Time{}
	numbers := map[int64]bool{}
	for _, g := range p.grants {
		for _, permit := range permitsOf(g.Grant) {
			require.False(t, numbers[permit.Number], "one number, two permits")
			numbers[permit.Number] = true
			class := strings.HasPrefix(g.cluster, "application-failover/")
			moments[class] = append(moments[class], permit.Earliest)
		}
	}
	for class, apart := range map[bool]time.Duration{false: 500 * time.Millisecond, true: time.Second} {
		at := slices.SortedFunc(slices.Values(moments[class]), time.Time.Compare) // grants overtake each other on their way
		require.Greater(t, len(at), int(115*time.Second/apart), "at most 5 %% below its rate")
		for n := 1; n < len(at); n++ {
			require.GreaterOrEqual(t, at[n].Sub(at[n-1]), apart, "never above its rate")
		}
	}
	require.Positive(t, status.Written)
	require.Zero(t, status.Unused)
}

// What an operator waived is over once the share was lower for a window, whether or not anything asked meanwhile: the
// next bad release is suspected anew.
//
// Rules: R4.13-8, R4.5-35.
func TestPacer_ReleaseIsSuspectedAgainAfterAWaiver_HoldsItsApplications(t *testing.T) {
	p := newPacing(t)
	p.pace.ApplicationRate, p.pace.BreakerShare, p.pace.BreakerWindow = 5, 0.2, 5*time.Minute
	var all []karmada.BindingKey
	turn := func(health karmada.Health) {
		for _, key := range all {
			p.world.Change(key, func(b *karmada.Binding) {
				b.Application = &karmada.ApplicationFailover{}
				b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m2", Applied: true, Health: health}}
			})
		}
	}
	for n := range 5 {
		key := karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}
		p.world.AddBinding(karmada.Binding{Key: key, Replicas: 1, Clusters: []karmada.TargetCluster{{Name: "m2", Replicas: 1}}})
		all = append(all, key)
	}
	granted, told := 0, 0
	waits := workflows.ApplicationFailoverID("", all[0])
	turn(karmada.HealthUnhealthy)
	p.at(time.Second, func() { p.askFor(all[0]) })
	p.at(30*time.Second, func() {
		require.Empty(t, p.grants, "suspected")
		told = len(p.told[waits])
		p.resume()
	})
	p.at(time.Minute, func() {
		require.Len(t, p.told[waits], told+1, "it is not suspected any more")
		granted = len(p.grants)
		turn(karmada.HealthHealthy)
	})
	p.at(10*time.Minute, func() { turn(karmada.HealthUnhealthy); p.askFor(all[1]) })
	p.run(11 * time.Minute)
	require.Equal(t, 1, granted)
	require.Len(t, p.grants, 1)
}

// While nothing can be counted, nothing is known to be lower.
//
// Rules: R4.13-8, R4.5-35.
func TestPacer_ReleaseIsSuspectedAndCannotBeCounted_HoldsItsApplicationsForAWindowAfter(t *testing.T) {
	p := newPacing(t)
	p.pace.ApplicationRate, p.pace.BreakerShare, p.pace.BreakerWindow = 5, 0.2, 2*time.Minute
	turn := func(health karmada.Health) {
		for n := range 5 {
			p.world.Change(karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}, func(b *karmada.Binding) {
				b.Application = &karmada.ApplicationFailover{}
				b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m2", Applied: true, Health: health}}
			})
		}
	}
	for n := range 5 {
		p.world.AddBinding(karmada.Binding{
			Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprint(n)}, Replicas: 1, Clusters: []karmada.TargetCluster{{Name: "m2", Replicas: 1}},
		})
	}
	turn(karmada.HealthUnhealthy)
	p.at(time.Second, func() { p.askFor(karmada.BindingKey{Namespace: "shop", Name: "0"}) })
	p.at(30*time.Second, func() { p.unlist = karmada.ErrInvalid; turn(karmada.HealthHealthy) })
	p.at(4*time.Minute, func() { p.unlist = nil })
	p.at(5*time.Minute+30*time.Second, func() { require.Empty(t, p.grants) })
	p.run(7 * time.Minute)
	require.Len(t, p.grants, 1)
}

// The first application that asks has the Unhealthy ones counted; those that ask within seconds of that do not again.
//
// Rules: R4.5-35, R4.13-8.
func TestPacer_ManyApplicationsAsk_CountsOnceWhileTheJudgementIsFresh(t *testing.T) {
	p := newPacing(t)
	p.pace.ApplicationRate = 5
	ask := func(name string) { p.askFor(karmada.BindingKey{Namespace: "shop", Name: name}) }
	before, first, second, later := 0, 0, 0, 0
	p.at(20*time.Second, func() { before = p.looks; ask("a") })
	p.at(22*time.Second, func() { first = p.looks; ask("b") })
	p.at(24*time.Second, func() { second = p.looks })
	p.at(40*time.Second, func() { ask("c") })
	p.at(42*time.Second, func() { later = p.looks })
	p.run(time.Minute)
	require.Len(t, p.grants, 3)
	require.Equal(t, []int{1, 1, 2}, []int{first - before, second - before, later - before})
}

// It was moved, proven and released, and becomes Unhealthy on its new cluster later: its next failover knows.
//
// Rules: R4.13-7.
func TestApplicationFailover_SameRevisionUnhealthyAfterItsMove_IsNotMovedAgain(t *testing.T) {
	for name, earlier := range map[string]func(*story){
		"by an application failover": func(s *story) { s.arrivals = rules.Arrivals{{Cluster: "m1", Revision: "/first"}} },
		"by a failover that took the move over": func(s *story) {
			s.departed = &rules.Departure{Revision: "/first", Before: []string{"m2"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			earlier(s)
			s.at(20*time.Minute, func() {
				require.Equal(t, phase.ApplicationNeedsOperator, s.applicationStatus(key).Phase)
				s.world.SetRevision(key, "second")
				s.world.Change(key, func(b *karmada.Binding) { b.Generation++ })
			})
			s.applicationEnds(phase.ApplicationMigrated)
			s.movedOnce(20*time.Minute + tolerated) // the new revision has a time of its own
		})
	}
}

// Rules: R4.13-7, R4.13-9.
func TestApplicationFailover_SameRevisionApproved_MovesAgainWhereItAloneIsNamed(t *testing.T) {
	for name, alone := range map[string]bool{"it alone": true, "all": false} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			s.arrivals = rules.Arrivals{{Cluster: "m1", Revision: "/first"}}
			scope := queue.Scope{All: true}
			if alone {
				scope = queue.ScopeOf(key)
			}
			s.at(20*time.Minute, func() { s.orderApp(key, workflows.UpdateApprove, by(scope)) })
			if alone {
				s.applicationEnds(phase.ApplicationMigrated)
				s.movedOnce(20 * time.Minute)
				return
			}
			s.at(40*time.Minute, func() {
				require.Equal(t, phase.ApplicationNeedsOperator, s.applicationStatus(key).Phase)
				s.health(key, "m1", karmada.HealthHealthy)
			})
			s.applicationEnds(phase.ApplicationHealed)
		})
	}
}

// A move that was put back, or of another revision, arrived nowhere.
//
// Rules: R4.13-7.
func TestApplicationFailover_TakenOverMoveThatIsNotOfThisCopy_DoesNotKeepItThere(t *testing.T) {
	for name, d := range map[string]rules.Departure{
		"put back":         {Revision: "/first", Before: []string{"m1"}},
		"another revision": {Revision: "/older", Before: []string{"m2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := unhealthy(t)
			s.departed = &d
			s.applicationEnds(phase.ApplicationMigrated)
			s.movedOnce(tolerated)
		})
	}
}

// leaving is unhealthy while its migration off m1 has written nothing yet, and does not run any more.
func leaving(t *testing.T) (*story, karmada.BindingKey) {
	t.Helper()
	s, key := unhealthy(t)
	uid := s.world.Peek(key).UID
	s.params.State = &workflows.ApplicationState{
		Key: key, FailoverID: "first", Began: storyBegins, Phase: phase.ApplicationMoving, Attempt: 1, Cluster: "m1", Before: []string{"m1"},
		Look: activities.Application{UID: uid}, Move: &workflows.Migration{Key: key, UID: uid, Attempt: 1, Phase: phase.MigrationChecking, Heard: storyBegins},
	}
	s.env.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "ended"})
	return s, key
}

// A migration that was terminated reports no end.
//
// Rules: R4.13-1.
func TestApplicationFailover_ItsMigrationDoesNotRunAnyMore_JudgesTheApplicationAgain(t *testing.T) {
	s, _ := leaving(t)
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
}

// Where another hand moved it before its migration wrote, it has arrived by no move, and has a time of its own there.
//
// Rules: R4.13-6, R4.13-7.
func TestApplicationFailover_AnotherHandMovesItFirst_ItMovesFromThere(t *testing.T) {
	s, key := leaving(t)
	uid := s.params.State.Move.UID
	s.at(time.Second, func() {
		s.world.Change(key, func(b *karmada.Binding) { b.Clusters[0].Name = "m2" })
		s.world.PutWork(karmada.Work{Namespace: "karmada-es-m2", Name: "shop-app", Cluster: "m2", UID: "w2"})
		s.health(key, "m2", karmada.HealthUnhealthy)
		err := s.env.SignalWorkflowByID(workflows.ApplicationFailoverID("", key), workflows.SignalMigrationReports, workflows.MigrationReports{Reports: []activities.MigrationReport{{
			FailoverID: "first", Attempt: 1, Key: key, UID: uid, Phase: phase.MigrationDone,
			Result: &record.Result{Key: key, UID: uid, Outcome: phase.OutcomeMovedByOthers, Reason: reason.MovedByOthers},
		}}})
		require.NoError(t, err)
	})
	s.at(3*time.Minute, func() { require.Len(t, s.world.Log("evict"), 1) })
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
	require.Equal(t, "m2", s.world.Log("evict")[0].Cluster)
}

// A run that continues another begins before that has seen where the last migration brought the application.
//
// Rules: R4.13-7.
func TestApplicationFailover_ContinuesAsNewAfterAMove_KnowsWhereItArrived(t *testing.T) {
	s, key := unhealthy(t)
	s.params.State = &workflows.ApplicationState{
		Key: key, FailoverID: "first", Began: storyBegins, Phase: phase.ApplicationMoving, Cluster: "m2", Before: []string{"m2"},
		Look: activities.Application{UID: s.world.Peek(key).UID}, Last: &record.Result{Outcome: phase.OutcomeMigrated, Wrote: true},
	}
	s.at(20*time.Minute, func() {
		require.Equal(t, reason.SameRevision, s.applicationStatus(key).Attention)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.Empty(t, s.world.Log("evict"))
	require.Len(t, s.ended.Arrivals, 1)
}

// A pacer whose state is lost begins its numbers again.
//
// Rules: R4.5-16, R4.13-11.
func TestApplicationFailover_PermitOfAPacerWithoutState_IsTaken(t *testing.T) {
	s, key := unhealthy(t)
	s.params.State = &workflows.ApplicationState{
		Key: key, FailoverID: "first", Began: storyBegins, Phase: phase.ApplicationUnhealthy, Newest: 1000,
		Look: activities.Application{UID: s.world.Peek(key).UID},
	}
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
	require.Less(t, s.world.Log("evict")[0].At.Sub(storyBegins), tolerated+time.Minute)
}

// Rules: R4.13-1, R4.13-5.
func TestApplicationFailover_ItsFirstLookMakesNoSense_IsBlockedAndLooksAgain(t *testing.T) {
	s, key := unhealthy(t)
	s.recall = karmada.ErrInvalid
	s.at(time.Minute, func() {
		status := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationBlocked, status.Phase)
		require.Equal(t, reason.Unreachable, status.Attention)
		s.recall = nil
	})
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
}

// Arrivals implements activities.Applications: what an earlier failover reported.
func (s *story) Arrivals(context.Context, string, string) (rules.Arrivals, *rules.Departure, error) {
	return s.arrivals, s.departed, s.recall
}
