package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// pacerStatus asks the pacer how it stands.
func (s *story) pacerStatus() workflows.PacerStatus {
	s.t.Helper()
	var status workflows.PacerStatus
	value, err := s.env.QueryWorkflowByID(workflows.FleetPacerID(""), workflows.QueryStatus)
	require.NoError(s.t, err)
	require.NoError(s.t, value.Get(&status))
	return status
}

// Holding many dependents takes longer than a permit lasts: none is out meanwhile.
//
// Rules: R4.10-1, R4.10-8.
func TestNoPermitIsOutWhileDependentsAreHeld(t *testing.T) {
	s := newStory(t)
	s.parents("app")
	s.holds = 30 * time.Second
	s.world.SetReady("m1", false)
	s.at(addAfter+20*time.Second, func() {
		status := s.pacerStatus()
		require.Zero(t, status.Granted)
		require.Empty(t, status.Schedule.Out)
		require.Equal(t, phase.MigrationChecking, s.status().Moves["shop/app"].Phase)
	})
	s.at(4*time.Minute, func() {
		require.EqualValues(t, 1, s.pacerStatus().Granted)
		require.Len(t, s.used, 1)
		s.world.SetReady("m1", true)
	})
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Equal(t, 1, s.pacer.used)
	require.Empty(t, s.world.Leftovers())
}

// heldAhead is a story of two parents of which one waits for its permit, its dependents
// held, until after the story's end. Which of them does is known from minute three on.
func heldAhead(t *testing.T) (s *story, waits *karmada.BindingKey) {
	s, waits = newStory(t), &karmada.BindingKey{Namespace: "shop"}
	s.settings.Pace.EvictionRate = 0.001
	s.parents("a", "b")
	s.world.SetReady("m1", false)
	s.at(3*time.Minute, func() {
		waits.Name = "a"
		if s.status().Moves["shop/b"].WantsPermit {
			waits.Name = "b"
		}
		require.True(t, s.status().Moves[waits.String()].WantsPermit)
		require.Equal(t, reason.AwaitingPermit, s.status().Moves[waits.String()].Reason)
		require.Contains(t, s.holdersOf(configKey), s.migration(*waits))
	})
	return s, waits
}

// A parent whose dependents are held waits for its permit: it is queued, wherever one looks.
//
// Rules: R4.7-60.
func TestParent_WaitsForItsPermit_ShowsAsQueued(t *testing.T) {
	s, waits := heldAhead(t)
	s.at(4*time.Minute, func() {
		st := s.status()
		require.Equal(t, phase.MigrationQueued, st.Moves[waits.String()].Phase)
		require.Contains(t, s.published, string(phase.MigrationQueued))
		require.Contains(t, s.pageOf(s.migration(*waits)), "is queued: it waits for its permit")
		require.Contains(t, s.pageOf(s.migration(*waits)), "Checking ✔ → **Queued** → Evicting")
		counts := st.View(s.env.Now()).Counts
		require.Equal(t, 1, counts.Waiting)
		require.Zero(t, counts.Moving)
	})
	s.at(8*time.Minute, func() { s.world.SetReady("m1", true) })
	require.Equal(t, phase.OutcomeAbandoned, outcomes(s.play())[waits.Name])
}

// Whatever comes while a parent waits for its permit, it lets go of its dependents.
//
// Rules: R4.7-39, R4.9-10, R4.9-32, R4.10-3.
func TestAParentThatWaitsForItsPermitLetsGoAtEveryEnd(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*story, karmada.BindingKey)
		want    phase.Outcome
		ended   phase.Failover
	}{
		"recovery": {happens: func(s *story, _ karmada.BindingKey) { s.world.SetReady("m1", true) }, want: phase.OutcomeAbandoned, ended: phase.FailoverRecovered},
		"cancelled": {
			happens: func(s *story, key karmada.BindingKey) { s.must(workflows.UpdateCancel, key, false) },
			want:    phase.OutcomeAbandoned, ended: phase.FailoverRecovered,
		},
		"binding deleted": {happens: func(s *story, key karmada.BindingKey) { s.world.DeleteBinding(key) }, want: phase.OutcomeGone, ended: phase.FailoverRecovered},
		"cluster deleted": {happens: func(s *story, _ karmada.BindingKey) { s.world.DeleteCluster("m1") }, want: phase.OutcomeAbandoned, ended: phase.FailoverGone},
		"paused, recovered": {
			happens: func(s *story, _ karmada.BindingKey) { s.order(workflows.UpdatePause, "wait") },
			want:    phase.OutcomeAbandoned, ended: phase.FailoverRecovered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, waits := heldAhead(t)
			s.at(4*time.Minute, func() { c.happens(s, *waits) })
			s.at(8*time.Minute, func() {
				if c.ended != phase.FailoverGone {
					s.world.SetReady("m1", true)
				}
			})
			r := s.play()
			require.Equal(t, c.ended, r.Ended)
			require.Equal(t, c.want, outcomes(r)[waits.Name])
			require.Len(t, s.world.Log("evict"), 1)
			require.Empty(t, s.world.Leftovers())
		})
	}
}

// A drain with a rate of its own lets one move begin at a time. Those that hold their
// dependents and wait have not begun.
//
// Rules: R4.12-6.
func TestADrainsOwnRateCountsNoParentThatWaits(t *testing.T) {
	s := newStory(t)
	s.parents("a", "b", "c")
	s.keepOpen()
	s.at(time.Second, func() { s.drain(workflows.DrainOrder{Rate: 0.1}) })
	s.at(8*time.Minute, func() { s.order(workflows.UpdateUndrain, "done") })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"a": "Migrated", "b": "Migrated", "c": "Migrated"}, outcomes(r))
	evicted := s.world.Log("evict")
	require.Len(t, evicted, 3)
	for i, w := range evicted[1:] {
		require.GreaterOrEqual(t, w.At.Sub(evicted[i].At), 10*time.Second)
	}
	require.Empty(t, s.world.Leftovers())
}
