package phase

import (
	"fmt"
	"strings"
)

// Failover is where the failover of one cluster stands. Phases are strings:
// they live in histories, where a renumbered int would lie.
type Failover string

// The phases of a failover; the last five are terminal.
const (
	FailoverSuspected  Failover = "Suspected"  // a window runs, no workload moves
	FailoverCordoned   Failover = "Cordoned"   // NoSchedule taints of rules stand, and no workload moves
	FailoverConfirmed  Failover = "Confirmed"  // the failure is believed, the taint goes on
	FailoverEvacuating Failover = "Evacuating" // bindings move
	FailoverEvacuated  Failover = "Evacuated"  // nothing left to do but wait
	FailoverRecovering Failover = "Recovering" // conditions are well, the removal window runs
	FailoverSettling   Failover = "Settling"   // abandons, restores, then untaints; placed migrations finish
	FailoverStopped    Failover = "Stopped"    // an operator cancelled
	FailoverFalseAlarm Failover = "FalseAlarm"
	FailoverUncordoned Failover = "Uncordoned" // it was only cordoned, and no longer is
	FailoverRecovered  Failover = "Recovered"
	FailoverCancelled  Failover = "Cancelled"
	FailoverGone       Failover = "Gone" // the cluster was deleted, or another uid took its name
)

// FailoverEvent is what moves a failover from phase to phase.
type FailoverEvent string

// The events of a failover.
const (
	EventConfirmed         FailoverEvent = "Confirmed"         // a window elapsed, or a triggering taint of another actor or of an earlier run stands
	EventCordoned          FailoverEvent = "Cordoned"          // the windows that elapsed are those of NoSchedule taints alone
	EventUncordoned        FailoverEvent = "Uncordoned"        // no such taint is left, and no such rule matches
	EventTainted           FailoverEvent = "Tainted"           // Lifeboat's taints stand; in observe they would
	EventQueueDone         FailoverEvent = "QueueDone"         // nothing queued or moving but what waits: for a fence, or for workloads that are blocked
	EventWorkAppeared      FailoverEvent = "WorkAppeared"      // something to move again
	EventConditionsWell    FailoverEvent = "ConditionsWell"    // no rule of this failure matches, and no foreign triggering taint stands
	EventConditionsBad     FailoverEvent = "ConditionsBad"     // they match again
	EventNothingWrong      FailoverEvent = "NothingWrong"      // before anything was written
	EventRecoveryConfirmed FailoverEvent = "RecoveryConfirmed" // the removal window elapsed, or an operator removed the last taint
	EventFailedAgain       FailoverEvent = "FailedAgain"       // after abandon and restore began: a new attempt
	EventAllSettled        FailoverEvent = "AllSettled"        // no Lifeboat taint, the last migration reported
	EventCancelOrdered     FailoverEvent = "CancelOrdered"     // an operator cancelled
	EventResumeOrdered     FailoverEvent = "ResumeOrdered"     // an operator re-opened a stopped failover: a new attempt
	EventEnforceOrdered    FailoverEvent = "EnforceOrdered"    // an operator turned observe into enforce: a new attempt
	EventStopSettled       FailoverEvent = "StopSettled"       // stopped, and nothing has matched for the removal window
	EventClusterGone       FailoverEvent = "ClusterGone"       // deleted, or another uid
)

// Migration is where the move of one binding stands.
type Migration string

// The phases of a migration. The terminal ones are outcomes, see [Outcome].
const (
	MigrationChecking Migration = "Checking"
	MigrationQueued   Migration = "Queued"   // it waits for its permit: its dependents are held, or a permit has passed
	MigrationEvicting Migration = "Evicting" // the write is under way, its end not known
	// MigrationAwaitingFence: Directly. Before the write where the source does not answer; after it until the old copy
	// is deleted or proven dead.
	MigrationAwaitingFence  Migration = "AwaitingFence"
	MigrationPlacing        Migration = "Placing"
	MigrationAwaitingHealth Migration = "AwaitingHealth"
	MigrationReleasing      Migration = "Releasing"
	MigrationPurging        Migration = "Purging"
	MigrationRestoring      Migration = "Restoring"
	MigrationDone           Migration = "Done" // the outcome says how
)

// MigrationEvent is what moves a migration from phase to phase. Each says what has happened: none
// is sent only because the table has an arrow for it.
type MigrationEvent string

