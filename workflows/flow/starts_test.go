package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
)

// Starts go in as few requests as the server takes: it ends a workflow whose payload is too large.
func TestStartMigrations_FewRequestsAndNoneTooLarge(t *testing.T) {
	for name, c := range map[string]struct {
		starts, bytes int // each of so many bytes
		want          []int
	}{
		"none":          {},
		"one":           {starts: 1, want: []int{1}},
		"many":          {starts: 70, want: []int{30, 30, 10}},
		"large":         {starts: 5, bytes: 200_000, want: []int{2, 2, 1}},
		"one too large": {starts: 2, bytes: 600_000, want: []int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []int
			answer := func(_ context.Context, r activities.StartRequest[workflows.BindingMigrationParams]) (activities.StartAnswer, error) {
				return activities.StartAnswer{Running: map[int]bool{len(r.Starts) - 1: true}}, nil
			}
			flowtest.InWorkflow(t, func(ctx workflow.Context) {
				start := flow.Start{Params: workflows.BindingMigrationParams{State: workflows.MigrationState{Message: strings.Repeat("x", c.bytes)}}}
				for _, s := range flow.StartMigrations(ctx, slices.Repeat([]flow.Start{start}, c.starts)) {
					asked = append(asked, len(s.Starts))
					var is activities.StartAnswer
					require.NoError(t, s.Answer.Get(ctx, &is))
					require.ErrorIs(t, is.Of(len(s.Starts)-1), activities.ErrRuns, "each request has the answer to its own starts")
				}
			}, flowtest.Acts{activities.NameStartMigrations: answer})
			require.Equal(t, c.want, asked)
		})
	}
}

// A server that is away for half a minute is asked again soon after: permits pass meanwhile.
func TestStartMigrations_AreTriedAgainEveryFewSeconds(t *testing.T) {
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		began := workflow.Now(ctx)
		require.NoError(t, flow.StartMigration(ctx, flow.Start{}))
		require.Less(t, workflow.Now(ctx).Sub(began), 40*time.Second)
	}, flowtest.Acts{activities.NameStartMigrations: func(ctx context.Context, _ activities.StartRequest[workflows.BindingMigrationParams]) (activities.StartAnswer, error) {
		if activity.GetInfo(ctx).Attempt <= 8 {
			return activities.StartAnswer{}, errors.New("unavailable")
		}
		return activities.StartAnswer{}, nil
	}})
}
