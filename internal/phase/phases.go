package phase

import (
	"fmt"
	"slices"
	"strings"
)

type episodeStep struct {
	From Episode
	On   EpisodeEvent
	To   Episode
}

// episodeSteps are all the moves of an episode. Workflow code asks this table:
// changing a row changes what old histories replay to.
var episodeSteps = []episodeStep{
	{EpisodeSuspected, EventNothingWrong, EpisodeFalseAlarm},
	{EpisodeSuspected, EventConfirmed, EpisodeConfirmed},
	// Something of ours is left from before (a later round, an adopted task): it recovers.
	{EpisodeSuspected, EventConditionsWell, EpisodeRecovering},
	{EpisodeSuspected, EventCancelOrdered, EpisodeStopped},
	{EpisodeSuspected, EventClusterGone, EpisodeGone},

	// A rule that only cordons: nothing is listed, nothing moves, the pacer is not asked.
	{EpisodeSuspected, EventCordoned, EpisodeCordoned},
	{EpisodeCordoned, EventConfirmed, EpisodeConfirmed},
	{EpisodeCordoned, EventUncordoned, EpisodeUncordoned},
	{EpisodeCordoned, EventConditionsWell, EpisodeRecovering},
	{EpisodeCordoned, EventCancelOrdered, EpisodeStopped},
	{EpisodeCordoned, EventClusterGone, EpisodeGone},

	{EpisodeConfirmed, EventTainted, EpisodeEvacuating},
	// What was observed so far is listed and judged anew, under taints that stand.
	{EpisodeConfirmed, EventEnforceOrdered, EpisodeSuspected},
	{EpisodeEvacuating, EventEnforceOrdered, EpisodeSuspected},
	{EpisodeEvacuated, EventEnforceOrdered, EpisodeSuspected},
	{EpisodeConfirmed, EventConditionsWell, EpisodeRecovering},
	{EpisodeConfirmed, EventCancelOrdered, EpisodeStopped},
	{EpisodeConfirmed, EventClusterGone, EpisodeGone},

	{EpisodeEvacuating, EventQueueDone, EpisodeEvacuated},
	{EpisodeEvacuating, EventConditionsWell, EpisodeRecovering},
	{EpisodeEvacuating, EventCancelOrdered, EpisodeStopped},
	{EpisodeEvacuating, EventClusterGone, EpisodeGone},

	{EpisodeEvacuated, EventWorkAppeared, EpisodeEvacuating},
	{EpisodeEvacuated, EventConditionsWell, EpisodeRecovering},
	{EpisodeEvacuated, EventCancelOrdered, EpisodeStopped},
	{EpisodeEvacuated, EventClusterGone, EpisodeGone},

	// Nothing has been abandoned or restored yet: the same round goes on.
	{EpisodeRecovering, EventConditionsBad, EpisodeEvacuating},
	{EpisodeRecovering, EventRecoveryConfirmed, EpisodeSettling},
	// What an earlier failover has left on the cluster is cleaned away only in enforce.
	{EpisodeRecovering, EventEnforceOrdered, EpisodeSuspected},
	{EpisodeSettling, EventEnforceOrdered, EpisodeSuspected},
	{EpisodeRecovering, EventCancelOrdered, EpisodeStopped},
	{EpisodeRecovering, EventClusterGone, EpisodeGone},

	// From here on a failure that comes back is a new round.
	{EpisodeSettling, EventFailedAgain, EpisodeSuspected},
	{EpisodeSettling, EventAllSettled, EpisodeRecovered},
	{EpisodeSettling, EventCancelOrdered, EpisodeStopped},
	{EpisodeSettling, EventClusterGone, EpisodeGone},

	{EpisodeStopped, EventResumeOrdered, EpisodeSuspected},
	{EpisodeStopped, EventStopSettled, EpisodeCancelled},
	{EpisodeStopped, EventClusterGone, EpisodeGone},
}

// NextEpisode is the only door from phase to phase of an episode. The error names
// a move that does not exist; the phase then stays.
func NextEpisode(p Episode, e EpisodeEvent) (Episode, error) {
	for _, s := range episodeSteps {
		if s.From == p && s.On == e {
			return s.To, nil
		}
	}
	return p, fmt.Errorf("episode: no transition from %s on %s", p, e)
}

// Terminal tells whether an episode in this phase has closed.
func (p Episode) Terminal() bool {
	switch p {
	case EpisodeFalseAlarm, EpisodeUncordoned, EpisodeRecovered, EpisodeCancelled, EpisodeGone:
		return true
	case EpisodeSuspected, EpisodeCordoned, EpisodeConfirmed, EpisodeEvacuating, EpisodeEvacuated,
		EpisodeRecovering, EpisodeSettling, EpisodeStopped:
		return false
	}
	return false
}

type migrationStep struct {
	From Migration
	On   MigrationEvent
	To   Migration
}