// The events of a migration.
const (
	EventDependentsHeld  MigrationEvent = "DependentsHeld"  // what goes along is held, so that a permit may be requested
	EventWriteSent       MigrationEvent = "WriteSent"       // the evict activity runs
	EventPermitPassed    MigrationEvent = "PermitPassed"    // before the write was sent
	EventWriteStands     MigrationEvent = "WriteStands"     // Lifeboat's task is there, the cluster is out
	EventAdopted         MigrationEvent = "Adopted"         // the same, found standing: this migration sent no write
	EventFenceAsked      MigrationEvent = "FenceAsked"      // Directly: what is next needs the old copy dead
	EventFenced          MigrationEvent = "Fenced"          // it is, by proof
	EventOldCopyGone     MigrationEvent = "OldCopyGone"     // it is deleted, and its state goes to a new copy that is not proven yet
	EventPlaced          MigrationEvent = "Placed"          // the scheduler placed it elsewhere
	EventUnplaced        MigrationEvent = "Unplaced"        // the placement went away again
	EventProvenHealthy   MigrationEvent = "ProvenHealthy"   // the health plug-ins passed
	EventGracefulTimeout MigrationEvent = "GracefulTimeout" // it has passed, and health.releaseUnproven is on
	EventReleaseOrdered  MigrationEvent = "ReleaseOrdered"  // an operator orders the release, proven or not
	EventSourceGone      MigrationEvent = "SourceGone"      // the cluster object is deleted, and the old copy with it
	EventReleaseRefused  MigrationEvent = "ReleaseRefused"  // the last look before the drop said no
	EventReleased        MigrationEvent = "Released"        // the task is dropped
	EventCalledOff       MigrationEvent = "CalledOff"       // an order came first that wants what was about to be written left undone
	EventRecovered       MigrationEvent = "Recovered"       // the cluster has: the binding is restored, for it has no place, or goes straight back
	EventRestoreOrdered  MigrationEvent = "RestoreOrdered"  // by a put-back, or by a cancel of what is not placed
	EventReturned        MigrationEvent = "Returned"        // another actor, another migration's swap, or the scheduler, put it back, and it stays
	EventRestoreRefused  MigrationEvent = "RestoreRefused"  // the last look said no: the cluster fails again, or cannot take it back
	EventTaskDropped     MigrationEvent = "TaskDropped"     // by another hand, or by a release whose answer was lost
)

// EventOf is the event of an end: its outcome, and nothing else.
func EventOf(o Outcome) MigrationEvent { return MigrationEvent(o) }

// outcomes in the order in which a reader wants them.
var outcomes = []Outcome{
	OutcomeMigrated, OutcomeRestored, OutcomeAbandoned, OutcomeKept, OutcomeNeedsOperator, OutcomeSkipped,
	OutcomeMovedByOthers, OutcomeGone, OutcomeBlocked, OutcomeWouldMove, OutcomeWouldBlock,
}

// CountsLine is "12 Migrated, 3 Restored", in a fixed order; "nothing settled" when empty.
func CountsLine(counts map[Outcome]int) string {
	var parts []string
	for _, o := range outcomes {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(parts) == 0 {
		return "nothing settled"
	}
	return strings.Join(parts, ", ")
}

// Outcome is what became of one binding in one attempt.
type Outcome string

// The outcomes. Blocked is no end: the binding goes back to the queue.
const (
	OutcomeMigrated      Outcome = "Migrated"
	OutcomeRestored      Outcome = "Restored"
	OutcomeAbandoned     Outcome = "Abandoned"
	OutcomeKept          Outcome = "Kept"
	OutcomeNeedsOperator Outcome = "NeedsOperator"
	OutcomeSkipped       Outcome = "Skipped"
	OutcomeMovedByOthers Outcome = "MovedByOthers"
	OutcomeGone          Outcome = "Gone"
	OutcomeBlocked       Outcome = "Blocked"
	OutcomeWouldMove     Outcome = "WouldMove"
	OutcomeWouldBlock    Outcome = "WouldBlock"
)

// Application is where the failover of one application stands. It follows from what is known in
// each turn: no table of transitions is needed.
type Application string

// The phases of an application failover; the last five are terminal.
const (
	ApplicationUnhealthy     Application = "Unhealthy"     // a copy is, and its time runs or stands still
	ApplicationQueued        Application = "Queued"        // the time is over: it waits for its permit
	ApplicationMoving        Application = "Moving"        // a migration runs
	ApplicationBlocked       Application = "Blocked"       // the time is over, and it cannot move for now
	ApplicationNeedsOperator Application = "NeedsOperator" // no move would help
	ApplicationStopped       Application = "Stopped"       // an operator cancelled
	ApplicationHealed        Application = "Healed"        // well again, and nothing was moved
	ApplicationMigrated      Application = "Migrated"
	ApplicationTakenOver     Application = "TakenOver" // by the failover of its cluster
	ApplicationCancelled     Application = "Cancelled"
	ApplicationGone          Application = "Gone" // the binding, or its spec.failover.application
)

// Terminal reports whether an application failover in this phase has closed.
func (p Application) Terminal() bool {
	switch p {
	case ApplicationHealed, ApplicationMigrated, ApplicationTakenOver, ApplicationCancelled, ApplicationGone:
		return true
	case ApplicationUnhealthy, ApplicationQueued, ApplicationMoving, ApplicationBlocked, ApplicationNeedsOperator, ApplicationStopped:
	}
	return false
}
