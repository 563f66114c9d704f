package workflows_test

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// The environment ends a child that somebody cancels, whatever the child says to it. So
// the stories cancel the context that a workflow was started with, as the server does.
const cancelSignal = "cancelled-by-the-test"

type cancellable struct {
	interceptor.WorkerInterceptorBase
}

func (*cancellable) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &cancellableInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type cancellableInbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (c *cancellableInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	cancelled, cancel := workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, cancelSignal).Receive(ctx, nil)
		cancel()
	})
	return c.Next.ExecuteWorkflow(cancelled, in)
}

// cancellable lets a story cancel workflows as the UI does.
func (s *story) cancellable() {
	s.intercept(&cancellable{})
}

func (s *story) cancelInTheUI(id string) {
	s.t.Helper()
	s.signal(id, cancelSignal, nil)
}
