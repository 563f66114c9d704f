// Package failover decides. It holds every rule of cluster failover as a pure
// function over plain values: which taints follow from which conditions, whom
// they move and when, whether there is somewhere to go, what counts as placed
// and as healthy, and which phase may follow which.
//
// It promises not to act and not to look: no clock (time is an argument), no
// client, no SDK, no logger, no randomness. Equal input gives equal output.
//
// Every answer carries a [Reason]: the same spelling stands in metrics, events,
// search attributes and reports.
package failover
