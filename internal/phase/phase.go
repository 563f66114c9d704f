package phase

// Episode is where the failover of one cluster stands. Phases are strings:
// they live in histories, where a renumbered int would lie.
type Episode string

// The phases of an episode; the last five are terminal.
const (
	EpisodeSuspected  Episode = "Suspected"  // a window runs, nothing is written
	EpisodeCordoned   Episode = "Cordoned"   // NoSchedule taints of rules stand, and no workload moves
	EpisodeConfirmed  Episode = "Confirmed"  // the failure is believed, the taint goes on
	EpisodeEvacuating Episode = "Evacuating" // bindings move
	EpisodeEvacuated  Episode = "Evacuated"  // nothing left to do but wait
	EpisodeRecovering Episode = "Recovering" // conditions are well, the removal window runs
	EpisodeSettling   Episode = "Settling"   // untainted, placed migrations finish
	EpisodeStopped    Episode = "Stopped"    // a human cancelled
	EpisodeFalseAlarm Episode = "FalseAlarm"
	EpisodeUncordoned Episode = "Uncordoned" // it was only cordoned, and no longer is
	EpisodeRecovered  Episode = "Recovered"
	EpisodeCancelled  Episode = "Cancelled"
	EpisodeGone       Episode = "Gone" // the cluster was deleted, or another uid took its name
)

// EpisodeEvent is what moves an episode from phase to phase.
type EpisodeEvent string

// The events of an episode.
const (
	EventConfirmed         EpisodeEvent = "Confirmed"         // a window elapsed, or a foreign triggering taint stands
	EventCordoned          EpisodeEvent = "Cordoned"          // the windows that elapsed are those of NoSchedule taints alone
	EventUncordoned        EpisodeEvent = "Uncordoned"        // no such taint is left, and no such rule matches
	EventTainted           EpisodeEvent = "Tainted"           // our taints stand, the affected are listed
	EventQueueDone         EpisodeEvent = "QueueDone"         // nothing queued, nothing moving
	EventWorkAppeared      EpisodeEvent = "WorkAppeared"      // something to move again
	EventConditionsWell    EpisodeEvent = "ConditionsWell"    // no rule matches and no foreign triggering taint stands
	EventConditionsBad     EpisodeEvent = "ConditionsBad"     // they match again
	EventNothingWrong      EpisodeEvent = "NothingWrong"      // before anything was written
	EventRecoveryConfirmed EpisodeEvent = "RecoveryConfirmed" // the removal window elapsed, or a human removed the last taint
	EventFailedAgain       EpisodeEvent = "FailedAgain"       // after abandon and restore began: a new round
	EventAllSettled        EpisodeEvent = "AllSettled"        // no taint of ours, the last child reported
	EventCancelOrdered     EpisodeEvent = "CancelOrdered"     // a human cancelled
	EventResumeOrdered     EpisodeEvent = "ResumeOrdered"     // a human re-opened a stopped episode: a new round
	EventEnforceOrdered    EpisodeEvent = "EnforceOrdered"    // a human turned observe into enforce: a new round
	EventStopSettled       EpisodeEvent = "StopSettled"       // stopped, and nothing has matched for the removal window
	EventClusterGone       EpisodeEvent = "ClusterGone"       // deleted, or another uid
)

// Migration is where the move of one binding stands.
type Migration string

// The phases of a migration. The terminal ones are outcomes, see [Outcome].
const (
	MigrationChecking Migration = "Checking"
	MigrationEvicting Migration = "Evicting" // the write is under way, its end not known
	// MigrationAwaitingFence: Directly, and the old copy is not proven dead; before the
	// write, and after it for a source that died in between.
	MigrationAwaitingFence  Migration = "AwaitingFence"
	MigrationPlacing        Migration = "Placing"
	MigrationAwaitingHealth Migration = "AwaitingHealth"
	MigrationReleasing      Migration = "Releasing"
	MigrationPurging        Migration = "Purging"
	MigrationRestoring      Migration = "Restoring"
	MigrationDone           Migration = "Done" // the outcome says how
)

// MigrationEvent is what moves a migration from phase to phase.
type MigrationEvent string

// The events of a migration.
const (
	EventWriteSent       MigrationEvent = "WriteSent"       // the evict activity runs
	EventWriteStands     MigrationEvent = "WriteStands"     // our task is there, the cluster is out
	EventWriteRefused    MigrationEvent = "WriteRefused"    // nothing was written
	EventFenceAsked      MigrationEvent = "FenceAsked"      // Directly: what is next needs the old copy dead
	EventFenced          MigrationEvent = "Fenced"          // it is, by proof
	EventPlaced          MigrationEvent = "Placed"          // the scheduler placed it elsewhere
	EventUnplaced        MigrationEvent = "Unplaced"        // the placement went away again
	EventProvenHealthy   MigrationEvent = "ProvenHealthy"   // the health plug-ins passed
	EventReleaseRefused  MigrationEvent = "ReleaseRefused"  // the last look before the drop said no
	EventReleased        MigrationEvent = "Released"        // the task is dropped
	EventPurgeSettled    MigrationEvent = "PurgeSettled"    // the old Work is gone, wanted again, or owed
	EventRestoreOrdered  MigrationEvent = "RestoreOrdered"  // recovery or cancel reached it unplaced
	EventRestoreRefused  MigrationEvent = "RestoreRefused"  // the last look said no: the cluster fails again, or cannot take it back
	EventRestoreComplete MigrationEvent = "RestoreComplete" // the scheduler observed it with the cluster still in
	EventKept            MigrationEvent = "Kept"            // purge mode Never: the old copy stays for good
	EventLeftToHuman     MigrationEvent = "LeftToHuman"     // cancelled after it was placed
	EventBindingGone     MigrationEvent = "BindingGone"     // the binding was deleted, or another uid
)
