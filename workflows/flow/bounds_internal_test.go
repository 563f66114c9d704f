package flow

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// Records of one batch go in one call, which has to stay below 2 MB.
func TestABatchOfRecordsFitsIntoOneCall(t *testing.T) {
	var sizes []int
	records := 0
	keep := func(_ context.Context, r activities.AuditRequest) error {
		sizes, records = append(sizes, workflows.SizeOf(r)), records+len(r.Records)
		return nil
	}
	flowtest.InWorkflow(t, func(ctx workflow.Context) {
		dirty := false
		s := NewTrailWriter(ctx, new(*workflows.Trail), TrailOptions{
			Dirty: &dirty, On: func() bool { return true }, Source: func() activities.AuditSource { return activities.AuditSource{} },
		})
		for range 6 {
			s.AddUrgent(record.Audit{Kind: record.AuditOrderGiven, Message: strings.Repeat("x", 450_000)})
		}
		s.Finish()
	}, flowtest.Acts{activities.NameRecordAudit: keep})
	require.Equal(t, 6, records)
	require.Less(t, slices.Max(sizes), 2_000_000)
}

func TestAnOrderTooLongToBeCarriedIsRefused(t *testing.T) {
	require.NoError(t, RefuseOrder(workflows.Order{Who: "jane", Reason: strings.Repeat("x", workflows.MaxReason)}))
	require.Error(t, RefuseOrder(workflows.Order{Who: "jane", Reason: strings.Repeat("x", workflows.MaxReason+1)}))
	require.Error(t, RefuseOrder(workflows.Order{Who: strings.Repeat("x", workflows.MaxWho+1), Reason: "a drill"}))
	long := queue.Scope{Namespace: strings.Repeat("x", 254)}
	require.NotEmpty(t, long.Check())
	require.Empty(t, queue.Scope{Namespace: strings.Repeat("x", 253)}.Check())
}
