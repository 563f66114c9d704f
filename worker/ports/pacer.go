package ports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/fleetpacer"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// Pacer speaks to the FleetPacer of one instance.
type Pacer struct {
	Client client.Client
	// Namespace is the client's.
	Namespace string
	// Instance prefixes the workflow id.
	Instance string
	// Uses gathers what this worker tells the pacer.
	Uses *Uses
	// Converter decodes memos, as the client encodes them.
	Converter converter.DataConverter
}

// MayRemove sends the update claim and waits for its answer.
func (p Pacer) MayRemove(ctx context.Context, cluster, binding string) error {
	handle, err := p.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   p.id(),
		UpdateName:   workflows.UpdateClaim,
		Args:         []any{workflows.Claim{Cluster: cluster, Binding: binding}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("ask whether %s may be removed from %s again: %w", cluster, binding, err)
	}
	return nil
}

// Used tells the pacer of an eviction that stands, together with others of this moment.
func (p Pacer) Used(ctx context.Context, permit int64, binding string) error {
	return p.Uses.tell(ctx, workflows.PermitUse{Number: permit, Binding: binding}, p.used)
}

func (p Pacer) used(ctx context.Context, uses []workflows.PermitUse) error {
	if err := p.Client.SignalWorkflow(ctx, p.id(), "", workflows.SignalPermitsUsed, workflows.PermitsUsed{Used: uses}); err != nil {
		return fmt.Errorf("report %d evictions to %s: %w", len(uses), p.id(), err)
	}
	return nil
}

// MovedTooOften queries the pacer: no history tells of it.
func (p Pacer) MovedTooOften(ctx context.Context, bindings []string) (map[string]time.Time, error) {
	answer, err := p.Client.QueryWorkflow(ctx, p.id(), "", workflows.QueryMovedTooOften, workflows.MovedTooOften{Bindings: bindings})
	if err != nil {
		return nil, fmt.Errorf("ask %s who was moved too often: %w", p.id(), err)
	}
	var until map[string]time.Time
	if err := answer.Get(&until); err != nil {
		return nil, fmt.Errorf("ask %s who was moved too often: %w", p.id(), err)
	}
	return until, nil
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
	payload, mirrored := info.GetMemo().GetFields()[fleetpacer.MemoOrders]
	var memo json.RawMessage
	if !orderly || !mirrored || p.Converter.FromPayload(payload, &memo) != nil {
		known.Lost = true
		return known
	}
	known.Memo = memo
	return known
}
