package flowtest

import (
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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

// Started starts what an activity of these arguments is to start: as a child, which is the one way to start a workflow in the
// SDK's test environment. False for another activity.
func Started(ctx workflow.Context, activity string, args []any, begin func(workflow.Context, string, ...any) workflow.ChildWorkflowFuture) (workflow.Future, bool) {
	if activity != activities.NameStartMigrations || len(args) != 1 {
		return nil, false
	}
	r, is := args[0].(activities.StartRequest[workflows.BindingMigrationParams])
	if !is {
		return nil, false
	}
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, time.Nanosecond) // a run that ends before an activity begins has it never begin
		var children []workflow.ChildWorkflowFuture
		for _, s := range r.Starts {
			ctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
				WorkflowID: s.Params.ID(), ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			})
			children = append(children, begin(ctx, workflows.TypeBindingMigration, s.Params))
		}
		answer := activities.StartAnswer{Running: map[int]bool{}, Refused: map[int]string{}}
		for n, child := range children {
			if err := child.GetChildWorkflowExecution().Get(ctx, nil); alreadyRuns(err) {
				answer.Running[n] = true
			} else if err != nil {
				answer.Refused[n] = err.Error()
			}
		}
		settle.SetValue(answer)
	})
	return done, true
}

// alreadyRuns reports whether a child of that id runs. The environment says so in the server's words, not in the SDK's.
func alreadyRuns(err error) bool {
	var running *temporal.ChildWorkflowExecutionAlreadyStartedError
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	return errors.As(err, &running) || errors.As(err, &started)
}
