package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// enforceApp orders what `lifeboat resume <binding> --enforce` does.
func (s *story) enforceApp(key karmada.BindingKey) *answer {
	return s.update(workflows.ApplicationFailoverID("", key), workflows.UpdateResume, "enforce", workflows.Resume{ScopedOrder: by(queue.ScopeOf(key)), Enforce: true})
}

// Rules: R4.15-9, R4.15-13, R4.15-14.
func TestApplicationFailover_WorkersSwitchedToEnforce_ObservesUntilAnOperatorEnforcesIt(t *testing.T) {
	s, key := unhealthy(t)
	s.settings.Terms.Mode = rules.ModeObserve
	var checked []rules.Mode
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, args converter.EncodedValues) {
		var request activities.PreCheckRequest
		if info.ActivityType.Name == activities.NamePreCheck && args.Get(&request) == nil {
			checked = append(checked, request.Mode)
		}
	})
	s.at(3*time.Minute, func() { s.setMode(rules.ModeEnforce) })
	s.at(40*time.Minute, func() {
		status := s.applicationStatus(key)
		require.Equal(t, rules.ModeEnforce, status.Look.Terms.Mode, "it has looked since")
		require.Equal(t, reason.WouldMove, status.Reason)
		require.Equal(t, rules.ModeObserve, status.Mode)
		require.Empty(t, s.world.Log(""))
		s.accept(s.enforceApp(key))
	})
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(40 * time.Minute)
	require.Equal(t, []rules.Mode{rules.ModeObserve, rules.ModeEnforce}, checked, "what was checked in observe is checked again")
}

// A run that continues another keeps the mode.
//
// Rules: R4.15-9, R4.15-13.
func TestApplicationFailover_ContinuesAsNewInObserve_GoesOnObserving(t *testing.T) {
	s, key := unhealthy(t)
	s.params.State = &workflows.ApplicationState{
		Key: key, FailoverID: "first", Began: storyBegins, Phase: phase.ApplicationUnhealthy, Mode: rules.ModeObserve,
		Look: activities.Application{UID: s.world.Peek(key).UID},
	}
	s.at(20*time.Minute, func() {
		require.Equal(t, reason.WouldMove, s.applicationStatus(key).Reason)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log(""))
}

// Nothing says where a malformed binding is, so that no cluster says in which mode it is handled.
//
// Rules: R4.15-8, R4.15-9.
func TestApplicationFailover_FirstLookKnowsNoCluster_TakesTheModeOfTheFirstThatDoes(t *testing.T) {
	s, key := unhealthy(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" })
	s.at(5*time.Minute, func() {
		require.Empty(t, s.applicationStatus(key).Mode)
		s.setMode(rules.ModeEnforce)
		s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" })
	})
	s.at(6*time.Minute, func() {
		require.Equal(t, rules.ModeEnforce, s.applicationStatus(key).Mode)
		s.setMode(rules.ModeObserve)
	})
	s.at(30*time.Minute, func() {
		require.Equal(t, reason.ModeObserve, s.applicationStatus(key).Reason)
		s.setMode(rules.ModeEnforce)
	})
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(30 * time.Minute)
}

// Rules: R4.15-12.
func TestApplicationFailover_WorkersSwitchedToObserve_WaitsBlocked(t *testing.T) {
	for name, at := range map[string]time.Duration{"while it tolerates": time.Minute, "while its permit is awaited": tolerated + time.Second} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			s.settings.Pace.ApplicationRate = 0.01
			begun := s.started()
			s.at(at, func() { s.setMode(rules.ModeObserve) })
			s.at(time.Hour, func() {
				status := s.applicationStatus(key)
				require.Equal(t, phase.ApplicationBlocked, status.Phase)
				require.Equal(t, reason.ModeObserve, status.Reason)
				require.Equal(t, rules.ModeEnforce, status.Mode)
				require.LessOrEqual(t, status.Attempt, 1)
				require.LessOrEqual(t, begun[activities.NamePreCheck], 2, "nothing is tried over and over")
				require.Empty(t, s.world.Log(""))
				s.health(key, "m1", karmada.HealthHealthy)
			})
			s.run()
			require.True(t, s.ended.Ended.Terminal())
		})
	}
}

// Rules: R4.15-10, R4.15-14.
func TestApplicationFailover_OrderToEnforceThatCannotBeObeyed_IsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		mode   rules.Mode
		change func(*karmada.Binding)
		why    string
	}{
		"the workers observe": {mode: rules.ModeObserve, why: "the worker's own config says observe for the clusters of shop/app"},
		"it enforces":         {mode: rules.ModeEnforce, why: "enforces already"},
		"the binding makes no sense": {
			mode: rules.ModeObserve, change: func(b *karmada.Binding) { b.Malformed = "spec.clusters: not a list" }, why: "Malformed: spec.clusters: not a list",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			s.settings.Terms.Mode = c.mode
			if c.change != nil {
				s.world.Change(key, c.change)
			}
			s.at(time.Minute, func() { s.refuse(c.why, s.enforceApp(key)) })
			s.at(90*time.Second, func() {
				s.world.Change(key, func(b *karmada.Binding) { b.Malformed = "" })
				s.health(key, "m1", karmada.HealthHealthy)
			})
			s.applicationEnds(phase.ApplicationHealed)
			require.Empty(t, s.world.Log("evict"))
		})
	}
}

// An order that is given while the worker is still being asked whether this failover may be enforced is the later word,
// and stands; one that stood before ends with it.
//
// Rules: R4.15-14, R4.13-9.
func TestApplicationFailover_PausedOrCancelledAroundAnOrderToEnforce_TheLaterOrderStands(t *testing.T) {
	const ordered = 4 * time.Minute
	for name, c := range map[string]struct {
		verb    string
		at      time.Duration
		refused string
		moves   bool
	}{
		"paused before":       {verb: workflows.UpdatePause, at: ordered - time.Minute, moves: true},
		"paused meanwhile":    {verb: workflows.UpdatePause, at: ordered + 10*time.Second},
		"cancelled before":    {verb: workflows.UpdateCancel, at: ordered - time.Minute, moves: true},
		"cancelled meanwhile": {verb: workflows.UpdateCancel, at: ordered + 10*time.Second, refused: "it was cancelled meanwhile by jane"},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			s.settings.Terms.Mode = rules.ModeObserve
			s.slow = map[string]time.Duration{activities.NameAssessApplication: 20 * time.Second}
			s.at(c.at, func() { s.orderApp(key, c.verb, by(queue.ScopeOf(key))) })
			s.at(ordered, func() {
				s.setMode(rules.ModeEnforce)
				if answer := s.enforceApp(key); c.refused == "" {
					s.accept(answer)
				} else {
					s.refuse(c.refused, answer)
				}
			})
			s.at(30*time.Minute, func() { s.health(key, "m1", karmada.HealthHealthy) })
			s.run()
			require.Equal(t, c.moves, len(s.world.Log("evict")) == 1)
		})
	}
}

// Its last look is under way when the order comes.
//
// Rules: R4.15-14.
func TestApplicationFailover_EndsBeforeAnOrderToEnforceIsObeyed_RefusesIt(t *testing.T) {
	s, key := unhealthy(t)
	s.settings.Terms.Mode = rules.ModeObserve
	s.slow = map[string]time.Duration{activities.NameAssessApplication: 20 * time.Second}
	s.at(4*time.Minute, func() { s.health(key, "m1", karmada.HealthHealthy) })
	s.at(4*time.Minute+10*time.Second, func() { s.refuse("this failover ended before it could be enforced", s.enforceApp(key)) })
	s.applicationEnds(phase.ApplicationHealed)
}
