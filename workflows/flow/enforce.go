package flow

import (
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// EnforcesAlready refuses an order to enforce where nothing is observed.
const EnforcesAlready = "this failover enforces already"

// Enforcement is an operator's order to turn a failover that observes into one that enforces, until the main loop
// answers it.
type Enforcement struct {
	Order workflows.Order
	// Paused and Stopped stood when it was given: only those end with it.
	Paused, Stopped *workflows.Order
	Reply
}

// Await waits for the answer of the main loop: the worker's own configuration has to be read.
func (e *Enforcement) Await(ctx workflow.Context, ended func() bool) (string, error) {
	live, _ := workflow.NewDisconnectedContext(ctx) // a cancellation is an order, too, and is obeyed in its turn
	err := workflow.Await(live, func() bool { return e.Done || ended() })
	if err != nil || !e.Done {
		return "", Refused("this failover ended before it could be enforced")
	}
	return e.Answer, e.Err
}

// RefuseObserved refuses to enforce what the worker's own configuration observes.
func RefuseObserved(name string) error {
	return Refused("the worker's own config says observe for " + name + ": set mode or modes.enforce, restart the workers, and order it again")
}
