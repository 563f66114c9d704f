package status

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func closedRun(id, run string, ago time.Duration, how enumspb.WorkflowExecutionStatus) *workflowpb.WorkflowExecutionInfo {
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id, RunId: run}, Status: how,
		StartTime: timestamppb.New(now.Add(-ago - time.Hour)), CloseTime: timestamppb.New(now.Add(-ago)),
	}
}

func reported() workflows.FailoverReport {
	return workflows.FailoverReport{
		Cluster: "member1", FailoverID: "e", Ended: phase.FailoverRecovered, Began: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour),
		Attempts: []workflows.AttemptReport{{
			Attempt: 1, Since: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour), Ended: phase.FailoverRecovered, Folded: 7,
			Counts: map[string]int{"Migrated": 8, "Abandoned": 1},
			Results: []record.Result{
				{
					Key: key("cart"), Outcome: phase.OutcomeMigrated, To: []string{"member2"}, At: now.Add(-90 * time.Minute),
					Reason: reason.PendingPurge, PendingPurge: &record.PendingPurge{Key: key("cart"), Work: "gone since"},
				},
				{Key: key("till"), Outcome: phase.OutcomeAbandoned, Reason: reason.ClusterRecovered, Message: "it was blocked: NoTarget", Cause: "recovery"},
			},
		}},
		PendingPurges: []record.PendingPurge{{}},
	}
}

func TestTheHistoryIsReadFromTheReportsOfClosedWorkflows(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return len(r.GetNextPageToken()) == 0
	})).Return(&workflowservice.ListWorkflowExecutionsResponse{NextPageToken: []byte("more"), Executions: []*workflowpb.WorkflowExecutionInfo{
		closedRun("eu/cluster-failover/member9", "old", 3*time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED),
		closedRun("us/cluster-failover/member1", "other", 0, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
	}}, nil)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{closedRun("eu/cluster-failover/member1", "new", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)},
	}, nil)
	run := mocks.NewWorkflowRun(t)
	run.On("Get", mock.Anything, mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if into, ok := args.Get(1).(*workflows.FailoverReport); ok {
			*into = reported()
		}
	})
	c.On("GetWorkflow", mock.Anything, "eu/cluster-failover/member1", "new").Return(run)
	failovers, err := Source{Client: c, Instance: "eu"}.History(t.Context(), HistoryRequest{})
	require.NoError(t, err)
	require.Len(t, failovers, 2)
	require.Equal(t, "new", failovers[0].RunID, "the newest first")
	require.Equal(t, map[phase.Outcome]int{phase.OutcomeMigrated: 8, phase.OutcomeAbandoned: 1}, failovers[0].Totals())
	require.Equal(t, "member9", failovers[1].Cluster)
	require.Equal(t, "terminated", failovers[1].Closed)

	text := draw(t, func(v View) { v.History(failovers, true) })
	for _, want := range []string{"8 Migrated, 1 Abandoned", "  1h ", "terminated", "shop/cart", "member2", "7 more", "Pending purge handed over: 1"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, ": recovery")
	require.NotContains(t, text, "PendingPurge", "it was paid")
	require.NotContains(t, draw(t, func(v View) { v.History(failovers, false) }), "shop/cart")

	owed := record.PendingPurge{Key: key("owes"), Work: "w1"}
	pendingPurges := workflows.FailoverReport{PendingPurges: []record.PendingPurge{owed}, Attempts: []workflows.AttemptReport{{Results: []record.Result{
		{Key: key("owes"), Reason: reason.PendingPurge, PendingPurge: &owed},
		{Key: key("paid"), Reason: reason.PendingPurge, PendingPurge: &record.PendingPurge{Key: key("paid"), Work: "w2"}},
	}}}}
	pendingPurges.Paid()
	require.Equal(t, reason.PendingPurge, pendingPurges.Attempts[0].Results[0].Reason)
	require.Equal(t, reason.Purged, pendingPurges.Attempts[0].Results[1].Reason)

	again := reported()
	again.Attempts = append(again.Attempts, workflows.AttemptReport{Attempt: 2, Ended: phase.FailoverRecovered})
	again.Attempts[0].Ended = phase.FailoverSuspected
	text = draw(t, func(v View) { v.History([]PastFailover{{FailoverReport: again}}, true) })
	require.NotContains(t, text, "Suspected")
	require.Contains(t, text, "attempt 1, 2026-11-20 10:00:00 to 11:00:00 UTC: the cluster failed again")
	require.Contains(t, draw(t, func(v View) { v.History(nil, false) }), "No failover is over")
}

// A report may be nonsense that somebody made up, or of a key that is gone. It is said to be
// there, and the others are read; a server that is away is an error.
func TestAReportThatCannotBeReadCostsNoOther(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		closedRun("cluster-failover/member9", "odd", time.Hour, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
		closedRun("cluster-failover/member1", "new", time.Minute, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
	}}, nil)
	trouble := errors.New("unable to decode")
	odd, fine := mocks.NewWorkflowRun(t), mocks.NewWorkflowRun(t)
	odd.On("Get", mock.Anything, mock.Anything).Return(func(context.Context, any) error { return trouble })
	fine.On("Get", mock.Anything, mock.Anything).Return(nil)
	c.On("GetWorkflow", mock.Anything, mock.Anything, "odd").Return(odd)
	c.On("GetWorkflow", mock.Anything, mock.Anything, "new").Return(fine)
	failovers, err := Source{Client: c}.History(t.Context(), HistoryRequest{})
	require.NoError(t, err)
	require.Len(t, failovers, 2)
	require.Empty(t, failovers[0].Closed)
	require.Contains(t, failovers[1].Closed, "cannot be read")
	require.Equal(t, "member9", failovers[1].Cluster)
	trouble = serviceerror.NewUnavailable("away")
	_, err = Source{Client: c}.History(t.Context(), HistoryRequest{})
	require.ErrorContains(t, err, "away")
}

func TestAHistoryThatCannotBeReadIsAnError(t *testing.T) {
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.ListWorkflowExecutionsRequest) bool {
		return r.GetQuery() == "WorkflowType = 'ClusterFailover' AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"+
			" AND WorkflowId = 'cluster-failover/member1'"
	})).Return(nil, serviceerror.NewUnavailable("away"))
	_, err := Source{Client: c}.History(t.Context(), HistoryRequest{Cluster: "member1"})
	require.ErrorContains(t, err, "away")
}

// A plan asks a migration as the write would.
//
// Rules: R4.9-30.
func TestAMigrationIsAskedWhichCopyItHolds(t *testing.T) {
	c := mocks.NewClient(t)
	const id = "binding-migration/m1/shop/cart"
	held := workflows.MigrationStatus{}
	held.OldWork = &karmada.Work{Namespace: "karmada-es-m1", Name: "cart", UID: "w"}
	c.On("QueryWorkflow", mock.Anything, id, "", workflows.QueryStatus).Return(value{held}, nil).Once()
	work, err := Source{Client: c}.OldWork(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, held.OldWork, work)
	c.On("QueryWorkflow", mock.Anything, id, "", workflows.QueryStatus).Return(nil, serviceerror.NewNotFound("gone"))
	_, err = Source{Client: c}.OldWork(t.Context(), id)
	require.ErrorContains(t, err, id)
}
