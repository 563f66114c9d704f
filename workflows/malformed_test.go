package workflows_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

func TestMalformedSignalsToAFailoverChangeNothing(t *testing.T) {
	s := newStory(t)
	key := s.bind("app", []string{"m1"}, "m1", "m2")
	s.world.SetReady("m1", false)
	send := func(name string, arg any) {
		s.signal(workflows.ClusterFailoverID("", "m1"), name, arg)
	}
	s.at(10*time.Second, func() {
		send(workflows.SignalClusterObserved, workflows.ClusterObserved{})
		send(workflows.SignalClusterObserved, workflows.ClusterObserved{Fact: rules.ClusterFact{Cluster: "m2", UID: "uid-m2", Deleted: true}})
		send(workflows.SignalAdopt, workflows.Adopt{Cluster: "m2"})
		send(workflows.SignalGrant, workflows.Grant{Permits: pace.Permits{Number: 99}})
		send(workflows.SignalMigrationReport, workflows.MigrationReport{Key: key, Result: &record.Result{Key: key, Outcome: phase.OutcomeMigrated}})
	})
	s.at(5*time.Minute, func() { s.world.SetReady("m1", true) })
	r := s.play()
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(r))
	require.Len(t, s.world.Log("evict"), 1)
	require.Len(t, r.Attempts[0].Results, 1)
}
