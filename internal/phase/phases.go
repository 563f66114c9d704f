package phase

import (
	"fmt"
	"slices"
)

// step is one event, and the phase that it leads to from each of some others.
type step[P, E ~string] struct {
	On   E
	To   P
	From []P
}

func on[P, E ~string](e E, to P, from ...P) step[P, E] { return step[P, E]{On: e, To: to, From: from} }

// next finds the move on an event. Of a move that does not exist the error names what, and the phase stays.
func next[P, E ~string](what string, steps []step[P, E], p P, e E) (P, error) {
	for _, s := range steps {
		if s.On == e && slices.Contains(s.From, p) {
			return s.To, nil
		}
	}
	return p, fmt.Errorf("%s: no transition from %s on %s", what, p, e)
}

// ordinary are the phases of a failover that is open and that no operator has stopped.
var ordinary = []Failover{
	FailoverSuspected, FailoverCordoned, FailoverConfirmed, FailoverEvacuating, FailoverEvacuated,
	FailoverRecovering, FailoverSettling,
}

// failoverSteps are all the moves of a failover. Workflow code reads this table:
// changing a row changes what old histories replay to.
var failoverSteps = []step[Failover, FailoverEvent]{
	on(EventNothingWrong, FailoverFalseAlarm, FailoverSuspected),
	// A rule that only cordons: nothing is listed, nothing moves, the pacer is not asked.
	on(EventCordoned, FailoverCordoned, FailoverSuspected),
	on(EventUncordoned, FailoverUncordoned, FailoverCordoned),
	on(EventConfirmed, FailoverConfirmed, FailoverSuspected, FailoverCordoned),
	on(EventTainted, FailoverEvacuating, FailoverConfirmed),
	on(EventQueueDone, FailoverEvacuated, FailoverEvacuating),
	on(EventWorkAppeared, FailoverEvacuating, FailoverEvacuated),
	on(EventConditionsWell, FailoverRecovering, FailoverConfirmed, FailoverEvacuating, FailoverEvacuated),
	// Something of Lifeboat's is left from before (a later attempt, an adopted task): it recovers.
	on(EventConditionsWell, FailoverRecovering, FailoverSuspected, FailoverCordoned),
	// Nothing has been abandoned or restored yet: the same attempt goes on.
	on(EventConditionsBad, FailoverEvacuating, FailoverRecovering),
	on(EventRecoveryConfirmed, FailoverSettling, FailoverRecovering),
	// From here on a failure that comes back is a new attempt.
	on(EventFailedAgain, FailoverSuspected, FailoverSettling),
	on(EventAllSettled, FailoverRecovered, FailoverSettling),
	// What was observed so far is listed and judged again, under taints that stand.
	on(EventEnforceOrdered, FailoverSuspected, FailoverConfirmed, FailoverEvacuating, FailoverEvacuated),
	// What an earlier failover has left on the cluster is cleaned away only in enforce.
	on(EventEnforceOrdered, FailoverSuspected, FailoverRecovering, FailoverSettling),
	on(EventCancelOrdered, FailoverStopped, ordinary...),
	on(EventResumeOrdered, FailoverSuspected, FailoverStopped),
	on(EventStopSettled, FailoverCancelled, FailoverStopped),
	on(EventClusterGone, FailoverGone, append(ordinary, FailoverStopped)...),
}

// NextFailover is the only door from phase to phase of a failover. The error names
// a move that does not exist; the phase then stays.
func NextFailover(p Failover, e FailoverEvent) (Failover, error) {
	return next("failover", failoverSteps, p, e)
}

// Terminal reports whether a failover in this phase has closed.
func (p Failover) Terminal() bool {
	switch p {
	case FailoverFalseAlarm, FailoverUncordoned, FailoverRecovered, FailoverCancelled, FailoverGone:
		return true
	case FailoverSuspected, FailoverCordoned, FailoverConfirmed, FailoverEvacuating, FailoverEvacuated,
		FailoverRecovering, FailoverSettling, FailoverStopped:
	}
	return false
}

