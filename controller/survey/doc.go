// Package survey queries the pacer and every failover that runs, and has
// the answers published as metrics.
//
// It changes nothing and decides nothing. Only the controller that leads queries, so that
// there is one answer: what a worker had when it last worked for a workflow may be
// hours old, is gone when it restarts, and stands beside the values of another worker.
package survey
