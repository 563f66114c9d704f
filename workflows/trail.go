package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// Trail are the audit records of a workflow that are not known to be written. They are
// carried from run to run.
type Trail struct {
	// Seq numbers the workflow's records.
	Seq     int64          `json:"seq"`
	Pending []record.Audit `json:"pending,omitempty"`
	// Lost counts records that the sink was away for too long to take, since the last that was said.
	Lost int `json:"lost,omitempty"`
	// Sent is when the last batch went out.
	Sent time.Time `json:"sent,omitzero"`
}
