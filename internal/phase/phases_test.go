package phase_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

var (
	failoverPhases = []phase.Failover{
		phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverUncordoned, phase.FailoverConfirmed, phase.FailoverEvacuating, phase.FailoverEvacuated, phase.FailoverRecovering,
		phase.FailoverSettling, phase.FailoverStopped, phase.FailoverFalseAlarm, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone,
	}
	failoverEvents = []phase.FailoverEvent{
		phase.EventConfirmed, phase.EventCordoned, phase.EventUncordoned, phase.EventTainted, phase.EventQueueDone, phase.EventWorkAppeared, phase.EventConditionsWell,
		phase.EventConditionsBad, phase.EventNothingWrong, phase.EventRecoveryConfirmed, phase.EventFailedAgain, phase.EventAllSettled,
		phase.EventCancelOrdered, phase.EventResumeOrdered, phase.EventEnforceOrdered, phase.EventStopSettled, phase.EventClusterGone,
	}
	migrationPhases = []phase.Migration{
		phase.MigrationChecking, phase.MigrationQueued, phase.MigrationAwaitingFence, phase.MigrationEvicting, phase.MigrationPlacing, phase.MigrationAwaitingHealth,
		phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring, phase.MigrationDone,
	}
	migrationEvents = []phase.MigrationEvent{
		phase.EventDependentsHeld, phase.EventWriteSent, phase.EventPermitPassed, phase.EventWriteStands, phase.EventAdopted, phase.EventFenceAsked, phase.EventFenced,
		phase.EventOldCopyGone, phase.EventPlaced, phase.EventUnplaced, phase.EventProvenHealthy, phase.EventGracefulTimeout, phase.EventReleaseOrdered,
		phase.EventSourceGone, phase.EventReleaseRefused, phase.EventReleased, phase.EventCalledOff, phase.EventRecovered, phase.EventRestoreOrdered,
		phase.EventReturned, phase.EventRestoreRefused, phase.EventTaskDropped,
		migrated, restored, abandoned, blocked, gone, kept, needsOperator,
		phase.EventOf(phase.OutcomeSkipped), phase.EventOf(phase.OutcomeMovedByOthers),
	}
)

// The ends of a migration that these tests name: each is an outcome.
var (
	migrated      = phase.EventOf(phase.OutcomeMigrated)
	restored      = phase.EventOf(phase.OutcomeRestored)
	abandoned     = phase.EventOf(phase.OutcomeAbandoned)
	blocked       = phase.EventOf(phase.OutcomeBlocked)
	gone          = phase.EventOf(phase.OutcomeGone)
	kept          = phase.EventOf(phase.OutcomeKept)
	needsOperator = phase.EventOf(phase.OutcomeNeedsOperator)
)

func TestFailoverStories(t *testing.T) {
	type story struct {
		events []phase.FailoverEvent
		end    phase.Failover
	}
	for name, s := range map[string]story{
		"a blip is a false alarm": {[]phase.FailoverEvent{phase.EventNothingWrong}, phase.FailoverFalseAlarm},
		"cordoned and uncordoned": {[]phase.FailoverEvent{phase.EventCordoned, phase.EventUncordoned}, phase.FailoverUncordoned},
		"cordoned, then failed":   {[]phase.FailoverEvent{phase.EventCordoned, phase.EventConfirmed, phase.EventTainted}, phase.FailoverEvacuating},
		"a failure from first symptom to recovery": {[]phase.FailoverEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventQueueDone, phase.EventConditionsWell, phase.EventRecoveryConfirmed, phase.EventAllSettled,
		}, phase.FailoverRecovered},
		"a flap while recovering goes on in the same attempt": {[]phase.FailoverEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventConditionsWell, phase.EventConditionsBad,
		}, phase.FailoverEvacuating},
		"a failure while settling is a new attempt": {[]phase.FailoverEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventConditionsWell, phase.EventRecoveryConfirmed, phase.EventFailedAgain,
		}, phase.FailoverSuspected},
		"something to move again after all was done": {[]phase.FailoverEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventQueueDone, phase.EventWorkAppeared,
		}, phase.FailoverEvacuating},
		"it recovers before the taint stands": {[]phase.FailoverEvent{phase.EventConfirmed, phase.EventConditionsWell}, phase.FailoverRecovering},
		"cancelled and settled": {[]phase.FailoverEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventCancelOrdered, phase.EventStopSettled,
		}, phase.FailoverCancelled},
		"cancelled and taken up again": {[]phase.FailoverEvent{phase.EventCancelOrdered, phase.EventResumeOrdered}, phase.FailoverSuspected},
	} {
		t.Run(name, func(t *testing.T) {
			current := phase.FailoverSuspected
			for _, e := range s.events {
				current = fixtures.Must(phase.NextFailover(current, e))(t)
			}
			require.Equal(t, s.end, current)
		})
	}
}

