// Package workflows is the contract of the workflows: their names, what starts them,
// their signals and updates, and what they answer. ClusterFailover, one per failed cluster, lives
// in clusterfailover; ApplicationFailover, one per binding with an unhealthy copy, in
// applicationfailover; BindingMigration, one per binding that moves, in bindingmigration;
// FleetPacer, one for the fleet, in fleetpacer. What they share is in flow.
//
// They promise to be deterministic: they judge nothing (judgements come out of activities
// and are part of history), read no config and no clock but the workflow's own, and import
// no Kubernetes client.
package workflows
