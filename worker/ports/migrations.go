package ports

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// queryTimeout bounds the query of a migration: a permit may be about to expire.
const queryTimeout = 2 * time.Second

// Migrations starts and queries migrations.
type Migrations struct {
	Client    client.Client
	TaskQueue string
}

// Start starts a migration. Its first task comes with the answer, to this worker.
func (m Migrations) Start(ctx context.Context, s activities.MigrationStart[json.RawMessage]) error {
	var p workflows.BindingMigrationParams
	if err := json.Unmarshal(s.Params, &p); err != nil {
		return fmt.Errorf("%w: %w", activities.ErrStartRefused, err)
	}
	_, err := m.Client.ExecuteWorkflow(process.WithRequestID(ctx, s.RequestID), m.options(p, s.Summary), workflows.TypeBindingMigration, s.Params)
	switch {
	case process.IsA[*serviceerror.WorkflowExecutionAlreadyStarted](err):
		return activities.ErrRuns
	case process.IsA[*serviceerror.InvalidArgument](err), process.IsA[*serviceerror.PermissionDenied](err):
		return fmt.Errorf("%w: %w", activities.ErrStartRefused, err)
	case err != nil:
		return fmt.Errorf("start %s: %w", p.ID(), err)
	}
	return nil
}

func (m Migrations) options(p workflows.BindingMigrationParams, summary string) client.StartWorkflowOptions {
	st := &p.State
	return client.StartWorkflowOptions{
		ID:                                       p.ID(),
		TaskQueue:                                m.TaskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true,
		StaticSummary:                            reason.Summary(summary),
		StaticDetails:                            migrationDetails,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.SearchCluster.ValueSet(st.Ref.Cluster), workflows.SearchBinding.ValueSet(workflows.Storable(st.Ref.Key.String())),
			workflows.SearchMode.ValueSet(string(st.Ref.Mode)),
		),
		Memo: map[string]any{"lifeboatFailover": st.FailoverID, "lifeboatResource": st.Resource},
	}
}

// migrationDetails stand beside the live page of every migration.
const migrationDetails = "**Current Details** is the page of this move; R reads it again. *Request Cancellation* is `lifeboat cancel` of this one binding, as written there. Never *Terminate*."

// OldWork is the Work that a migration's eviction held, nil where unknown.
func (m Migrations) OldWork(ctx context.Context, workflowID string) (*karmada.Work, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answer, err := m.Client.QueryWorkflow(ctx, workflowID, "", workflows.QueryStatus)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", workflowID, err)
	}
	var status workflows.MigrationStatus
	if err := answer.Get(&status); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", workflowID, err)
	}
	return status.OldWork, nil
}
