// Package applicationfailover moves one application off a cluster on which it has been Unhealthy for
// longer than it tolerates.
//
// Begin with decide, in failover.go: it says in each turn what the failover does next, by the rules in
// [github.com/lifeboat-failover/lifeboat/internal/rules] (UnhealthyClocks, Arrivals) and what the pacer
// suspects. Moves are BindingMigrations, as of a ClusterFailover (move.go).
package applicationfailover
