package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Register registers every workflow under its own name.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(ClusterFailover, workflow.RegisterOptions{Name: TypeClusterFailover})
	r.RegisterWorkflowWithOptions(BindingMigration, workflow.RegisterOptions{Name: TypeBindingMigration})
	r.RegisterWorkflowWithOptions(FleetPacer, workflow.RegisterOptions{Name: TypeFleetPacer})
}
