// Package workflows is the contract of the workflows: their names, what starts them,
// their signals and updates, and what they answer. ClusterFailover, one per failed cluster, lives
// in clusterfailover; ApplicationFailover, one per binding with an unhealthy copy, in
// applicationfailover; BindingMigration, one per binding that moves, in bindingmigration;
// FleetPacer, one for the fleet, in fleetpacer. What they share is in flow.
//
// They promise to be deterministic: what is read is judged in activities, whose answers are part
// of history. What workflows judge themselves (windows, the order of the queue, the pace, which phase
// follows) are pure functions of that and of the workflow's own clock: a change of one of
// them changes what a history replays to. They read no config, and import no Kubernetes client.
package workflows
