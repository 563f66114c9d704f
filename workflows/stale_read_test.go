package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/stretchr/testify/require"
)

// A backup of Karmada is restored while a new copy is being proven: what it says may be over.
//
// Rules: R4.7-41.
func TestNothingIsReleasedOnWhatABackupSays(t *testing.T) {
	s := newAudited(t)
	app := s.bind("app", []string{"m1"}, "m1", "m2")
	var was karmada.Binding
	var back time.Time
	s.onEvict(func() {
		s.at(8*time.Second, func() { was = s.world.Peek(app) })
		s.at(9*time.Second, func() {
			s.world.Change(app, func(b *karmada.Binding) { b.Annotations = map[string]string{"example.com/touched": "yes"} })
		})
		s.at(11*time.Second, func() {
			back = s.env.Now()
			s.world.Rewind(was)
		})
	})
	s.world.SetReady("m1", false)
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1)
	require.GreaterOrEqual(t, s.world.Log("release")[0].At.Sub(back), s.settings.Terms.Detection, "proof begins anew, and takes longer")
	attention := s.recorded(record.AuditBindingAttention, app)
	require.Len(t, attention, 1)
	require.Equal(t, reason.StaleRead, attention[0].Reason)
}
