package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// aboutCopies gives an order about the copies of an application to its failover; the answer comes later.
func (s *story) aboutCopies(key karmada.BindingKey, verb string) *answer {
	order := workflows.BindingOrder{CancelOrder: workflows.CancelOrder{Order: jane}}
	return s.update(workflows.ApplicationFailoverID("", key), verb, fmt.Sprint(verb, s.env.Now()), order)
}

// An order counts from the write on, and not only from the migration's next report.
//
// Rules: R4.13-9.
func TestApplicationFailover_OrderAboutAnOldCopyRightAfterTheWrite_IsCarriedOut(t *testing.T) {
	for verb, op := range map[string]string{workflows.UpdatePutBack: "restore", workflows.UpdateRelease: "release"} {
		t.Run(verb, func(t *testing.T) {
			s, key := unhealthy(t)
			s.world.HealthyAfter = time.Hour
			s.onEvict(func() {
				s.at(2*time.Second, func() {
					require.Equal(t, phase.MigrationChecking, s.applicationStatus(key).Move.Phase, "its migration has not reported yet")
					s.accept(s.aboutCopies(key, verb))
				})
				s.at(time.Minute, func() {
					require.Len(t, s.world.Log(op), 1)
					s.health(key, s.world.Peek(key).Clusters[0].Name, karmada.HealthHealthy)
				})
			})
			s.applicationEnds(phase.ApplicationMigrated)
			require.Len(t, s.world.Log("evict"), 1)
		})
	}
}

// A release of what waits for its permit is refused, also where the failover does not know yet how the migration stands; a
// put-back of it is a cancel.
//
// Rules: R4.9-32, R4.13-9.
func TestApplicationFailover_OrderAboutAnOldCopyWhileNothingIsWritten_EndsNoCopy(t *testing.T) {
	s, key := unhealthy(t)
	s.needConfig(key)
	s.slow = map[string]time.Duration{activities.NameHoldDependents: 30 * time.Second}
	s.at(time.Minute, func() { s.fleetOrder(workflows.UpdateHalt) })
	s.at(tolerated+20*time.Second, func() {
		require.Equal(t, phase.MigrationChecking, s.applicationStatus(key).Move.Phase)
		s.refuse("nothing of Lifeboat's stands yet", s.aboutCopies(key, workflows.UpdateRelease))
	})
	s.at(4*time.Minute, func() {
		require.True(t, s.applicationStatus(key).Move.WantsPermit)
		s.refuse("nothing of Lifeboat's stands yet", s.aboutCopies(key, workflows.UpdateRelease))
		s.accept(s.aboutCopies(key, workflows.UpdatePutBack))
	})
	s.at(4*time.Minute+5*time.Second, func() {
		last := s.applicationStatus(key).Last
		require.Equal(t, phase.OutcomeAbandoned, last.Outcome)
		require.Equal(t, reason.PutBackOrdered, last.Reason)
		s.refuse("no old copy is held", s.aboutCopies(key, workflows.UpdatePutBack))
		s.health(key, "m1", karmada.HealthHealthy)
	})
	s.applicationEnds(phase.ApplicationHealed)
	require.Empty(t, s.world.Log("evict"))
}

// An order to a migration that does not run any more is refused at once.
//
// Rules: R4.9-57, R4.13-9.
func TestApplicationFailover_OrderToAMigrationThatWasTerminated_IsRefused(t *testing.T) {
	s, key := leaving(t)
	var asked *answer
	s.at(time.Second, func() { asked = s.aboutCopies(key, workflows.UpdatePutBack) })
	s.at(2*time.Second, func() { require.ErrorContains(t, asked.err, "no migration of it runs any more") })
	s.applicationEnds(phase.ApplicationMigrated)
	s.movedOnce(tolerated)
}

// Rules: R4.9-36, R4.13-9.
func TestApplicationFailover_OrderAboutAnOldCopyThatWasReleased_IsRefused(t *testing.T) {
	s, key := unhealthy(t)
	s.world.DeleteAfter = 5 * time.Minute
	asked := false
	s.at(8*time.Minute, func() {
		asked = true
		require.Equal(t, phase.MigrationPurging, s.applicationStatus(key).Move.Phase)
		s.refuse("released already", s.aboutCopies(key, workflows.UpdatePutBack))
	})
	s.applicationEnds(phase.ApplicationMigrated)
	require.True(t, asked)
}
