package activities_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

// failovers answers every report.
type failovers struct{ says error }

func (f failovers) Report(context.Context, string, activities.MigrationReport) error { return f.says }

// A report is repeated until its failover has it, and not where that does not run.
func TestReportMigration_IsRepeatedForAsLongAsTheFailoverRuns(t *testing.T) {
	for name, c := range map[string]struct {
		says  error
		again bool
	}{
		"accepted":    {},
		"unreachable": {says: errors.New("unavailable"), again: true},
		"not running": {says: activities.ErrNotRunning},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.acts.Failovers = failovers{c.says}
			err := fixtures.Err(b.env.ExecuteActivity(activities.NameReportMigration, activities.ReportRequest{Failover: "cluster-failover/m1"}))
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			var failed *temporal.ApplicationError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, c.again, !failed.NonRetryable())
			require.Equal(t, !c.again, failed.Type() == activities.ErrorNotRunning)
		})
	}
}
