package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

var (
	episodePhases = []failover.EpisodePhase{
		failover.EpisodeSuspected, failover.EpisodeCordoned, failover.EpisodeUncordoned, failover.EpisodeConfirmed, failover.EpisodeEvacuating, failover.EpisodeEvacuated, failover.EpisodeRecovering,
		failover.EpisodeSettling, failover.EpisodeStopped, failover.EpisodeFalseAlarm, failover.EpisodeRecovered, failover.EpisodeCancelled, failover.EpisodeGone,
	}
	episodeEvents = []failover.EpisodeEvent{
		failover.EventConfirmed, failover.EventCordoned, failover.EventUncordoned, failover.EventTainted, failover.EventQueueDone, failover.EventWorkAppeared, failover.EventConditionsWell,
		failover.EventConditionsBad, failover.EventNothingWrong, failover.EventRecoveryConfirmed, failover.EventFailedAgain, failover.EventAllSettled,
		failover.EventCancelOrdered, failover.EventResumeOrdered, failover.EventEnforceOrdered, failover.EventStopSettled, failover.EventClusterGone,
	}
	migrationPhases = []failover.MigrationPhase{
		failover.MigrationChecking, failover.MigrationAwaitingFence, failover.MigrationEvicting, failover.MigrationPlacing, failover.MigrationAwaitingHealth,
		failover.MigrationReleasing, failover.MigrationPurging, failover.MigrationRestoring, failover.MigrationDone,
	}
	migrationEvents = []failover.MigrationEvent{
		failover.EventWriteSent, failover.EventWriteStands, failover.EventWriteRefused, failover.EventPlaced, failover.EventUnplaced,
		failover.EventProvenHealthy, failover.EventReleaseRefused, failover.EventReleased, failover.EventPurgeSettled,
		failover.EventRestoreOrdered, failover.EventRestoreComplete, failover.EventLeftToHuman, failover.EventBindingGone, failover.EventKept,
		failover.EventFenceAsked, failover.EventFenced,
	}
)

// The drawings in docs are printed from the tables: they cannot rot.
func TestTheDiagramsAreTheTables(t *testing.T) {
	golden(t, "../../docs/diagrams/episode.mmd", failover.EpisodeDiagram())
	golden(t, "../../docs/diagrams/migration.mmd", failover.MigrationDiagram())
}

func TestEpisodeStories(t *testing.T) {
	type story struct {
		events []failover.EpisodeEvent
		end    failover.EpisodePhase
	}
	for name, s := range map[string]story{
		"a blip is a false alarm": {[]failover.EpisodeEvent{failover.EventNothingWrong}, failover.EpisodeFalseAlarm},
		"cordoned and uncordoned": {[]failover.EpisodeEvent{failover.EventCordoned, failover.EventUncordoned}, failover.EpisodeUncordoned},
		"cordoned, then failed":   {[]failover.EpisodeEvent{failover.EventCordoned, failover.EventConfirmed, failover.EventTainted}, failover.EpisodeEvacuating},
		"a failure from first symptom to recovery": {[]failover.EpisodeEvent{
			failover.EventConfirmed, failover.EventTainted, failover.EventQueueDone, failover.EventConditionsWell, failover.EventRecoveryConfirmed, failover.EventAllSettled,
		}, failover.EpisodeRecovered},
		"a flap while recovering goes on in the same round": {[]failover.EpisodeEvent{
			failover.EventConfirmed, failover.EventTainted, failover.EventConditionsWell, failover.EventConditionsBad,
		}, failover.EpisodeEvacuating},
		"a failure while settling is a new round": {[]failover.EpisodeEvent{
			failover.EventConfirmed, failover.EventTainted, failover.EventConditionsWell, failover.EventRecoveryConfirmed, failover.EventFailedAgain,
		}, failover.EpisodeSuspected},
		"something to move again after all was done": {[]failover.EpisodeEvent{
			failover.EventConfirmed, failover.EventTainted, failover.EventQueueDone, failover.EventWorkAppeared,
		}, failover.EpisodeEvacuating},
		"it recovers before the taint stands": {[]failover.EpisodeEvent{failover.EventConfirmed, failover.EventConditionsWell}, failover.EpisodeRecovering},
		"cancelled and settled": {[]failover.EpisodeEvent{
			failover.EventConfirmed, failover.EventTainted, failover.EventCancelOrdered, failover.EventStopSettled,
		}, failover.EpisodeCancelled},
		"cancelled and taken up again": {[]failover.EpisodeEvent{failover.EventCancelOrdered, failover.EventResumeOrdered}, failover.EpisodeSuspected},
	} {
		t.Run(name, func(t *testing.T) {
			phase := failover.EpisodeSuspected
			for _, e := range s.events {
				next, err := failover.NextEpisode(phase, e)
				require.NoError(t, err)
				phase = next
			}
			require.Equal(t, s.end, phase)
		})
	}
}

