// Package workflows tells the story of a failover in order: ClusterFailover, one
// per failed cluster; BindingMigration, one per binding that moves; FleetPacer,
// one for the fleet.
//
// It promises to be deterministic: it judges nothing (judgements come out of
// activities and are part of history), reads no config and no clock but the
// workflow's own, and imports no Kubernetes client.
package workflows
