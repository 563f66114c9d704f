package phase_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/stretchr/testify/require"
)

var (
	episodePhases = []phase.Episode{
		phase.EpisodeSuspected, phase.EpisodeCordoned, phase.EpisodeUncordoned, phase.EpisodeConfirmed, phase.EpisodeEvacuating, phase.EpisodeEvacuated, phase.EpisodeRecovering,
		phase.EpisodeSettling, phase.EpisodeStopped, phase.EpisodeFalseAlarm, phase.EpisodeRecovered, phase.EpisodeCancelled, phase.EpisodeGone,
	}
	episodeEvents = []phase.EpisodeEvent{
		phase.EventConfirmed, phase.EventCordoned, phase.EventUncordoned, phase.EventTainted, phase.EventQueueDone, phase.EventWorkAppeared, phase.EventConditionsWell,
		phase.EventConditionsBad, phase.EventNothingWrong, phase.EventRecoveryConfirmed, phase.EventFailedAgain, phase.EventAllSettled,
		phase.EventCancelOrdered, phase.EventResumeOrdered, phase.EventEnforceOrdered, phase.EventStopSettled, phase.EventClusterGone,
	}
	migrationPhases = []phase.Migration{
		phase.MigrationChecking, phase.MigrationAwaitingFence, phase.MigrationEvicting, phase.MigrationPlacing, phase.MigrationAwaitingHealth,
		phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring, phase.MigrationDone,
	}
	migrationEvents = []phase.MigrationEvent{
		phase.EventWriteSent, phase.EventWriteStands, phase.EventWriteRefused, phase.EventPlaced, phase.EventUnplaced,
		phase.EventProvenHealthy, phase.EventReleaseRefused, phase.EventReleased, phase.EventPurgeSettled,
		phase.EventRestoreOrdered, phase.EventRestoreComplete, phase.EventLeftToHuman, phase.EventBindingGone, phase.EventKept,
		phase.EventFenceAsked, phase.EventFenced,
	}
)

// The drawings in docs are printed from the tables: they cannot rot.
func TestTheDiagramsAreTheTables(t *testing.T) {
	fixtures.Golden(t, "../../docs/diagrams/episode.mmd", phase.EpisodeDiagram())
	fixtures.Golden(t, "../../docs/diagrams/migration.mmd", phase.MigrationDiagram())
}

func TestEpisodeStories(t *testing.T) {
	type story struct {
		events []phase.EpisodeEvent
		end    phase.Episode
	}
	for name, s := range map[string]story{
		"a blip is a false alarm": {[]phase.EpisodeEvent{phase.EventNothingWrong}, phase.EpisodeFalseAlarm},
		"cordoned and uncordoned": {[]phase.EpisodeEvent{phase.EventCordoned, phase.EventUncordoned}, phase.EpisodeUncordoned},
		"cordoned, then failed":   {[]phase.EpisodeEvent{phase.EventCordoned, phase.EventConfirmed, phase.EventTainted}, phase.EpisodeEvacuating},
		"a failure from first symptom to recovery": {[]phase.EpisodeEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventQueueDone, phase.EventConditionsWell, phase.EventRecoveryConfirmed, phase.EventAllSettled,
		}, phase.EpisodeRecovered},
		"a flap while recovering goes on in the same round": {[]phase.EpisodeEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventConditionsWell, phase.EventConditionsBad,
		}, phase.EpisodeEvacuating},
		"a failure while settling is a new round": {[]phase.EpisodeEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventConditionsWell, phase.EventRecoveryConfirmed, phase.EventFailedAgain,
		}, phase.EpisodeSuspected},
		"something to move again after all was done": {[]phase.EpisodeEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventQueueDone, phase.EventWorkAppeared,
		}, phase.EpisodeEvacuating},
		"it recovers before the taint stands": {[]phase.EpisodeEvent{phase.EventConfirmed, phase.EventConditionsWell}, phase.EpisodeRecovering},
		"cancelled and settled": {[]phase.EpisodeEvent{
			phase.EventConfirmed, phase.EventTainted, phase.EventCancelOrdered, phase.EventStopSettled,
		}, phase.EpisodeCancelled},
		"cancelled and taken up again": {[]phase.EpisodeEvent{phase.EventCancelOrdered, phase.EventResumeOrdered}, phase.EpisodeSuspected},
	} {
		t.Run(name, func(t *testing.T) {
			current := phase.EpisodeSuspected
			for _, e := range s.events {
				next, err := phase.NextEpisode(current, e)
				require.NoError(t, err)
				current = next
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
			phase.EventWriteSent, phase.EventWriteStands, phase.EventPlaced, phase.EventProvenHealthy, phase.EventReleased, phase.EventPurgeSettled,
		}, phase.MigrationDone},
		"nothing was written":                    {phase.MigrationChecking, []phase.MigrationEvent{phase.EventWriteSent, phase.EventWriteRefused}, phase.MigrationDone},
		"adopted, it begins at Placing":          {phase.MigrationPlacing, []phase.MigrationEvent{phase.EventPlaced}, phase.MigrationAwaitingHealth},
		"the placement goes away again":          {phase.MigrationAwaitingHealth, []phase.MigrationEvent{phase.EventUnplaced}, phase.MigrationPlacing},
		"the last look before the drop says no":  {phase.MigrationReleasing, []phase.MigrationEvent{phase.EventReleaseRefused}, phase.MigrationAwaitingHealth},
		"recovery reaches it unplaced":           {phase.MigrationPlacing, []phase.MigrationEvent{phase.EventRestoreOrdered, phase.EventRestoreComplete}, phase.MigrationDone},
		"the answer to a restore is a placement": {phase.MigrationRestoring, []phase.MigrationEvent{phase.EventPlaced, phase.EventProvenHealthy}, phase.MigrationReleasing},
		"a fence before the write sends it back": {phase.MigrationChecking, []phase.MigrationEvent{phase.EventFenceAsked, phase.EventWriteRefused}, phase.MigrationDone},
		"Directly, with the source alive": {phase.MigrationChecking, []phase.MigrationEvent{
			phase.EventWriteSent, phase.EventWriteStands, phase.EventFenceAsked, phase.EventFenced, phase.EventReleased, phase.EventPurgeSettled,
		}, phase.MigrationDone},
		"the fence fell in the last look": {phase.MigrationReleasing, []phase.MigrationEvent{phase.EventFenceAsked}, phase.MigrationAwaitingFence},
		"purge mode Never keeps it":       {phase.MigrationAwaitingHealth, []phase.MigrationEvent{phase.EventKept}, phase.MigrationDone},
		"cancelled after it was placed":   {phase.MigrationAwaitingHealth, []phase.MigrationEvent{phase.EventLeftToHuman}, phase.MigrationDone},
	} {
		t.Run(name, func(t *testing.T) {
			current := s.from
			for _, e := range s.events {
				next, err := phase.NextMigration(current, e)
				require.NoError(t, err)
				current = next
			}
			require.Equal(t, s.end, current)
		})
	}
}

