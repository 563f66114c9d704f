package ports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/fleetpacer"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Pacer sends requests to the FleetPacer of one instance.
type Pacer struct {
	Client client.Client
	// Instance prefixes the workflow id.
	Instance string
	// Uses collects the evictions of this worker.
	Uses *Batches[workflows.PermitUse]
	// Converter decodes memos, as the client encodes them.
	Converter converter.DataConverter
}

// MayRemove sends the update and waits for its answer.
func (p Pacer) MayRemove(ctx context.Context, cluster, binding string, application bool) error {
	handle, err := p.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   p.id(),
		UpdateName:   workflows.UpdateClaim,
		Args:         []any{workflows.Claim{Cluster: cluster, Binding: binding, Application: application}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("check whether %s may be removed from %s again: %w", cluster, binding, err)
	}
	return nil
}

// Request signals what a failover wants.
func (p Pacer) Request(ctx context.Context, r activities.PermitRequest) error {
	if err := p.Client.SignalWorkflow(ctx, p.id(), "", workflows.SignalPermitRequest, r); err != nil {
		return fmt.Errorf("request a permit of %s: %w", p.id(), err)
	}
	return nil
}

// Used reports an eviction to the pacer, in one message with others of this moment.
func (p Pacer) Used(ctx context.Context, permit int64, binding string) error {
	return p.Uses.send(ctx, p.id(), workflows.PermitUse{Number: permit, Binding: binding}, func(ctx context.Context, uses []workflows.PermitUse) error {
		return p.Client.SignalWorkflow(ctx, p.id(), "", workflows.SignalPermitsUsed, workflows.PermitsUsed{Used: uses})
	})
}

// MigratedTooOften queries the pacer: no history records it.
func (p Pacer) MigratedTooOften(ctx context.Context, bindings []string) (map[string]time.Time, error) {
	var until map[string]time.Time
	answer, err := p.Client.QueryWorkflow(ctx, p.id(), "", workflows.QueryMigratedTooOften, workflows.MigratedTooOften{Bindings: bindings, At: time.Now()})
	if err == nil {
		err = answer.Get(&until)
	}
	if err != nil {
		return nil, fmt.Errorf("query %s for bindings moved too often: %w", p.id(), err)
	}
	return until, nil
}

func (p Pacer) id() string { return workflows.FleetPacerID(p.Instance) }

// Remember reads what the newest run before the chain of currentRunID left that knew the orders before it. A run mirrors
// its orders in its memo, each before the operator has the answer. Only the list of runs has their ids, and that list
// lags: everything else is read from the runs themselves.
func (p Pacer) Remember(ctx context.Context, currentRunID string) (activities.PacerMemory, error) {
	earlier, err := earlierRuns(ctx, p.Client, p.id(), currentRunID)
	if err != nil || len(earlier) == 0 {
		return activities.PacerMemory{}, err
	}
	lost := activities.PacerMemory{Known: true, Lost: true}
	last, err := p.lastOf(ctx, earlier[0], currentRunID)
	ended := true
	for n := 1; err == nil; n++ {
		ended = ended && orderly(last)
		payload, mirrored := last.GetMemo().GetFields()[fleetpacer.MemoOrders]
		if mirrored {
			return p.memory(payload, ended), nil
		}
		if n == len(earlier) {
			return lost, nil
		}
		last, err = p.describe(ctx, earlier[n]) // it was ended before it knew the orders before it
	}
	return lost, err
}

// lastOf is the last run that a listed run continued as: it may not be listed yet. Nil where that is gone or unknown.
func (p Pacer) lastOf(ctx context.Context, runID, currentRunID string) (*workflowpb.WorkflowExecutionInfo, error) {
	for runID != "" && runID != currentRunID {
		info, err := p.describe(ctx, runID)
		if err != nil || info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			return info, err
		}
		if runID, err = p.successor(ctx, runID); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// earlierRuns are the listed runs of a workflow other than the current one, the newest first.
func earlierRuns(ctx context.Context, c client.Client, id, currentRunID string) ([]string, error) {
	quoted := strings.ReplaceAll(id, `"`, `\"`)
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 100,
		Query:    fmt.Sprintf(`WorkflowId = "%s"`, quoted),
	})
	if err != nil {
		return nil, fmt.Errorf("list runs of %s: %w", id, err)
	}
	runs := slices.DeleteFunc(list.GetExecutions(), func(run *workflowpb.WorkflowExecutionInfo) bool {
		return run.GetExecution().GetRunId() == currentRunID
	})
	slices.SortStableFunc(runs, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return b.GetStartTime().AsTime().Compare(a.GetStartTime().AsTime())
	})
	ids := make([]string, len(runs))
	for n, run := range runs {
		ids[n] = run.GetExecution().GetRunId()
	}
	return ids, nil
}

// describe returns nil when the run no longer exists.
func (p Pacer) describe(ctx context.Context, runID string) (*workflowpb.WorkflowExecutionInfo, error) {
	description, err := p.Client.DescribeWorkflowExecution(ctx, p.id(), runID)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe run %s of %s: %w", runID, p.id(), err)
	}
	return description.GetWorkflowExecutionInfo(), nil
}

// successor is the run that a continued run continued as, empty when unknown.
func (p Pacer) successor(ctx context.Context, runID string) (string, error) {
	events := p.Client.GetWorkflowHistory(ctx, p.id(), runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !events.HasNext() {
		return "", nil
	}
	last, err := events.Next()
	if err != nil {
		return "", fmt.Errorf("read how run %s of %s went on: %w", runID, p.id(), err)
	}
	return last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(), nil
}

// memory is what a run left that mirrored its orders.
func (p Pacer) memory(mirror *commonpb.Payload, orderly bool) activities.PacerMemory {
	m := activities.PacerMemory{Known: true, Lost: !orderly}
	var memo json.RawMessage
	if p.Converter.FromPayload(mirror, &memo) != nil {
		m.Lost = true
		return m
	}
	m.Memo = memo
	return m
}

// orderly reports whether a run ended as it should. Of one that was terminated, failed or timed out the granted permits
// are unknown.
func orderly(info *workflowpb.WorkflowExecutionInfo) bool {
	return info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED || info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
}

// Applications reads what earlier application failovers reported.
type Applications struct{ Client client.Client }

// Arrivals reads the report of the run before. One that is gone, still runs, or was ended from outside reports none.
func (a Applications) Arrivals(ctx context.Context, workflowID, currentRunID string) (rules.Arrivals, *rules.Departure, error) {
	earlier, err := earlierRuns(ctx, a.Client, workflowID, currentRunID)
	if err != nil || len(earlier) == 0 {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var report workflows.ApplicationReport
	var missing *serviceerror.NotFound
	var failed *temporal.WorkflowExecutionError
	err = a.Client.GetWorkflow(ctx, workflowID, earlier[0]).Get(ctx, &report)
	if errors.As(err, &missing) || errors.As(err, &failed) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the report of %s: %w", workflowID, err)
	}
	return report.Arrivals, report.Left, nil
}
