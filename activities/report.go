package activities

import (
	"context"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/types"
)

// NameReportMigration hands a report of a migration to its failover.
const NameReportMigration = "ReportMigration"

// ReportRequest is a report of a migration, and the workflow id of the failover that gets it.
type ReportRequest struct {
	Failover string          `json:"failover"`
	Report   MigrationReport `json:"report"`
}

// MigrationReport is what a migration reports to its ClusterFailover: progress, or its end.
type MigrationReport struct {
	FailoverID string             `json:"failoverID"`
	Attempt    int                `json:"attempt"`
	Key        karmada.BindingKey `json:"key"`
	UID        types.UID          `json:"uid"`
	// Asked is when its failover asked for it: an end that is delivered once more is not that of the next migration.
	Asked   time.Time       `json:"asked,omitzero"`
	Phase   phase.Migration `json:"phase"`
	Reason  reason.Reason   `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// Refused is why the put-back or release of that id was refused, empty where none was.
	Refused   string `json:"refused,omitempty"`
	RefusedID string `json:"refusedID,omitempty"`
	// Placed: recovery cannot take it back any more.
	Placed bool `json:"placed,omitempty"`
	// GoesOn: recovery does not take it back, though it is not placed.
	GoesOn bool `json:"goesOn,omitempty"`
	// WantsPermit: that it is Queued.
	WantsPermit bool `json:"wantsPermit,omitempty"`
	// Attention is why it needs an operator's eyes; it changes no behaviour.
	Attention reason.Reason `json:"attention,omitempty"`
	To        []string      `json:"to,omitempty"`
	// Late: its restore has waited for longer than restoreWait: the untaint waits no more.
	Late bool `json:"late,omitempty"`
	// Result is set once, with the last report.
	Result *record.Result `json:"result,omitempty"`
	// TakenBy is the failover to which the migration belongs from now on: the last report to the former one.
	TakenBy string `json:"takenBy,omitempty"`
	// Acts are for the audit trail: what it did, and what was ordered of it.
	Acts []record.Audit `json:"acts,omitempty"`
}

// ErrorNotRunning is the type of the error of a report to a failover that does not run.
const ErrorNotRunning = "NotRunning"

// ReportMigration hands a report over, and is tried again until the failover has it or does not run.
func (a *Activities) ReportMigration(ctx context.Context, r ReportRequest) error {
	err := a.Failovers.Report(ctx, r.Failover, r.Report)
	if errors.Is(err, ErrNotRunning) {
		return temporal.NewNonRetryableApplicationError(err.Error(), ErrorNotRunning, err)
	}
	return err
}