// What the recovery table forbids must not be drawable.
func TestForbiddenMoves(t *testing.T) {
	for _, e := range []phase.MigrationEvent{phase.EventRestoreOrdered, phase.EventLeftToHuman} {
		_, err := phase.NextMigration(phase.MigrationPurging, e)
		require.Error(t, err, "what is released is not put back (%s)", e)
	}
	_, err := phase.NextMigration(phase.MigrationEvicting, phase.EventRestoreOrdered)
	require.ErrorContains(t, err, "migration: no transition from Evicting on RestoreOrdered", "the write's answer is awaited first")
	_, err = phase.NextMigration(phase.MigrationPlacing, phase.EventReleased)
	require.Error(t, err, "nothing is released before it is proven")
	_, err = phase.NextEpisode(phase.EpisodeSettling, phase.EventConditionsBad)
	require.ErrorContains(t, err, "episode: no transition from Settling on ConditionsBad", "after abandon and restore it is a new round")
	_, err = phase.NextEpisode(phase.EpisodeStopped, phase.EventConfirmed)
	require.Error(t, err, "a stopped episode applies no rule")
	_, err = phase.NextEpisode(phase.EpisodeStopped, phase.EventCancelOrdered)
	require.Error(t, err)
}

func TestEveryEpisodePhase(t *testing.T) {
	for _, p := range episodePhases {
		leaves := 0
		for _, e := range episodeEvents {
			next, err := phase.NextEpisode(p, e)
			if err != nil {
				require.Equal(t, p, next, "a refused move leaves the phase")
				continue
			}
			leaves++
			require.Contains(t, episodePhases, next)
		}
		require.Equal(t, p.Terminal(), leaves == 0, "%s is terminal when nothing leads out of it", p)
		if p.Terminal() {
			continue
		}
		gone, err := phase.NextEpisode(p, phase.EventClusterGone)
		require.NoError(t, err)
		require.Equal(t, phase.EpisodeGone, gone)
		if p != phase.EpisodeStopped {
			stopped, err := phase.NextEpisode(p, phase.EventCancelOrdered)
			require.NoError(t, err)
			require.Equal(t, phase.EpisodeStopped, stopped)
		}
	}
}

func TestEveryMigrationPhase(t *testing.T) {
	for _, p := range migrationPhases {
		leaves := 0
		for _, e := range migrationEvents {
			next, err := phase.NextMigration(p, e)
			if err != nil {
				require.Equal(t, p, next, "a refused move leaves the phase")
				continue
			}
			leaves++
			require.Contains(t, migrationPhases, next)
		}
		require.Equal(t, p.Terminal(), leaves == 0, "%s is terminal when nothing leads out of it", p)
		if !p.Terminal() {
			done, err := phase.NextMigration(p, phase.EventBindingGone)
			require.NoError(t, err)
			require.Equal(t, phase.MigrationDone, done)
		}
	}
}
