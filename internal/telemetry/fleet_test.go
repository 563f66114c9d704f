package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestTheFleetIsPublishedAsAWholeAndEndsWithTheTermOfItsController(t *testing.T) {
	registry := prometheus.NewRegistry()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	fleet := NewFleet(registry, func() time.Time { return now })
	require.Zero(t, testutil.CollectAndCount(fleet), "who does not lead says nothing")

	fleet.Set(&FleetState{
		Pace: &pace.Pace{
			Tier: pace.TierHalted, Reason: reason.AllFaulty, FaultRate: 1,
			FleetHealth: pace.FleetHealth{Total: 2, Faulty: []string{"a", "b"}},
		},
		Asked: map[string]bool{"fleet-pacer": false, "cluster-failover/a": true},
		Failovers: []FailoverState{{
			Cluster: "a", Mode: rules.ModeEnforce, Phase: phase.FailoverEvacuating, PendingPurge: 3,
			Bindings:     map[string]int{StateMoving: 2, StateApproval: 1},
			Blocked:      map[reason.Reason]int{reason.NoTarget: 4},
			Attention:    map[reason.Reason]int{reason.GracefulTimeout: 1},
			Waiting:      map[reason.Reason]int{reason.WindowFull: 7},
			BlockedSince: now.Add(-90 * time.Second),
		}},
	})
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP lifeboat_pace_tier 1 for the tier that holds now.
# TYPE lifeboat_pace_tier gauge
lifeboat_pace_tier{tier="halted"} 1
lifeboat_pace_tier{tier="normal"} 0
lifeboat_pace_tier{tier="slow"} 0
# HELP lifeboat_pace_reason 1, with why that tier holds.
# TYPE lifeboat_pace_reason gauge
lifeboat_pace_reason{reason="AllFaulty"} 1
# HELP lifeboat_unanswered 1 while a workflow that runs does not answer.
# TYPE lifeboat_unanswered gauge
lifeboat_unanswered{workflow="cluster-failover/a"} 1
lifeboat_unanswered{workflow="fleet-pacer"} 0
# HELP lifeboat_oldest_blocked_seconds How long ago the first of the blocked bindings was due; 0 when none is.
# TYPE lifeboat_oldest_blocked_seconds gauge
lifeboat_oldest_blocked_seconds{cluster="a",mode="enforce"} 90
# HELP lifeboat_approvals_awaited Bindings that await an operator's approval now.
# TYPE lifeboat_approvals_awaited gauge
lifeboat_approvals_awaited{cluster="a",mode="enforce"} 1
# HELP lifeboat_pending_purge Old copies that stay until their cluster is back.
# TYPE lifeboat_pending_purge gauge
lifeboat_pending_purge{cluster="a",mode="enforce"} 3
# HELP lifeboat_waiting_bindings Bindings that are due and wait for their turn, by what holds them.
# TYPE lifeboat_waiting_bindings gauge
lifeboat_waiting_bindings{cluster="a",mode="enforce",reason="WindowFull"} 7
`), "lifeboat_waiting_bindings", "lifeboat_pace_tier", "lifeboat_pace_reason", "lifeboat_unanswered", "lifeboat_oldest_blocked_seconds",
		"lifeboat_approvals_awaited", "lifeboat_pending_purge"))

	fleet.Set(nil)
	require.Zero(t, testutil.CollectAndCount(fleet))
}

func TestAProgramIsKnownByItsBuildInfo(t *testing.T) {
	families, err := NewRegistry("lifeboat-worker", "").Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "lifeboat_build_info" {
			require.Equal(t, "lifeboat-worker", family.GetMetric()[0].GetLabel()[1].GetValue())
			return
		}
	}
	t.Fatal("no lifeboat_build_info")
}
