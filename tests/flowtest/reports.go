package flowtest

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Reported hands a report over that an activity of these arguments is to hand over: as the signal as which it arrives. An
// error of the signal means that the failover does not run. False for another activity.
func Reported(ctx workflow.Context, activity string, args []any, signal func(ctx workflow.Context, id, run, name string, arg any) workflow.Future) (workflow.Future, bool) {
	if activity != activities.NameReportMigration || len(args) != 1 {
		return nil, false
	}
	r, is := args[0].(activities.ReportRequest)
	if !is {
		return nil, false
	}
	done, settle := workflow.NewFuture(ctx)
	sent := signal(ctx, r.Failover, "", workflows.SignalMigrationReports, workflows.MigrationReports{Reports: []activities.MigrationReport{r.Report}})
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := sent.Get(ctx, nil)
		if err != nil {
			err = temporal.NewNonRetryableApplicationError(err.Error(), activities.ErrorNotRunning, err)
		}
		settle.SetError(err)
	})
	return done, true
}
