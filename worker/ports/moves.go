package ports

import (
	"context"
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/client"
)

// askTime is how long a migration may take to answer a query. A permit may be running out.
const askTime = 2 * time.Second

// Moves asks migrations what they know.
type Moves struct {
	Client client.Client
}

// OldWork is the Work that a migration's eviction held, nil where it does not know it.
func (m Moves) OldWork(ctx context.Context, workflowID string) (*karmada.Work, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
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
