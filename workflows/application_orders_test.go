package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// aboutCopies gives an order about the copies of an application to its failover; the answer comes later.
func (s *story) aboutCopies(key karmada.BindingKey, verb string) *answer {
	order := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: jane}}
	return s.update(workflows.ApplicationFailoverID("", key), verb, fmt.Sprint(verb, s.env.Now()), order)
}

// An order counts from the write on, and not only from the migration's next report.
//
// Rules: R4.13-9.
func TestApplicationFailover_OrderAboutAnOldCopyRightAfterTheWrite_IsCarriedOut(t *testing.T) {
	for verb, want := range map[string]struct {
		op  string
		end phase.Application
	}{
		workflows.UpdatePutBack: {op: "restore", end: phase.ApplicationCancelled},
		workflows.UpdateRelease: {op: "release", end: phase.ApplicationMigrated},
	} {
		t.Run(verb, func(t *testing.T) {
			s, key := unhealthy(t)
			s.world.HealthyAfter = time.Hour
			s.onEvict(func() {
				s.at(2*time.Second, func() {
					require.Equal(t, phase.MigrationChecking, s.applicationStatus(key).Move.Phase, "its migration has not reported yet")
					s.accept(s.aboutCopies(key, verb))
				})
				s.at(time.Minute, func() {
					require.Len(t, s.world.Log(want.op), 1)
					s.health(key, s.world.Peek(key).Clusters[0].Name, karmada.HealthHealthy)
				})
			})
			s.applicationEnds(want.end)
			require.Len(t, s.world.Log("evict"), 1)
		})
	}
}

// A release of what waits for its permit is refused, also where the failover does not know yet how the migration stands; a
// put-back of it is a cancel.
//
// Rules: R4.9-32, R4.13-9.
func TestApplicationFailover_OrderAboutAnOldCopyWhileNothingIsWritten_EndsNoCopy(t *testing.T) {
	s, key := unhealthy(t)
	s.needConfig(key)
	s.slow = map[string]time.Duration{activities.NameHoldDependents: 30 * time.Second}
	s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
	s.at(tolerated+20*time.Second, func() {
		require.Equal(t, phase.MigrationChecking, s.applicationStatus(key).Move.Phase)
		s.refuse("nothing of Lifeboat's stands yet", s.aboutCopies(key, workflows.UpdateRelease))
	})
	s.at(4*time.Minute, func() {
		require.True(t, s.applicationStatus(key).Move.WantsPermit)
		s.refuse("nothing of Lifeboat's stands yet", s.aboutCopies(key, workflows.UpdateRelease))
		s.accept(s.aboutCopies(key, workflows.UpdatePutBack))
	})
	s.at(4*time.Minute+5*time.Second, func() {
		last := s.applicationStatus(key).Last
		require.Equal(t, phase.OutcomeAbandoned, last.Outcome)
		require.Equal(t, reason.PutBackOrdered, last.Reason)
		s.refuse("no old copy is held", s.aboutCopies(key, workflows.UpdatePutBack))
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationCancelled)
	require.Empty(t, s.world.Log("evict"))
}

// An order to a migration that does not run any more is refused at once.
//
// Rules: R4.9-57, R4.13-9.
func TestApplicationFailover_OrderToAMigrationThatWasTerminated_IsRefused(t *testing.T) {
	s, key := leaving(t)
	var asked *answer
	s.at(time.Second, func() { asked = s.aboutCopies(key, workflows.UpdatePutBack) })
	s.at(2*time.Second, func() { require.ErrorContains(t, asked.err, "no migration of it runs any more") })
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
}

// Rules: R4.9-36, R4.13-9.
func TestApplicationFailover_OrderAboutAnOldCopyThatWasReleased_IsRefused(t *testing.T) {
	s, key := unhealthy(t)
	s.world.DeleteAfter = 5 * time.Minute
	asked := false
	s.at(8*time.Minute, func() {
		asked = true
		require.Equal(t, phase.MigrationPurging, s.applicationStatus(key).Move.Phase)
		s.refuse("released already", s.aboutCopies(key, workflows.UpdatePutBack))
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.True(t, asked)
}

// What an operator had put back is not moved again at once: neither where nothing was written, nor where a write took it back,
// and whoever was given the order.
//
// Rules: R4.13-9.
func TestApplicationFailover_PutBack_HoldsAsACancelUntilAResume(t *testing.T) {
	asked := func(s *story, key karmada.BindingKey) { s.accept(s.aboutCopies(key, workflows.UpdatePutBack)) }
	toMigration := func(s *story, key karmada.BindingKey) {
		s.accept(s.orderChild(workflows.UpdatePutBack, key, false))
	}
	for name, c := range map[string]struct {
		give    func(*story, karmada.BindingKey)
		refused bool // the write, after the order
		evicted int  // before the resume
		outcome phase.Outcome
		by      string
	}{
		"while a write is under way that is refused": {give: asked, refused: true, outcome: phase.OutcomeAbandoned, by: "jane: look first"},
		"after the write":          {give: asked, evicted: 1, outcome: phase.OutcomeRestored, by: "jane: look first"},
		"ordered of its migration": {give: toMigration, evicted: 1, outcome: phase.OutcomeRestored, by: "an operator: put back by jane: a drill"},
		"after a pause and its end": {give: func(s *story, key karmada.BindingKey) {
			s.orderApp(key, workflows.UpdatePause, by(queue.ScopeOf(key)))
			s.update(workflows.ApplicationFailoverID("", key), workflows.UpdateResume, "end", workflows.Resume{ScopedOrder: by(queue.ScopeOf(key))})
			toMigration(s, key)
		}, evicted: 1, outcome: phase.OutcomeRestored, by: "an operator: put back by jane: a drill"},
		"paused since": {give: func(s *story, key karmada.BindingKey) {
			asked(s, key)
			s.orderApp(key, workflows.UpdatePause, by(queue.ScopeOf(key)))
		}, evicted: 1, outcome: phase.OutcomeRestored, by: "jane: look first"},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := unhealthy(t)
			if c.refused {
				s.refusal = reason.NoTarget
				s.at(tolerated+2*time.Second, func() {
					require.Equal(t, phase.MigrationEvicting, s.standing(key).Phase)
					c.give(s, key)
				})
			} else {
				s.onEvict(func() { s.at(time.Second, func() { c.give(s, key) }) })
			}
			resumed := false
			s.at(20*time.Minute, func() {
				resumed = true
				status := s.applicationStatus(key)
				require.Equal(t, phase.ApplicationStopped, status.Phase)
				require.Equal(t, c.by, status.Stopped.Line())
				require.Equal(t, c.outcome, status.Last.Outcome)
				require.Equal(t, reason.PutBackOrdered, status.Last.Reason)
				require.Len(t, s.world.Log("evict"), c.evicted)
				s.health(key, "m1", karmada.HealthUnhealthy)
				s.orderApp(key, workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.ScopeOf(key))})
			})
			s.applicationEnds(phase.ApplicationMigrated)
			require.True(t, resumed)
			require.Len(t, s.world.Log("evict"), c.evicted+1)
		})
	}
}