// migrationSteps are all the moves of a migration; adoption enters at Placing.
var migrationSteps = []migrationStep{
	{MigrationChecking, EventWriteSent, MigrationEvicting},
	{MigrationChecking, EventFenceAsked, MigrationAwaitingFence},
	{MigrationChecking, EventBindingGone, MigrationDone},

	// Before the write: a fence, or the source's return, sends it back to the queue.
	{MigrationAwaitingFence, EventWriteRefused, MigrationDone},
	{MigrationAwaitingFence, EventWriteStands, MigrationPlacing},
	// After it: the hold may go once the old copy is dead.
	{MigrationAwaitingFence, EventFenced, MigrationReleasing},
	{MigrationAwaitingFence, EventUnplaced, MigrationPlacing},
	// State goes along: the new copy runs under the hold, and has to be proven as well.
	{MigrationAwaitingFence, EventPlaced, MigrationAwaitingHealth},
	// Another hand put it back and dropped our task, or made the task one that can be put back.
	{MigrationAwaitingFence, EventRestoreOrdered, MigrationRestoring},
	{MigrationAwaitingFence, EventLeftToHuman, MigrationDone},
	{MigrationAwaitingFence, EventBindingGone, MigrationDone},

	// Recovery waits for the write's answer: there is no way out of here but by it.
	{MigrationEvicting, EventWriteStands, MigrationPlacing},
	{MigrationEvicting, EventWriteRefused, MigrationDone},
	{MigrationEvicting, EventLeftToHuman, MigrationDone},
	{MigrationEvicting, EventBindingGone, MigrationDone},

	{MigrationPlacing, EventPlaced, MigrationAwaitingHealth},
	{MigrationPlacing, EventFenceAsked, MigrationAwaitingFence},
	{MigrationPlacing, EventRestoreOrdered, MigrationRestoring},
	{MigrationPlacing, EventLeftToHuman, MigrationDone},
	{MigrationPlacing, EventBindingGone, MigrationDone},

	{MigrationAwaitingHealth, EventProvenHealthy, MigrationReleasing},
	{MigrationAwaitingHealth, EventUnplaced, MigrationPlacing},
	{MigrationAwaitingHealth, EventRestoreOrdered, MigrationRestoring},
	{MigrationAwaitingHealth, EventKept, MigrationDone},
	{MigrationAwaitingHealth, EventLeftToHuman, MigrationDone},
	{MigrationAwaitingHealth, EventBindingGone, MigrationDone},

	{MigrationReleasing, EventReleased, MigrationPurging},
	{MigrationReleasing, EventReleaseRefused, MigrationAwaitingHealth},
	{MigrationReleasing, EventFenceAsked, MigrationAwaitingFence},
	{MigrationReleasing, EventBindingGone, MigrationDone},

	{MigrationPurging, EventPurgeSettled, MigrationDone},
	{MigrationPurging, EventBindingGone, MigrationDone},

	{MigrationRestoring, EventRestoreComplete, MigrationDone},
	// The scheduler's late answer to our eviction was a placement after all.
	{MigrationRestoring, EventPlaced, MigrationAwaitingHealth},
	{MigrationRestoring, EventFenceAsked, MigrationAwaitingFence},
	// The failure is back, or the put-back was refused: it goes on as if nobody had ordered it.
	{MigrationRestoring, EventRestoreRefused, MigrationPlacing},
	{MigrationRestoring, EventLeftToHuman, MigrationDone},
	{MigrationRestoring, EventBindingGone, MigrationDone},
}

// NextMigration is the only door from phase to phase of a migration. The error
// names a move that does not exist; the phase then stays.
func NextMigration(p Migration, e MigrationEvent) (Migration, error) {
	for _, s := range migrationSteps {
		if s.From == p && s.On == e {
			return s.To, nil
		}
	}
	return p, fmt.Errorf("migration: no transition from %s on %s", p, e)
}

// Known tells whether it is a phase of a migration at all.
func (p Migration) Known() bool {
	return slices.ContainsFunc(migrationSteps, func(s migrationStep) bool { return s.From == p || s.To == p })
}

// Terminal tells whether a migration in this phase has ended.
func (p Migration) Terminal() bool { return p == MigrationDone }

// EpisodeDiagram prints the moves of an episode as a Mermaid state diagram.
func EpisodeDiagram() string {
	d := newDiagram(string(EpisodeSuspected))
	for _, s := range episodeSteps {
		d.arrow(string(s.From), string(s.On), string(s.To))
		if s.To.Terminal() {
			d.end(string(s.To))
		}
	}
	return d.String()
}

// MigrationDiagram prints the moves of a migration as a Mermaid state diagram.
func MigrationDiagram() string {
	d := newDiagram(string(MigrationChecking))
	d.arrow("[*]", "Adopted", string(MigrationPlacing))
	for _, s := range migrationSteps {
		d.arrow(string(s.From), string(s.On), string(s.To))
		if s.To.Terminal() {
			d.end(string(s.To))
		}
	}
	return d.String()
}

type diagram struct {
	lines []string
	ends  []string
}

func newDiagram(start string) *diagram {
	return &diagram{lines: []string{"stateDiagram-v2", "    [*] --> " + start}}
}

func (d *diagram) arrow(from, on, to string) {
	d.lines = append(d.lines, fmt.Sprintf("    %s --> %s: %s", from, to, on))
}

func (d *diagram) end(phase string) {
	if !slices.Contains(d.ends, phase) {
		d.ends = append(d.ends, phase)
	}
}

// String is the whole diagram, ending in a newline.
func (d *diagram) String() string {
	lines := d.lines
	for _, e := range d.ends {
		lines = append(lines, fmt.Sprintf("    %s --> [*]", e))
	}
	return strings.Join(lines, "\n") + "\n"
}
