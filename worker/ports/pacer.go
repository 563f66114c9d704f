package ports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Pacer speaks to the FleetPacer of one instance.
type Pacer struct {
	Client client.Client
	// Namespace is the client's.
	Namespace string
	// Instance prefixes the workflow id.
	Instance string
	// Converter decodes memos, as the client encodes them.
	Converter converter.DataConverter
}

// Claim sends the update and waits for its answer. Each call is an update of its
// own: an answer given to an earlier call would promise more time than is left.
func (p Pacer) Claim(ctx context.Context, c activities.LeaseClaim) (activities.Lease, error) {
	handle, err := p.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   p.id(),
		UpdateName:   workflows.UpdateClaim,
		Args:         []any{workflows.Claim{Number: c.Number, Cluster: c.Cluster, Binding: c.Binding}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return activities.Lease{}, fmt.Errorf("claim lease %d for %s: %w", c.Number, c.Binding, err)
	}
	var claimed workflows.Claimed
	err = handle.Get(ctx, &claimed)
	var refused *temporal.ApplicationError
	if errors.As(err, &refused) && refused.Type() == workflows.RefusedPingPong {
		return activities.Lease{}, fmt.Errorf("%w: %s", failover.ErrPingPong, refused.Message())
	}
	if err != nil {
		return activities.Lease{}, fmt.Errorf("claim lease %d for %s: %w", c.Number, c.Binding, err)
	}
	return activities.Lease{Remaining: claimed.Remaining, NotBefore: claimed.NotBefore}, nil
}

// Used sends the signal that ends the claim.
func (p Pacer) Used(ctx context.Context, c activities.LeaseClaim) error {
	report := workflows.LeaseReport{Number: c.Number, Written: 1, Binding: c.Binding}
	if err := p.Client.SignalWorkflow(ctx, p.id(), "", workflows.SignalLeaseReport, report); err != nil {
		return fmt.Errorf("report lease %d of %s: %w", c.Number, c.Binding, err)
	}
	return nil
}

func (p Pacer) id() string { return workflows.FleetPacerID(p.Instance) }

// Remember finds the run that came before the chain of currentRunID and reads what
// it left. Only the list of runs can name it, and that list lags: it is read for
// the name alone, everything else comes from the run itself.
func (p Pacer) Remember(ctx context.Context, currentRunID string) (activities.PacerMemory, error) {
	runID, err := p.previous(ctx, currentRunID)
	if err != nil || runID == "" {
		return activities.PacerMemory{}, err
	}
	// A listed run may have gone on as another that is not listed yet.
	for {
		info, err := p.describe(ctx, runID)
		if err != nil {
			return activities.PacerMemory{}, err
		}
		if info == nil {
			return activities.PacerMemory{Known: true, Lost: true}, nil
		}
		if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			return p.memory(info), nil
		}
		next, err := p.successor(ctx, runID)
		if err != nil {
			return activities.PacerMemory{}, err
		}
		if next == "" || next == currentRunID {
			return activities.PacerMemory{Known: true, Lost: true}, nil
		}
		runID = next
	}
}

// previous is the newest listed run but the current one, empty when there is none.
func (p Pacer) previous(ctx context.Context, currentRunID string) (string, error) {
	quoted := strings.ReplaceAll(p.id(), `"`, `\"`)
	list, err := p.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: p.Namespace,
		PageSize:  100,
		Query:     fmt.Sprintf(`WorkflowId = "%s"`, quoted),
	})
	if err != nil {
		return "", fmt.Errorf("list runs of %s: %w", p.id(), err)
	}
	var newest *workflowpb.WorkflowExecutionInfo
	for _, run := range list.GetExecutions() {
		if run.GetExecution().GetRunId() == currentRunID {
			continue
		}
		if newest == nil || run.GetStartTime().AsTime().After(newest.GetStartTime().AsTime()) {
			newest = run
		}
	}
	return newest.GetExecution().GetRunId(), nil
}

// describe is nil when the run is no longer there.
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

// successor is the run that a continued one went on as, empty when unknown.
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

// memory is what a closed run left. A cancelled run mirrored its orders; of one that
// was terminated, failed or timed out nobody can say what it had granted.
func (p Pacer) memory(info *workflowpb.WorkflowExecutionInfo) activities.PacerMemory {
	known := activities.PacerMemory{Known: true}
	orderly := info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED ||
		info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	payload, mirrored := info.GetMemo().GetFields()[workflows.MemoOrders]
	var memo json.RawMessage
	if !orderly || !mirrored || p.Converter.FromPayload(payload, &memo) != nil {
		known.Lost = true
		return known
	}
	known.Memo = memo
	return known
}
