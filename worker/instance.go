package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	sdktemporal "go.temporal.io/sdk/temporal"
)

// ErrorAnotherInstance is the type of the error with which a worker refuses an activity for a
// workflow of another instance.
const ErrorAnotherInstance = "AnotherInstance"

// otherWorkerDelay is the delay before the retry of such an activity, for a worker of its instance.
const otherWorkerDelay = 30 * time.Second

// ownInstance refuses activities for workflows of another instance: they are meant for another
// Karmada.
type ownInstance struct {
	interceptor.WorkerInterceptorBase
	instance string
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (o *ownInstance) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &ownActivities{interceptor.ActivityInboundInterceptorBase{Next: next}, o.instance}
}

type ownActivities struct {
	interceptor.ActivityInboundInterceptorBase
	instance string
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (o *ownActivities) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if id := activity.GetInfo(ctx).WorkflowExecution.ID; !workflows.OfInstance(o.instance, id) {
		return nil, sdktemporal.NewApplicationErrorWithOptions(
			fmt.Sprintf("this worker acts for instance %q, and %q is of another: no two instances may share a task queue", o.instance, id),
			ErrorAnotherInstance, sdktemporal.ApplicationErrorOptions{NextRetryDelay: otherWorkerDelay},
		)
	}
	return o.Next.ExecuteActivity(ctx, in)
}