// migrationSteps are all the moves of a migration.
var migrationSteps = []step[Migration, MigrationEvent]{
	on(EventDependentsHeld, MigrationQueued, MigrationChecking),
	on(EventWriteSent, MigrationEvicting, MigrationChecking, MigrationQueued),
	// Recovery waits for the write's answer: there is no way out of here but by it.
	on(EventPermitPassed, MigrationQueued, MigrationEvicting),
	on(EventWriteStands, MigrationPlacing, MigrationEvicting),
	on(EventAdopted, MigrationPlacing, MigrationChecking),
	// Before the write: the task of a run that was lost.
	on(EventAdopted, MigrationPlacing, MigrationAwaitingFence),
	on(EventPlaced, MigrationAwaitingHealth, MigrationPlacing),
	// The scheduler's late answer to Lifeboat's eviction was a placement after all.
	on(EventPlaced, MigrationAwaitingHealth, MigrationRestoring),
	on(EventUnplaced, MigrationPlacing, MigrationAwaitingFence, MigrationAwaitingHealth),
	on(EventFenceAsked, MigrationAwaitingFence,
		MigrationChecking, MigrationPlacing, MigrationReleasing, MigrationRestoring),
	// After the write: the hold may go once the old copy is dead.
	on(EventFenced, MigrationReleasing, MigrationAwaitingFence),
	// State goes along: the new copy runs under the hold, and has to be proven as well.
	on(EventOldCopyGone, MigrationAwaitingHealth, MigrationAwaitingFence),
	on(EventProvenHealthy, MigrationReleasing, MigrationAwaitingHealth),
	on(EventGracefulTimeout, MigrationReleasing, MigrationAwaitingHealth),
	on(EventSourceGone, MigrationReleasing,
		MigrationPlacing, MigrationAwaitingFence, MigrationAwaitingHealth, MigrationRestoring),
	on(EventReleaseOrdered, MigrationReleasing, MigrationPlacing, MigrationAwaitingHealth),
	on(EventRestoreOrdered, MigrationRestoring, MigrationPlacing, MigrationAwaitingHealth),
	// Another hand made the task one that can be put back, or released.
	on(EventReleaseOrdered, MigrationReleasing, MigrationAwaitingFence),
	on(EventRestoreOrdered, MigrationRestoring, MigrationAwaitingFence),
	on(EventRecovered, MigrationRestoring, MigrationPlacing, MigrationAwaitingHealth),
	on(EventReturned, MigrationRestoring, MigrationPlacing, MigrationAwaitingFence, MigrationAwaitingHealth),
	on(EventReleased, MigrationPurging, MigrationReleasing),
	on(EventReleaseRefused, MigrationAwaitingHealth, MigrationReleasing),
	on(EventCalledOff, MigrationAwaitingHealth, MigrationReleasing),
	// The failure is back, or the put-back was refused: it goes on as if it had not been ordered.
	on(EventRestoreRefused, MigrationPlacing, MigrationRestoring),
	on(EventCalledOff, MigrationPlacing, MigrationRestoring),
	// The ends are outcomes; one is what another hand has done to the task.
	on(EventOf(OutcomeAbandoned), MigrationDone, unwritten...),
	on(EventOf(OutcomeBlocked), MigrationDone, unwritten...),
	on(EventOf(OutcomeMovedByOthers), MigrationDone, MigrationChecking, MigrationEvicting, MigrationAwaitingFence),
	on(EventOf(OutcomeSkipped), MigrationDone, MigrationEvicting),
	on(EventOf(OutcomeNeedsOperator), MigrationDone, append(held, MigrationRestoring)...),
	on(EventOf(OutcomeKept), MigrationDone, MigrationAwaitingHealth),
	on(EventOf(OutcomeMigrated), MigrationDone, MigrationPurging),
	on(EventOf(OutcomeRestored), MigrationDone, MigrationRestoring),
	on(EventTaskDropped, MigrationDone, held...),
	// A deleted binding ends every phase.
	on(EventOf(OutcomeGone), MigrationDone,
		append(held, MigrationQueued, MigrationReleasing, MigrationPurging, MigrationRestoring)...),
}

var (
	// unwritten are the phases in which no eviction is known to stand; held are those in which Lifeboat's task may turn
	// out to be dropped, or left to an operator.
	unwritten = []Migration{MigrationChecking, MigrationQueued, MigrationEvicting, MigrationAwaitingFence}
	held      = []Migration{
		MigrationChecking, MigrationEvicting, MigrationAwaitingFence, MigrationPlacing, MigrationAwaitingHealth,
	}
)

// NextMigration is the only door from phase to phase of a migration. The error
// names a move that does not exist; the phase then stays.
func NextMigration(p Migration, e MigrationEvent) (Migration, error) {
	return next("migration", migrationSteps, p, e)
}

// Known reports whether it is a phase of a migration at all.
func (p Migration) Known() bool {
	_, err := NextMigration(p, EventOf(OutcomeGone)) // it ends every phase but the last
	return err == nil || p == MigrationDone
}

// Terminal reports whether a migration in this phase has ended.
func (p Migration) Terminal() bool { return p == MigrationDone }
