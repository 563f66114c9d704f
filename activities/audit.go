package activities

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// NameRecordAudit appends to the audit trail.
const NameRecordAudit = "RecordAudit"

// ErrorAudit is the type of the error where the trail's sink does not take records. It
// is retried for as long as it takes.
const ErrorAudit = "Audit"

// AuditSink takes records of the audit trail. It may have taken some of them where it
// answers with an error: readers know a record that comes twice.
type AuditSink interface {
	Append(ctx context.Context, records []record.Audit) error
}

// AuditSource is what the records of one workflow have in common.
type AuditSource struct {
	Instance   string     `json:"instance,omitempty"`
	Cluster    string     `json:"cluster,omitempty"`
	FailoverID string     `json:"failoverID,omitempty"`
	Mode       rules.Mode `json:"mode,omitempty"`
	Workflow   string     `json:"workflow"`
	Run        string     `json:"run"`
	// First is the workflow's first run: ids of records begin with it.
	First string `json:"first"`
}

// AuditRequest is a batch of records. What they leave empty Source says, and an ID
// without a slash is a number of Source's own.
type AuditRequest struct {
	Source  AuditSource    `json:"source"`
	Records []record.Audit `json:"records"`
}

// RecordAudit appends a batch to the trail. A worker without a sink has nothing to do.
func (a *Activities) RecordAudit(ctx context.Context, r AuditRequest) error {
	if a.Audit == nil {
		return nil
	}
	for n := range r.Records {
		r.Source.complete(&r.Records[n])
	}
	metrics := activity.GetMetricsHandler(ctx)
	if err := a.Audit.Append(ctx, r.Records); err != nil {
		metrics.Counter("lifeboat_audit_failures").Inc(1)
		a.Log.ErrorContext(ctx, "could not append to the audit trail: it is tried again",
			"records", len(r.Records), "workflow", r.Source.Workflow, "error", err)
		return temporal.NewApplicationErrorWithOptions(
			fmt.Sprintf("append %d records to the audit trail: %v", len(r.Records), err), ErrorAudit, temporal.ApplicationErrorOptions{Cause: err},
		)
	}
	metrics.Counter("lifeboat_audit_records").Inc(int64(len(r.Records)))
	return nil
}

// complete fills in what a record shares with the others of its batch.
func (s AuditSource) complete(r *record.Audit) {
	r.APIVersion = record.Version
	if !strings.Contains(r.ID, "/") {
		r.ID = s.First + "/" + r.ID
	}
	r.Instance = cmp.Or(r.Instance, s.Instance)
	r.Cluster = cmp.Or(r.Cluster, s.Cluster)
	r.FailoverID = cmp.Or(r.FailoverID, s.FailoverID)
	r.Workflow = cmp.Or(r.Workflow, s.Workflow)
	r.Run = cmp.Or(r.Run, s.Run)
	r.Mode = cmp.Or(r.Mode, s.Mode)
}