func TestMigrationStories(t *testing.T) {
	type story struct {
		from   failover.MigrationPhase
		events []failover.MigrationEvent
		end    failover.MigrationPhase
	}
	for name, s := range map[string]story{
		"from check to purge": {failover.MigrationChecking, []failover.MigrationEvent{
			failover.EventWriteSent, failover.EventWriteStands, failover.EventPlaced, failover.EventProvenHealthy, failover.EventReleased, failover.EventPurgeSettled,
		}, failover.MigrationDone},
		"nothing was written":                    {failover.MigrationChecking, []failover.MigrationEvent{failover.EventWriteSent, failover.EventWriteRefused}, failover.MigrationDone},
		"adopted, it begins at Placing":          {failover.MigrationPlacing, []failover.MigrationEvent{failover.EventPlaced}, failover.MigrationAwaitingHealth},
		"the placement goes away again":          {failover.MigrationAwaitingHealth, []failover.MigrationEvent{failover.EventUnplaced}, failover.MigrationPlacing},
		"the last look before the drop says no":  {failover.MigrationReleasing, []failover.MigrationEvent{failover.EventReleaseRefused}, failover.MigrationAwaitingHealth},
		"recovery reaches it unplaced":           {failover.MigrationPlacing, []failover.MigrationEvent{failover.EventRestoreOrdered, failover.EventRestoreComplete}, failover.MigrationDone},
		"the answer to a restore is a placement": {failover.MigrationRestoring, []failover.MigrationEvent{failover.EventPlaced, failover.EventProvenHealthy}, failover.MigrationReleasing},
		"a fence before the write sends it back": {failover.MigrationChecking, []failover.MigrationEvent{failover.EventFenceAsked, failover.EventWriteRefused}, failover.MigrationDone},
		"Directly, with the source alive": {failover.MigrationChecking, []failover.MigrationEvent{
			failover.EventWriteSent, failover.EventWriteStands, failover.EventFenceAsked, failover.EventFenced, failover.EventReleased, failover.EventPurgeSettled,
		}, failover.MigrationDone},
		"the fence fell in the last look": {failover.MigrationReleasing, []failover.MigrationEvent{failover.EventFenceAsked}, failover.MigrationAwaitingFence},
		"purge mode Never keeps it":       {failover.MigrationAwaitingHealth, []failover.MigrationEvent{failover.EventKept}, failover.MigrationDone},
		"cancelled after it was placed":   {failover.MigrationAwaitingHealth, []failover.MigrationEvent{failover.EventLeftToHuman}, failover.MigrationDone},
	} {
		t.Run(name, func(t *testing.T) {
			phase := s.from
			for _, e := range s.events {
				next, err := failover.NextMigration(phase, e)
				require.NoError(t, err)
				phase = next
			}
			require.Equal(t, s.end, phase)
		})
	}
}

// What the recovery table forbids must not be drawable.
func TestForbiddenMoves(t *testing.T) {
	for _, e := range []failover.MigrationEvent{failover.EventRestoreOrdered, failover.EventLeftToHuman} {
		_, err := failover.NextMigration(failover.MigrationPurging, e)
		require.Error(t, err, "what is released is not put back (%s)", e)
	}
	_, err := failover.NextMigration(failover.MigrationEvicting, failover.EventRestoreOrdered)
	require.ErrorContains(t, err, "migration: no transition from Evicting on RestoreOrdered", "the write's answer is awaited first")
	_, err = failover.NextMigration(failover.MigrationPlacing, failover.EventReleased)
	require.Error(t, err, "nothing is released before it is proven")
	_, err = failover.NextEpisode(failover.EpisodeSettling, failover.EventConditionsBad)
	require.ErrorContains(t, err, "episode: no transition from Settling on ConditionsBad", "after abandon and restore it is a new round")
	_, err = failover.NextEpisode(failover.EpisodeStopped, failover.EventConfirmed)
	require.Error(t, err, "a stopped episode applies no rule")
	_, err = failover.NextEpisode(failover.EpisodeStopped, failover.EventCancelOrdered)
	require.Error(t, err)
}

func TestEveryEpisodePhase(t *testing.T) {
	for _, p := range episodePhases {
		leaves := 0
		for _, e := range episodeEvents {
			next, err := failover.NextEpisode(p, e)
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
		gone, err := failover.NextEpisode(p, failover.EventClusterGone)
		require.NoError(t, err)
		require.Equal(t, failover.EpisodeGone, gone)
		if p != failover.EpisodeStopped {
			stopped, err := failover.NextEpisode(p, failover.EventCancelOrdered)
			require.NoError(t, err)
			require.Equal(t, failover.EpisodeStopped, stopped)
		}
	}
}

func TestEveryMigrationPhase(t *testing.T) {
	for _, p := range migrationPhases {
		leaves := 0
		for _, e := range migrationEvents {
			next, err := failover.NextMigration(p, e)
			if err != nil {
				require.Equal(t, p, next, "a refused move leaves the phase")
				continue
			}
			leaves++
			require.Contains(t, migrationPhases, next)
		}
		require.Equal(t, p.Terminal(), leaves == 0, "%s is terminal when nothing leads out of it", p)
		if !p.Terminal() {
			done, err := failover.NextMigration(p, failover.EventBindingGone)
			require.NoError(t, err)
			require.Equal(t, failover.MigrationDone, done)
		}
	}
}