func TestMigrationStories(t *testing.T) {
	type story struct {
		from   phase.Migration
		events []phase.MigrationEvent
		end    phase.Migration
	}
	for name, s := range map[string]story{
		"from check to purge": {phase.MigrationChecking, []phase.MigrationEvent{
			phase.EventWriteSent, phase.EventWriteStands, phase.EventPlaced, phase.EventProvenHealthy, phase.EventReleased, migrated,
		}, phase.MigrationDone},
		"nothing was written": {phase.MigrationChecking, []phase.MigrationEvent{phase.EventWriteSent, blocked}, phase.MigrationDone},
		"nothing was sent":    {phase.MigrationChecking, []phase.MigrationEvent{blocked}, phase.MigrationDone},
		"its dependents are held before it gets its permit": {phase.MigrationChecking, []phase.MigrationEvent{
			phase.EventDependentsHeld, phase.EventWriteSent, phase.EventWriteStands,
		}, phase.MigrationPlacing},
		"its permit passes, and it gets another": {phase.MigrationChecking, []phase.MigrationEvent{
			phase.EventWriteSent, phase.EventPermitPassed, phase.EventWriteSent, phase.EventWriteStands,
		}, phase.MigrationPlacing},
		"the cluster object is deleted":          {phase.MigrationPlacing, []phase.MigrationEvent{phase.EventSourceGone, phase.EventReleased, migrated}, phase.MigrationDone},
		"an operator releases it, placed or not": {phase.MigrationPlacing, []phase.MigrationEvent{phase.EventReleaseOrdered}, phase.MigrationReleasing},
		"adopted, it begins at Placing":          {phase.MigrationChecking, []phase.MigrationEvent{phase.EventAdopted, phase.EventPlaced}, phase.MigrationAwaitingHealth},
		"the placement goes away again":          {phase.MigrationAwaitingHealth, []phase.MigrationEvent{phase.EventUnplaced}, phase.MigrationPlacing},
		"the last look before the drop says no":  {phase.MigrationReleasing, []phase.MigrationEvent{phase.EventReleaseRefused}, phase.MigrationAwaitingHealth},
		"recovery reaches it unplaced":           {phase.MigrationPlacing, []phase.MigrationEvent{phase.EventRecovered, restored}, phase.MigrationDone},
		"the answer to a restore is a placement": {phase.MigrationRestoring, []phase.MigrationEvent{phase.EventPlaced, phase.EventProvenHealthy}, phase.MigrationReleasing},
		"a fence before the write sends it back": {phase.MigrationChecking, []phase.MigrationEvent{phase.EventFenceAsked, blocked}, phase.MigrationDone},
		"Directly, with the source alive": {phase.MigrationChecking, []phase.MigrationEvent{
			phase.EventWriteSent, phase.EventWriteStands, phase.EventFenceAsked, phase.EventFenced, phase.EventReleased, migrated,
		}, phase.MigrationDone},
		"the fence fell in the last look": {phase.MigrationReleasing, []phase.MigrationEvent{phase.EventFenceAsked}, phase.MigrationAwaitingFence},
		"purge mode Never keeps it":       {phase.MigrationAwaitingHealth, []phase.MigrationEvent{kept}, phase.MigrationDone},
		"cancelled after it was placed":   {phase.MigrationAwaitingHealth, []phase.MigrationEvent{needsOperator}, phase.MigrationDone},
	} {
		t.Run(name, func(t *testing.T) {
			current := s.from
			for _, e := range s.events {
				current = fixtures.Must(phase.NextMigration(current, e))(t)
			}
			require.Equal(t, s.end, current)
		})
	}
}

