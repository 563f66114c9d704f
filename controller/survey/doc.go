// Package survey asks the pacer and every failover that runs how they stand, and has
// the answers published as metrics.
//
// It changes nothing and decides nothing. Only the controller that leads asks, so that
// there is one answer: what a worker knew when it last worked for a workflow may be
// hours old, is gone when it restarts, and stands beside what another worker knew.
package survey
