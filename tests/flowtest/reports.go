package flowtest

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Reported is the message as which a report arrives that an activity of these arguments hands over, and at which
// workflow; false for another activity.
func Reported(activity string, args []any) (failover string, m workflows.MigrationReports, is bool) {
	if activity != activities.NameReportMigration || len(args) != 1 {
		return "", m, false
	}
	r, is := args[0].(activities.ReportRequest)
	return r.Failover, workflows.MigrationReports{Reports: []activities.MigrationReport{r.Report}}, is
}

// Missed is the future of a signal, whose error is that of a report to a failover that does not run.
func Missed(ctx workflow.Context, signal workflow.Future) workflow.Future {
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { settle.SetError(notRunning(signal.Get(ctx, nil))) })
	return done
}

func notRunning(err error) error {
	if err == nil {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), activities.ErrorNotRunning, err)
}
