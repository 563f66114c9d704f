package phase

import (
	"fmt"
	"slices"
)

// step is one move: an event that leads from a phase to another one.
type step[P, E ~string] struct {
	From P
	On   E
	To   P
}

type (
	failoverStep  = step[Failover, FailoverEvent]
	migrationStep = step[Migration, MigrationEvent]
)

// next finds the move on an event. Of a move that does not exist the error names what, and the phase stays.
func next[P, E ~string](what string, steps []step[P, E], p P, e E) (P, error) {
	for _, s := range steps {
		if s.From == p && s.On == e {
			return s.To, nil
		}
	}
	return p, fmt.Errorf("%s: no transition from %s on %s", what, p, e)
}

// failoverSteps are all the moves of a failover. Workflow code reads this table:
// changing a row changes what old histories replay to.
var failoverSteps = []failoverStep{
	{FailoverSuspected, EventNothingWrong, FailoverFalseAlarm},
	{FailoverSuspected, EventConfirmed, FailoverConfirmed},
	// Something of Lifeboat's is left from before (a later attempt, an adopted task): it recovers.
	{FailoverSuspected, EventConditionsWell, FailoverRecovering},
	{FailoverSuspected, EventCancelOrdered, FailoverStopped},
	{FailoverSuspected, EventClusterGone, FailoverGone},

	// A rule that only cordons: nothing is listed, nothing moves, the pacer is not asked.
	{FailoverSuspected, EventCordoned, FailoverCordoned},
	{FailoverCordoned, EventConfirmed, FailoverConfirmed},
	{FailoverCordoned, EventUncordoned, FailoverUncordoned},
	{FailoverCordoned, EventConditionsWell, FailoverRecovering},
	{FailoverCordoned, EventCancelOrdered, FailoverStopped},
	{FailoverCordoned, EventClusterGone, FailoverGone},

	{FailoverConfirmed, EventTainted, FailoverEvacuating},
	// What was observed so far is listed and judged again, under taints that stand.
	{FailoverConfirmed, EventEnforceOrdered, FailoverSuspected},
	{FailoverEvacuating, EventEnforceOrdered, FailoverSuspected},
	{FailoverEvacuated, EventEnforceOrdered, FailoverSuspected},
	{FailoverConfirmed, EventConditionsWell, FailoverRecovering},
	{FailoverConfirmed, EventCancelOrdered, FailoverStopped},
	{FailoverConfirmed, EventClusterGone, FailoverGone},

	{FailoverEvacuating, EventQueueDone, FailoverEvacuated},
	{FailoverEvacuating, EventConditionsWell, FailoverRecovering},
	{FailoverEvacuating, EventCancelOrdered, FailoverStopped},
	{FailoverEvacuating, EventClusterGone, FailoverGone},

	{FailoverEvacuated, EventWorkAppeared, FailoverEvacuating},
	{FailoverEvacuated, EventConditionsWell, FailoverRecovering},
	{FailoverEvacuated, EventCancelOrdered, FailoverStopped},
	{FailoverEvacuated, EventClusterGone, FailoverGone},

	// Nothing has been abandoned or restored yet: the same attempt goes on.
	{FailoverRecovering, EventConditionsBad, FailoverEvacuating},
	{FailoverRecovering, EventRecoveryConfirmed, FailoverSettling},
	// What an earlier failover has left on the cluster is cleaned away only in enforce.
	{FailoverRecovering, EventEnforceOrdered, FailoverSuspected},
	{FailoverSettling, EventEnforceOrdered, FailoverSuspected},
	{FailoverRecovering, EventCancelOrdered, FailoverStopped},
	{FailoverRecovering, EventClusterGone, FailoverGone},

	// From here on a failure that comes back is a new attempt.
	{FailoverSettling, EventFailedAgain, FailoverSuspected},
	{FailoverSettling, EventAllSettled, FailoverRecovered},
	{FailoverSettling, EventCancelOrdered, FailoverStopped},
	{FailoverSettling, EventClusterGone, FailoverGone},

	{FailoverStopped, EventResumeOrdered, FailoverSuspected},
	{FailoverStopped, EventStopSettled, FailoverCancelled},
	{FailoverStopped, EventClusterGone, FailoverGone},
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

// migrationSteps are all the moves of a migration but those into its end.
var migrationSteps = []migrationStep{
	{MigrationChecking, EventDependentsHeld, MigrationQueued},
	{MigrationChecking, EventWriteSent, MigrationEvicting},
	{MigrationChecking, EventFenceAsked, MigrationAwaitingFence},
	{MigrationChecking, EventAdopted, MigrationPlacing},

	{MigrationQueued, EventWriteSent, MigrationEvicting},

	// Before the write: the task of a run that was lost.
	{MigrationAwaitingFence, EventAdopted, MigrationPlacing},
	// After it: the hold may go once the old copy is dead.
	{MigrationAwaitingFence, EventFenced, MigrationReleasing},
	{MigrationAwaitingFence, EventSourceGone, MigrationReleasing},
	{MigrationAwaitingFence, EventUnplaced, MigrationPlacing},
	// State goes along: the new copy runs under the hold, and has to be proven as well.
	{MigrationAwaitingFence, EventOldCopyGone, MigrationAwaitingHealth},
	{MigrationAwaitingFence, EventReturned, MigrationRestoring},
	// Another hand made the task one that can be put back, or released.
	{MigrationAwaitingFence, EventRestoreOrdered, MigrationRestoring},
	{MigrationAwaitingFence, EventReleaseOrdered, MigrationReleasing},

	// Recovery waits for the write's answer: there is no way out of here but by it.
	{MigrationEvicting, EventWriteStands, MigrationPlacing},
	{MigrationEvicting, EventPermitPassed, MigrationQueued},

	{MigrationPlacing, EventPlaced, MigrationAwaitingHealth},
	{MigrationPlacing, EventFenceAsked, MigrationAwaitingFence},
	{MigrationPlacing, EventRecovered, MigrationRestoring},
	{MigrationPlacing, EventRestoreOrdered, MigrationRestoring},
	{MigrationPlacing, EventReturned, MigrationRestoring},
	{MigrationPlacing, EventReleaseOrdered, MigrationReleasing},
	{MigrationPlacing, EventSourceGone, MigrationReleasing},

	{MigrationAwaitingHealth, EventProvenHealthy, MigrationReleasing},
	{MigrationAwaitingHealth, EventGracefulTimeout, MigrationReleasing},
	{MigrationAwaitingHealth, EventReleaseOrdered, MigrationReleasing},
	{MigrationAwaitingHealth, EventSourceGone, MigrationReleasing},
	{MigrationAwaitingHealth, EventUnplaced, MigrationPlacing},
	{MigrationAwaitingHealth, EventRecovered, MigrationRestoring},
	{MigrationAwaitingHealth, EventRestoreOrdered, MigrationRestoring},
	{MigrationAwaitingHealth, EventReturned, MigrationRestoring},

	{MigrationReleasing, EventReleased, MigrationPurging},
	{MigrationReleasing, EventReleaseRefused, MigrationAwaitingHealth},
	{MigrationReleasing, EventCalledOff, MigrationAwaitingHealth},
	{MigrationReleasing, EventFenceAsked, MigrationAwaitingFence},

	// The scheduler's late answer to Lifeboat's eviction was a placement after all.
	{MigrationRestoring, EventPlaced, MigrationAwaitingHealth},
	{MigrationRestoring, EventFenceAsked, MigrationAwaitingFence},
	{MigrationRestoring, EventSourceGone, MigrationReleasing},
	// The failure is back, or the put-back was refused: it goes on as if it had not been ordered.
	{MigrationRestoring, EventRestoreRefused, MigrationPlacing},
	{MigrationRestoring, EventCalledOff, MigrationPlacing},
}

// migrationEnds are the outcomes that a migration may end with, by the phase that it ends in. A
// deleted binding ends every phase.
var migrationEnds = []struct {
	From Migration
	As   []Outcome
}{
	{MigrationChecking, []Outcome{OutcomeAbandoned, OutcomeBlocked, OutcomeMovedByOthers, OutcomeNeedsOperator}},
	{MigrationQueued, []Outcome{OutcomeAbandoned, OutcomeBlocked}},
	{MigrationAwaitingFence, []Outcome{OutcomeAbandoned, OutcomeBlocked, OutcomeMovedByOthers, OutcomeNeedsOperator}},
	{MigrationEvicting, []Outcome{OutcomeAbandoned, OutcomeBlocked, OutcomeMovedByOthers, OutcomeSkipped, OutcomeNeedsOperator}},
	{MigrationPlacing, []Outcome{OutcomeNeedsOperator}},
	{MigrationAwaitingHealth, []Outcome{OutcomeKept, OutcomeNeedsOperator}},
	{MigrationReleasing, nil},
	{MigrationPurging, []Outcome{OutcomeMigrated}},
	{MigrationRestoring, []Outcome{OutcomeRestored, OutcomeNeedsOperator}},
}

// migrationTable is both, with the ends of what another hand has done to the task.
var migrationTable = withEnds(migrationSteps)

func withEnds(steps []migrationStep) []migrationStep {
	steps = slices.Clone(steps)
	for _, end := range migrationEnds {
		for _, o := range append(slices.Clone(end.As), OutcomeGone) {
			steps = append(steps, migrationStep{end.From, EventOf(o), MigrationDone})
		}
	}
	for _, held := range []Migration{MigrationChecking, MigrationEvicting, MigrationAwaitingFence, MigrationPlacing, MigrationAwaitingHealth} {
		steps = append(steps, migrationStep{held, EventTaskDropped, MigrationDone})
	}
	return steps
}

// NextMigration is the only door from phase to phase of a migration. The error
// names a move that does not exist; the phase then stays.
func NextMigration(p Migration, e MigrationEvent) (Migration, error) {
	return next("migration", migrationTable, p, e)
}

// Known reports whether it is a phase of a migration at all.
func (p Migration) Known() bool {
	return slices.ContainsFunc(migrationTable, func(s migrationStep) bool { return s.From == p || s.To == p })
}

// Terminal reports whether a migration in this phase has ended.
func (p Migration) Terminal() bool { return p == MigrationDone }