// A resume that comes while its migration still takes the binding back is newer than the order.
//
// Rules: R4.13-9.
func TestApplicationFailover_ResumedBeforeItIsPutBack_DoesNotStop(t *testing.T) {
	s, key := unhealthy(t)
	s.world.ScheduleAfter = 30 * time.Second
	s.onEvict(func() {
		s.at(time.Second, func() {
			s.orderApp(key, workflows.UpdateCancel, workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: jane}})
		})
		s.at(2*time.Second, func() { s.orderApp(key, workflows.UpdateResume, workflows.Resume{ScopedOrder: by(queue.ScopeOf(key))}) })
		s.at(time.Minute, func() {
			status := s.applicationStatus(key)
			require.Equal(t, reason.Cancelled, status.Last.Reason)
			require.Nil(t, status.Stopped)
			s.health(key, "m1", karmada.HealthHealthy)
		})
	})
	s.applicationEnds(phase.ApplicationMigrated)
}

// A migration ends with nothing written, and has not seen the order to put back.
//
// Rules: R4.9-32, R4.13-9.
func TestApplicationFailover_PutBackThatItsMigrationDoesNotSee_CallsItOff(t *testing.T) {
	s, key := leaving(t)
	move := s.params.State.Move
	move.Ordered = &workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: jane}, Verb: workflows.UpdatePutBack}
	s.at(time.Second, func() {
		err := s.env.SignalWorkflowByID(workflows.ApplicationFailoverID("", key), workflows.SignalMigrationReports, workflows.MigrationReports{Reports: []activities.MigrationReport{{
			FailoverID: "first", Attempt: 1, Key: key, UID: move.UID, Phase: phase.MigrationDone,
			Result: &record.Result{Key: key, UID: move.UID, Outcome: phase.OutcomeBlocked, Reason: reason.NoTarget},
		}}})
		require.NoError(t, err)
	})
	s.at(20*time.Minute, func() {
		status := s.applicationStatus(key)
		require.Equal(t, phase.ApplicationStopped, status.Phase)
		require.Equal(t, phase.OutcomeAbandoned, status.Last.Outcome)
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationCancelled)
	require.Empty(t, s.world.Log("evict"))
}

// A snooze of what moves already would hold nothing.
//
// Rules: R4.13-9.
func TestApplicationFailover_SnoozedAfterTheWrite_IsRefused(t *testing.T) {
	s, key := unhealthy(t)
	s.world.HealthyAfter = time.Hour
	s.onEvict(func() {
		s.at(time.Minute, func() {
			order := s.update(workflows.ApplicationFailoverID("", key), workflows.UpdateSnooze, "late", snooze(queue.ScopeOf(key), "30m"))
			s.refuse("its move has begun; cancel it instead", order)
			s.health(key, s.world.Peek(key).Clusters[0].Name, karmada.HealthHealthy)
		})
	})
	s.applicationEnds(phase.ApplicationMigrated)
}
