// Package survey queries the pacer and every running failover, and publishes the answers as metrics.
//
// Only the leading controller queries, so that there is one value: a worker's last value of a workflow may be
// hours old, is lost when the worker restarts, and differs between workers.
package survey

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Source answers for workflows; [status.Source] does.
type Source interface {
	// Pacer queries the pacer; why is not empty when it did not answer.
	Pacer(ctx context.Context) (pacer workflows.PacerStatus, why string)
	// Failover queries the failover of one cluster, and returns [status.ErrNotFound] without one. If it does not
	// answer, Unanswered is set.
	Failover(ctx context.Context, cluster string) (status.Failover, error)
}

// Survey queries at an interval while its controller leads.
type Survey struct {
	Source   Source
	Fleet    *telemetry.Fleet
	Instance string
	Interval time.Duration
}

// Run queries the failovers of these clusters until ctx ends, and then publishes nothing.
func (s *Survey) Run(ctx context.Context, clusters func() []string) {
	defer s.Fleet.Set(nil)
	before := &telemetry.FleetState{}
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		now := s.Ask(ctx, clusters(), before)
		if ctx.Err() == nil {
			s.Fleet.Set(now)
			before = now
		}
	}, s.Interval)
}

// answer is the state of one failover, nil if it did not answer.
type answer struct {
	runs  bool
	state *telemetry.FailoverState
}

// Ask queries every workflow once. A workflow that does not answer keeps its last values.
func (s *Survey) Ask(ctx context.Context, clusters []string, before *telemetry.FleetState) *telemetry.FleetState {
	now := &telemetry.FleetState{Pace: before.Pace, Asked: map[string]bool{}}
	pacer, why := s.Source.Pacer(ctx)
	now.Asked[workflows.FleetPacerID(s.Instance)] = why != ""
	if why == "" {
		now.Pace = &pacer.Pace
	}
	answers := make([]answer, len(clusters))
	status.Each(len(clusters), func(n int) { answers[n] = s.failover(ctx, clusters[n]) })
	for n, cluster := range clusters {
		a := answers[n]
		if !a.runs {
			continue
		}
		now.Asked[workflows.ClusterFailoverID(s.Instance, cluster)] = a.state == nil
		if a.state == nil {
			last := slices.IndexFunc(before.Failovers, func(f telemetry.FailoverState) bool { return f.Cluster == cluster })
			if last < 0 {
				continue
			}
			a.state = &before.Failovers[last]
		}
		now.Failovers = append(now.Failovers, *a.state)
	}
	return now
}

func (s *Survey) failover(ctx context.Context, cluster string) answer {
	f, err := s.Source.Failover(ctx, cluster)
	switch {
	case errors.Is(err, status.ErrNotFound):
		return answer{}
	case err != nil || f.FailoverStatus == nil:
		return answer{runs: true}
	case f.Phase.Terminal():
		return answer{}
	}
	state := stateOf(f.FailoverStatus)
	state.Cluster = cluster // two states of one name would break all metrics
	return answer{runs: true, state: &state}
}

func stateOf(e *workflows.FailoverStatus) telemetry.FailoverState {
	f := telemetry.FailoverState{
		Cluster: e.Name, Mode: e.Terms.Mode, Phase: e.Phase, Paused: e.Paused != nil,
		Blocked: map[reason.Reason]int{}, Attention: map[reason.Reason]int{}, Waiting: map[reason.Reason]int{},
		BlockedSince: e.BlockedSince, PendingPurge: len(e.PendingPurges) + e.PendingPurgesBeyond,
		Bindings: map[string]int{
			telemetry.StateTolerating: e.States[queue.Tolerating],
			telemetry.StateWaiting:    e.States[queue.Due] + e.States[queue.Ready] + e.States[queue.Hold] + e.Left,
			telemetry.StatePaused:     e.States[queue.Paused],
			telemetry.StateFence:      e.States[queue.Fence],
		},
	}
	maps.Copy(f.Waiting, e.WaitingBy)
	for why, n := range e.BlockedBy {
		if why == reason.AwaitingApproval {
			f.Bindings[telemetry.StateApproval] += n
			continue
		}
		f.Blocked[why] += n
		f.Bindings[telemetry.StateBlocked] += n
	}
	for _, m := range e.Migrations {
		if m.Phase == phase.MigrationAwaitingFence {
			f.Bindings[telemetry.StateFence]++
		} else {
			f.Bindings[telemetry.StateMoving]++
		}
		if m.Attention != reason.None {
			f.Attention[m.Attention]++
		}
	}
	if e.Left > 0 {
		f.Waiting[reason.Waiting] += e.Left
	}
	for _, cause := range e.Attention {
		f.Attention[cause]++
	}
	return f
}
