// Package registry registers the workflows with a worker.
package registry

import (
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/applicationfailover"
	"github.com/lifeboat-failover/lifeboat/workflows/bindingmigration"
	"github.com/lifeboat-failover/lifeboat/workflows/clusterfailover"
	"github.com/lifeboat-failover/lifeboat/workflows/fleetpacer"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Register registers every workflow under its own name.
//
// Where workers have versions, each moves on to the current one at its next task, and is
// pinned to none. A FleetPacer never ends and a ClusterFailover may stand open for days:
// pinned, they would keep their build alive as long. A BindingMigration is short, but may
// wait for an operator just as long, with a hold in Karmada that no worker would handle once
// the workers of its build are gone. What makes the migration safe is that every release replays
// the histories of those before it (tests/replay).
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(clusterfailover.Workflow, under(workflows.TypeClusterFailover))
	r.RegisterWorkflowWithOptions(bindingmigration.Workflow, under(workflows.TypeBindingMigration))
	r.RegisterWorkflowWithOptions(applicationfailover.Workflow, under(workflows.TypeApplicationFailover))
	r.RegisterWorkflowWithOptions(fleetpacer.Workflow, under(workflows.TypeFleetPacer))
}

func under(name string) workflow.RegisterOptions {
	return workflow.RegisterOptions{Name: name, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade}
}
