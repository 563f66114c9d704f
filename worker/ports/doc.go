// Package ports implements the ports of the activities with Temporal and this machine's clock:
// which workflows run, what the pacer answers, what the previous pacer left, how much time passed.
//
// It decides nothing and caches nothing. Where possible it describes a workflow, because lists lag.
package ports