// What the recovery table forbids must not be drawable.
func TestForbiddenMoves(t *testing.T) {
	for _, e := range []phase.MigrationEvent{phase.EventRecovered, phase.EventRestoreOrdered, needsOperator} {
		require.Error(t, fixtures.Err(phase.NextMigration(phase.MigrationPurging, e)), "what is released is not put back (%s)", e)
	}
	_, err := phase.NextMigration(phase.MigrationEvicting, phase.EventRestoreOrdered)
	require.ErrorContains(t, err, "migration: no transition from Evicting on RestoreOrdered", "the write's answer is awaited first")
	_, err = phase.NextMigration(phase.MigrationPlacing, phase.EventReleased)
	require.Error(t, err, "nothing is released before it is proven")
	_, err = phase.NextFailover(phase.FailoverSettling, phase.EventConditionsBad)
	require.ErrorContains(t, err, "failover: no transition from Settling on ConditionsBad", "after abandon and restore it is a new attempt")
	require.Error(t, fixtures.Err(phase.NextFailover(phase.FailoverStopped, phase.EventConfirmed)), "a stopped failover applies no rule")
	require.Error(t, fixtures.Err(phase.NextFailover(phase.FailoverStopped, phase.EventCancelOrdered)))
}

// everyPhase plays every event in every phase: a refused move leaves the phase, and a phase is terminal when
// nothing leads out of it.
func everyPhase[P comparable, E any](t *testing.T, phases []P, events []E, next func(P, E) (P, error), terminal func(P) bool) {
	t.Helper()
	for _, p := range phases {
		leaves := 0
		for _, e := range events {
			reached, err := next(p, e)
			if err != nil {
				require.Equal(t, p, reached, "a refused move leaves the phase")
				continue
			}
			leaves++
			require.Contains(t, phases, reached)
		}
		require.Equal(t, terminal(p), leaves == 0, p)
	}
}

func TestEveryFailoverPhase(t *testing.T) {
	everyPhase(t, failoverPhases, failoverEvents, phase.NextFailover, phase.Failover.Terminal)
	for _, p := range failoverPhases {
		if p.Terminal() {
			continue
		}
		require.Equal(t, phase.FailoverGone, fixtures.Must(phase.NextFailover(p, phase.EventClusterGone))(t))
		if p != phase.FailoverStopped {
			require.Equal(t, phase.FailoverStopped, fixtures.Must(phase.NextFailover(p, phase.EventCancelOrdered))(t))
		}
	}
}

func TestEveryMigrationPhase(t *testing.T) {
	everyPhase(t, migrationPhases, migrationEvents, phase.NextMigration, phase.Migration.Terminal)
	for _, p := range migrationPhases {
		if !p.Terminal() {
			require.Equal(t, phase.MigrationDone, fixtures.Must(phase.NextMigration(p, gone))(t))
		}
	}
}

func TestCountsReadInAFixedOrderAndWithoutZeroes(t *testing.T) {
	require.Equal(t, "12 Migrated, 3 Restored, 1 WouldBlock", phase.CountsLine(map[phase.Outcome]int{
		phase.OutcomeWouldBlock: 1, phase.OutcomeRestored: 3, phase.OutcomeMigrated: 12, phase.OutcomeGone: 0,
	}))
	require.Equal(t, "nothing settled", phase.CountsLine(nil))
}
