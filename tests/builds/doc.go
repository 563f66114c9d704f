// Package builds has the builds of a Worker Deployment take over from each other on a real
// Temporal server, with the product's workflows.
//
// It needs no Karmada, and proves nothing about what a worker does there: the pacer of a fleet
// that nobody answers for is workflow enough to be handed on.
package builds
