package activities_test

import (
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

func recordRequest(records ...failover.AuditRecord) activities.AuditRequest {
	return activities.AuditRequest{
		Source: activities.AuditSource{
			Instance: "eu", Cluster: "m1", Episode: "e1", Mode: failover.ModeEnforce, Workflow: "eu/cluster-failover/m1", Run: "r2", First: "r1",
		},
		Records: records,
	}
}

// What records share is said once in a batch, and stands in each line.
//
// Rules: R4.16-1.
func TestABatchOfRecordsIsAppendedWithItsSource(t *testing.T) {
	b := newBench(t)
	sink := &world.Trail{}
	b.acts.Audit = sink
	own := failover.AuditRecord{ID: "7", Time: b.now, Kind: failover.AuditBindingOutcome, Bindings: []string{"shop/cart"}}
	child := failover.AuditRecord{ID: "c1/2", Time: b.now, Kind: failover.AuditBindingEvicted, Episode: "e0", Workflow: "eu/binding-migration/m1/shop/cart"}
	_, err := b.env.ExecuteActivity(activities.NameRecordAudit, recordRequest(own, child))
	require.NoError(t, err)

	own.APIVersion, own.ID, own.Instance, own.Cluster, own.Episode, own.Mode = failover.AuditVersion, "r1/7", "eu", "m1", "e1", failover.ModeEnforce
	own.Workflow, own.Run = "eu/cluster-failover/m1", "r2"
	child.APIVersion, child.Instance, child.Cluster, child.Mode, child.Run = failover.AuditVersion, "eu", "m1", failover.ModeEnforce, "r2"
	require.Equal(t, []failover.AuditRecord{own, child}, sink.Records())
}

// The error says what did not work, and Temporal retries it.
//
// Rules: R4.16-2.
func TestASinkThatIsAwayIsTriedAgain(t *testing.T) {
	b := newBench(t)
	sink := &world.Trail{}
	sink.Fail(errors.New("no space left on device"))
	b.acts.Audit = sink
	_, err := b.env.ExecuteActivity(activities.NameRecordAudit, recordRequest(failover.AuditRecord{ID: "1"}))
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, activities.ErrorAudit, failed.Type())
	require.False(t, failed.NonRetryable())
	require.ErrorContains(t, err, "no space left on device")
}

func TestWithoutASinkNothingIsRecorded(t *testing.T) {
	b := newBench(t)
	_, err := b.env.ExecuteActivity(activities.NameRecordAudit, recordRequest(failover.AuditRecord{ID: "1"}))
	require.NoError(t, err)
}
