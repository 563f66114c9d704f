package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// scaledAt is when the stories of this file scale their binding to 0 replicas.
const scaledAt = 3 * time.Minute

// scaledToZero scales a binding to 0 replicas while its old copy is held: the scheduler drops every cluster.
func (s *story) scaledToZero(key karmada.BindingKey) {
	s.world.Change(key, func(b *karmada.Binding) { b.HasRequirements = true })
	s.at(scaledAt, func() {
		require.NotNil(s.t, s.task(key))
		s.world.Edit(key, func(b *karmada.Binding) { b.Replicas = 0 })
	})
}

func dividedByWeight(s *story, key karmada.BindingKey) {
	s.settings.RoomUnknownOK = true
	s.world.Change(key, func(b *karmada.Binding) {
		b.Placement.ReplicaScheduling = &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided, DivisionPreference: karmada.DivisionWeighted}
	})
}

// Rules: R4.7-17, R4.7-24, R4.7-29, R4.8-8, R4.8-11, R4.9-17.
func TestMigration_ScaledToZero_EndsWithoutATarget(t *testing.T) {
	const ends = 20 * time.Minute
	for name, c := range map[string]struct {
		fails   func(*story, time.Duration)
		arrange func(*story, karmada.BindingKey)
		outcome phase.Outcome // Migrated, where it is empty
		writes  []string
		within  time.Duration // of the scaling, for the last write
	}{
		"Duplicated":         {fails: (*story).outage, arrange: slow, writes: []string{"evict", "release"}, within: 15 * time.Second},
		"Divided":            {fails: (*story).outage, arrange: all(slow, dividedByWeight), writes: []string{"evict", "release"}, within: 15 * time.Second},
		"the source answers": {fails: (*story).maintained, arrange: slow, writes: []string{"evict", "release"}, within: 2 * time.Minute},
		"the source answers, and targets are probed": {fails: (*story).maintained, arrange: all(slow, func(s *story, _ karmada.BindingKey) {
			s.settings.Terms.Probe, s.prober = true, &prober{}
		}), writes: []string{"evict", "release"}, within: 15 * time.Second},
		"Directly": {fails: (*story).maintained, arrange: all(purged(karmada.PurgeDirectly), func(s *story, _ karmada.BindingKey) {
			s.world.DeleteAfter = scaledAt
		}), writes: []string{"evict", "release"}, within: 5 * time.Minute},
		"Never": {fails: (*story).outage, arrange: all(slow, purged(karmada.PurgeNever)), outcome: phase.OutcomeKept, writes: []string{"evict", "mark"}, within: 15 * time.Second},
		"the cluster recovers, and would be taken straight back": {fails: func(s *story, _ time.Duration) { s.outage(2 * time.Minute) }, arrange: all(slow, func(s *story, key karmada.BindingKey) {
			s.settings.Terms.MinHealthy = 10 * time.Minute
			s.world.Change(key, func(b *karmada.Binding) { b.Placement.SpreadConstraints = nil })
		}), writes: []string{"evict", "release"}, within: 11 * time.Minute},
		"nothing fitted: it is put back, and the scheduler drops it": {
			fails: func(s *story, _ time.Duration) { s.outage(5 * time.Minute) }, arrange: noFit, outcome: phase.OutcomeRestored, writes: []string{"evict", "restore"}, within: 5 * time.Minute,
		},
		"an order releases it at once": {fails: (*story).outage, arrange: all(slow, func(s *story, key karmada.BindingKey) {
			s.settings.Terms.MinHealthy = time.Hour
			s.at(scaledAt+30*time.Second, func() { s.must(workflows.UpdateRelease, key, false) })
		}), writes: []string{"evict", "release"}, within: 35 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s, key := withApp(t)
			c.arrange(s, key)
			c.fails(s, ends)
			s.scaledToZero(key)
			got := s.playApp()
			if c.outcome == "" {
				c.outcome = phase.OutcomeMigrated
				require.Nil(t, s.task(key))
			}
			require.Equal(t, c.outcome, got.Outcome, got.Message)
			require.Empty(t, got.To)
			require.Empty(t, s.world.Peek(key).Clusters)
			require.Equal(t, c.writes, s.writesOn(key))
			log := s.world.Log("")
			for _, w := range log {
				if w.Op == c.writes[len(c.writes)-1] {
					require.Less(t, w.At.Sub(storyBegins), scaledAt+c.within)
				}
			}
		})
	}
}

// Rules: R4.9-57.
func TestPutBack_ScaledToZero_IsRefusedAndEnds(t *testing.T) {
	s, key := withApp(t)
	slow(s, key)
	s.outage(2 * time.Minute)
	s.scaledToZero(key)
	s.refuses(scaledAt+20*time.Second, key, "its spec.replicas is 0")
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Equal(t, []string{"evict", "release"}, s.writesOn(key))
}

// A status names no cluster, and why.
func TestMigration_ScaledToZero_SaysSo(t *testing.T) {
	s, key := withApp(t)
	slow(s, key)
	s.settings.Terms.MinHealthy = 5 * time.Minute
	s.outage(10 * time.Minute)
	s.scaledToZero(key)
	s.world.Change(key, fixtures.Preserves)
	s.at(scaledAt+time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, phase.MigrationAwaitingHealth, st.Phase)
		require.Empty(t, st.To)
		require.True(t, st.Placed)
	})
	require.Equal(t, reason.CopyPreserved, s.playApp().Reason)
}
