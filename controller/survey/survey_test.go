package survey

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// fleet is a source; the silent do not answer.
type fleet struct {
	pacer    workflows.PacerStatus
	running  map[string]workflows.FailoverStatus
	silent   map[string]bool // by cluster, "" is the pacer
	outage   error
	deadline time.Duration // how long the silent take
}

func (f *fleet) Pacer(context.Context) (workflows.PacerStatus, string) {
	if f.silent[""] {
		return workflows.PacerStatus{}, "no answer"
	}
	return f.pacer, ""
}

// Failover is silent for as long as the real one.
func (f *fleet) Failover(_ context.Context, cluster string) (status.Failover, error) {
	answer := status.Failover{Cluster: cluster}
	if f.silent[cluster] {
		<-time.After(f.deadline)
		answer.Unanswered = "no answer"
		return answer, nil
	}
	e, runs := f.running[cluster]
	if !runs {
		return answer, status.ErrNotFound
	}
	answer.FailoverStatus = &e
	return answer, f.outage
}

func evacuating() workflows.FailoverStatus {
	return workflows.FailoverStatus{
		Name: "a", Left: 2, BlockedSince: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		States:    map[queue.State]int{queue.Tolerating: 7, queue.Due: 1, queue.Ready: 2, queue.Blocked: 5, queue.Fence: 1},
		BlockedBy: map[reason.Reason]int{reason.NoTarget: 3, reason.AwaitingApproval: 2},
		WaitingBy: map[reason.Reason]int{reason.AwaitingPermit: 1, reason.WindowFull: 2},
		FailoverState: workflows.FailoverState{
			Phase: phase.FailoverEvacuating, Terms: activities.Terms{Mode: rules.ModeEnforce},
			Ledger: record.Ledger{PendingPurges: make([]record.PendingPurge, 2), PendingPurgesBeyond: 1}, Attention: []reason.Reason{reason.WaitingFull},
			Paused: &workflows.Order{Who: "ann", Reason: "lunch"},
			Migrations: map[string]workflows.Migration{
				"shop/cart": {Phase: phase.MigrationPlacing},
				"shop/db":   {Phase: phase.MigrationAwaitingFence, Reason: reason.AwaitingFence},
				"shop/pay":  {Phase: phase.MigrationAwaitingHealth, Reason: reason.NotHealthy, Attention: reason.GracefulTimeout},
			},
		},
	}
}

func TestAsk_CountsEveryUnfinishedBinding(t *testing.T) {
	s := &Survey{Source: &fleet{running: map[string]workflows.FailoverStatus{"a": evacuating()}}}
	now := s.Ask(t.Context(), []string{"a"}, &telemetry.FleetState{})
	require.Equal(t, []telemetry.FailoverState{{
		Cluster: "a", Mode: rules.ModeEnforce, Phase: phase.FailoverEvacuating, Paused: true,
		Bindings: map[string]int{
			telemetry.StateTolerating: 7, telemetry.StateWaiting: 5, telemetry.StatePaused: 0, telemetry.StateBlocked: 3,
			telemetry.StateApproval: 2, telemetry.StateFence: 2, telemetry.StateMoving: 2,
		},
		Blocked:      map[reason.Reason]int{reason.NoTarget: 3},
		Attention:    map[reason.Reason]int{reason.GracefulTimeout: 1, reason.WaitingFull: 1},
		Waiting:      map[reason.Reason]int{reason.AwaitingPermit: 1, reason.WindowFull: 2, reason.Waiting: 2},
		BlockedSince: evacuating().BlockedSince, PendingPurge: 3,
	}}, now.Failovers)
	require.Equal(t, map[string]bool{"fleet-pacer": false, "cluster-failover/a": false}, now.Asked)
}

// An alert must not end because the worker died.
func TestAsk_NoAnswer_KeepsTheLastValuesAndIsCounted(t *testing.T) {
	source := &fleet{
		running: map[string]workflows.FailoverStatus{"a": evacuating()}, silent: map[string]bool{},
		pacer: workflows.PacerStatus{PacerState: workflows.PacerState{Pace: pace.Pace{Tier: pace.TierHalted}}},
	}
	s := &Survey{Source: source, Instance: "eu"}
	before := s.Ask(t.Context(), []string{"a"}, &telemetry.FleetState{})
	source.silent["a"], source.silent[""] = true, true
	now := s.Ask(t.Context(), []string{"a", "not-running"}, before)
	require.Equal(t, before.Failovers, now.Failovers)
	require.Equal(t, pace.TierHalted, now.Pace.Tier)
	require.Equal(t, map[string]bool{"eu/fleet-pacer": true, "eu/cluster-failover/a": true}, now.Asked)

	source.silent, source.outage = nil, errors.New("away")
	require.True(t, s.Ask(t.Context(), []string{"a"}, before).Asked["eu/cluster-failover/a"])
}

func TestAsk_ClosedFailover_IsNotCounted(t *testing.T) {
	over := evacuating()
	over.Phase = phase.FailoverRecovered
	s := &Survey{Source: &fleet{running: map[string]workflows.FailoverStatus{"a": over}}}
	now := s.Ask(t.Context(), []string{"a"}, &telemetry.FleetState{})
	require.Empty(t, now.Failovers)
	require.NotContains(t, now.Asked, "cluster-failover/a")
}

func TestRun_PublishesOnlyWhileTheControllerLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fleet{running: map[string]workflows.FailoverStatus{"a": evacuating()}, silent: map[string]bool{}, deadline: 5 * time.Second}
		gauges := telemetry.NewFleet(prometheus.NewRegistry(), time.Now)
		s := &Survey{Source: source, Fleet: gauges, Interval: 15 * time.Second}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx, func() []string { return []string{"a"} }) }()
		synctest.Wait()
		require.Positive(t, testutil.CollectAndCount(gauges, "lifeboat_attention"))
		source.running = nil
		<-time.After(16 * time.Second)
		synctest.Wait()
		require.Zero(t, testutil.CollectAndCount(gauges, "lifeboat_attention"))
		require.Positive(t, testutil.CollectAndCount(gauges, "lifeboat_unanswered"))
		stop()
		<-done
		require.Zero(t, testutil.CollectAndCount(gauges))
	})
}

// A wrong answer of a foreign worker must not break the other metrics.
func TestAsk_AnswerWithAnotherName_IsCountedUnderTheQueriedName(t *testing.T) {
	registry := prometheus.NewRegistry()
	fleetOf := telemetry.NewFleet(registry, time.Now)
	s := &Survey{Source: &fleet{running: map[string]workflows.FailoverStatus{"a": evacuating(), "b": evacuating()}}}
	fleetOf.Set(s.Ask(t.Context(), []string{"a", "b"}, &telemetry.FleetState{}))
	_, err := registry.Gather()
	require.NoError(t, err)
}
