package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// A put-back that no write can carry out ends as refused: it neither waits in Restoring nor
// repeats itself, and the migration goes on.
//
// Rules: R4.9-57.
func TestPutBack_RescheduleWouldTakeEarlierGroup_IsRefused(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Change(key, func(b *karmada.Binding) {
		group := func(name, cluster string) karmada.ClusterAffinityTerm {
			return karmada.ClusterAffinityTerm{AffinityName: name, ClusterAffinity: karmada.ClusterAffinity{ClusterNames: []string{cluster}}}
		}
		b.Placement.ClusterAffinity = nil
		b.Placement.ClusterAffinities = []karmada.ClusterAffinityTerm{group("first", "m3"), group("home", "m1"), group("last", "m2")}
		b.Status.ObservedAffinity = "home"
	})
	s.world.HealthyAfter = 10 * time.Minute
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
	s.refuses(5*time.Minute, key, "a reschedule might take an affinity group")
	s.at(8*time.Minute, func() {
		m := s.status().Moves[key.String()]
		require.Equal(t, phase.MigrationAwaitingHealth, m.Phase, "%+v", m)
		require.NotEmpty(t, m.Attention)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Empty(t, s.world.Log("restore"))
	require.Empty(t, s.world.Leftovers())
}

// While a restore waits for the scheduler, a newer order replaces an older one.
//
// Rules: R4.9-58.
func TestOrders_WhileRestoring_NewestWins(t *testing.T) {
	for name, c := range map[string]struct {
		older, newer string
		on           string
		end          phase.Outcome
	}{
		"a release after a put-back": {older: workflows.UpdatePutBack, newer: workflows.UpdateRelease, on: "m2", end: phase.OutcomeMigrated},
		"a cancel after a put-back":  {older: workflows.UpdatePutBack, newer: workflows.UpdateCancel, on: "m2", end: phase.OutcomeNeedsOperator},
		"a cancel after a release":   {older: workflows.UpdateRelease, newer: workflows.UpdateCancel, on: "m2", end: phase.OutcomeNeedsOperator},
		"a put-back after a release": {older: workflows.UpdateRelease, newer: workflows.UpdatePutBack, on: "m1", end: phase.OutcomeRestored},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.ScheduleAfter, s.world.HealthyAfter = 10*time.Minute, time.Hour
			s.world.SetReady("m1", false)
			s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
			s.at(7*time.Minute, func() {
				require.Equal(t, phase.MigrationRestoring, s.status().Moves[key.String()].Phase)
				s.must(c.older, key, false)
			})
			s.at(8*time.Minute, func() { s.must(c.newer, key, false) })
			r := s.play()
			require.Equal(t, c.end, resultOf(t, r).Outcome, "%v", ops(s))
			require.Equal(t, c.on, s.world.Peek(key).Clusters[0].Name)
		})
	}
}

// A put-back that the API server refuses is called off by a newer order, and not carried out
// against it once the server takes writes again.
//
// Rules: R4.9-58.
func TestOrders_WhileThePutBackIsRefusedByTheServer_NewestWins(t *testing.T) {
	for newer, end := range map[string]phase.Outcome{
		workflows.UpdateRelease: phase.OutcomeMigrated, workflows.UpdateCancel: phase.OutcomeNeedsOperator,
	} {
		t.Run(newer, func(t *testing.T) {
			s := newStory(t)
			key := s.bind("app", []string{"m1"}, "m1", "m2")
			s.world.HealthyAfter = time.Hour
			s.world.SetReady("m1", false)
			s.at(3*time.Minute, func() { s.world.SetReady("m1", true) })
			s.at(7*time.Minute, func() {
				s.world.Fail = func(op, _ string) error {
					if op == "restore" {
						return karmada.ErrRefused
					}
					return nil
				}
				s.must(workflows.UpdatePutBack, key, false)
			})
			s.at(9*time.Minute, func() {
				require.Equal(t, phase.MigrationRestoring, s.status().Moves[key.String()].Phase)
				require.Equal(t, reason.Forbidden, s.status().Moves[key.String()].Reason)
				s.must(newer, key, false)
			})
			s.at(9*time.Minute+30*time.Second, func() { s.world.Fail = nil })
			r := s.play()
			require.Equal(t, end, resultOf(t, r).Outcome, "%v", ops(s))
			require.Equal(t, "m2", s.world.Peek(key).Clusters[0].Name)
			require.Empty(t, s.world.Log("restore"))
		})
	}
}

// A release that the API server refuses for minutes shows that refusal, and not what the
// release waited for before.
//
// Rules: R4.7-46.
func TestRelease_RefusedByTheServer_ShowsTheRefusal(t *testing.T) {
	const said = `Internal error occurred: failed calling webhook "resourcebinding.karmada.io"`
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.Fail = func(op, _ string) error {
		if op == "release" {
			return fmt.Errorf("patch resourcebindings shop/app: %w: %s", karmada.ErrRefused, said)
		}
		return nil
	}
	s.world.SetReady("m1", false)
	s.at(6*time.Minute, func() {
		m := s.status().Moves[key.String()]
		require.Equal(t, phase.MigrationReleasing, m.Phase)
		require.Equal(t, reason.Forbidden, m.Reason)
		require.Contains(t, m.Message, said)
		s.world.Fail = nil
	})
	s.at(9*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
}
