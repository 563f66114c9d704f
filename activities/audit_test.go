package activities_test

import (
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

func recordRequest(records ...record.Audit) activities.AuditRequest {
	return activities.AuditRequest{
		Source: activities.AuditSource{
			Instance: "eu", Cluster: "m1", FailoverID: "e1", Mode: rules.ModeEnforce, Workflow: "eu/cluster-failover/m1", Run: "r2", First: "r1",
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
	own := record.Audit{ID: "7", Time: b.now, Kind: record.AuditBindingOutcome, Bindings: []string{"shop/cart"}}
	child := record.Audit{ID: "c1/2", Time: b.now, Kind: record.AuditBindingEvicted, FailoverID: "e0", Workflow: "eu/binding-migration/m1/shop/cart"}
	require.NoError(t, fixtures.Err(b.env.ExecuteActivity(activities.NameRecordAudit, recordRequest(own, child))))

	own.APIVersion, own.ID, own.Instance, own.Cluster, own.FailoverID, own.Mode = record.Version, "r1/7", "eu", "m1", "e1", rules.ModeEnforce
	own.Workflow, own.Run = "eu/cluster-failover/m1", "r2"
	child.APIVersion, child.Instance, child.Cluster, child.Mode, child.Run = record.Version, "eu", "m1", rules.ModeEnforce, "r2"
	require.Equal(t, []record.Audit{own, child}, sink.Records())
}

// The error says what did not work, and Temporal retries it.
//
// Rules: R4.16-2.
func TestASinkThatIsAwayIsTriedAgain(t *testing.T) {
	b := newBench(t)
	sink := &world.Trail{}
	sink.Fail(errors.New("no space left on device"))
	b.acts.Audit = sink
	_, err := b.env.ExecuteActivity(activities.NameRecordAudit, recordRequest(record.Audit{ID: "1"}))
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, activities.ErrorAudit, failed.Type())
	require.False(t, failed.NonRetryable())
	require.ErrorContains(t, err, "no space left on device")
}

func TestWithoutASinkNothingIsRecorded(t *testing.T) {
	b := newBench(t)
	require.NoError(t, fixtures.Err(b.env.ExecuteActivity(activities.NameRecordAudit, recordRequest(record.Audit{ID: "1"}))))
}
