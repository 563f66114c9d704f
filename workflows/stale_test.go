package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/stretchr/testify/require"
)

// Rules: R4.7-47, R4.7-48.
func TestMigration_KarmadaStale_HoldsUntilItIsBack(t *testing.T) {
	const back = 20 * time.Minute
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.ManagerDead = true
	s.world.SetReady("m1", false)
	began := s.world.PeekCluster("m1").Conditions[0].LastTransition
	s.at(back, func() { s.world.ManagerDead, s.world.ManagerSince = false, began.Add(back) })
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()

	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	released := s.world.Log("release")
	require.Len(t, released, 1)
	require.GreaterOrEqual(t, released[0].At.Sub(began), back+s.settings.Terms.Detection, "a manager that has just started proves nothing")
}

// Rules: R4.7-49.
func TestMigration_LeaseCannotBeRead_HealthOutlastsDetection(t *testing.T) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.ManagerErr = karmada.ErrGone
	s.world.SetReady("m1", false)
	s.at(30*time.Minute, func() { s.world.SetReady("m1", true) })
	s.play()

	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.GreaterOrEqual(t, s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At), s.settings.Terms.Detection)
}
